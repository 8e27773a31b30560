"""OpenDocument texts, spreadsheets and presentations (ODT, ODS, ODP): ISO/IEC 26300."""

from __future__ import annotations

from collections.abc import Iterator

from agent.documents.body_text import BodyText, PlacedText, RawBody, UnreadablePage, normalize_title
from agent.documents.formats.archive import (
    Archive,
    Element,
    attribute,
    find_first,
    local_name,
    read_properties,
)
from agent.documents.formats.office import OPEN_CONTENT, Part, add_sections
from agent.documents.formats.table import MAX_COLUMNS, Row, format_rows

MAX_REPEATED = 1000  # times that a row or a cell with text may be repeated


def read_open_document(source: RawBody) -> BodyText:
    """Paragraphs by sections, the rows of each sheet, or the text of each slide with its notes."""
    archive = Archive(source.data)
    if b"encryption-data" in archive.read("META-INF/manifest.xml"):
        raise UnreadablePage("it needs a password", "unsupported")
    part = Part(archive, OPEN_CONTENT)
    body = find_first(part.root, "body")
    if body is None or not len(body):
        raise UnreadablePage("it is damaged: it has no content", "invalid")
    meta = archive.read_xml("meta.xml")
    text = PlacedText(source, *read_properties(meta, "title", "date", "creation-date"))
    kinds = {"spreadsheet": _add_sheets, "presentation": _add_slides, "drawing": _add_slides}
    kinds.get(local_name(body[0]), _add_text)(text, part, body[0])
    return text.finish()


def _add_text(text: PlacedText, part: Part, _: Element) -> None:
    """The paragraphs and tables, each in the section of the heading above it; then the notes."""
    add_sections(text, part.read_blocks())
    for n, note in enumerate(part.own_notes, 1):
        text.add_block(note, f"note {n}")


# --- sheets --------------------------------------------------------------------------------------


def _add_sheets(text: PlacedText, part: Part, body: Element) -> None:
    """The rows of each sheet that is shown; the hidden ones are noted."""
    left_out, hidden = [], _hidden_tables(part.root)
    for sheet in body.iterchildren("{*}table"):
        name = attribute(sheet, "name")
        if attribute(sheet, "style-name") in hidden:
            left_out.append(name)
            continue
        text.add(name, f"sheet {name}")
        for number, line in format_rows(_rows(sheet, part)):
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


def _rows(sheet: Element, part: Part) -> Iterator[Row]:
    """The rows that are not empty, with their numbers. Repeated ones are written once."""
    number = 1
    for row in sheet.iter("{*}table-row"):
        repeated = _count(row, "number-rows-repeated")
        cells = _cells(row, part)
        for again in range(min(repeated, MAX_REPEATED) if cells else 0):
            yield number + again, cells
        number += repeated


def _cells(row: Element, part: Part) -> list[str]:
    cells: list[str] = []
    column = 0
    for cell in row:
        if local_name(cell) not in ("table-cell", "covered-table-cell"):
            continue
        repeated = _count(cell, "number-columns-repeated")
        if text := part.read_cell(cell) or attribute(cell, "value"):
            times = min(repeated, MAX_REPEATED, max(0, MAX_COLUMNS - column))
            cells += [""] * (column - len(cells)) + [text] * times
        column = min(column + repeated, MAX_COLUMNS)
    return cells


def _count(element: Element, name: str) -> int:
    """How often an element is repeated: 1 where it does not say."""
    value = attribute(element, name)
    return max(1, int(value)) if value.isdecimal() and len(value) < 9 else 1


# --- slides --------------------------------------------------------------------------------------


def _add_slides(text: PlacedText, part: Part, body: Element) -> None:
    """The text of each slide, then its notes."""
    for number, page in enumerate(body.iterchildren("{*}page"), 1):
        notes = page.find("./{*}notes")
        if notes is not None:
            page.remove(notes)
        slide = part.read_note(page)
        text.title = text.title or normalize_title(
            slide.text.partition("\n")[0][:100] if slide else ""
        )
        text.add_block(slide, f"slide {number}")
        if notes is not None:
            text.add_block(part.read_note(notes), f"notes of slide {number}")
