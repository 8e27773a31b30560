"""Wikipedia's own markup: prose with `<ref>`; templates, tables, files and markup are left out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent.documents.blocks import BlockBuilder, TextBlock
from agent.documents.body_text import MAX_REPORT, BodyText
from agent.documents.reports.lists import find_address

_REF = re.compile(
    r"<ref(?P<attributes>\s[^<>]*?)?(?:/>|>(?P<body>.*?)</ref\s*>)", re.DOTALL | re.IGNORECASE
)
_NAME = re.compile(r"name\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s/>]+))", re.I)
_MARKS = str.maketrans(dict.fromkeys("[]{}|'<>\"", " "))
_TITLE = re.compile(r"\|\s*title\s*=\s*([^|}]+)")
#: What is left out, in one pass from left to right; nested templates by counting.
_TOKEN = re.compile(
    r"(?P<comment><!--.*?-->)|(?P<ref><ref\b)|(?P<open>\{\{|\{\|)|(?P<bold>'{2,5})"
    r"|(?P<external>\[(?P<url>https?://[^\s\]]+)(?P<words>[^\]\n]*)\])"
    r"|(?P<inner>\[\[(?P<target>[^\[\]|]*)(?:\|(?P<shown>[^\[\]]*))?\]\])"
    r"|(?P<tag></?[a-zA-Z][^<>\n]*>)",
    re.DOTALL,
)
#: Templates that format a value: `{{convert|80|m}}`, `{{nowrap|80 m}}`, `{{lang|de|Rat}}`.
_SHOWN = re.compile(
    r"\{\{\s*(?:(?:convert|cvt)\|(?P<number>[^{}|]+)\|(?P<unit>[^{}|]+)(?:\|[^{}]*)?"
    r"|(?:nowrap|nobr|formatnum|lang\|[\w-]+)[|:](?P<words>[^{}|]+))\}\}",
    re.I,
)
_HEADING = re.compile(r"^(={1,6})\s*(.*?)\s*\1\s*$")
_NOT_PROSE = re.compile(r"(?:file|image|category|datei|bild|kategorie|fichier|catégorie):", re.I)


def parse_wikitext(text: str) -> BodyText:
    """The lines of an article in wikitext, at their offsets in it."""
    text = text[:MAX_REPORT]
    return BodyText("", text, form="wikitext", blocks=tuple(filter(None, _Reader(text).read())))


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._named = self._index_named()
        self._builder = BlockBuilder()

    def _index_named(self) -> dict[str, tuple[str, str]]:
        """Address and title of each reference that has a name."""
        notes = ((_name_of(ref), ref["body"]) for ref in _REF.finditer(self._text))
        first = dict(reversed([(name, body) for name, body in notes if name and body]))
        return {name: _read_note(body) for name, body in first.items()}

    def read(self) -> Iterator[TextBlock | None]:
        at = 0
        while at < len(self._text):
            token = _TOKEN.search(self._text, at)
            end = token.start() if token else len(self._text)
            yield from self._add_lines(at, end)
            if not token:
                break
            at = self._take(token)
        yield self._end_line()

    def _take(self, token: re.Match[str]) -> int:
        """Read a token; returns where what follows it begins."""
        if token["ref"] and (ref := _REF.match(self._text, token.start())):
            name = _name_of(ref)
            url, title = _read_note(ref["body"]) if ref["body"] else self._named.get(name, ("", ""))
            url = url or f"#{name or ref.start()}"
            self._builder.link(self._builder.length, url, title, is_note=True)
            return ref.end()
        if token["open"]:
            return self._take_template(token.start())
        if token["external"]:
            start = self._builder.length
            self._builder.add(token["words"].strip(), token.start("words"))
            self._builder.link(start, token["url"])
        elif token["inner"] and not _NOT_PROSE.match(token["target"]):
            group = "shown" if token["shown"] is not None else "target"
            shown = token[group].replace("'''", "").replace("''", "")  # neither bold nor italic
            self._builder.add(shown, token.start(group))
        return token.end()

    def _take_template(self, start: int) -> int:
        """Leave a template or a table out, but for a value that it only formats."""
        end = _end_of_template(self._text, start)
        if shown := _SHOWN.fullmatch(self._text, start, end):
            for group in ("number", "unit", "words"):
                if value := shown[group]:
                    blank = " " if group == "unit" else ""
                    self._builder.add(blank + value.strip(), shown.start(group))
        return end

    def _add_lines(self, start: int, end: int) -> Iterator[TextBlock | None]:
        for n, line in enumerate(self._text[start:end].split("\n")):
            if n:
                yield self._end_line()
                start += 1
            self._builder.add(line, start)
            start += len(line)

    def _end_line(self) -> TextBlock | None:
        block = self._builder.build("paragraph")
        if block is None:
            return None
        if heading := _HEADING.match(block.text.strip()):
            return TextBlock("heading", heading[2], level=len(heading[1]))
        words = block.text.lstrip("*#:;")
        is_item = len(words) < len(block.text)
        return block._replace(kind="item", text=words.rjust(len(block.text))) if is_item else block


def _name_of(ref: re.Match[str]) -> str:
    name = _NAME.search(ref["attributes"] or "")
    return next(filter(None, name.groups()), "").strip() if name else ""


def _read_note(body: str) -> tuple[str, str]:
    """The address and the title that a note states."""
    title = _TITLE.search(body)
    plain = body.translate(_MARKS)
    words = title[1].split() if title else [word for word in plain.split() if "://" not in word]
    return find_address(plain), " ".join(words)[:300]


def _end_of_template(text: str, start: int) -> int:
    """Where the template or table ends that begins at an offset; its first line if it does not."""
    depth = 0
    for mark in re.compile(r"\{\{|\}\}|\{\||\|\}(?!\})").finditer(text, start):
        depth += 1 if mark[0] in ("{{", "{|") else -1
        if not depth:
            return mark.end()
    line = text.find("\n", start)
    return line if line >= 0 else len(text)
