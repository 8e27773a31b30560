"""Office 97 to 2003 and Outlook (DOC, XLS, PPT, MSG), by Kreuzberg: the extra `documents`.

Kreuzberg is native code with threads of its own. It runs in the worker, which lets it start them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from agent.documents.body_text import Body, BodyText, PlacedText, UnreadablePage
from agent.documents.formats.table import Sheet, add_sheets
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
#: What Kreuzberg leaves out, by the bytes with which each begins: `FtCmo` of [MS-XLS], containers
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
    import kreuzberg

    config = kreuzberg.ExtractionConfig(use_cache=False)
    try:
        with _threads():
            found = kreuzberg.extract_bytes_sync(source.data, kind, config=config)
    except kreuzberg.KreuzbergError as error:
        told = str(error).partition("\n")[0][:200]
        raise UnreadablePage(f"it cannot be read ({told}): {REMEDY}", "invalid") from None
    known = found.metadata
    text = PlacedText(source, str(known.get("title") or known.get("subject") or ""))
    text.date = read_day(*(str(known.get(one, "")) for one in ("modified_at", "created_at")))
    if names := known.get("sheet_names"):
        tables = zip(names, found.tables, strict=False)
        add_sheets(text, (Sheet(str(name), enumerate(table.cells, 1)) for name, table in tables))
    else:  # cells end with a tab, rows with two
        text.add(found.content.replace("\t\t", "\n").replace("\t", " | "))
    if "outlook" not in kind:  # in a message these are marks of its attachments
        for what, count in find_left_out(source.data):
            text.lose(what, count, REMEDY)
    for name in known.get("attachments") or ():
        text.lose(f"attachment {name}", 1, "save it as a file of its own")
    return text.finish()


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


@contextmanager
def _threads() -> Iterator[None]:
    """Let a worker start threads meanwhile: it may lift this limit (`worker.py`)."""
    with suppress(ImportError):  # Windows has no limits
        import resource

        kind = resource.RLIMIT_NPROC
        soft, hard = resource.getrlimit(kind)
        resource.setrlimit(kind, (hard, hard))
    try:
        yield
    finally:
        with suppress(ImportError):
            resource.setrlimit(kind, (soft, hard))
