"""Workbooks of Excel, by openpyxl: values as they are shown, each at its row; comments.

A workbook is read in a stream. What that leaves out (hidden rows, merged cells) is counted in the
XML of its sheets. Format: ISO/IEC 29500-1, 18.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, time
from io import BytesIO
from typing import Any

from agent.documents.body_text import Body, BodyText, PlacedText, UnreadablePage
from agent.documents.formats.grid import HIDDEN, MAX_COLUMNS, Row, Sheet, add_sheets
from agent.documents.formats.office import add_parts
from agent.documents.formats.xml import Element, attribute, find_all
from agent.documents.formats.xml_archive import MAX_PART, Archive
from agent.documents.page_date import read_day

_SHEETS = "xl/worksheets/sheet"
MAX_MERGED = 10_000  # of a sheet
_DIGITS = re.compile(r"[#0?,]*[0#?](?:\.(?P<decimals>[0#?]+))?")
_LITERAL = re.compile(r"\"([^\"]*)\"|\\(.)|\[\$?([^\]-]*)[^\]]*\]|[_*].")
_BARE = re.compile(rb"</f>\s*(?:<v\s*/>|<v></v>)?\s*</c>|<f\b[^<>]*/>\s*</c>")
_HIDDEN = re.compile(rb"<(?:\w+:)?(row|col)\b(?=[^<>]*\shidden=[\"'](?:1|true))([^<>]*)>")
_NUMBER = re.compile(rb"\s(r|min|max)=[\"'](\d{1,7})[\"']")
_MERGED = re.compile(
    rb"<(?:\w+:)?mergeCell\s[^<>]*?ref=[\"']([A-Z]{1,3}\d{1,7}:[A-Z]{1,3}\d{1,7})[\"']"
)
_MARGINS = re.compile(rb"<(?:\w+:)?(?:odd|even|first)(?:Header|Footer)>([^<]+)<")
_CODES = re.compile(rb"&amp;(?:\"[^\"]*\"|&quot;.*?&quot;|\d+|.)", re.S)


def read_workbook(source: Body) -> BodyText:
    """The rows of all sheets, also of hidden ones, and the comments. Raises UnreadablePage."""
    import openpyxl

    archive = Archive(source.data)
    try:
        book = openpyxl.load_workbook(
            BytesIO(_with_sizes(source.data, archive)), read_only=True, data_only=True
        )
        own = book.properties
        day = read_day(*map(str, (own.modified, own.created)))
        text = PlacedText(source, own.title or "", day)
        add_sheets(text, (_read_sheet(text, archive, one) for one in book.worksheets))
    except (UnreadablePage, MemoryError):
        raise
    except Exception as error:  # the library raises what it meets in a damaged file
        raise UnreadablePage(f"it is damaged ({str(error)[:200]})", "invalid") from None
    names = sorted(archive.names)
    people = [archive.read_xml(name) for name in names if "/persons/" in name]
    persons = (one for root in people for one in find_all(root, "person"))
    authors = {attribute(one, "id"): attribute(one, "displayName") for one in persons}
    for name in names:
        if name.endswith(".xml") and re.search("[cC]omments", name):
            _add_comments(text, archive.read_xml(name), authors)
    text.lose("chart sheets", len(book.chartsheets), "only a table of values would be read")
    add_parts(text, source, archive)
    return text.finish()


def _with_sizes(data: bytes, archive: Archive) -> bytes:
    """A workbook whose sheets all say how large they are: of others the library reads all twice."""
    if any(archive.size(name) > MAX_PART for name in archive.names):
        return data
    sheets = {name: archive.read(name) for name in archive.names if name.startswith(_SHEETS)}
    sized = {
        name: xml.replace(b"<sheetData", b'<dimension ref="A1"/><sheetData', 1)
        for name, xml in sheets.items()
        if b"<dimension" not in xml[: xml.find(b"<sheetData") + 1]
    }
    return archive.replace(sized) if sized else data


def _read_sheet(text: PlacedText, archive: Archive, sheet: Any) -> Sheet:
    """A sheet; formulas that have no value yet are reported."""
    part = sheet._worksheet_path.lstrip("/")
    xml = archive.read(part) if archive.size(part) <= MAX_PART else b""
    text.lose("formulas without a value", len(_BARE.findall(xml)), "open it and save it once")
    margins = [one for one in _MARGINS.findall(xml) if _CODES.sub(b"", one).strip()]
    text.lose("headers and footers", len(margins), "they are only printed")
    hidden: dict[bytes, set[int]] = {b"row": set(), b"col": set()}
    for kind, given in _HIDDEN.findall(xml):
        numbers = {name: int(number) for name, number in _NUMBER.findall(b" " + given)}
        first, last = numbers.get(b"r") or numbers.get(b"min", 0), numbers.get(b"max", 0)
        columns = range(first - 1, min(last, MAX_COLUMNS))
        hidden[kind].update([first] if kind == b"row" else columns)
    name = sheet.title + HIDDEN * (sheet.sheet_state != "visible")
    merged = [one.decode() for one in _MERGED.findall(xml)[:MAX_MERGED]]
    return Sheet(name, _read_rows(sheet, merged), hidden[b"row"], hidden[b"col"])


def _read_rows(sheet: Any, merged: list[str]) -> Iterator[Row]:
    """The rows with a value; a merged cell is repeated at each place that it covers."""
    from openpyxl.utils import range_boundaries

    sheet.reset_dimensions()  # what it says of its size may be wrong
    begins: dict[int, list[tuple[int, int, int]]] = {}
    for left, top, right, low in map(range_boundaries, merged):
        begins.setdefault(top, []).append((left - 1, right - 1, low))
    open_cells: dict[int, tuple[str, int]] = {}  # by column: the text, and the last row
    for number, row in enumerate(sheet.iter_rows(), 1):
        cells = [
            show_value(cell.value, cell.number_format or "") if cell.value is not None else ""
            for cell in row
        ]
        for left, right, low in begins.get(number, ()):
            if left < len(cells):
                open_cells |= dict.fromkeys(range(left, right + 1), (cells[left], low))
        open_cells = {n: one for n, one in open_cells.items() if one[1] >= number}
        for n, (text, _) in open_cells.items():
            cells += [""] * (n + 1 - len(cells))
            cells[n] = cells[n] or text
        if any(cells):
            yield number, cells


def show_value(value: object, code: str = "") -> str:
    """A value as its format shows it; days as `2024-03-01`."""
    match value:
        case bool():
            return str(value).upper()
        case datetime():
            return value.isoformat(" ", "minutes").removesuffix(" 00:00")
        case date() | time():
            return value.isoformat()
        case int() | float():
            return _show_number(value, code.split(";")[0])
    return str(value)


def _show_number(value: float, code: str) -> str:
    """A number in a format: its decimals, groups and signs; one of another kind as it is."""
    shown = _LITERAL.sub(lambda one: "\0" + (one[1] or one[2] or one[3] or "") + "\0", code)
    found = _DIGITS.search(shown)
    if not found or "E" in code or "/" in code or "@" in code:
        return f"{value:.15g}"
    decimals = found["decimals"] or ""
    value *= 100 if "%" in shown else 1
    number = f"{value:{',' if ',' in found[0] else ''}.{len(decimals)}f}"
    optional = len(decimals) - len(decimals.rstrip("#?"))
    for _ in range(optional):
        number = number.removesuffix("0")
    before, after = shown[: found.start()], shown[found.end() :]
    return (before + number.removesuffix(".") + after).replace("\0", "").strip()


def _add_comments(text: PlacedText, root: Element | None, people: dict[str, str]) -> None:
    """Add the comments of a part, each at its cell, with who wrote it if that is known."""
    listed = {str(n): one.text or "" for n, one in enumerate(find_all(root, "author"))} | people
    for kind, inner in (("comment", "t"), ("threadedComment", "text")):
        for comment in find_all(root, kind):
            words = " ".join("".join(x.text or "" for x in find_all(comment, inner)).split())
            own = attribute(comment, "authorId") or attribute(comment, "personId")
            name = listed.get(own, "")
            if not words.startswith("[Threaded comment]"):  # for older programs: it is read there
                place = f"comment on {attribute(comment, 'ref')}"
                text.add(f"{name}: {words}" if name and words else words, place)
