"""A document as it is read on a terminal.

Foreign text is printed as plain text: nothing in it is markup or moves a cursor.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table as RichTable
from rich.text import Text as RichText

from agent.answer import doc
from agent.state import sanitize_for_display

WIDTH = 100  # columns: longer lines are hard to read
INDENT = 4  # columns of what belongs to a source
QUIET = "dim"
#: How words look, by the first of their roles that is here.
STYLES = {
    "strong": "bold",
    "quiet": QUIET,
    "warn": "yellow",
    "mark": "yellow",
    "supported": "green",
    "quoted": "cyan",
    "partial": "yellow",
    "contradicted": "red",
    "unsupported": "red",
    "unchecked": "bright_black",
    "unreadable": "bright_black",
    "conflict": "yellow",
}
BULLETS = {"warnings": RichText("! ", "yellow"), "labelled": RichText("")}


def render_text(page: doc.View, width: int = WIDTH, *, has_colour: bool = False) -> str:
    """The page as lines of at most `width` columns."""
    console = Console(
        file=StringIO(),
        width=width,
        force_terminal=has_colour,
        color_system="standard" if has_colour else None,
        markup=False,
        emoji=False,
        highlight=False,
        legacy_windows=False,
        _environ={},
    )
    with console.capture() as capture:
        for part in filter(None, _render_page(page)):  # a drawing is no text
            console.print(part)
            console.print()
    return "\n".join(line.rstrip() for line in capture.get().strip("\n").split("\n")) + "\n"


def render_on_terminal(page: doc.View, most: int = 10_000) -> str:
    """The page in the width of the terminal under standard output, with colours if it has some."""
    terminal = Console(file=sys.__stdout__)  # it knows NO_COLOR, TERM and old consoles of Windows
    has_colour = terminal.color_system is not None and not terminal.no_color
    return render_text(page, min(terminal.width, most), has_colour=has_colour)


def _render_page(page: doc.View) -> Iterator[RenderableType]:
    """Parts below each other, with a blank line between."""
    if page.title:
        yield _plain(page.title, "strong")
    yield from map(_render, page.head)
    for section in (*page.sections, *page.foot):
        if section.blocks and not section.is_lead:
            yield _plain(section.heading, "strong")
        yield from map(_render, section.blocks)


def _render(block: doc.Block) -> RenderableType:
    match block:
        case doc.Heading(text=text):
            return _plain(text, "strong")
        case doc.Prose(parts=parts, role=role):
            return _plain("", role).join([_join(parts)])
        case doc.Bullets():
            return Group(*_render_items(block.items, BULLETS.get(block.role, RichText("• "))))
        case doc.Table():
            return _render_table(block)
        case doc.Quotation(text=text):
            return _plain(f"“{text}”")
        case doc.SourceEntry():
            return _render_source(block)
        case doc.ReportLine(parts=parts, evidence=evidence):
            return Group(_join(parts), *(_render(one) for one in evidence if one.is_open))
        case doc.Evidence(verdict=verdict, summary=summary, blocks=blocks):
            content = Group(_plain(summary, verdict), *map(_render, blocks))
            return Padding(content, (0, 0, 0, 2), expand=False)
        case doc.Group():
            return _render_group(block)
    return RichText("")  # what only HTML shows


def _render_group(block: doc.Group) -> RenderableType:
    blocks = Group(*map(_render, block.blocks))
    if block.title:
        return Panel(blocks, title=block.title, title_align="left", style=STYLES["warn"])
    return blocks


def _plain(text: str, role: str = "") -> RichText:
    """Foreign text on one line; rich takes nothing in it for markup."""
    style = next((STYLES[word] for word in role.split() if word in STYLES), "")
    return RichText(sanitize_for_display(text), style)


def _join(parts: doc.Parts) -> RichText:
    return RichText().join(map(_render_inline, parts))


def _render_inline(part: doc.Inline) -> RichText:
    match part:
        case doc.Marks(numbers=numbers):
            return RichText("".join(f"[{n}]" for n in numbers), "cyan")
        case doc.Sentence(parts=parts):
            return _join(parts)
        case doc.Verdict(text=text, verdict=verdict):
            return _plain(text, verdict)
        case doc.Text(text=text, role=role):
            return _plain(f"({text})" if _is_mark(part) else text, role)
    return _plain(part)


def _render_items(items: Iterable[doc.Item], bullet: RichText) -> Iterator[RenderableType]:
    for item in items:
        yield _plain("", item.role).join((bullet, _join(item.parts)))
        if item.items:
            inner = Group(*_render_items(item.items, bullet))
            yield Padding(inner, (0, 0, 0, 2), expand=False)


def _render_table(table: doc.Table) -> RichTable:
    made = RichTable(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style=QUIET)
    width = max(map(len, (table.head, *table.rows)))
    for head in [*table.head, *[""] * (width - len(table.head))]:
        made.add_column(_plain(head), overflow="fold")
    for row in table.rows:
        made.add_row(*(_join([part for part in cell if not _is_mark(part)]) for cell in row))
    return made


def _is_mark(part: doc.Inline) -> bool:
    """Whether a part is a verdict in words, which is left out of a table."""
    return isinstance(part, doc.Text) and part.role.startswith("mark")


def _render_source(source: doc.SourceEntry) -> Group:
    """A source: its number and title, its address, and each of its quotes."""
    title = RichText(f"[{source.number}] ".ljust(INDENT), "cyan")
    about = [_plain(source.about, "warn")] if source.about else []
    lines: Sequence[RenderableType] = [
        *([_plain(source.url, "quiet")] if source.url else []),
        *about,
        *map(_render, source.quotes),
    ]
    body = Padding(Group(*lines), (0, 0, 0, INDENT))
    return Group(RichText().join((title, _plain(source.title or source.url, "strong"))), body)
