"""Files within files: attachments, ZIP archives of documents, mailboxes (mbox, RFC 4155).

Each is read as it would be alone, and what cannot be read is reported.
"""

from __future__ import annotations

from posixpath import splitext

from agent.documents.body_text import Body, BodyText, PlacedText, UnreadablePage
from agent.documents.formats.xml_archive import Archive

MAX_FILES = 1000
MAX_DEPTH = 3  # of files in files
#: What an object of OLE may hold as it is: its first bytes, and what it is.
_IN_OBJECT = ((b"%PDF-", ".pdf"), (b"PK\x03\x04", ".docx"))


def read_zip(source: Body) -> BodyText:
    """The documents in an archive, each by its name."""
    archive, text = Archive(source.data), PlacedText(source)
    names = sorted(name for name in archive.names if not name.endswith("/"))
    for name in names[:MAX_FILES]:
        add_inner(text, source, name, archive.read(name))
    text.lose("files", len(names[MAX_FILES:]), f"only the first {MAX_FILES} are")
    return text.finish()


def read_mailbox(source: Body) -> BodyText:
    """The messages of a mailbox, each by its number."""
    text = PlacedText(source)
    parts = (b"\n" + source.data).split(b"\nFrom ")[1:]
    for n, part in enumerate(parts[:MAX_FILES], 1):
        add_inner(text, source, f"message {n}", part.partition(b"\n")[2], suffix=".eml")
    text.lose("messages", len(parts[MAX_FILES:]), f"only the first {MAX_FILES} are")
    return text.finish()


def add_inner(
    text: PlacedText,
    source: Body,
    name: str,
    data: bytes,
    content_type: str = "",
    *,
    place: str = "",
    suffix: str = "",
) -> None:
    """Add a file within another. `suffix`, or `content_type`: where its name has no suffix."""
    from agent.documents.format_registry import OLE, SUFFIXES, read_source

    suffix = suffix or splitext(name)[1].lower()
    if suffix not in SUFFIXES and data.startswith(OLE):
        suffix, data = _open_object(data)
    if text.is_full:
        return
    if source.depth >= MAX_DEPTH:
        text.lose("files", 1, f"they are in files, more than {MAX_DEPTH} deep")
    elif suffix not in SUFFIXES and not content_type:
        text.lose(f"{suffix or 'unnamed'} files", 1, "this type is not read")
    else:
        body = Body(data, content_type, suffix=suffix, depth=source.depth + 1)
        try:
            text.add_read(read_source(body), place or name)
        except UnreadablePage as error:
            text.lose(place or name, 1, str(error))
        text.hand_over()


def _open_object(data: bytes) -> tuple[str, bytes]:
    """The type of what an object of OLE holds, and its bytes; else itself, as of Office 97."""
    offsets = ((data.find(mark), suffix) for mark, suffix in _IN_OBJECT)
    return next(((suffix, data[at:]) for at, suffix in offsets if at >= 0), (".doc", data))
