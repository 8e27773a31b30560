"""Speed of the index of earlier runs: building, opening again, queries. `python -m benchmarks.runs`

Prints one JSON object. Each of the runs read eight passages of the evaluation as pages of the web.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from agent.search.options import SearchOptions
from agent.search.run_pages import RunPages, forget_run, index_file
from agent.state import Page
from evals.questions import read_passages

ROOT = Path(__file__).resolve().parents[1]
RUNS, PAGES, QUERIES = 10_000, 8, 200
AT = "2026-11-01T00:00:00Z"


def write_journals(folder: Path, runs: int, rows: list[dict[str, Any]]) -> int:
    """Journals of so many runs; returns their bytes."""
    folder.mkdir()
    size = 0
    for run in range(runs):
        lines = [{"journal": 1, "run": f"run-{run}", "topic": "a question", "at": AT}]
        for n in range(PAGES):
            row = rows[(run * PAGES + n) % len(rows)]
            url = f"https://site-{n}.example/{run}"
            page = Page.from_text(url, row["title"], row["text"], AT).model_dump(mode="json")
            call = {"call": "read", "key": f"{n}", "request": {"url": url}, "response": page}
            lines.append(call)
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        size += (folder / f"run-{run}.jsonl").write_text(text, "utf-8")
    return size


def measure(runs: int, data: Path) -> dict[str, Any]:
    """Seconds, megabytes and milliseconds."""
    rows = list(read_passages(data))
    queries = [str(row["title"]) for row in rows[:: len(rows) // QUERIES]][:QUERIES]
    with tempfile.TemporaryDirectory() as temporary:
        folder, cache = Path(temporary, "runs"), Path(temporary, "cache")
        written = write_journals(folder, runs, rows)

        def opened() -> tuple[RunPages, float]:
            start = time.perf_counter()
            pages = RunPages("runs", folder, cache, 10**10, SearchOptions())
            while not pages._index().refresh():
                pass
            return pages, time.perf_counter() - start

        pages, build = opened()
        pages.close()
        pages, again = opened()
        times, found = [], 0
        for query in queries:
            start = time.perf_counter()
            found += bool(pages.search(query))
            times.append(time.perf_counter() - start)
        hit = pages.search(queries[0])[0]
        start = time.perf_counter()
        pages.read(hit.url)
        read = time.perf_counter() - start
        pages.close()
        size = index_file(folder, cache, "runs").stat().st_size
        start = time.perf_counter()
        forget_run(folder, cache, "run-0.jsonl")
        forget = time.perf_counter() - start
    return {
        "runs": runs,
        "pages": runs * PAGES,
        "journals_mb": round(written / 1e6, 1),
        "build_s": round(build, 1),
        "index_mb": round(size / 1e6, 1),
        "open_again_s": round(again, 2),
        "query_ms_median": round(1000 * statistics.median(times), 1),
        "query_ms_p95": round(1000 * statistics.quantiles(times, n=20)[-1], 1),
        "queries_with_hits": found / len(queries),
        "read_ms": round(1000 * read, 1),
        "forget_s": round(forget, 2),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    given = parser.parse_args()
    is_there = (given.data / "multihop").exists()
    result = measure(given.runs, given.data) if is_there else {"skipped": "name --data"}
    print(json.dumps(result, indent=2))
