"""Spreadsheets (XLSX): Office Open XML, ISO/IEC 29500-1, 18.

A formula has the value that was last calculated. Macros are not read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from agent.documents.body_text import Body, BodyText, PlacedText
from agent.documents.formats.archive import Archive, core_properties, main_part
from agent.documents.formats.beside import add_beside
from agent.documents.formats.number_format import BUILT_IN, EPOCHS, show_number, show_text
from agent.documents.formats.table import (
    HIDDEN,
    MAX_COLUMNS,
    Row,
    Sheet,
    add_sheets,
    column_of,
)
from agent.documents.formats.xml import Element, attribute, find_all, find_first, local_name, to_int
from agent.documents.formulas import STRUCK, lower_text, raise_text, strike_text

MAX_SHARED_CHARS = 20_000_000  # of the texts that the cells share
#: Bytes of a sheet in which cells over several places are looked for, and how many places.
MAX_MERGED_PART, MAX_MERGED = 20_000_000, 200_000
_MERGE = re.compile(rb'mergeCell ref="([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})"')
#: What stands for fonts, sizes, colours, places and numbers in the head of a printed page.
_MARGIN_CODE = re.compile(r'&(?:"[^"]*"|K[0-9A-Fa-f+-]{6}|\d+|[A-Z])')
_UNKNOWN, _UNSEEN = "formulas without a value", "values that their format hides"
_NOWHERE = "texts of cells"
_LOST = {
    _UNKNOWN: "open and save it where it was made",
    _UNSEEN: "they are not shown",
    _NOWHERE: f"the file lacks them, or has more than {MAX_SHARED_CHARS:,} characters of them",
}


class _Merge(NamedTuple):
    """A cell over several places: columns from 0, rows from 1."""

    left: int
    right: int
    top: int
    bottom: int


class _Workbook(NamedTuple):
    """What all sheets share."""

    texts: Sequence[str]
    formats: Sequence[str]  # codes, by the number of the style
    struck: Sequence[bool]  # whether a style strikes its cells through
    epoch: datetime
    margins: dict[str, None]  # heads and feet
    lost: Counter[str]  # what is not read, by its kind


def read_spreadsheet(source: Body) -> BodyText:
    """The rows of each sheet; those that are hidden are marked."""
    archive = Archive(source.data)
    part = main_part(archive)
    text = PlacedText(source, *core_properties(archive))
    book = _read_workbook(archive, part)
    add_sheets(text, _sheets(archive, part, book))
    for margin in book.margins:
        text.add(margin, "header or footer")
    for what, why in _LOST.items():
        text.lose(what, book.lost[what], why)
    add_beside(text, source, archive)
    return text.finish()


def _sheets(archive: Archive, part: str, book: _Workbook) -> Iterator[Sheet]:
    """The names and rows of the sheets, those that are hidden too."""
    relations = archive.relations(part)
    for sheet in find_all(archive.read_xml(part), "sheet"):
        kind, target = relations.get(attribute(sheet, "id"), ("", ""))
        mark = HIDDEN if attribute(sheet, "state") in ("hidden", "veryHidden") else ""
        if kind == "worksheet":
            hidden = set[int](), set[int]()
            rows = _rows(archive, target, book, *hidden)
            yield Sheet(attribute(sheet, "name") + mark, rows, *hidden)


def _read_workbook(archive: Archive, part: str) -> _Workbook:
    names = dict(archive.relations(part).values())  # one part of each kind that is looked up
    settings = find_first(archive.read_xml(part), "workbookPr")
    epoch = EPOCHS[attribute(settings, "date1904") in ("1", "true")]
    texts = list(_shared_texts(archive, names.get("sharedStrings", "")))
    styles = archive.read_xml(names.get("styles", ""))
    return _Workbook(texts, _formats(styles), _read_struck(styles), epoch, {}, Counter())


def _shared_texts(archive: Archive, part: str) -> Iterator[str]:
    left = MAX_SHARED_CHARS
    for text in map(_rich_text, archive.iterate_xml(part, ("si",))):
        left -= len(text)
        if left < 0:
            return
        yield text


def _rich_text(element: Element) -> str:
    """The text of all runs, without the readings above Japanese."""
    runs = (text for text in find_all(element, "t") if local_name(text.getparent()) != "rPh")
    told = "".join(_raise(text.text or "", text.getparent()) for text in runs)
    return told.replace(2 * STRUCK, "")  # of runs side by side


def _raise(text: str, run: Element) -> str:
    """A text, raised or lowered where its font is."""
    aligned = attribute(run.find("./{*}rPr/{*}vertAlign"), "val")
    change = {"superscript": raise_text, "subscript": lower_text}.get(aligned)
    text = change(text) if change else text
    return strike_text(text) if _is_struck(run.find("./{*}rPr")) else text


def _is_struck(font: Element | None) -> bool:
    strike = None if font is None else font.find("./{*}strike")
    return strike is not None and attribute(strike, "val") not in ("0", "false")


def _read_struck(styles: Element | None) -> Sequence[bool]:
    fonts = [_is_struck(one) for one in find_all(find_first(styles, "fonts"), "font")]
    used = (
        to_int(attribute(one, "fontId"), 0) for one in find_all(find_first(styles, "cellXfs"), "xf")
    )
    return [any(fonts[n : n + 1]) for n in used]


def _formats(styles: Element | None) -> Sequence[str]:
    """The format of each style of cells, as a code."""
    named = find_all(styles, "numFmt")
    codes = {attribute(one, "numFmtId"): attribute(one, "formatCode") for one in named}
    formats = find_all(find_first(styles, "cellXfs"), "xf")
    numbers = (attribute(one, "numFmtId") for one in formats)
    return [codes.get(number) or BUILT_IN.get(to_int(number, 0), "General") for number in numbers]


def _read_merges(archive: Archive, part: str) -> dict[int, list[_Merge]]:
    """The cells that go over several places, by their rows; of no large sheet.

    They stand behind all rows, so that the sheet is looked at twice.
    """
    data = archive.read(part) if archive.size(part) <= MAX_MERGED_PART else b""
    found: dict[int, list[_Merge]] = {}
    places = MAX_MERGED
    for match in _MERGE.finditer(data):
        left, top, right, bottom = (one.decode() for one in match.groups())
        merge = _Merge(column_of(f"{left}1", 0), column_of(f"{right}1", 0), int(top), int(bottom))
        places -= max(merge.right - merge.left, 1) * max(merge.bottom - merge.top, 1)
        for row in range(merge.top, merge.bottom + 1) if places > 0 else ():
            found.setdefault(row, []).append(merge)
    return found


def _fill(cells: list[str], number: int, merges: Sequence[_Merge], tops: dict[_Merge, str]) -> None:
    """Write what a cell says at each place that it goes over; at one, if that is a row alone."""
    for merge in merges:
        if number == merge.top:
            tops[merge] = "".join(cells[merge.left : merge.left + 1])
        others = any(cells[: merge.left]) or any(cells[merge.right + 1 :])
        if (others or merge.bottom > merge.top) and tops.get(merge):
            cells += [""] * (merge.right + 1 - len(cells))
            cells[merge.left : merge.right + 1] = [tops[merge]] * (merge.right + 1 - merge.left)


def _rows(
    archive: Archive, part: str, book: _Workbook, hidden: set[int], hidden_columns: set[int]
) -> Iterator[Row]:
    """The rows that are not empty, with their numbers; and which of them and the columns hide."""
    merges, tops = _read_merges(archive, part), dict[_Merge, str]()
    number = 0
    for row in archive.iterate_xml(part, ("col", "row", "headerFooter")):
        is_hidden = row.get("hidden") in ("1", "true")
        if local_name(row) == "col":
            last = min(to_int(row.get("max", ""), 0), MAX_COLUMNS) if is_hidden else 0
            hidden_columns.update(range(to_int(row.get("min", ""), 1) - 1, last))
            continue
        if local_name(row) == "headerFooter":
            told = (_MARGIN_CODE.sub(" ", one.text or "") for one in row)
            book.margins.update(dict.fromkeys(one for one in told if any(map(str.isalnum, one))))
            continue
        number = to_int(row.get("r", ""), number + 1)
        hidden.update([number] * is_hidden)
        cells: list[str] = []
        column = -1
        for cell in row.iterchildren("{*}c"):
            column = column_of(cell.get("r", ""), column + 1)
            text = _cell_text(cell, book)
            if text and column < MAX_COLUMNS:
                cells += [""] * (column + 1 - len(cells))
                cells[column] = text
        _fill(cells, number, merges.get(number, ()), tops)
        if cells:
            yield number, cells


def _cell_text(cell: Element, book: _Workbook) -> str:
    """The value as it is shown; a formula that has none as it is written."""
    kind, value = cell.get("t", ""), next(cell.iterchildren("{*}v"), None)
    text = (value.text or "") if value is not None else ""
    if kind == "inlineStr":
        text = _rich_text(cell)
    elif not text:
        return _read_formula(cell, book)
    elif kind == "s":
        index = to_int(text, len(book.texts))
        book.lost[_NOWHERE] += index >= len(book.texts)
        text = book.texts[index] if index < len(book.texts) else ""
    elif kind == "b":
        return "TRUE" if text == "1" else "FALSE"
    elif kind in ("e", "d"):
        return text
    style = to_int(cell.get("s", ""), 0)
    code = next(iter(book.formats[style : style + 1]), "General")
    is_text = kind in ("s", "str", "inlineStr")
    shown = show_text(text, code) if is_text else show_number(text, code, book.epoch)
    book.lost[_UNSEEN] += bool(text.strip("0.")) and not shown
    return strike_text(shown) if any(book.struck[style : style + 1]) else shown


def _read_formula(cell: Element, book: _Workbook) -> str:
    """A formula whose value is not stored, which is told."""
    formula = next(cell.iterchildren("{*}f"), None)
    if formula is None or cell.get("t") == "str":
        return ""
    book.lost[_UNKNOWN] += 1
    return f"={formula.text}" if formula.text else ""
