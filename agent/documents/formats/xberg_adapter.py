"""Xberg, the library of the extra `documents`: extracts text from a document.

It is native code with threads of its own, in the worker. It gets bytes alone, without OCR, and
neither reads files nor connects.
"""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from agent.documents.body_text import UnreadablePage
from agent.documents.formats.xml_archive import MAX_PART

MAX_CELLS = 5_000_000  # of a table


def extract(data: bytes, media_type: str | None = None) -> Any:
    """The `ExtractedDocument` of a file, its text as Markdown. Raises UnreadablePage."""
    import xberg

    kind = xberg.ExtractInputKind.BYTES
    source = xberg.ExtractInput(kind=kind, bytes=data, mime_type=media_type)
    try:
        with _threads():
            found = asyncio.run(_extract(source))
    except (RuntimeError, ValueError) as error:
        raise UnreadablePage(f"it is damaged ({_shorten(error)})", "invalid") from None
    if not found.results:
        fault = _shorten(found.errors[0].message) if found.errors else "nothing was found"
        raise UnreadablePage(f"it is damaged ({fault})", "invalid")
    return found.results[0]


def _shorten(message: object) -> str:
    return str(message).partition("\n")[0][:200]


async def _extract(given: Any) -> Any:
    import xberg

    return await xberg.extract(given, _config())


@cache
def _config() -> Any:
    import xberg

    return xberg.ExtractionConfig(
        use_cache=False,
        disable_ocr=True,
        enable_quality_processing=False,
        output_format="markdown",
        pages=xberg.PageConfig(extract_pages=True),
        security_limits=xberg.SecurityLimits(
            max_table_cells=MAX_CELLS, max_content_size=MAX_PART, max_archive_size=MAX_PART
        ),
        concurrency=xberg.ConcurrencyConfig(max_threads=1),
    )


@contextmanager
def _threads() -> Iterator[None]:
    """Let a worker start threads meanwhile: it may lift this limit (`worker.py`)."""
    kind = resource.RLIMIT_NPROC
    soft, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(kind, (soft, hard))
