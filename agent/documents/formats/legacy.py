"""Office 97 to 2003 and Outlook (DOC, XLS, PPT, MSG), by Xberg: the extra `documents`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from agent.documents.blocks import CELL
from agent.documents.body_text import Body, BodyText, PlacedText, UnreadablePage
from agent.documents.formats.library import extract
from agent.documents.formats.table import Sheet, add_sheets, format_lines
from agent.documents.own_date import read_day

#: What the name of a stream in such a file says of the whole: [MS-CFB], 2.6. The first one counts,
#: but for the one that the suffix names: others may be in it.
_KINDS = (
    ("WordDocument", "doc dot", "application/msword"),
    ("PowerPoint Document", "ppt pps", "application/vnd.ms-powerpoint"),
    ("Workbook", "xls xlt", "application/vnd.ms-excel"),
    ("Book", "xls xlt", "application/vnd.ms-excel"),
    ("__properties_version1.0", "msg", "application/vnd.ms-outlook"),
)
REMEDY = "save it as .docx, .xlsx or .pptx, without a password"  # of what is not read
#: What Xberg leaves out, by the bytes with which each begins: `FtCmo` of [MS-XLS], containers
#: of [MS-PPT] (`Comment10`, `ExOleEmbed`), storages of objects in a sheet, `ObjInfo` of [MS-DOC].
_LEFT_OUT = {
    "comments": (rb"\x5d\0..\x15\0\x12\0\x19\0", rb"\x0f\0\xe0\x2e"),
    "text boxes": (rb"\x5d\0..\x15\0\x12\0\x06\0",),
    "charts": (rb"\x5d\0..\x15\0\x12\0\x05\0",),
    "embedded objects": (
        rb"\x0f\0\xcc\x0f",
        rb"M\0B\0D\0(?:[0-9A-F]\0){8}",
        re.escape("\x03ObjInfo".encode("utf-16-le")),
    ),
}
#: Where the head of a Word document, at the beginning of a sector, has the characters that stand
#: beside its text, and how many where there are none: `FibRgLw97` of [MS-DOC].
_HEAD, _SECTOR = b"\xec\xa5", 512
_BESIDE = (
    ("footnotes", 0x50, 0), ("heads and feet", 0x54, 25), ("comments", 0x5C, 0),
    ("endnotes", 0x60, 0), ("text boxes", 0x64, 0), ("text boxes of heads and feet", 0x68, 0),
)  # fmt: skip


def read_legacy(source: Body) -> BodyText:
    """The text, a line a paragraph, or the rows of each sheet. Raises UnreadablePage."""
    if not (kind := _find_kind(source)):
        raise UnreadablePage(f"it is encrypted, or of no kind that is known: {REMEDY}", "invalid")
    found = extract(source.data, kind)
    known = found.metadata
    text = PlacedText(source, known.title or known.subject or "")
    text.date = read_day(known.modified_at, known.created_at)
    form = json.loads(str(known.format)) if known.format else {}
    if names := form.get("sheet_names"):
        tables = {table.page_number: enumerate(table.cells, 1) for table in found.tables}
        add_sheets(text, (Sheet(name, tables.get(n, ())) for n, name in enumerate(names, 1)))
    elif "powerpoint" in kind:
        _add_slides(text, found)
    else:  # cells end with a tab, rows with two
        lines = found.content.replace("\t\t", "\n").replace("\t", CELL).split("\n")
        text.add("\n".join(format_lines(lines)))
    if "outlook" not in kind:  # in a message these are marks of its attachments
        for what, count in find_left_out(source.data):
            text.lose(what, count, REMEDY)
    _add_warnings(text, found, form.get("attachments", ()))
    return text.finish()


def _add_slides(text: PlacedText, found: Any) -> None:
    place = ""
    for node in found.document.nodes if found.document else ():
        content = json.loads(str(node.content))
        if content["node_type"] == "slide":
            place = f"slide {content['number']}"
        text.lose("tables", "grid" in content, REMEDY)
        is_note = content["node_type"] == "footnote"
        text.add(content.get("title") or content.get("text") or "", "notes of " * is_note + place)


def _add_warnings(text: PlacedText, found: Any, attached: Sequence[str]) -> None:
    """Tell what the library did not read: of attachments those that it does not give either."""
    warned = [warning.message.partition("\n")[0][:200] for warning in found.processing_warnings]
    for message in warned:
        text.lose("parts", 1, message)
    read = {child.path for child in found.children or ()}
    for name in attached:
        if name not in read and not any(name in message for message in warned):
            text.lose(f"attachment {name}", 1, "save it as a file of its own")


def find_left_out(data: bytes) -> Iterator[tuple[str, int]]:
    """What a file holds beside the text that is read, and how many; of a Word document, whether.

    It is looked for by its marks, without the sectors being put in order: a mark that is divided
    between two of them is missed.
    """
    for what, marks in _LEFT_OUT.items():  # an object in a sheet has two
        yield what, max(len(re.findall(mark, data, re.DOTALL)) for mark in marks)
    heads = (at for at in range(0, len(data), _SECTOR) if data.startswith(_HEAD, at))
    for head in heads:
        for what, at, least in _BESIDE:
            number = data[head + at : head + at + 4]
            yield what, int.from_bytes(number, "little", signed=True) > least


def _find_kind(source: Body) -> str:
    """The media type of a file; "" where it is not known, or all of it is encrypted."""
    held = [one for one in _KINDS if one[0].encode("utf-16-le") in source.data]
    held.sort(key=lambda one: source.suffix[1:] not in one[1].split())
    marks = (name.encode("utf-16-le") for name in ("EncryptedPackage", "EncryptedSummary"))
    return held[0][2] if held and not any(mark in source.data for mark in marks) else ""
