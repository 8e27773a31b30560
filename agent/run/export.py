"""An export: one file with an answer, its journal and its pages, and the hashes of all of them.

It is a zip archive, and the same for the same run. `manifest.json` names the other files with their
SHA-256.
"""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from agent import __version__
from agent.answer import to_json
from agent.errors import JournalError, UsageError
from agent.outside.recording import MAX_CALLS
from agent.run.audit import audit_answer
from agent.run.journal_evidence import read_evidence
from agent.run.stored import read_answer
from agent.state.json_data import Json, parse_json

ANSWER, JOURNAL, MANIFEST = "answer.json", "journal.jsonl", "manifest.json"
SIGNATURE = f"{MANIFEST}.sig"  # of the manifest, in exports of earlier versions: it is ignored
FORMAT = "research-agent-export-1"
MAX_BYTES = 1_000_000_000  # of all files that an export unpacks to
NO_EXPORT = "Name a file that research-agent runs export wrote."
_BROKEN = (zipfile.BadZipFile, NotImplementedError, RuntimeError, zlib.error)
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
    return _read(file)[2]


def audit_export(file: Path) -> Json:
    """The audit of an export: the hash of each file, and the answer in it.

    Raises UsageError for a file that is no export.
    """
    files, faults, answer = _read(file)
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / JOURNAL
        journal.write_bytes(files[JOURNAL])
        result = audit_answer(answer, journal)
    changed = [{"where": where, "what": what} for where, what in faults]
    failures = [*changed, *result["failures"]]
    return {**result, "ok": not failures, "failures": failures}


def _read(file: Path) -> tuple[dict[str, bytes], list[tuple[str, str]], Json]:
    """The files of an export, those that are not as its manifest says, and its answer.

    Raises UsageError for a file that is no export.
    """
    try:
        with file.open("rb") as opened:
            files, faults = _unpack(opened)
        answer, _ = parse_json(files[ANSWER]), files[JOURNAL]
        return files, faults, dict(answer)
    except (OSError, ValueError, LookupError, TypeError, EOFError, *_BROKEN):
        raise UsageError(f"{file} is no export of a run, or is damaged.", NO_EXPORT) from None


def _unpack(opened: BinaryIO) -> tuple[dict[str, bytes], list[tuple[str, str]]]:
    """The files of an export, and those that are not as its manifest says."""
    with zipfile.ZipFile(opened) as archive:
        entries = archive.infolist()
        if len(entries) > MAX_CALLS or sum(one.file_size for one in entries) > MAX_BYTES:
            raise ValueError
        files: dict[str, bytes] = {}
        faults: list[tuple[str, str]] = []
        for entry in entries:
            try:
                files[entry.filename] = archive.read(entry)
            except zipfile.BadZipFile:  # its checksum
                faults.append((entry.filename, "it was changed after it was written"))
                files[entry.filename] = b""
    return files, faults + list(_find_changed(files))


def _find_changed(files: dict[str, bytes]) -> Iterator[tuple[str, str]]:
    manifest = parse_json(files[MANIFEST])
    named = manifest["files"] if isinstance(manifest, dict) else {}
    for name in {*files, *named} - {MANIFEST, SIGNATURE}:
        data = files.get(name)
        if data is None:
            yield name, "it is missing"
        elif hashlib.sha256(data).hexdigest() != named.get(name):
            yield name, "it is not what the manifest says"
