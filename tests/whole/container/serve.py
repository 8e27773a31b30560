"""The services of the tests, in a container whose network another container shares.

Prints the environment that points a run at them, then a line for every task that a model is
asked. With the argument `slow`, a model thinks for a minute.
"""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

from tests.support.services import ModelRequest, Raw, Reply, Services
from tests.support.thinker import Fact, Thinker

FACTS = [Fact("winner", "Argentina", "Argentina won")]


def main(speed: str) -> None:
    thinker = Thinker(FACTS, ["cup winner"])

    def think(asked: ModelRequest) -> Reply:
        print(asked.task, flush=True)
        return Raw(503, "too late", delay=60) if speed == "slow" else thinker(asked)

    with Services() as services:
        services.think = think
        services.pages = {"final": "Argentina won the cup. The score was 4-2."}
        services.default_hits = ["final"]
        print(json.dumps(services.environment(Path("/tmp"))), flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[-1])
