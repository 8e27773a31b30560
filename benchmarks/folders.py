"""Speed of the index of folders: `python -m benchmarks.folders`. Prints one JSON object.

20,000 notes of one paragraph: building, opening again with nothing changed and with one file
changed. 2,000 office files of fourteen kinds, made of those of `tests/documents` and of passages of
the evaluation, each with words of its own, one in a hundred cut short: building with all workers,
and each format by itself, read by one worker.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import resource
import tempfile
import zipfile
from collections.abc import Callable
from email.message import EmailMessage
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.index import ROOT, peak_mb, read_rows, time_call

NOTES, OFFICE_FILES, FILES_OF_FORMAT = 20_000, 2000, 40
BROKEN = 100  # of so many files, one is cut short
SAMPLES = ROOT / "tests/documents"
ARCHIVES = ("docx", "pptx", "xlsx", "odt", "ods", "odp", "epub")


def write_notes(folder: Path, rows: list[dict[str, Any]]) -> Path:
    """A thousand small Markdown files a folder."""
    for n in range(NOTES):
        row = rows[n % len(rows)]
        file = folder / f"{n // 1000}" / f"{n}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# {row['title']} {n}\n\n{row['text']}\n", "utf-8")
    return folder


def write_office_files(folder: Path, rows: list[dict[str, Any]], count: int) -> Path:
    """Files of all formats in turn, of which no two hold the same."""
    makers = find_makers()
    chance = random.Random(1)
    for n in range(count):
        suffix = list(makers)[n % len(makers)]
        data = makers[suffix](n, chance.sample(rows, 12))
        file = folder / f"{n // 500}" / f"{n}.{suffix}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data[: len(data) // 2] if n % BROKEN == BROKEN - 1 else data)
    return folder


Maker = Callable[[int, list[dict[str, Any]]], bytes]


def find_makers() -> dict[str, Maker]:
    """What makes a file of each format, of a number and some passages."""
    archives = {suffix: _archive_maker(suffix) for suffix in ARCHIVES}
    pdf = (SAMPLES / "libreoffice.pdf").read_bytes()
    rtf = (SAMPLES / "libreoffice.rtf").read_bytes()
    return {
        **archives,
        "pdf": lambda n, _: pdf + f"\n% {n}\n".encode(),
        "rtf": lambda n, rows: rtf.replace(b"\\par", f" number{n} \\par".encode(), 1),
        "csv": lambda n, rows: _join(f'"{_cell(row)}",{n},{i}' for i, row in enumerate(rows)),
        "json": lambda n, rows: json.dumps([{**row, "n": n} for row in rows]).encode(),
        "eml": _make_mail,
        "html": lambda n, rows: _join(
            ["<title>Page</title>", *(f"<p>{row['text']} number{n}</p>" for row in rows)]
        ),
        "txt": lambda n, rows: _join([f"number{n}", *(row["text"] for row in rows)]),
    }


def _archive_maker(suffix: str) -> Maker:
    """Files like a sample, with a word of their own in each part that is text."""
    (sample, *_) = sorted(SAMPLES.glob(f"*.{suffix}"))
    with zipfile.ZipFile(sample) as source:
        parts = [(part, source.read(part)) for part in source.infolist()]

    def make(n: int, _: list[dict[str, Any]]) -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as target:
            for part, data in parts:
                target.writestr(part, data.replace(b" the ", f" the number{n} ".encode()))
        return buffer.getvalue()

    return make


def _make_mail(n: int, rows: list[dict[str, Any]]) -> bytes:
    mail = EmailMessage()
    mail["Subject"] = f"Mail {n}"
    mail.set_content("\n\n".join(row["text"] for row in rows))
    return bytes(mail)


def _join(lines: Any) -> bytes:
    return "\n".join(lines).encode()


def _cell(row: dict[str, Any]) -> str:
    return str(row["text"]).replace('"', "'")


def measure_notes(folder: Path, cache: Path) -> dict[str, float]:
    """Building, opening again, and one changed file."""
    from agent.search.corpus import Corpus

    build, corpus = time_call(lambda: Corpus(folder, cache))
    corpus.close()
    again, corpus = time_call(lambda: Corpus(folder, cache))
    corpus.close()
    (folder / "0/7.md").write_text("# Herons\n\nHerons fish at dawn.\n")
    changed, corpus = time_call(lambda: Corpus(folder, cache))
    size = corpus.size
    corpus.close()
    return {
        "files": size,
        "build_seconds": round(build, 2),
        "reopen_seconds": round(again, 3),
        "one_changed_seconds": round(changed, 3),
        "peak_mb": round(peak_mb(), 1),
    }


def measure_office_files(folder: Path, cache: Path) -> dict[str, float]:
    """Building with all workers, and opening again."""
    from agent.documents.worker_pool import MAX_FILE_WORKERS, shared_pool
    from agent.search.corpus import Corpus

    build, corpus = time_call(lambda: Corpus(folder, cache))
    read, left_out = corpus.size, len(corpus.skipped_files)
    corpus.close()
    again, corpus = time_call(lambda: Corpus(folder, cache))
    corpus.close()
    shared_pool().close()
    workers = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "files": read + left_out,
        "left_out": left_out,
        "workers": MAX_FILE_WORKERS,
        "build_seconds": round(build, 2),
        "files_a_second": round(read / build, 1),
        "processor_seconds_of_workers": round(workers.ru_utime + workers.ru_stime, 2),
        "reopen_seconds": round(again, 3),
        "peak_mb": round(peak_mb(), 1),
        "peak_mb_of_a_worker": round(workers.ru_maxrss / 1024, 1),
    }


def measure_formats(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Files of each format that one worker reads in a second."""
    from agent.documents.body_reader import BodyReader
    from agent.documents.worker_process import Body

    found = {}
    for suffix, make in find_makers().items():
        bodies = [Body(make(n, rows[:12]), suffix=f".{suffix}") for n in range(FILES_OF_FORMAT)]
        list(BodyReader().read_all(bodies[:2]))  # imports what the format needs
        seconds, _ = time_call(lambda bodies=bodies: list(BodyReader().read_all(bodies)))
        found[suffix] = round(FILES_OF_FORMAT / seconds, 1)
    return found


def main() -> None:
    """Measure folders of notes and of office files."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.folders")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    corpus = parser.parse_args().data.resolve() / "multihop/corpus.jsonl.gz"
    if not corpus.exists():
        print(json.dumps({"skipped": f"{corpus} is not there; name its folder with --data"}))
        return
    rows = list(islice(read_rows(corpus), NOTES))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        office = write_office_files(folder / "office", rows, OFFICE_FILES)
        notes = write_notes(folder / "notes", rows)
        found = {
            "office_files": measure_office_files(office, folder / "cache"),
            "files_a_second_by_format": measure_formats(rows),
            "notes": measure_notes(notes, folder / "cache"),
        }
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
