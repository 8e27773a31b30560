"""Office 97 to 2003 and Outlook (DOC, XLS, PPT, MSG), by Kreuzberg: the extra `documents`.

Kreuzberg is native code with threads of its own. It runs in the worker, which lets it start them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from agent.documents.body_text import Body, BodyText, PlacedText, UnreadablePage
from agent.documents.formats.table import add_sheets
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
        add_sheets(text, ((str(name), enumerate(table.cells, 1)) for name, table in tables))
    else:  # cells end with a tab, rows with two
        text.add(found.content.replace("\t\t", "\n").replace("\t", " | "))
    if "outlook" not in kind:
        text.lose("comments, text boxes and charts, if it has any", 1, REMEDY)
    for name in known.get("attachments") or ():
        text.lose(f"attachment {name}", 1, "save it as a file of its own")
    return text.finish()


def _find_kind(source: Body) -> str:
    """The media type of a file; "" where it is not known, or all of it is encrypted."""
    held = [one for one in _KINDS if one[0].encode("utf-16-le") in source.data]
    held.sort(key=lambda one: source.suffix[1:] not in one[1].split())
    is_encrypted = "EncryptedPackage".encode("utf-16-le") in source.data
    return held[0][2] if held and not is_encrypted else ""


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
