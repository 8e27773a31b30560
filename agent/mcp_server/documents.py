"""Files of a client's, as resources of this server: added, named by runs, read back, deleted."""

from __future__ import annotations

import io
import threading
from base64 import b64decode
from typing import Annotated

from pydantic import Field

from agent.errors import Busy, UsageError
from agent.search.documents import MAX_BYTES
from agent.serving.documents import DocumentStore, StoredDocument
from agent.serving.request import DocumentId
from agent.state import Frozen

MAX_ADDED = 2  # at once: each takes memory for the whole file, and for what frames it
MAX_CALL = MAX_BYTES * 4 // 3 + 100_000  # bytes of a call with a file in base64

Name = Annotated[str, Field(min_length=1, max_length=200, description="with its suffix")]


class AddCall(Frozen):
    """A file: its text, or its bytes in base64, as the contents of a resource have them."""

    name: Name
    text: str | None = None
    blob: str | None = Field(default=None, description="in base64")


class DeleteCall(Frozen):
    """A document by its id."""

    id: DocumentId


class Deleted(Frozen):
    """Whether there was a document."""

    deleted: bool


class DocumentTools:
    """Adds and deletes documents of the store that `POST /api/documents` has too."""

    def __init__(self, store: DocumentStore) -> None:
        self._store = store
        self._adding = threading.BoundedSemaphore(MAX_ADDED)

    def add(self, call: AddCall) -> StoredDocument:
        """Raises UsageError, Busy."""
        if not self._adding.acquire(blocking=False):
            raise Busy("Too many files are being read.", "Send it again later.")
        try:
            return self._store.add(call.name, io.BytesIO(_data_of(call)))
        finally:
            self._adding.release()

    def delete(self, call: DeleteCall) -> Deleted:
        """Delete a document, and the indexes of it."""
        return Deleted(deleted=self._store.delete(call.id))

    def read(self, document: str) -> bytes:
        """A document as it was added. Raises UsageError."""
        [file] = self._store.open([document]).iterdir()
        return file.read_bytes()


def _data_of(call: AddCall) -> bytes:
    if (call.text is None) == (call.blob is None):
        raise UsageError("A file is its text or its blob.", "Give one of the two.")
    try:
        data = b64decode(call.blob, validate=True) if call.blob else (call.text or "").encode()
    except ValueError:
        raise UsageError("The file cannot be decoded.", "Give its bytes in base64.") from None
    if len(data) > MAX_BYTES:
        raise UsageError(f"A file may have {MAX_BYTES // 1_000_000} MB.", "Send a smaller one.")
    return data
