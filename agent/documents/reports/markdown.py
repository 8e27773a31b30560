"""Reports in Markdown: CommonMark with tables, footnotes as reference links."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from agent.documents.blocks import RAISED, BlockBuilder, TextBlock
from agent.documents.body_text import MAX_REPORT, BodyText
from agent.documents.files import read_front_matter

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

_ANCHOR = re.compile(r"<a\s[^>]*?href\s*=\s*[\"']?([^\"'\s>]+)", re.I)
_ADDRESS = re.compile(r"://[^\s<>\[\]\"'`*|]+")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_SUP = re.compile(r"<(/?)sup\b", re.I)
_FENCE = re.compile(r"^( {0,3}(?:```|~~~))[ \t](?=[\[【])", re.M)  # the end of code, with its mark
PROBE = 12  # characters of a piece by which it is found where an entity or an escape is in it


def parse_markdown(text: str, form: str = "markdown") -> BodyText:
    """The blocks of a text in Markdown, at their offsets in it; code and images are left out."""
    text = text[:MAX_REPORT]
    fields, start = read_front_matter(text)
    body = re.sub(r"[^\n]", " ", text[:start]) + _FENCE.sub(r"\1\n", text[start:])
    env: dict[str, dict[str, dict[str, str]]] = {}
    tokens = _make_parser().parse(body, env)
    blocks = tuple(filter(None, _Reader(body, tokens).read()))
    references = env.get("references", {}).items()
    named = ((name.strip("^").casefold(), x["href"], x.get("title", "")) for name, x in references)
    heading = next((block.text for block in blocks if block.kind == "heading"), "")
    title = fields.get("title") or heading
    return BodyText(title, text, form=form, blocks=blocks, listed=tuple(named))


def _make_parser() -> MarkdownIt:
    """CommonMark with tables. Escaped characters stay pieces of their own, to be found again."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table").disable("text_join")
    parser.inline.ruler.before("newline", "address", _take_address)
    return parser


def _take_address(state: StateInline, silent: bool) -> bool:
    """A rule: a bare address is text, whatever in it could be emphasis."""
    before = state.src[max(0, state.pos - 6) : state.pos].lower()
    found = _ADDRESS.match(state.src, state.pos, state.posMax)
    if not found or not before.endswith(("http", "https")):
        return False
    rest = found[0].rstrip("_") if before.startswith("_") else found[0]
    if not silent:
        token = state.push("text_special", "", 0)
        token.content = _ESCAPED.sub(r"\1", rest)
    state.pos += len(rest)
    return True


class _Reader:
    """Goes through the tokens of a text once, and finds each piece again in it."""

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self._text = text
        self._tokens = tokens
        self._lines = [0, *(match.end() for match in re.finditer("\n", text)), len(text)]
        self._cursor = 0
        self._end = len(text)
        self._open: list[str] = []
        self._numbers: list[int | None] = []
        self._level = 0
        self._row: BlockBuilder | None = None

    def read(self) -> Iterator[TextBlock | None]:
        for token in self._tokens:
            if token.nesting == 1:
                self._enter(token)
            elif token.nesting == -1:
                yield from self._leave(token)
            elif token.type == "inline":
                yield from self._read_inline(token)
            elif token.type == "html_block" and token.map:
                yield from self._read_html(token)

    def _read_html(self, token: Token) -> Iterator[TextBlock]:
        """The blocks of HTML within the text, all at the offset where it begins."""
        from agent.documents.html.reader import parse_page, read_prose

        start = self._lines[token.map[0]] if token.map else 0
        tree = parse_page(f"<body>{token.content}</body>")
        for block in read_prose(tree) if tree is not None else ():
            yield block._replace(origin=((0, start), (1, start)))

    def _enter(self, token: Token) -> None:
        self._open.append(token.type)
        if token.type == "list_item_open":
            self._numbers.append(int(token.info) if token.info.isdecimal() else None)
        elif token.type == "heading_open":
            self._level = int(token.tag[1:])
        elif token.type == "tr_open":
            self._row = BlockBuilder()

    def _leave(self, token: Token) -> Iterator[TextBlock | None]:
        self._open.pop()
        if token.type == "list_item_close":
            self._numbers.pop()
        elif token.type == "tr_close" and self._row:
            is_head = "thead_open" in self._open
            yield self._row.build("heading" if is_head else "row", level=9)
            self._row = None

    def _read_inline(self, token: Token) -> Iterator[TextBlock | None]:
        if token.map:
            self._cursor = max(self._cursor, self._lines[token.map[0]])
            self._end = self._lines[min(token.map[1], len(self._lines) - 1)]
        builder = self._row or BlockBuilder()
        if builder.length:
            builder.add(" | ", self._cursor)
        self._add_children(token, builder)
        if self._open[-1:] == ["heading_open"]:
            yield builder.build("heading", level=self._level)
        elif not self._row:
            number = self._numbers[-1] if self._numbers else None
            yield builder.build("item" if self._numbers else "paragraph", number)

    def _add_children(self, token: Token, builder: BlockBuilder) -> None:
        links: list[tuple[int, str, str]] = []
        raised = 0  # where what is set high begins
        for child in token.children or ():
            if child.type in ("text", "code_inline", "text_special"):
                builder.add(child.content, self._locate(child.content))
            elif child.type == "html_inline" and (sup := _SUP.match(child.content)):
                if sup[1]:
                    builder.link(raised, RAISED)
                raised = builder.length
            elif child.type in ("softbreak", "hardbreak"):
                builder.add("\n", self._cursor)
            elif child.type == "link_open":
                url, title = str(child.attrs.get("href", "")), str(child.attrs.get("title", ""))
                links.append((builder.length, url, title))
            elif child.type == "html_inline" and (anchor := _ANCHOR.match(child.content)):
                links.append((builder.length, anchor[1], ""))
            elif links and (
                child.type == "link_close"
                or (child.type == "html_inline" and child.content.lower() == "</a>")
            ):
                start, url, title = links.pop()
                builder.link(start, url, title)

    def _locate(self, piece: str) -> int:
        """Where a piece stands in the text, from where the last one ended."""
        found = (self._text.find(p, self._cursor, self._end) for p in (piece, piece[:PROBE]))
        at = next((at for at in found if at >= 0), self._cursor)
        self._cursor = min(at + len(piece), self._end)
        return at
