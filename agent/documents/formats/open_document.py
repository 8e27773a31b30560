"""OpenDocument texts, spreadsheets and presentations (ODT, ODS, ODP): ISO/IEC 26300.

Deleted text that is still tracked, and scripts, are not read.
"""

from __future__ import annotations

from collections.abc import Iterator

from agent.documents.body_text import (
    BodyText,
    PlacedText,
    RawBody,
    UnreadablePage,
    normalize_title,
)
from agent.documents.formats.archive import (
    Archive,
    Element,
    attribute,
    find_first,
    local_name,
    read_properties,
)
from agent.documents.formats.table import MAX_COLUMNS, Row, format_rows, join_cells

MAX_SPACES = 100  # that one element may stand for
MAX_REPEATED = 1000  # times that a row or a cell with text may be repeated
#: Elements whose content is not shown where it stands.
_SKIPPED = frozenset(
    "tracked-changes forms event-listeners settings desc title annotation-end "
    "sequence-decls variable-decls user-field-decls".split()
)


def read_open_document(source: RawBody) -> BodyText:
    """Paragraphs by sections, the rows of each sheet, or the text of each slide with its notes."""
    archive = Archive(source.data)
    if b"encryption-data" in archive.read("META-INF/manifest.xml"):
        raise UnreadablePage("it needs a password", "unsupported")
    content = archive.read_xml("content.xml")
    body = find_first(content, "body")
    if content is None or body is None or not len(body):
        raise UnreadablePage("it is damaged: it has no content", "invalid")
    meta = archive.read_xml("meta.xml")
    text = PlacedText(source, *read_properties(meta, "title", "date", "creation-date"))
    kinds = {"spreadsheet": _add_sheets, "presentation": _add_slides, "drawing": _add_slides}
    hidden = _hidden_tables(content)
    kinds.get(local_name(body[0]), _add_text)(text, body[0], hidden)
    return text.finish()


# --- texts ---------------------------------------------------------------------------------------


def _add_text(text: PlacedText, body: Element, _: frozenset[str]) -> None:
    """The paragraphs and tables, each in the section of the heading above it; then the notes."""
    notes: list[str] = []
    place = ""
    for block in _blocks(body):
        if local_name(block) == "table":
            text.add("\n".join(_table_lines(block)), place)
            continue
        line = _text_of(block, notes)
        if local_name(block) == "h" and line.strip():
            place = f"section {' '.join(line.split())}"
            text.title = text.title or normalize_title(line.strip())
        text.add(line, place)
    for n, note in enumerate(notes, 1):
        text.add(note, f"note {n}")


def _blocks(parent: Element) -> Iterator[Element]:
    """The headings, paragraphs and tables, out of whatever contains them."""
    for child in parent:
        name = local_name(child)
        if name in ("h", "p", "table"):
            yield child
        elif name and name not in _SKIPPED:
            yield from _blocks(child)


def _table_lines(table: Element) -> Iterator[str]:
    """The rows of a table in a text as lines. A table in a cell is part of that cell."""
    for row in table.iter("{*}table-row"):
        if next(row.iterancestors("{*}table")) is table:
            yield join_cells(map(_cell_text, row.iterchildren("{*}table-cell")))


def _cell_text(cell: Element) -> str:
    lines: list[str] = []
    for block in _blocks(cell):
        is_table = local_name(block) == "table"
        lines += _table_lines(block) if is_table else [" ".join(_text_of(block, lines).split())]
    return "; ".join(filter(None, lines))


def _text_of(element: Element, notes: list[str]) -> str:
    """The text of a paragraph. Footnotes, endnotes and comments are added to the notes."""
    pieces = [element.text or ""]
    for child in element:
        name = local_name(child)
        if name in ("note", "annotation"):
            notes.append("\n".join(_text_of(block, []) for block in _blocks(child)))
        elif name == "s":
            count = attribute(child, "c")
            pieces.append(" " * min(int(count) if count.isdecimal() else 1, MAX_SPACES))
        elif name in ("tab", "line-break"):
            pieces.append("\t" if name == "tab" else "\n")
        elif name in ("p", "h", "list", "text-box"):  # of a frame in a paragraph
            pieces.append(f"\n{_text_of(child, notes)}\n")
        elif name == "table":
            pieces.append("\n" + "\n".join(_table_lines(child)) + "\n")
        elif name and name not in _SKIPPED:
            pieces.append(_text_of(child, notes))
        pieces.append(child.tail or "")
    return "".join(pieces)


# --- sheets --------------------------------------------------------------------------------------


def _add_sheets(text: PlacedText, body: Element, hidden: frozenset[str]) -> None:
    """The rows of each sheet that is shown; the hidden ones are noted."""
    left_out = []
    for sheet in body.iterchildren("{*}table"):
        name = attribute(sheet, "name")
        if attribute(sheet, "style-name") in hidden:
            left_out.append(name)
            continue
        text.add(name, f"sheet {name}")
        for number, line in format_rows(_rows(sheet)):
            text.add_line(line, f"sheet {name}, row", number)
            if text.is_full:
                break
    if left_out:
        text.note = f"hidden sheets were not read: {', '.join(left_out)}"


def _hidden_tables(content: Element) -> frozenset[str]:
    """The styles of tables that are not displayed."""
    return frozenset(
        attribute(properties.getparent(), "name")
        for properties in content.iter("{*}table-properties")
        if attribute(properties, "display") == "false"
    )


def _rows(sheet: Element) -> Iterator[Row]:
    """The rows that are not empty, with their numbers. Repeated ones are written once."""
    number = 1
    for row in sheet.iter("{*}table-row"):
        repeated = _count(row, "number-rows-repeated")
        cells = _cells(row)
        for again in range(min(repeated, MAX_REPEATED) if cells else 0):
            yield number + again, cells
        number += repeated


def _cells(row: Element) -> list[str]:
    cells: list[str] = []
    column = 0
    for cell in row:
        if local_name(cell) not in ("table-cell", "covered-table-cell"):
            continue
        repeated = _count(cell, "number-columns-repeated")
        if text := _cell_text(cell) or attribute(cell, "value"):
            times = min(repeated, MAX_REPEATED, max(0, MAX_COLUMNS - column))
            cells += [""] * (column - len(cells)) + [text] * times
        column = min(column + repeated, MAX_COLUMNS)
    return cells


def _count(element: Element, name: str) -> int:
    """How often an element is repeated: 1 where it does not say."""
    value = attribute(element, name)
    return max(1, int(value)) if value.isdecimal() and len(value) < 9 else 1


# --- slides --------------------------------------------------------------------------------------


def _add_slides(text: PlacedText, body: Element, _: frozenset[str]) -> None:
    """The text of each slide, then its notes."""
    for number, page in enumerate(body.iterchildren("{*}page"), 1):
        notes = page.find("./{*}notes")
        if notes is not None:
            page.remove(notes)
        lines = "\n".join(_slide_lines(page))
        text.title = text.title or normalize_title(lines.strip().partition("\n")[0][:100])
        text.add(lines, f"slide {number}")
        if notes is not None:
            text.add("\n".join(_slide_lines(notes)), f"notes of slide {number}")


def _slide_lines(page: Element) -> Iterator[str]:
    for block in _blocks(page):
        if local_name(block) == "table":
            yield from _table_lines(block)
        else:
            yield _text_of(block, [])
