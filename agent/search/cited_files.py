"""The files next to a report that it names, as `corpus:NAME`: read as a corpus has them.

The report may be hostile: nothing outside its folder is read, nothing hidden, and no symbolic link.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

from agent.calls.input_file import read_bytes
from agent.documents.body_reader import BodyReader
from agent.documents.body_text import Body, UnreadablePage
from agent.documents.format_registry import SUFFIXES
from agent.errors import ReadFailed
from agent.search.corpus_documents import MAX_BYTES
from agent.state import Page, to_places, utc_now


def find_beside(folder: Path, url: str) -> Path | None:
    """The file of a folder that `corpus:NAME` names; None for any other address."""
    name = unquote(url.partition("#")[0].removeprefix("corpus:"))
    root = Path(os.path.realpath(folder))
    file = Path(os.path.normpath(root / name))  # of a name without `..`, so that links stay links
    is_plain = url.startswith("corpus:") and "\0" not in name and ".." not in Path(name).parts
    if not is_plain or not file.is_relative_to(root) or file.suffix.lower() not in SUFFIXES:
        return None
    is_hidden = any(part.startswith(".") for part in file.relative_to(root).parts)
    return file if not is_hidden and file.is_file() and file.resolve() == file else None


def read_beside(folder: Path, read: Callable[[str], Page]) -> Callable[[str], Page]:
    """Reads files of a folder, and what is none of them with `read`."""

    def read_one(url: str) -> Page:
        if (file := find_beside(folder, url)) is None:
            return read(url)
        try:
            body = Body(read_bytes(file, MAX_BYTES), suffix=file.suffix)
            found = BodyReader().read(body)
        except (OSError, UnreadablePage) as error:
            raise ReadFailed(f"{url} cannot be read: {error}", outcome="invalid") from None
        title, note = found.title or file.name, found.note
        places = to_places(found.marks)
        return Page.from_text(
            url, title, found.text, utc_now(), places=places, date=found.date, partial_text=note
        )

    return read_one
