"""Files that hold others: ZIP archives of documents, mailboxes (mbox, RFC 4155)."""

from __future__ import annotations

from collections.abc import Iterable
from posixpath import splitext

from agent.documents.body_text import Body, BodyText, PlacedText, UnreadablePage
from agent.documents.formats.archive import Archive

MAX_FILES = 1000
MAX_DEPTH = 2  # of archives in archives


def read_zip(source: Body) -> BodyText:
    """The documents in an archive, each by its name; those that cannot be read are told."""
    archive = Archive(source.data)
    names = sorted(name for name in archive.names if not name.endswith("/"))
    bodies = ((name, archive.read(name), splitext(name)[1].lower()) for name in names[:MAX_FILES])
    text = PlacedText(source)
    _add_all(text, bodies, source.depth)
    text.lose("files", len(names[MAX_FILES:]), f"only the first {MAX_FILES} are")
    return text.finish()


def read_mailbox(source: Body) -> BodyText:
    """The messages of a mailbox, each by its number."""
    parts = (b"\n" + source.data).split(b"\nFrom ")[1:]
    numbered = enumerate(parts[:MAX_FILES], 1)
    bodies = ((f"message {n}", part.partition(b"\n")[2], ".eml") for n, part in numbered)
    text = PlacedText(source)
    _add_all(text, bodies, source.depth)
    text.lose("messages", len(parts[MAX_FILES:]), f"only the first {MAX_FILES} are")
    return text.finish()


def _add_all(text: PlacedText, bodies: Iterable[tuple[str, bytes, str]], depth: int) -> None:
    """Add documents, each with its name, its bytes and its suffix."""
    from agent.documents.registry import SUFFIXES, read_source

    for name, data, suffix in bodies:
        if suffix not in SUFFIXES or depth >= MAX_DEPTH:
            text.lose(name, 1, "it is of no type that is read here", has_text=False)
            continue
        try:
            text.add_read(read_source(Body(data, suffix=suffix, depth=depth + 1)), name)
        except UnreadablePage as error:
            text.lose(name, 1, str(error))
        if text.is_full:
            return
