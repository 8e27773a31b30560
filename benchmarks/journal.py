"""The cost of loading a long journal. `python -m benchmarks.journal` prints one JSON object."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from agent.outside.journal import call_key
from benchmarks.processes import run_python

CALLS = 10_000
#: Kind and characters of each call of a long run: three pages of 8,000, a search, a prompt of 3,000
#: tokens. 84 MB in all.
SIZES = [("read", 8000), ("read", 8000), ("read", 8000), ("search", 2500), ("ask", 12_000)]
#: The process reads its own peak memory: `ru_maxrss` would include that of its parent.
LOAD = """
import json, re, sys, time
from pathlib import Path
from agent.outside.journal import Journal
def peak():
    text = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\\s+(\\d+)", text)[1]) * 1024 / 1e6
before, began = peak(), time.perf_counter()
journal = Journal.replay(Path(sys.argv[1]))
seconds = time.perf_counter() - began
print(json.dumps({"seconds": seconds, "before": before, "after": peak()}))
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(_measure_loading(Path(folder) / "long.jsonl")))


def _measure_loading(path: Path) -> dict[str, Any]:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(_long_journal())
    loads = [json.loads(run_python("-c", LOAD, str(path)).output) for _ in range(5)]
    return {
        "long_journal_calls": CALLS,
        "long_journal_megabytes": round(path.stat().st_size / 1e6, 1),
        "load_seconds": round(median(load["seconds"] for load in loads), 3),
        "goal_seconds": 1.0,
        "load_megabytes": round(median(load["after"] - load["before"] for load in loads), 1),
        "process_megabytes": round(median(load["after"] for load in loads), 1),
        "goal_megabytes": 100,
    }


def _long_journal() -> Iterator[str]:
    """The lines of a journal as a run of CALLS calls would write it."""
    yield json.dumps({"journal": 1, "run": "long", "topic": "t", "strategy": "slots"}) + "\n"
    words = "Velmora Works was founded by Ada Lindqvist in 1931 – or so its own history has it. "
    for number in range(CALLS):
        kind, size = SIZES[number % len(SIZES)]
        request = {"url": f"https://example.org/{number}"}
        call = {"call": kind, "key": call_key(kind, request), "request": request}
        result = {"response": {"text": (words * (size // len(words) + 1))[:size]}}
        times = {"began": number / 2, "seconds": 0.4}
        yield json.dumps({**call, **result, **times}, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    main()
