"""The cost of the journal: a run with and without its file, and loading a long one.

The services answer at once, so that writing has the largest possible share of a run.
`python -m benchmarks.journal` prints one JSON object.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from agent.outside.journal import call_key
from agent.settings import parse_settings
from benchmarks.processes import run_python
from tests.support.services import Services
from tests.support.worlds import World, read_journal_lines, run_to_end, two_rounds

PAIRS = 30
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
        row = {**_measure_runs(Path(folder)), **_measure_loading(Path(folder) / "long.jsonl")}
    print(json.dumps(row))


def _measure_runs(folder: Path) -> dict[str, Any]:
    world = two_rounds()._replace(busy=frozenset())
    (folder / "file").write_text("A folder cannot be made here: no journal is written.")
    with Services() as services:
        world.set_up(services)
        environment = services.environment(folder, CACHE_TTL="0")
        nowhere = {**environment, "RUNS_DIR": str(folder / "file")}
        for one in (environment, nowhere):
            _time_run(world, one)  # imports
        pairs = [(_time_run(world, environment), _time_run(world, nowhere)) for _ in range(PAIRS)]
    journals = list((folder / "runs").iterdir())
    run = 1000 * median(seconds for seconds, _ in pairs)
    return {
        "calls_of_the_run": len(read_journal_lines(journals[0])) - 1,
        "bytes_of_its_journal": journals[0].stat().st_size,
        "ms_with_the_file": round(run, 1),
        "ms_without": round(1000 * median(seconds for _, seconds in pairs), 1),
        "median_ratio": round(median(one / other for one, other in pairs), 3),
    }


def _time_run(world: World, environment: dict[str, str]) -> float:
    begun = time.perf_counter()
    _, answer = run_to_end(world.topic, parse_settings(environment))
    assert answer.status == "complete", answer
    return time.perf_counter() - begun


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
