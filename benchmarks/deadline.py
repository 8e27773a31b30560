"""By how much runs exceed `--max-seconds`: twenty capped runs while services hang at random.

`python -m benchmarks.deadline` prints one JSON object: seconds from the cap until the answer
object (negative: the answer came before the cap).
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from random import Random
from statistics import median

from agent.run import research
from agent.settings import parse_settings
from tests.support.services import Raw, Services
from tests.support.thinker import Fact, Thinker

RUNS = 20
HANG = Raw(200, "{}", delay=8)


def main() -> None:
    with Services() as services, tempfile.TemporaryDirectory() as folder:
        services.pages = {"final": "Argentina won the cup."}
        services.default_hits = ["final"]
        services.think = Thinker([Fact("winner", "Argentina", "Argentina won")], ["a", "b"])
        over = [_seconds_over(i, services, Path(folder)) for i in range(RUNS)]
    row = {
        "runs": RUNS,
        "median_seconds_over": round(median(over), 3),
        "worst_seconds_over": round(max(over), 3),
    }
    print(json.dumps(row))


def _seconds_over(seed: int, services: Services, folder: Path) -> float:
    """One run with a cap of one to two seconds; a third of all calls hang."""
    chance = Random(seed)
    services.fault = lambda: HANG if chance.random() < 0.33 else None
    cap = 1 + chance.random()
    settings = parse_settings(services.environment(folder, CACHE_TTL="0"), max_seconds=cap)
    begun = time.monotonic()
    run = research(f"Who won cup {seed}?", settings)
    for _ in run:
        pass
    assert run.answer().status in ("complete", "partial", "insufficient")
    return time.monotonic() - begun - cap


if __name__ == "__main__":
    main()
