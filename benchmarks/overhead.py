"""The overhead of a whole run against loopback services of known latency.

Model calls take 1 s, searches and pages 0.5 s. A one-hop question needs one search, one read and
its model calls, one after another: queries, one reading, and the judge if anything is left open
to it. Before one reading gave answer and slots these were queries, slots and answer, and the judge
came on top. `python -m benchmarks.overhead`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from tests.support.services import ModelRequest, Raw, Reply, Services, as_html, gemini_reply
from tests.support.thinker import Fact, Thinker

MODEL, OTHER = 1.0, 0.5
#: The model calls that an answer needs, and those that it needed before there was one reading.
NEEDED, BEFORE = ("generate_queries", "reflect"), ("generate_queries", "reflect", "synthesize")
JUDGE = "verify"
RUNS = 5


def main() -> None:
    with Services() as services, tempfile.TemporaryDirectory() as folder:
        _script(services)
        homes = [Path(folder) / str(number) for number in range(RUNS)]  # no run finds a cache
        seconds = [_run(services, home) for home in homes]
        calls = services.tasks()[: len(services.tasks()) // RUNS]
    judge = (JUDGE,) if JUDGE in calls else ()
    floor, before = _floor((*NEEDED, *judge)), _floor((*BEFORE, *judge))
    row = {
        "model_calls": calls,
        "unavoidable_seconds": floor,
        "unavoidable_seconds_before_one_reading": before,
        "unavoidable_seconds_of_the_calls_made": _floor(calls),
        "seconds": [round(s, 3) for s in seconds],
        "goal_ratio": 1.05,
        "best_ratio": round(min(seconds) / floor, 3),
        "median_ratio": round(median(seconds) / floor, 3),
        "median_ratio_to_before": round(median(seconds) / before, 3),
        "median_ratio_to_the_calls_made": round(median(seconds) / _floor(calls), 3),
    }
    print(json.dumps(row))


def _floor(calls: Sequence[str]) -> float:
    """The seconds of some model calls, a search and a read, each of which waits for the last."""
    return len(calls) * MODEL + OTHER + OTHER


def _script(services: Services) -> None:
    """Only the model's query finds the page with the answer, so that no step can be skipped."""
    kind = {"Content-Type": "text/html"}
    text = "Argentina won the cup. The match was played in Lusail before a large crowd."
    services.latency = lambda: OTHER
    services.pages = {
        "final": Raw(200, as_html("final", text), kind, OTHER),
        "other": Raw(200, as_html("other", "Cats sleep most of the day."), kind, OTHER),
    }
    services.hits = {"2022 final winner": ["final"]}
    services.default_hits = ["other"]
    thinker = Thinker([Fact("winner", "Argentina", "Argentina won")], ["2022 final winner"])

    def think(asked: ModelRequest) -> Reply:
        written = thinker(asked._replace(task="synthesize")) if "answer" in asked.fields else {}
        text = json.dumps({**written, **thinker(asked)})
        return Raw(200, json.dumps(gemini_reply(text, asked)), delay=MODEL)

    services.think = think


def _run(services: Services, folder: Path) -> float:
    environment = {
        **os.environ,
        **services.environment(folder, CACHE_TTL="0"),
        "PYTHONPATH": str(Path.cwd()),
    }
    folder.mkdir()
    question = [sys.executable, "-m", "agent.cli", "Who won the 2022 FIFA World Cup?"]
    begun = time.monotonic()
    done = subprocess.run(question, env=environment, cwd=folder, capture_output=True, check=True)
    seconds = time.monotonic() - begun
    answer = json.loads(done.stdout)
    assert answer["status"] == "complete" and answer["usage"]["rounds"] == 1, answer
    return seconds


if __name__ == "__main__":
    main()
