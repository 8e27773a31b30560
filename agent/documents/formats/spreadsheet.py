"""Spreadsheets (XLSX): Office Open XML, ISO/IEC 29500-1, 18.

A formula has the value that was last calculated. Macros are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import reduce
from string import ascii_uppercase
from typing import NamedTuple

from agent.documents.body_text import Body, BodyText, PlacedText
from agent.documents.formats.archive import Archive, core_properties, main_part
from agent.documents.formats.beside import add_beside
from agent.documents.formats.table import HIDDEN, MAX_COLUMNS, Row, Sheet, add_sheets
from agent.documents.formats.xml import Element, attribute, find_all, find_first, local_name, to_int

MAX_SHARED_CHARS = 20_000_000  # of the texts that the cells share
#: Formats that are built in: ISO/IEC 29500-1, 18.8.30.
_DATES, _TIMES, _PERCENTS = {14, 15, 16, 17, 22}, {18, 19, 20, 21, 22, 45, 46, 47}, {9: 0, 10: 2}
_LITERALS = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]|_.|\*.')
_ALPHABET = {letter: n for n, letter in enumerate(ascii_uppercase, 1)}
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


def read_spreadsheet(source: Body) -> BodyText:
    """The rows of each sheet; those that are hidden are marked."""
    archive = Archive(source.data)
    part = main_part(archive)
    text = PlacedText(source, *core_properties(archive))
    add_sheets(text, _sheets(archive, part, _read_workbook(archive, part)))
    add_beside(text, source, archive)
    return text.finish()


def _sheets(archive: Archive, part: str, book: _Workbook) -> Iterator[Sheet]:
    """The names and rows of the sheets, those that are hidden too."""
    relations = archive.relations(part)
    for sheet in find_all(archive.read_xml(part), "sheet"):
        kind, target = relations.get(attribute(sheet, "id"), ("", ""))
        mark = HIDDEN if attribute(sheet, "state") in ("hidden", "veryHidden") else ""
        if kind == "worksheet":
            yield attribute(sheet, "name") + mark, _rows(archive, target, book)


def _read_workbook(archive: Archive, part: str) -> _Workbook:
    names = dict(archive.relations(part).values())  # one part of each kind that is looked up
    settings = find_first(archive.read_xml(part), "workbookPr")
    is_1904 = attribute(settings, "date1904") in ("1", "true")
    epoch = datetime(1904, 1, 1) if is_1904 else datetime(1899, 12, 30)
    texts = list(_shared_texts(archive, names.get("sharedStrings", "")))
    return _Workbook(texts, _formats(archive.read_xml(names.get("styles", ""))), epoch)


def _shared_texts(archive: Archive, part: str) -> Iterator[str]:
    left = MAX_SHARED_CHARS
    for text in map(_rich_text, archive.iterate_xml(part, ("si",))):
        left -= len(text)
        yield text if left > 0 else ""


def _rich_text(element: Element) -> str:
    """The text of all runs, without the readings above Japanese."""
    runs = (text for text in find_all(element, "t") if local_name(text.getparent()) != "rPh")
    return "".join(text.text or "" for text in runs)


def _formats(styles: Element | None) -> Sequence[_Format]:
    """The format of each style of cells."""
    named = find_all(styles, "numFmt")
    codes = {attribute(one, "numFmtId"): attribute(one, "formatCode") for one in named}
    formats = find_all(find_first(styles, "cellXfs"), "xf")
    return [_format_of(attribute(one, "numFmtId"), codes) for one in formats]


def _format_of(identifier: str, codes: dict[str, str]) -> _Format:
    if identifier in codes:
        return _parse_code(codes[identifier])
    number = to_int(identifier, 0)
    return _Format(number in _DATES, number in _TIMES, _PERCENTS.get(number))


def _parse_code(code: str) -> _Format:
    """The format that a code such as `yyyy-mm-dd` or `0.0%` stands for."""
    shown = _LITERALS.sub("", code.partition(";")[0]).lower()
    if "%" in shown:
        return _Format(percent=sum(char in "0#?" for char in shown.partition(".")[2]))
    if "general" in shown:
        return _Format()
    has_time = "h" in shown or "s" in shown
    return _Format("y" in shown or "d" in shown or ("m" in shown and not has_time), has_time)


def _rows(archive: Archive, part: str, book: _Workbook) -> Iterator[Row]:
    """The rows that are not empty, with their numbers."""
    number = 0
    for row in archive.iterate_xml(part, ("row",)):
        number = to_int(row.get("r", ""), number + 1)
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
    letters = reference.rstrip("0123456789")[:4]
    if letters == reference or not 0 < len(letters) < 4 or set(letters) - _ALPHABET.keys():
        return default
    return reduce(lambda index, letter: 26 * index + _ALPHABET[letter], letters, 0) - 1


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
        index = to_int(text, len(book.texts))
        return book.texts[index] if index < len(book.texts) else ""
    if kind == "b":
        return "TRUE" if text == "1" else "FALSE"
    if kind in _ERRORS_AND_TEXTS:
        return text
    style = to_int(cell.get("s", ""), 0)
    return _number_text(text, next(iter(book.formats[style : style + 1]), _Format()), book.epoch)


def _number_text(text: str, form: _Format, epoch: datetime) -> str:
    try:
        number = float(text)
    except ValueError:
        return text
    if form.percent is not None:
        return f"{100 * number:.{min(form.percent, 15)}f}%"
    if form.has_date or form.has_time:
        return _date_text(number, form, epoch) or text
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
