"""The overhead of a whole run against loopback services of known latency.

Model calls take 1 s, searches and pages 0.5 s. A one-hop question needs one search, one read and
its model calls, one after another: queries, one reading, and the judge if anything is left open
to it. `python -m benchmarks.overhead`.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.processes import run_python
from tests.support.services import ModelRequest, Raw, Reply, Services, as_html, gemini_reply
from tests.support.thinker import Fact, Thinker

MODEL, OTHER = 1.0, 0.5
NEEDED = {"generate_queries", "reflect", "verify"}  # the judge where something is left to it
RUNS = 5


def main() -> None:
    with Services() as services, tempfile.TemporaryDirectory() as folder:
        _script(services)
        homes = [Path(folder) / str(number) for number in range(RUNS)]  # no run finds a cache
        seconds = [_run(services, home) for home in homes]
        calls = services.tasks()[: len(services.tasks()) // RUNS]
    floor = len(NEEDED & set(calls)) * MODEL + 2 * OTHER
    row = {
        "model_calls": calls,
        "unavoidable_seconds": floor,
        "seconds": [round(s, 3) for s in seconds],
        "goal_ratio": 1.05,
        "best_ratio": round(min(seconds) / floor, 3),
        "median_ratio": round(median(seconds) / floor, 3),
    }
    print(json.dumps(row))


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
    folder.mkdir()
    environment = services.environment(folder, CACHE_TTL="0")
    done = run_python("-m", "agent.cli", "Who won the 2022 FIFA World Cup?", **environment)
    answer = json.loads(done.output[done.output.index("{") :])
    assert answer["status"] == "complete" and answer["usage"]["rounds"] == 1, answer
    return done.seconds


if __name__ == "__main__":
    main()
