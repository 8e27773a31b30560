"""Speed of the index: building, opening again, queries. `python -m evals.benchmarks.index`

Prints one JSON object. `passages_23k` are the passages of the evaluation, `documents_200k` are
sentences drawn from them. `notes` are 20,000 files of one paragraph, of which one is changed.
`office_files` are 2,000 copies of the samples of `tests/documents`, one in a hundred cut short, all
read by the workers.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

from agent.documents.worker_pool import MAX_FILE_WORKERS, shared_pool
from agent.search.corpus import Corpus
from evals.harness import read_rows
from evals.questions import CORPUS, read_passages

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "tests/documents/files"
SYNTHETIC, NOTES, OFFICE_FILES = 200_000, 20_000, 2000
BROKEN = 100  # of so many office files, one is cut short
QUERIES = 200
Row = dict[str, Any]


def write_synthetic_corpus(rows: list[Row], target: Path) -> Path:
    """Documents of five sentences drawn from a corpus, the same ones every time."""
    chance = random.Random(200_000)
    pieces = [piece for row in rows for piece in re.split(r"(?<=\. )", row["text"]) if piece]
    with target.open("w", encoding="utf-8") as out:
        for number in range(SYNTHETIC):
            title, text = chance.choice(rows)["title"], "".join(chance.choices(pieces, k=5))
            out.write(json.dumps({"id": str(number), "title": title, "text": text}) + "\n")
    return target


def write_notes(rows: list[Row], folder: Path) -> Path:
    """A thousand small Markdown files a folder."""
    for n, row in enumerate(islice(rows, NOTES)):
        _write(folder / f"{n // 1000}/{n}.md", f"# {row['title']} {n}\n\n{row['text']}\n".encode())
    return folder


def write_office_files(folder: Path) -> Path:
    """Copies of all samples in turn."""
    samples = [(file.suffix, file.read_bytes()) for file in sorted(SAMPLES.iterdir())]
    for n in range(OFFICE_FILES):
        suffix, data = samples[n % len(samples)]
        cut = data[: len(data) // 2] if n % BROKEN == BROKEN - 1 else data
        _write(folder / f"{n // 500}/{n}{suffix}", cut)
    return folder


def _write(file: Path, data: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)


def time_call(work: Callable[[], Any]) -> tuple[float, Any]:
    """Call a function; return its seconds and its result."""
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def measure(
    texts: Path, cache: Path, topics: list[str], change: Callable[[], object] | None = None
) -> Row:
    """Building an index and opening it again, after a change too; then queries."""
    build, corpus = time_call(lambda: Corpus(texts, cache))
    found: Row = {"documents": corpus.size, "left_out": len(corpus.skipped_files)}
    corpus.close()
    again, corpus = time_call(lambda: Corpus(texts, cache))
    found |= {"build_seconds": round(build, 2), "reopen_seconds": round(again, 4)}
    if change:
        corpus.close()
        change()
        changed, corpus = time_call(lambda: Corpus(texts, cache))
        found["one_changed_seconds"] = round(changed, 3)
    milliseconds = sorted(1000 * time_call(lambda t=t: corpus.search(t))[0] for t in topics)
    corpus.close()
    return {
        **found,
        "query_ms_median": round(statistics.median(milliseconds), 2),
        "query_ms_p95": round(milliseconds[len(milliseconds) * 95 // 100], 2),
    }


def _worker_row(build_seconds: float) -> Row:
    """What the workers took, once they have ended."""
    shared_pool().close()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "workers": MAX_FILE_WORKERS,
        "files_a_second": round(OFFICE_FILES / build_seconds, 1),
        "processor_seconds_of_workers": round(used.ru_utime + used.ru_stime, 2),
        "peak_mb_of_a_worker": round(used.ru_maxrss / 1024, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m evals.benchmarks.index")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    data = parser.parse_args().data.resolve()
    if not (data / "multihop").exists():
        print(json.dumps({"skipped": f"{data} is not there; name its parent with --data"}))
        return
    questions = read_rows(data / "multihop/questions.dev.jsonl")
    topics, rows = [row["question"] for row in questions[:QUERIES]], list(read_passages(data))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cache, notes = folder / "cache", write_notes(rows, folder / "notes")
        office = measure(write_office_files(folder / "office"), cache, topics)
        found = {
            "office_files": office | _worker_row(office["build_seconds"]),
            "passages_23k": measure(data / CORPUS, cache, topics),
            "documents_200k": measure(
                write_synthetic_corpus(rows, folder / "big.jsonl"), cache, topics
            ),
            "notes": measure(
                notes,
                cache,
                topics,
                lambda: (notes / "0/7.md").write_text("# Herons\n\nThey fish."),
            ),
        }
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps({"peak_mb": peak, **found}))


if __name__ == "__main__":
    main()
