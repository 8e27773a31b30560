"""A document as Markdown (CommonMark and GitHub's tables): foreign text is never markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from urllib.parse import quote

from agent.answer import doc
from agent.state import is_web_url, sanitize_for_display

#: What a renderer could take for markup anywhere in a line, in Pandoc, MDX and mathematics too.
_INLINE_MARKUP = re.compile(
    r"[\\`*_{}\[\]<>|~$&^]"
    r"|(?<=[a-zA-Z]):(?=//)"  # a bare URL, which GitHub turns into a link
    r"|(?i:(?<=\bwww))\.|@"
    r"|!(?=\[|$)"  # an image
    r"|(?<!\S)#|#(?=\s|$)"  # the opening and the closing of a heading
)
#: What is markup only at the beginning of a line.
_LINE_START_MARKUP = re.compile(r"^(?:[-+=:%]|\d{1,9}(?=[.)](?:\s|$)))")
#: Left as they are in a link destination. Characters that could end it are not among them, nor is
#: `;`, without which `&` cannot begin an entity.
_URL_CHARACTERS = "!#$%'*+,-./:=?@_~&"


def render_markdown(page: doc.View, *, is_linked: bool = True) -> str:
    """The page as a document. `is_linked`: each `[n]` links to the first quote of its source."""
    sources = [block for section in page.sections for block in section.blocks]
    links = {
        block.number: _format_destination(block.quotes[0].url)
        for block in sources
        if isinstance(block, doc.SourceEntry) and is_linked
    }
    links = {number: link for number, link in links.items() if link}
    parts = list(_Writer(set(links)).write_page(page))
    parts += ["\n".join(f"[{number}]: {link}" for number, link in links.items())]
    return "\n\n".join(filter(None, parts)) + "\n"


def render_message(blocks: Iterable[doc.Block], links: Mapping[int, str]) -> str:
    """Blocks as a message of a chat: each `[n]` is a link by itself, where its source has one."""
    inline = {n: link for n, url in links.items() if (link := _format_destination(url))}
    return "\n\n".join(filter(None, map(_Writer(set(inline), inline).write, blocks)))


class _Writer:
    """Writes blocks; `linked` are the numbers of sources that marks link to.

    `inline` has the destinations of marks where each is to be whole without the rest of the page.
    """

    def __init__(self, linked: set[int], inline: Mapping[int, str] | None = None) -> None:
        self._linked = linked
        self._inline_links = inline

    def write_page(self, page: doc.View) -> Iterator[str]:
        yield f"# {escape_markdown(page.title)}"
        yield from map(self.write, page.head)
        for section in (*page.sections, *page.foot):
            yield from self._write_section(section)

    def _write_section(self, section: doc.PagePart) -> Iterator[str]:
        if section.blocks and not section.is_lead:
            yield f"## {escape_markdown(section.heading)}"
        yield from map(self.write, section.blocks)

    def write(self, block: doc.Block) -> str:
        match block:
            case doc.Heading():
                return f"### {escape_markdown(block.text)}"
            case doc.Prose(role="status"):
                return f"*{' · '.join(self._inline(one).strip() for one in block.parts)}*"
            case doc.Prose():
                return self._join(block.parts)
            case doc.Bullets():
                # below the list of sources, of which a message would make one list with it
                rule = (
                    "---\n\n" if block.role == "warnings" and self._inline_links is not None else ""
                )
                return rule + "\n".join(self._items(block.items))
            case doc.Table():
                rows = [list(map(self._join, row)) for row in block.rows]
                return format_table(list(map(escape_markdown, block.head)), rows)
            case doc.Quotation():
                return self._quote(block)
            case doc.SourceEntry():
                return self._source(block)
            case doc.ReportLine():
                return "\n\n".join(self._report_line(block))
            case doc.Group():
                title = [f"**{block.title}**"] if block.title else []
                return "\n\n".join([*title, *map(self.write, block.blocks)])
        return ""

    def _report_line(self, line: doc.ReportLine) -> Iterator[str]:
        """A line of a report, and below it what decides on its claims that do not hold."""
        yield self._join(line.parts)
        for one in filter(lambda one: one.is_open, line.evidence):
            yield f"- **{escape_markdown(one.summary)}**"
            yield from map(self.write, one.blocks)

    def _items(self, items: Iterable[doc.Item], indent: str = "") -> Iterator[str]:
        for item in items:
            yield f"{indent}- {self._join(item.parts)}"
            yield from self._items(item.items, f"{indent}  ")

    def _join(self, parts: doc.Parts) -> str:
        return "".join(map(self._inline, parts)).strip()

    def _inline(self, part: doc.Inline) -> str:
        match part:
            case doc.Marks(numbers=numbers):
                return "".join(map(self._mark, numbers))
            case doc.Sentence(parts=parts):
                return "".join(map(self._inline, parts))
            case doc.Text(url=url) if url:
                return format_link(url, escape_markdown(part.text))
            case doc.Verdict(text=text):
                return f"**{text}**"
            case doc.Text(role="strong"):
                return f"**{escape_markdown(part.text)}**"
            case doc.Text(role=role) if role.startswith("mark"):
                return f"*({part.text})*"
        text = part if isinstance(part, str) else part.text
        words = escape_markdown(text)
        return f"{' ' * text[:1].isspace()}{words}{' ' * (text[-1:].isspace() and bool(words))}"

    def _mark(self, number: int) -> str:
        if number not in self._linked:
            return f"[{number}]"
        to = f"[{number}]" if self._inline_links is None else f"({self._inline_links[number]})"
        return rf"[\[{number}\]]{to}"

    def _source(self, source: doc.SourceEntry) -> str:
        """A source, and below it each of its quotes with the link that opens the page there."""
        is_page = self._inline_links is None  # else only what cites a source is a mark
        label = self._mark(source.number) if is_page else f"({source.number})"
        lines = [
            f"{label} **{escape_markdown(source.title or source.url)}**",
            _format_destination(source.url) or escape_markdown(source.url),
            escape_markdown(source.about),
        ]
        return "\n\n".join(
            ["- " + "\\\n  ".join(filter(None, lines)), *map(self._quote, source.quotes)]
        )

    def _quote(self, quote: doc.Quotation) -> str:
        place = f"({escape_markdown(quote.place)})" if quote.place else ""
        parts = (escape_markdown(quote.text), place, format_link(quote.url, "at its place"))
        return f"  > {' '.join(filter(None, parts))}"


def escape_markdown(text: str) -> str:
    """Escape text, so that a renderer shows it literally, on one line."""
    line = " ".join(sanitize_for_display(text).split())
    escaped = _INLINE_MARKUP.sub(lambda match: f"\\{match[0]}", line)
    start = _LINE_START_MARKUP.match(line)
    if start is None:
        return escaped
    number = start[0] if start[0].isdigit() else ""
    return f"{number}\\{escaped[len(number) :]}"


def format_link(url: str, label: str) -> str:
    """`[label](<URL>)`, or "" where the URL is not http(s). The label is Markdown."""
    destination = _format_destination(url)
    return f"[{label}]({destination})" if destination else ""


def _format_destination(url: str) -> str:
    """`<URL>`, with all that could end it percent-encoded, or "" where it is no web URL."""
    if not is_web_url(url):
        return ""
    return f"<{quote(url.strip(), _URL_CHARACTERS, errors='replace')}>"


def format_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as wide as its widest line. Cells are Markdown."""
    width = max(map(len, (head, *rows)))
    lines = [[*line, *[""] * (width - len(line))] for line in (head, ["---"] * width, *rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
