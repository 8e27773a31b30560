"""OpenDocument texts, spreadsheets and presentations (ODT, ODS, ODP): ISO/IEC 26300."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent.documents.blocks import TextBlock
from agent.documents.body_text import Body, BodyText, PlacedText, UnreadablePage
from agent.documents.formats.archive import Archive, read_properties
from agent.documents.formats.beside import add_beside
from agent.documents.formats.numbering import Numbering
from agent.documents.formats.office import OPEN_CONTENT, OPEN_STYLES, Part, add_sections, add_slide
from agent.documents.formats.table import (
    HIDDEN,
    MAX_COLUMNS,
    Row,
    Sheet,
    TableCell,
    add_sheets,
    expand_spans,
)
from agent.documents.formats.xml import Element, attribute, find_all, find_first, local_name, to_int

MAX_REPEATED = 1000  # times that a row or a cell with text may be repeated
#: Fields of heads and feet that are written when they are shown; what is stored stands for nothing.
_FIELDS = ("sheet-name", "file-name", "date", "time", "page-count")
_DAY = re.compile(r"\d{1,4}([./-] ?)\d{1,2}\1\d{1,4}")  # as its numbers stand in any order


def read_open_document(source: Body) -> BodyText:
    """Paragraphs by sections and notes, the rows of each sheet, or the text of each slide."""
    archive = Archive(source.data)
    if b"encryption-data" in archive.read("META-INF/manifest.xml"):
        raise UnreadablePage("it needs a password", "unsupported")
    numbering = Numbering(archive, OPEN_CONTENT)
    part = Part(archive, OPEN_CONTENT, is_report=source.is_report, numbering=numbering)
    body = find_first(part.root, "body")
    if body is None or not len(body):
        raise UnreadablePage("it is damaged: it has no content", "invalid")
    comments = list(_take_comments(part))
    meta = archive.read_xml("meta.xml")
    text = PlacedText(source, *read_properties(meta, "title", "date", "creation-date"))
    kind = local_name(body[0])
    if kind == "spreadsheet":
        add_sheets(text, _sheets(part, body[0]))
    elif kind in ("presentation", "drawing"):
        _add_slides(text, part, body[0])
    else:
        add_sections(text, part.read_blocks())
    for n, note in enumerate(part.own_notes, 1):
        text.add_block(note, f"note {n}")
    for n, comment in enumerate(comments, 1):
        text.add(comment, f"comment {n}")
    for block in {block.text: block for block in _read_margins(archive)}.values():
        text.add_block(block, "header or footer")
    for name in ("header-decl", "footer-decl"):  # of slides
        for declared in find_all(part.root, name):
            text.add("".join(declared.itertext()), "header or footer")
    deleted = sum(1 for _ in find_all(part.root, "deletion"))
    text.lose("deleted passages", deleted, "they are not shown")
    add_beside(text, source, archive)
    return text.finish()


def _take_comments(part: Part) -> Iterator[str]:
    """The comments, with who wrote each; they are taken out of the text."""
    for comment in list(find_all(part.root, "annotation")):
        author, block = find_first(comment, "creator"), part.read_note(comment)
        name = "" if author is None else "".join(author.itertext())
        yield ": ".join(filter(None, (name, block.text if block else "")))
        comment.clear(keep_tail=True)


def _hidden_styles(part: Part, kind: str, name: str, value: str) -> set[str]:
    """The styles that hide a sheet or a slide."""
    found = (one for one in find_all(part.root, kind) if attribute(one, name) == value)
    return {attribute(one.getparent(), "name") for one in found}


def _read_margins(archive: Archive) -> Iterator[TextBlock]:
    """What stands on each page or slide, by its master: heads and feet."""
    styles = Part(archive, OPEN_STYLES)
    for master in find_all(styles.root, "master-page"):
        for unseen in (*find_all(master, "notes"), *_fields(master)):
            unseen.clear(keep_tail=True)
        shapes = master.iterchildren("{*}frame", "{*}custom-shape")
        shown = (one for one in shapes if attribute(one, "class") in ("", "header", "footer"))
        parts = [*shown, *_margins(master)]
        yield from filter(None, map(styles.read_note, parts))


def _fields(master: Element) -> Iterator[Element]:
    for name in _FIELDS:
        yield from (one for one in find_all(master, name) if attribute(one, "fixed") != "true")


def _margins(master: Element) -> Iterator[Element]:
    for name in ("header", "footer", "header-left", "footer-left"):
        found = find_all(master, name)
        yield from (one for one in found if attribute(one, "display") != "false")


# --- sheets --------------------------------------------------------------------------------------


def _sheets(part: Part, body: Element) -> Iterator[Sheet]:
    """The names and rows of the sheets, those that are hidden by their style too."""
    hidden = _hidden_styles(part, "table-properties", "display", "false")
    for sheet in body.iterchildren("{*}table"):
        mark = HIDDEN if attribute(sheet, "style-name") in hidden else ""
        rows = set[int]()
        yield Sheet(attribute(sheet, "name") + mark, _rows(sheet, part, rows), rows, _hidden(sheet))


def _hidden(sheet: Element) -> set[int]:
    """The columns that are hidden."""
    found, n = set[int](), 0
    for column in sheet.iter("{*}table-column"):
        start, n = n, min(n + _count_repeats(column, "columns"), MAX_COLUMNS)
        found.update(range(start, n) if _is_hidden(column) else ())
    return found


def _is_hidden(element: Element) -> bool:
    return attribute(element, "visibility") in ("collapse", "filter")


def _count_repeats(element: Element, what: str) -> int:
    return max(1, to_int(attribute(element, f"number-{what}-repeated"), 1))


def _rows(sheet: Element, part: Part, hidden: set[int]) -> Iterator[Row]:
    """The rows that are not empty, with their numbers. Repeated ones are written once."""
    numbers: list[int] = []

    def read() -> Iterator[list[TableCell]]:
        number = 1
        for row in sheet.iter("{*}table-row"):
            repeated = _count_repeats(row, "rows")
            cells = _cells(row, part)
            for again in range(min(repeated, MAX_REPEATED)):
                numbers.append(number + again)
                hidden.update([number + again] * _is_hidden(row))
                yield cells
            number += repeated

    for texts in expand_spans(read()):
        if any(texts):
            yield numbers[-1], texts


def _cells(row: Element, part: Part) -> list[TableCell]:
    """The cells of a row up to the last one with text."""
    cells: list[TableCell] = []
    filled = column = 0
    for element in row:
        if local_name(element) != "table-cell" or column >= MAX_COLUMNS:
            continue
        cell = part.read_table_cell(element)
        repeated = _count_repeats(element, "columns")
        day = attribute(element, "date-value")[:10]
        text = _DAY.sub(day or r"\g<0>", cell.text) or attribute(element, "value")
        if text:
            times = min(repeated, MAX_REPEATED, MAX_COLUMNS - column)
            cells += [cell._replace(text=text)] * times
            filled = len(cells)
        else:
            cells.append(cell._replace(columns=repeated))
        column += repeated
    return cells[:filled]


# --- slides --------------------------------------------------------------------------------------


def _add_slides(text: PlacedText, part: Part, body: Element) -> None:
    """The text of each slide, then its notes."""
    hidden = _hidden_styles(part, "drawing-page-properties", "visibility", "hidden")
    for number, page in enumerate(body.iterchildren("{*}page"), 1):
        mark = HIDDEN if attribute(page, "style-name") in hidden else ""
        notes = page.find("./{*}notes")
        if notes is not None:
            page.remove(notes)
        add_slide(text, part.read_note(page), number, mark)
        if notes is not None:
            text.add_block(part.read_note(notes), f"notes of slide {number}")
