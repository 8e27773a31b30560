"""Gaps: what the sources leave open of a question, and what would close it."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from pydantic import Field

from agent.evidence import fold, select, show
from agent.outside import Ask, Task
from agent.state import Doubted, Event, Frozen, Research, Searched
from agent.state.plain import plain
from agent.steps.asking import DATA_RULE, answered, language_rule
from agent.steps.generate_queries import distinct

MOST_GAPS = 5
#: What models write into a list that they should leave empty.
_NO_GAP = re.compile(r"(?:none|n/?a|nothing|no\b.*\bgaps?\b.*|无|没有)\W*", re.I)


class Gaps(Frozen):
    """What is still open, and what to search for."""

    gaps: list[str] = Field(
        default_factory=list, description="parts of the question left open; empty if none is"
    )
    follow_up_queries: list[str] = Field(
        default_factory=list, description="a new web search query for each gap"
    )


class FindGaps(Task[Gaps]):
    """Asks what the evidence leaves open."""

    queries: tuple[str, ...] = ()  # what was planned and searched

    @property
    def name(self) -> str:
        return "gaps"

    @property
    def answer(self) -> type[Gaps]:
        return Gaps

    def system(self) -> str:
        return (
            "You compare what was found with what was asked. Name the parts of the topic that the "
            "sources leave open, and for each a new web search query that would close it, unlike "
            "those that were made. If they cover the topic, return two empty lists. "
            f"{DATA_RULE} {language_rule(self.language)}"
        )

    def prompt(self) -> str:
        made = "".join(f"\n- {html.escape(query, quote=False)}" for query in self.queries)
        topic = html.escape(self.topic, quote=False)
        return f"{show(self.evidence)}\n<topic>{topic}</topic>\nQueries made:{made}"


class DetectGaps:
    """Finds the gaps. Without gaps nothing more is searched, whatever else the reply says.

    Where no model answers, `stand_in` does.
    """

    def __init__(self, ask: Ask, stand_in: Ask, budget: int, language: str = "") -> None:
        self._ask = ask
        self._stand_in = stand_in
        self._budget = budget
        self._language = language

    def __call__(self, research: Research) -> Iterator[Event]:
        wanted = " ".join((research.topic, *research.queries))
        task = FindGaps(
            topic=research.topic,
            evidence=select(research.sources, wanted, self._budget),
            language=self._language,
            queries=distinct([*research.queries, *_searched(research)]),
        )
        found = yield from answered(task, self._ask, self._stand_in)
        named = (plain(gap, 300) for gap in found.gaps)
        gaps = tuple(gap for gap in named if gap and not _NO_GAP.fullmatch(gap))[:MOST_GAPS]
        yield Doubted(gaps=gaps, follow_up_queries=_follow_up(gaps, found, research))


def _searched(research: Research) -> list[str]:
    return [event.found.query for event in research.of(Searched)]


def _follow_up(gaps: tuple[str, ...], found: Gaps, research: Research) -> tuple[str, ...]:
    """Queries that were not made before: the model's, else the gaps themselves."""
    made = {fold(query)[0] for query in _searched(research)}
    for queries in (found.follow_up_queries, list(gaps)):
        fresh = [query for query in distinct(queries) if fold(query)[0] not in made]
        if gaps and fresh:
            return tuple(fresh[:MOST_GAPS])
    return ()
