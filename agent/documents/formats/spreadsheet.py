"""Spreadsheets (XLSX): Office Open XML, ISO/IEC 29500-1, 18.

A formula has the value that was last calculated. Macros are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from agent.documents.body_text import BodyText, PlacedText, RawBody
from agent.documents.formats.archive import (
    Archive,
    Element,
    attribute,
    core_properties,
    find_all,
    find_first,
    local_name,
    main_part,
)
from agent.documents.formats.table import MAX_COLUMNS, Row, format_rows

MAX_SHARED_CHARS = 20_000_000  # of the texts that the cells share
#: Formats that are built in: ISO/IEC 29500-1, 18.8.30.
_DATES, _TIMES, _PERCENTS = {14, 15, 16, 17, 22}, {18, 19, 20, 21, 45, 46, 47}, {9: 0, 10: 2}
_DATE_TIME = 22
_LITERALS = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]|_.|\*.')
_LETTERS = re.compile(r"[A-Z]{1,3}(?=\d)")
_ERRORS_AND_TEXTS = ("str", "inlineStr", "e", "d")


class _Format(NamedTuple):
    """How a number is shown: as a date, a time, both, or a percentage with so many decimals."""

    has_date: bool = False
    has_time: bool = False
    percent: int | None = None


class _Workbook(NamedTuple):
    """What all sheets share."""

    texts: Sequence[str]
    formats: Sequence[_Format]
    epoch: datetime


def read_spreadsheet(source: RawBody) -> BodyText:
    """The rows of each sheet that is shown; the hidden ones are noted."""
    archive = Archive(source.data)
    part = main_part(archive)
    root, relations = archive.read_xml(part), archive.relations(part)
    text = PlacedText(source, *core_properties(archive))
    book = _read_workbook(archive, root, [(kind, name) for kind, name in relations.values()])
    hidden = []
    for sheet in find_all(root, "sheet") if root is not None else ():
        name = attribute(sheet, "name")
        kind, target = relations.get(attribute(sheet, "id"), ("", ""))
        if kind != "worksheet":
            continue
        if attribute(sheet, "state") in ("hidden", "veryHidden"):
            hidden.append(name)
            continue
        text.add(name, f"sheet {name}")
        for number, line in format_rows(_rows(archive, target, book)):
            text.add_line(line, f"sheet {name}, row", number)
            if text.is_full:
                break
    if hidden:
        text.note = f"hidden sheets were not read: {', '.join(hidden)}"
    return text.finish()


def _read_workbook(
    archive: Archive, root: Element | None, parts: Sequence[tuple[str, str]]
) -> _Workbook:
    names = dict(parts)  # one part of each kind that is looked up
    settings = find_first(root, "workbookPr")
    is_1904 = settings is not None and attribute(settings, "date1904") in ("1", "true")
    epoch = datetime(1904, 1, 1) if is_1904 else datetime(1899, 12, 30)
    texts = list(_shared_texts(archive, names.get("sharedStrings", "")))
    return _Workbook(texts, _formats(archive.read_xml(names.get("styles", ""))), epoch)


def _shared_texts(archive: Archive, part: str) -> Iterator[str]:
    left = MAX_SHARED_CHARS
    for item in archive.iterate_xml(part, ("si",)):
        text = _rich_text(item)
        left -= len(text)
        yield text if left > 0 else ""


def _rich_text(element: Element) -> str:
    """The text of all runs, without the readings above Japanese."""
    return "".join(
        text.text or "" for text in find_all(element, "t") if local_name(text.getparent()) != "rPh"
    )


def _formats(styles: Element | None) -> Sequence[_Format]:
    """The format of each style of cells."""
    cells = find_first(styles, "cellXfs")
    if styles is None or cells is None:
        return ()
    codes = {
        attribute(one, "numFmtId"): attribute(one, "formatCode")
        for one in find_all(styles, "numFmt")
    }
    return [_format_of(attribute(one, "numFmtId"), codes) for one in cells]


def _format_of(identifier: str, codes: dict[str, str]) -> _Format:
    if identifier in codes:
        return _parse_code(codes[identifier])
    number = int(identifier) if identifier.isdecimal() and len(identifier) < 6 else 0
    is_both = number == _DATE_TIME
    return _Format(number in _DATES, number in _TIMES or is_both, _PERCENTS.get(number))


def _parse_code(code: str) -> _Format:
    """The format that a code such as `yyyy-mm-dd` or `0.0%` stands for."""
    shown = _LITERALS.sub("", code.partition(";")[0]).lower()
    if "%" in shown:
        return _Format(percent=len(re.sub(r"[^0#?]", "", shown.partition(".")[2])))
    if "general" in shown:
        return _Format()
    has_time = "h" in shown or "s" in shown
    return _Format("y" in shown or "d" in shown or ("m" in shown and not has_time), has_time)


def _rows(archive: Archive, part: str, book: _Workbook) -> Iterator[Row]:
    """The rows that are not empty, with their numbers."""
    number = 0
    for row in archive.iterate_xml(part, ("row",)):
        given = row.get("r", "")
        number = int(given) if given.isdecimal() and len(given) < 9 else number + 1
        cells: list[str] = []
        column = -1
        for cell in row.iterchildren("{*}c"):
            column = _column_of(cell.get("r", ""), column + 1)
            text = _cell_text(cell, book)
            if text and column < MAX_COLUMNS:
                cells += [""] * (column + 1 - len(cells))
                cells[column] = text
        if cells:
            yield number, cells


def _column_of(reference: str, default: int) -> int:
    """The index of a column from a reference such as `B7`."""
    letters = _LETTERS.match(reference)
    if not letters:
        return default
    index = 0
    for letter in letters[0]:
        index = 26 * index + ord(letter) - ord("A") + 1
    return index - 1


def _cell_text(cell: Element, book: _Workbook) -> str:
    """The value as it is shown, dates as in ISO 8601; a formula that has none as it is written."""
    kind, value = cell.get("t", ""), next(cell.iterchildren("{*}v"), None)
    if kind == "inlineStr":
        return _rich_text(cell)
    text = (value.text or "") if value is not None else ""
    if not text:
        formula = next(cell.iterchildren("{*}f"), None)
        return f"={formula.text}" if formula is not None and formula.text else ""
    if kind == "s":
        index = int(text) if text.isdecimal() and len(text) < 9 else len(book.texts)
        return book.texts[index] if index < len(book.texts) else ""
    if kind == "b":
        return "TRUE" if text == "1" else "FALSE"
    if kind in _ERRORS_AND_TEXTS:
        return text
    style = cell.get("s", "0")
    index = int(style) if style.isdecimal() and len(style) < 7 else 0
    return _number_text(text, book.formats[index] if index < len(book.formats) else _Format(), book)


def _number_text(text: str, form: _Format, book: _Workbook) -> str:
    try:
        number = float(text)
    except ValueError:
        return text
    if form.percent is not None:
        return f"{100 * number:.{min(form.percent, 15)}f}%"
    if form.has_date or form.has_time:
        return _date_text(number, form, book.epoch) or text
    return f"{number:.15g}" if abs(number) < 1e15 else text


def _date_text(number: float, form: _Format, epoch: datetime) -> str:
    """A day, a time or both; "" for a number that is no date."""
    try:
        moment = epoch + timedelta(seconds=round(number * 86400))
    except (OverflowError, ValueError):
        return ""
    if not form.has_date:
        return f"{moment:%H:%M:%S}" if 0 <= number < 1 else ""
    return f"{moment:%Y-%m-%d %H:%M:%S}" if form.has_time else f"{moment:%Y-%m-%d}"
