"""Speed of the corpus index: building, reopening, querying. `python -m benchmarks.index`

Prints one JSON object. There are two corpora: the 23,445 passages of the evaluation, and 200,000
documents of sentences drawn from them. The baseline, measured in the same run, is a plain FTS5
table (title and text, the same tokenizer, the words of the question joined by OR). Each side runs
in a process of its own, so that its memory is measured separately.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SYNTHETIC = 200_000
QUERIES = 200


def read_rows(file: Path) -> Iterator[dict[str, Any]]:
    """The rows of a .jsonl or .jsonl.gz file."""
    opened = gzip.open if file.suffix == ".gz" else open
    with opened(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def write_synthetic_corpus(corpus: Path, target: Path, count: int) -> Path:
    """Write documents of five sentences drawn from a corpus, the same ones every time."""
    chance = random.Random(200_000)
    texts = [row["text"] for row in read_rows(corpus)]
    titles = [row["title"] for row in read_rows(corpus)]
    pieces = [piece for text in texts for piece in re.split(r"(?<=\. )", text) if piece]
    with target.open("w", encoding="utf-8") as out:
        for number in range(count):
            text = "".join(chance.choices(pieces, k=5))
            row = {"id": str(number), "title": chance.choice(titles), "text": text}
            out.write(json.dumps(row) + "\n")
    return target


def time_call(work: Callable[[], Any]) -> tuple[float, Any]:
    """Call a function; return its seconds and its result."""
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def measure_ours(corpus: Path, folder: Path, topics: list[str]) -> dict[str, float]:
    """Measure the program's own corpus search."""
    from agent.search.corpus import Corpus

    build, built = time_call(lambda: Corpus(corpus, folder))
    built.close()
    again, opened = time_call(lambda: Corpus(corpus, folder))
    return summarize(build, again, [time_call(lambda t=t: opened.search(t))[0] for t in topics])


def measure_plain_fts5(corpus: Path, folder: Path, topics: list[str]) -> dict[str, float]:
    """Measure a plain FTS5 table."""
    file = folder / "plain.sqlite"

    def build() -> None:
        db = sqlite3.connect(file)
        db.execute(
            "CREATE VIRTUAL TABLE t USING fts5"
            "(title, text, tokenize='porter unicode61 remove_diacritics 2')"
        )
        pairs = ((row["title"], row["text"]) for row in read_rows(corpus))
        db.executemany("INSERT INTO t VALUES (?, ?)", pairs)
        db.commit()
        db.close()

    def find(db: sqlite3.Connection, topic: str) -> None:
        asked = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", topic))
        db.execute(
            "SELECT title, text FROM t WHERE t MATCH ? ORDER BY rank LIMIT 10", (asked,)
        ).fetchall()

    built = time_call(build)[0]
    again, db = time_call(lambda: sqlite3.connect(file))
    return summarize(built, again, [time_call(lambda t=t: find(db, t))[0] for t in topics])


def summarize(build: float, again: float, queries: list[float]) -> dict[str, float]:
    """The reported figures of one side."""
    return {
        "build_seconds": round(build, 3),
        "reopen_seconds": round(again, 4),
        "query_ms_median": round(statistics.median(queries) * 1000, 2),
        "query_ms_p95": round(sorted(queries)[len(queries) * 95 // 100] * 1000, 2),
        "peak_rss_mb": round(peak_mb(), 1),
    }


def peak_mb() -> float:
    """The peak memory of this process; `ru_maxrss` would include that of its parent."""
    status = Path("/proc/self/status")
    if status.exists() and (found := re.search(r"VmHWM:\s+(\d+) kB", status.read_text())):
        return int(found[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20)


SIDES = {"ours": measure_ours, "plain_fts5": measure_plain_fts5}


def run_side(name: str, corpus: Path, questions: Path) -> None:
    """Measure one side in this process and print its figures."""
    topics = [row["question"] for row in read_rows(questions)][:QUERIES]
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(SIDES[name](corpus, Path(folder), topics)))


def run_side_process(name: str, corpus: Path, questions: Path) -> dict[str, float]:
    """Measure one side in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.index", "--side", name]
    done = subprocess.run(
        [*command, "--corpus", str(corpus), "--questions", str(questions)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(json.loads(done.stdout))


def main() -> None:
    """Measure both sides on both corpora."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.index")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--side", choices=sorted(SIDES), help=argparse.SUPPRESS)
    parser.add_argument("--corpus", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--questions", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.side:
        run_side(given.side, given.corpus, given.questions)
        return
    real = given.data.resolve() / "multihop/corpus.jsonl.gz"
    questions = given.data.resolve() / "multihop/questions.dev.jsonl"
    if not real.exists():
        print(json.dumps({"skipped": f"{given.data} is not there; name it with --data"}))
        return
    with tempfile.TemporaryDirectory() as folder:
        big = write_synthetic_corpus(real, Path(folder) / "big.jsonl", SYNTHETIC)
        corpora = {"passages_23k": real, "documents_200k": big}
        found = {
            corpus: {name: run_side_process(name, file, questions) for name in SIDES}
            for corpus, file in corpora.items()
        }
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
