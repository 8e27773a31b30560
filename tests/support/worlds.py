"""Small worlds for whole runs: a topic, the pages that exist, and a model that reads them.

Tests of resuming and replaying share them, and `tests/golden` is recorded in them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from agent.answer.schema import Answer
from agent.run.begin import research
from agent.run.loop import Run
from agent.settings import Settings
from agent.state.json_data import Json
from tests.support.reporter import Reporter
from tests.support.services import ModelRequest, Raw, Reply, Services
from tests.support.thinker import Fact, Thinker

FILLER = "The firm ships spare parts to forty countries. Its canteen is known for soup."
DOWN = Raw(500, "down")
#: The fields in which two equal runs differ: durations and times.
TIME_FIELDS = frozenset({"seconds", "at", "retrieved_at"})


class World(NamedTuple):
    """`hits` has page names by query; the first request of each `busy` task gets HTTP 503."""

    topic: str
    pages: dict[str, str]
    hits: dict[str, list[str] | Raw]
    think: Callable[[ModelRequest], Reply]
    busy: frozenset[str] = frozenset()

    def set_up(self, services: Services) -> Services:
        """Set services up for this world, with no request recorded."""
        still_busy = set(self.busy)

        def think(request: ModelRequest) -> Reply:
            if request.task in still_busy:
                still_busy.remove(request.task)
                return Raw(503, "busy")
            return self.think(request)

        services.pages = dict(self.pages)
        services.hits = lambda query: self.hits.get(query, [])
        services.think = think
        for requests in (services.model_requests, services.search_queries, services.page_requests):
            requests.clear()
        return services


def two_rounds() -> World:
    """Two rounds: six queries, one of which fails, and seven pages, two of which cannot be read."""
    topic, person = "In which city was the founder of Velmora Works born?", "Ada Lindqvist"
    facts = [
        Fact("founder", person, "was founded by"),
        Fact("founded", "1931", "opened its gates in 1931"),
        Fact("city", "Uppsala", f"{person} was born"),
    ]
    queries = ["Velmora Works founder", "Velmora Works history", "a query that fails", "old firms"]
    follow = {"city": f"{person} born in city"}
    return World(
        topic,
        {
            "firm": f"{FILLER} Velmora Works was founded by {person}.",
            "history": "Velmora Works opened its gates in 1931. It had nine workers then.",
            "noise": f"{FILLER} Cats sleep most of the day.",
            "old": "Old firms are often run by families. Some of them make pumps.",
            "person": f"{person} was born in Uppsala. She learned her trade in Lund.",
        },
        {
            topic: ["noise", "gone", "firm"],
            queries[0]: ["firm", "history"],
            queries[1]: ["history", "noise"],
            queries[2]: DOWN,
            queries[3]: ["old", "firm"],
            follow["city"]: ["person", "lost", "old"],
        },
        Thinker(facts, queries, follow),
        frozenset({"verify"}),
    )


def one_hop() -> World:
    """The first search finds the page that answers."""
    topic = "Who won the 2022 FIFA World Cup?"
    text = "The final was played in Lusail. Argentina won the cup. The score was 3-3, then 4-2."
    facts = [Fact("winner", "Argentina", "Argentina won"), Fact("score", "4-2", "The score was")]
    hits: dict[str, list[str] | Raw] = {topic: ["final", "other"], "2022 final score": ["final"]}
    pages = {"final": text, "other": "Cats sleep most of the day."}
    return World(topic, pages, hits, Thinker(facts, ["2022 final score"]))


def insufficient() -> World:
    """Pages are found, and none of them has the answer."""
    topic = "What is the shoe size of the founder of Velmora Works?"
    pages = {"firm": f"{FILLER} Velmora Works makes pumps.", "noise": FILLER}
    facts = [Fact("shoe_size", "44", "shoe size of the founder is")]
    hits: dict[str, list[str] | Raw] = {topic: ["firm", "noise"]}
    return World(topic, pages, hits, Thinker(facts, ["Velmora Works shoes"]))


def conflict() -> World:
    """Two pages contradict each other; quotes overlap, and each page is cited twice."""
    topic = "Who won the cup of 1987?"
    pages = {"ours": "Argentina won the cup.", "theirs": "France won the cup, said a paper."}
    hits: dict[str, list[str] | Raw] = {topic: ["ours", "theirs"]}
    rows = [("Argentina", 1, "argentina WON the cup."), ("France", 2, "France won the cup")]
    answers: dict[str, Reply] = {
        "generate_queries": {
            "queries": ["cup of 1987 winner"],
            "slots": [{"name": "winner", "description": "who won"}],
        },
        "reflect": {
            "slots": [{"name": "winner", "value": v, "source": n, "quote": q} for v, n, q in rows],
            "need_more": False,
            "new_queries": [],
        },
        "synthesize": {
            "answer": "Argentina won [1]. A paper has it that France won [2].",
            "citations": [
                {"source": 1, "quote": "Argentina won the cup"},
                {"source": 1, "quote": "Argentina won"},
                {"source": 2, "quote": "France won the cup, said a paper."},
                {"source": 2, "quote": "France won the cup"},
            ],
        },
    }
    return World(topic, pages, hits, lambda request: answers[request.task])


def report_world(has_questions: bool = False) -> World:
    """A report of two rounds: one search fails, one page fails, and one page is blocked."""
    topic, person = "In which city was the founder of Velmora Works born?", "Ada Lindqvist"
    facts = [
        Fact("founder", person, "was founded by"),
        Fact("city", "Uppsala", f"{person} was born"),
    ]
    queries = ["founder of Velmora Works", "a query that fails"]
    follow = {"city": f"city where {person} was born"}
    firm, born = "velmora-works-founder-city", "velmora-works-founder-born"  # so they are credible
    pages = {
        firm: f"{FILLER} Velmora Works was founded by {person}.",
        born: f"{person} was born in Uppsala. She learned her trade in Lund.",
        "noise": f"{FILLER} Cats sleep most of the day.",
    }
    hits: dict[str, list[str] | Raw] = {
        queries[0]: [firm, "noise"],
        queries[1]: DOWN,
        follow["city"]: [born, firm, "velmora-works-founder-born-gone"],
    }
    think = Reporter(facts, queries, follow, has_questions)
    return World(topic, pages, hits, think, frozenset({"section"}))


WORLDS: dict[str, Callable[[], World]] = {
    "one-hop": one_hop,
    "two-round": two_rounds,
    "insufficient": insufficient,
    "conflict": conflict,
}


def run_to_end(topic: str, settings: Settings, **more: Any) -> tuple[Run, Answer]:
    """Run to the end; return the run and its answer."""
    run = research(topic, settings, **more)
    for _ in run:
        pass
    return run, run.answer()


def count_requests(services: Services) -> Counter[tuple[str, str]]:
    """Count the requests that the services got, by kind and subject."""
    shown = (  # the prompt with the tool results of the last turn: the journal has no more
        "".join([request.prompt, *(result for turn in request.results[-1:] for result in turn)])
        for request in services.model_requests
    )
    return (
        Counter(("ask", replace_ports(text)) for text in shown)
        + Counter(("search", query) for query in services.search_queries)
        + Counter(("read", page) for page in services.page_requests)
    )


def call_subject(call: Json) -> tuple[str, str]:
    """Return kind and subject of a recorded call, as `count_requests` has them."""
    request = call["request"]
    subject = request.get("prompt") or request.get("query") or request["url"].rpartition("/")[2]
    results = (result for turn in request.get("exchanges", ()) for result in turn["results"])
    return call["call"], replace_ports("".join([subject, *results]))


def replace_ports(text: str) -> str:
    """Replace the address of the services, whose port differs from test to test."""
    return re.sub(r"127\.0\.0\.1(:|%3A)\d+", "services", text)


def read_journal_lines(path: Path) -> list[Json]:
    """Read a journal: its header, then its other lines, without an incomplete last one."""
    data = path.read_bytes()
    return [json.loads(line) for line in data[: data.rfind(b"\n") + 1].splitlines()]


def without_times(value: Any) -> Any:
    """Return a JSON value without the fields in which equal runs differ."""
    if isinstance(value, dict):
        return {key: without_times(item) for key, item in value.items() if key not in TIME_FIELDS}
    return [without_times(item) for item in value] if isinstance(value, list | tuple) else value


def read_journal_calls(path: Path) -> list[Json]:
    """Read the calls of a journal, without its other lines."""
    return [line for line in read_journal_lines(path)[1:] if "call" in line]


def comparable_events(run: Run) -> Any:
    """Return all events of a run without their times, for comparison."""
    return without_times([event.model_dump(mode="json") for event in run.research.events])
