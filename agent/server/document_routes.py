"""The routes of documents: files that users send, for questions that name them."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import FastAPI, Request
from fastapi import Path as PathParameter
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException

from agent.errors import Busy
from agent.search.corpus_documents import MAX_BYTES
from agent.server.app_state import Backend
from agent.server.responses import delete_named
from agent.server.uploads import StoredDocument

MAX_UPLOADS = 2  # at once: each takes a thread, and memory for the whole file
_FILE = {"type": "string", "format": "binary"}
_FIELDS = {"type": "object", "required": ["file"], "properties": {"file": _FILE}}
#: For OpenAPI: the route reads its body by itself, so that it bounds how many are read at once.
FORM = {"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": _FIELDS}}}}
NO_FILES = "This server does not accept files: start it with --documents."
NO_FILE = "There is no file: send multipart/form-data with a field `file`."


def add_document_routes(app: FastAPI, backend: Backend) -> None:
    """Add the routes under `/api/documents`."""
    uploads = asyncio.Semaphore(MAX_UPLOADS)

    @app.post("/api/documents", openapi_extra=FORM)
    async def add_document(request: Request) -> StoredDocument:
        """Keep a file for questions that name it."""
        if not backend.settings.api_documents:
            raise HTTPException(403, NO_FILES)
        async with request.form(max_files=1, max_fields=10) as form:
            file = form.get("file")
            if not isinstance(file, UploadFile):
                raise HTTPException(422, NO_FILE)
            if (file.size or 0) > MAX_BYTES:
                raise HTTPException(413, f"A file may have {MAX_BYTES // 1_000_000} MB.")
            if uploads.locked():  # only now: who has not sent a body holds no place
                raise Busy("Too many files are being read.", "Send it again later.")
            async with uploads:
                add = backend.runs.documents.add
                return await run_in_threadpool(add, file.filename or "", file.file)

    @app.delete("/api/documents/{name}", status_code=204)
    def delete_document(name: Annotated[str, PathParameter(max_length=100)]) -> None:
        """Delete a document, and the indexes of it."""
        delete_named(backend.runs.documents.delete, name, "There is no such document.")
