"""Small worlds for whole runs: a question, the pages that there are, and a model that reads them.

What is shared by the tests of resuming and replaying, and what `tests/golden` is recorded in.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from agent.answer import Answer
from agent.outside.journal import Json
from agent.run import Run, research
from agent.settings import Settings
from tests.reporter import Reporter
from tests.services import Asked, Raw, Reply, Services
from tests.thinker import Fact, Thinker

FILLER = "The firm ships spare parts to forty countries. Its canteen is known for soup."
DOWN = Raw(500, "down")
#: What differs between two runs that are alike: how long a thing took, and when it was done.
WHEN = frozenset({"seconds", "at", "retrieved_at"})


class World(NamedTuple):
    """`hits` names pages by query; `busy` tasks are refused once before they are answered."""

    topic: str
    pages: dict[str, str]
    hits: dict[str, list[str] | Raw]
    think: Callable[[Asked], Reply]
    busy: frozenset[str] = frozenset()

    def on(self, services: Services) -> Services:
        """Set services up for this world, with nothing asked yet."""
        left = set(self.busy)

        def think(asked: Asked) -> Reply:
            if asked.task in left:
                left.remove(asked.task)
                return Raw(503, "busy")
            return self.think(asked)

        services.pages = dict(self.pages)
        services.hits = lambda query: self.hits.get(query, [])
        services.think = think
        for seen in (services.asked, services.searched, services.read):
            seen.clear()
        return services


def full() -> World:
    """Two rounds and six queries, one of which fails; seven pages, two of which cannot be read."""
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
        frozenset({"synthesize"}),
    )


def one_hop() -> World:
    """The page that answers is found at once."""
    topic = "Who won the 2022 FIFA World Cup?"
    text = "The final was played in Lusail. Argentina won the cup. The score was 3-3, then 4-2."
    facts = [Fact("winner", "Argentina", "Argentina won"), Fact("score", "4-2", "The score was")]
    hits: dict[str, list[str] | Raw] = {topic: ["final", "other"], "2022 final score": ["final"]}
    pages = {"final": text, "other": "Cats sleep most of the day."}
    return World(topic, pages, hits, Thinker(facts, ["2022 final score"]))


def insufficient() -> World:
    """Pages are found, and none of them says it."""
    topic = "What is the shoe size of the founder of Velmora Works?"
    pages = {"firm": f"{FILLER} Velmora Works makes pumps.", "noise": FILLER}
    facts = [Fact("shoe_size", "44", "shoe size of the founder is")]
    hits: dict[str, list[str] | Raw] = {topic: ["firm", "noise"]}
    return World(topic, pages, hits, Thinker(facts, ["Velmora Works shoes"]))


def conflict() -> World:
    """Two pages say different things; quotes begin at one place, and one is cited in two ways."""
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
    return World(topic, pages, hits, lambda asked: answers[asked.task])


def reported() -> World:
    """A report of two rounds: a search and a page fail, a page is blocked."""
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
    return World(topic, pages, hits, Reporter(facts, queries, follow), frozenset({"draft"}))


WORLDS: dict[str, Callable[[], World]] = {
    "one-hop": one_hop,
    "two-round": full,
    "insufficient": insufficient,
    "conflict": conflict,
}


def ended(topic: str, settings: Settings) -> tuple[Run, Answer]:
    """A run to its end, and its answer."""
    run = research(topic, settings)
    for _ in run:
        pass
    return run, run.answer()


def requests(services: Services) -> Counter[tuple[str, str]]:
    """What went outside to the services, as kind and subject of each request."""
    asked = Counter(
        (
            "ask",
            placeless("".join([asked.prompt, *(told for turn in asked.results for told in turn)])),
        )
        for asked in services.asked
    )
    return (
        asked
        + Counter(("search", query) for query in services.searched)
        + Counter(("read", page) for page in services.read)
    )


def subject(call: Json) -> tuple[str, str]:
    """The same of a call in a journal."""
    request = call["request"]
    told = request.get("prompt") or request.get("query") or request["url"].rpartition("/")[2]
    turns = (result for turn in request.get("exchanges", ()) for result in turn["results"])
    return call["call"], placeless("".join([told, *turns]))


def placeless(text: str) -> str:
    """A text that does not tell on which port the services were."""
    return re.sub(r"127\.0\.0\.1(:|%3A)\d+", "services", text)


def lines(path: Path) -> list[Json]:
    """A journal: its header, then its calls. What was not written whole is left out."""
    data = path.read_bytes()
    return [json.loads(line) for line in data[: data.rfind(b"\n") + 1].splitlines()]


def alike(value: Any) -> Any:
    """A value without what may differ between two runs that are alike."""
    if isinstance(value, dict):
        return {key: alike(one) for key, one in value.items() if key not in WHEN}
    return [alike(one) for one in value] if isinstance(value, list | tuple) else value


def calls(path: Path) -> list[Json]:
    """The calls of a journal, without what else it tells."""
    return [line for line in lines(path)[1:] if "call" in line]


def told(run: Run) -> Any:
    """All events of a run, as they are compared."""
    return alike([event.model_dump(mode="json") for event in run.research.events])
