"""A world for runs that follow one another, and a scripted model that knows its prompt alone."""

from __future__ import annotations

import html
import re
from typing import Any

from tests.support.reporter import Reporter
from tests.support.services import ModelRequest, Reply, Services, read_topic
from tests.support.thinker import Fact, Thinker

PARENT = "Who founded Velmora Works?"
FOLLOW_UP = "and in which year?"
OPEN = "and where was she born?"
BOTH = "in which year, and where was she born?"
SEARCHED = "Ada Lindqvist birthplace"
FIRM = (
    "The firm ships spare parts to forty countries. Its canteen is known for soup. "
    "Velmora Works was founded by Ada Lindqvist. Velmora Works opened its gates in 1931."
)
PAGES = {
    "firm": FIRM,
    "noise": "Cats sleep most of the day, and so do lions.",
    "person": "Ada Lindqvist was born in Uppsala. She learned her trade in Lund.",
}
FACTS = {
    "founder": Fact("founder", "Ada Lindqvist", "was founded by"),
    "founded": Fact("founded", "1931", "opened its gates in 1931"),
    "city": Fact("city", "Uppsala", "Ada Lindqvist was born"),
}
ASKED = {PARENT: ["founder"], FOLLOW_UP: ["founded"], OPEN: ["city"], BOTH: ["founded", "city"]}


def shown_earlier(prompt: str) -> list[tuple[str, str]]:
    """Return the earlier questions in a prompt, each with its answer."""
    rows = re.findall(r"<earlier><question>(.*?)</question>\n(.*?)</earlier>", prompt, re.S)
    return [(html.unescape(question), html.unescape(answer)) for question, answer in rows]


class Follower:
    """Completes a question with the first of the earlier ones, and finds the fact it asks for."""

    def __call__(self, request: ModelRequest) -> Reply:
        topic = read_topic(request.prompt)
        if request.task == "understand":
            return self._understand(topic, shown_earlier(request.prompt)[0][0])
        slots = next(slots for question, slots in ASKED.items() if topic.startswith(question[:-1]))
        facts, more = [FACTS[slot] for slot in slots], {"city": SEARCHED}
        if request.task in ("plan", "gather", "section", "summary"):
            return Reporter(facts, [topic], more)(request)
        if request.task == "decide":
            return self._decide(request, facts)
        return Thinker(facts, ["Velmora Works"], more)(request)

    def _understand(self, topic: str, earlier: str) -> dict[str, Any]:
        words = dict(zip(ASKED[topic], topic.split(maxsplit=2)[1:], strict=False))
        rows = [
            {"name": slot, "description": f"the {slot}", "topic_words": words[slot]}
            for slot in ASKED[topic]
        ]
        queries = [SEARCHED if topic == OPEN else "Velmora Works"]
        return {"question": f"{topic} ({earlier})", "queries": queries, "slots": rows}

    def _decide(self, request: ModelRequest, facts: list[Fact]) -> dict[str, Any]:
        written = Thinker(facts, [])(request._replace(task="synthesize"))
        if len(written["citations"]) == len(facts):
            return {"action": "return_answer", **written}
        queries = [SEARCHED] if FACTS["city"] in facts else ["Velmora Works"]
        return {"action": "search_web", "queries": queries}


def set_up(services: Services) -> Services:
    """Set services up for this world, with no request recorded."""
    services.pages = dict(PAGES)
    services.default_hits = ["noise", "firm"]
    services.hits = {SEARCHED: ["person", "noise"]}
    services.think = Follower()
    forget(services)
    return services


def forget(services: Services) -> None:
    """Forget the requests so far."""
    for requests in (services.model_requests, services.search_queries, services.page_requests):
        requests.clear()
