"""An export: one file with an answer, its journal and its pages, and the hashes of all of them.

It is a zip archive, and the same for the same run. `manifest.json` names the other files with their
SHA-256.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from agent.answer.json_format import to_json
from agent.calls.input_file import MAX_LINE_BYTES
from agent.calls.journal_reader import MAX_CALLS
from agent.documents.zip_entries import DAMAGE, UNKNOWN_PACKING, ArchiveRefused, ZipEntries
from agent.errors import JournalError, UsageError
from agent.run.audit_answer import MAX_FAILURES, audit_answer
from agent.run.journal_evidence import read_evidence
from agent.run.stored_answer import read_answer
from agent.state import Json, parse_json
from agent.version import __version__

ANSWER, JOURNAL, MANIFEST = "answer.json", "journal.jsonl", "manifest.json"
SIGNATURE = f"{MANIFEST}.sig"  # of the manifest, in exports of earlier versions: it is ignored
FORMAT = "research-agent-export-1"
MAX_BYTES = 1_000_000_000  # of what is unpacked of an export
#: What is unpacked of a small one; of others so many times its size.
LEAST_BYTES, MAX_RATIO = 10_000_000, 30
NO_EXPORT = "Name a file that research-agent runs export wrote."
_DAY = (1980, 1, 1, 0, 0, 0)  # of each file: the same run gives the same archive


def write_export(journal: Path) -> bytes:
    """The export of a run. Raises JournalError for a journal that gives no answer."""
    answer = read_answer(journal)
    if answer.error:
        raise JournalError(answer.error.message, answer.error.remedy)
    run = answer.run and answer.run.model_copy(update={"journal": None})
    stored = to_json(answer.model_copy(update={"run": run}))
    files = {ANSWER: stored.encode(), JOURNAL: journal.read_bytes()}
    for sha256, pages in read_evidence(journal).pages.items():
        files[f"pages/{sha256}.txt"] = pages[0].text.encode("utf-8", "replace")
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())}
    about = {"format": FORMAT, "version": __version__, "run": journal.stem, "topic": answer.topic}
    files[MANIFEST] = (json.dumps({**about, "files": hashes}, indent=2) + "\n").encode()
    return _pack(files)


def _pack(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(files.items()):
            entry = zipfile.ZipInfo(name, _DAY)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o600 << 16
            archive.writestr(entry, data)
    return out.getvalue()


def is_export(file: Path) -> bool:
    """Whether a path is a zip archive; a pipe, which may never end, is not opened."""
    try:
        return file.is_file() and zipfile.is_zipfile(file)
    except OSError:  # a name that is too long
        return False


def read_exported_answer(file: Path) -> Json:
    """The answer in an export. Raises UsageError."""
    with tempfile.TemporaryDirectory() as folder:
        return _unpack(file, Path(folder))[0]


def audit_export(file: Path) -> Json:
    """The audit of an export: the hash of each file, and the answer in it.

    Raises UsageError for a file that is no export.
    """
    with tempfile.TemporaryDirectory() as folder:
        answer, faults = _unpack(file, Path(folder))
        result = audit_answer(answer, Path(folder) / JOURNAL)
    changed = [{"where": where, "what": what} for where, what in faults]
    failures = [*changed, *result["failures"]]
    return {**result, "ok": not failures, "failures": failures}


def _unpack(file: Path, folder: Path) -> tuple[Json, list[tuple[str, str]]]:
    """The answer of an export, and its files that are not as its manifest says.

    The journal is written to the folder. Raises UsageError for a file that is no export.
    """
    try:
        with file.open("rb") as opened:
            size = os.fstat(opened.fileno()).st_size
            most = min(MAX_BYTES, max(LEAST_BYTES, size * MAX_RATIO))
            entries = ZipEntries(opened, MAX_CALLS, most)
            with (folder / JOURNAL).open("wb") as journal:
                faults = list(islice(_find_changed(entries, journal), MAX_FAILURES))
            if entries.has_gaps():
                faults.append((file.name, "it holds more than its directory names"))
            return dict(parse_json(entries.read(ANSWER, MAX_LINE_BYTES))), faults
    except ArchiveRefused as error:
        raise UsageError(f"{file} is not read: {error}.", NO_EXPORT) from None
    except (TypeError, *DAMAGE, *UNKNOWN_PACKING):
        raise UsageError(f"{file} is no export of a run, or is damaged.", NO_EXPORT) from None


def _find_changed(entries: ZipEntries, journal: BinaryIO) -> Iterator[tuple[str, str]]:
    """The files that are not as the manifest says; the journal is written on the way."""
    manifest = parse_json(entries.read(MANIFEST, MAX_LINE_BYTES))
    named = dict(manifest["files"])
    for name in sorted({*entries.names, *named} - {MANIFEST, SIGNATURE}):
        if name not in entries.names:
            yield name, "it is missing"
        elif named.get(name) != _hash(entries, name, journal if name == JOURNAL else None):
            yield name, "it is not what the manifest says"


def _hash(entries: ZipEntries, name: str, copy: BinaryIO | None) -> str:
    """The SHA-256 of a file, which is copied; "" where its checksum is not its own."""
    digest = hashlib.sha256()
    try:
        for piece in entries.stream(name, MAX_BYTES):
            digest.update(piece)
            if copy:
                copy.write(piece)
    except zipfile.BadZipFile:
        return ""
    return digest.hexdigest()
