"""Ten sections of a report beside one, by models whose call takes a fixed time.

`python -m benchmarks.sections` prints one JSON object.
"""

from __future__ import annotations

import json
import tempfile
import threading
import time
from pathlib import Path
from statistics import median
from typing import Any

from agent.settings import parse_settings
from agent.state import Plan, PlannedSection, SubQuery
from tests.support.analyst import Analyst
from tests.support.services import ModelRequest, Reply, Services
from tests.support.thinker import Fact
from tests.support.worlds import run_to_end

SECTIONS, RUNS = 10, 3
FIRMS = "Velmora Tarrow Quillon Brask Ostrel Fendal Jurvik Palmor Wexley Norhaim".split()
PEOPLE = (
    "Ada Lindqvist, Bo Ek, Cora Dunn, Dario Conti, Elif Kaya, Farid Haddad, Greta Holm, "
    "Hugo Blanc, Ines Prado, Jonas Weber"
).split(", ")
CALL = 0.5  # seconds of a model's call


class Waiting:
    """A scripted model that counts how many of its calls wait at once."""

    def __init__(self, facts: list[Fact]) -> None:
        self._analyst = Analyst(facts, {})
        self._lock = threading.Lock()
        self._now = 0
        self.most = 0

    def __call__(self, asked: ModelRequest) -> Reply:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        time.sleep(CALL)
        with self._lock:
            self._now -= 1
        return self._analyst(asked)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, Services() as services:
        _measure(services, Path(folder), 1)  # imports
        alone = [_measure(services, Path(folder), 1) for _ in range(RUNS)]
        together = [_measure(services, Path(folder), SECTIONS) for _ in range(RUNS)]
    one, ten = (median(seconds for seconds, _ in runs) for runs in (alone, together))
    row = {"seconds of 1 section": one, f"of {SECTIONS}": ten, "times": ten / one}
    print(json.dumps(row | {"calls at once": max(most for _, most in together)}))


def _measure(services: Services, folder: Path, count: int) -> tuple[float, int]:
    facts = [
        Fact(f"Who founded {firm}?", person, f"{firm} was founded")
        for firm, person in zip(FIRMS[:count], PEOPLE, strict=False)
    ]
    told = zip(FIRMS, facts, strict=False)
    services.pages = {firm: f"{one.said} by {one.value}." for firm, one in told}
    services.hits = lambda query: [query.rpartition(" ")[2]]
    services.think = model = Waiting(facts)
    plan = Plan(topic=f"The founders of {count} firms", sections=_plan(facts))
    given: dict[str, Any] = {"strategy": "report", "plan": plan}
    settings = parse_settings(services.environment(folder, CACHE_TTL="0"), **given)
    began = time.perf_counter()
    _, answer = run_to_end(plan.topic, settings)
    seconds = time.perf_counter() - began
    assert answer.report and not answer.report.sections[-1].open, answer.warnings
    return seconds, model.most


def _plan(facts: list[Fact]) -> tuple[PlannedSection, ...]:
    return tuple(
        PlannedSection(
            heading=firm,
            questions=(one.slot,),
            searches=(SubQuery(query=f"founder of {firm}"),),
        )
        for firm, one in zip(FIRMS, facts, strict=False)
    )


if __name__ == "__main__":
    main()
