"""DetectGaps: the parts of the topic that the sources leave open, and queries to close them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent.evidence import fold, render_sources, select_passages
from agent.outside import Ask, Task
from agent.state import Doubted, Event, Frozen, Research, Searched
from agent.state.sanitizing import sanitize_line
from agent.steps.asking import ask_with_fallback
from agent.steps.generate_queries import deduplicate_queries
from agent.steps.prompt_rules import DATA_RULE, escape, language_rule, render_topic

MAX_GAPS = 5
SHOWN = 3000  # tokens of evidence: what is open shows in the best passages
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

    name: ClassVar[str] = "gaps"

    queries: tuple[str, ...] = ()  # those that were planned, and those that were made

    def system_prompt(self) -> str:
        return (
            "You compare what was found with what was asked. Name the parts of the topic that the "
            "sources leave open, and for each a new web search query that would close it, unlike "
            "those that were made. If they cover the topic, return two empty lists. "
            f"{DATA_RULE} {language_rule(self.language)}"
        )

    def prompt(self) -> str:
        queries = "".join(f"\n- {escape(query)}" for query in self.queries)
        sources = render_sources(self.evidence)
        return f"{sources}\n{render_topic(self)}\nQueries made:{queries}"


@dataclass(frozen=True)
class DetectGaps:
    """Finds the gaps. If there are none, no query is made, whatever else the reply says.

    Where no model answers, `fallback` does.
    """

    ask: Ask
    fallback: Ask
    budget: int  # tokens of evidence
    language: str = ""

    def __call__(self, research: Research) -> Iterator[Event]:
        wanted = (research.topic, *research.queries)
        task = FindGaps(
            topic=research.topic,
            evidence=select_passages(research.sources, wanted, min(self.budget, SHOWN)),
            language=self.language,
            queries=deduplicate_queries([*research.queries, *_made_queries(research)]),
        )
        reply = yield from ask_with_fallback(task, self.ask, self.fallback)
        lines = (sanitize_line(gap, 300) for gap in reply.gaps)
        gaps = tuple(line for line in lines if line and not _NO_GAP.fullmatch(line))[:MAX_GAPS]
        yield Doubted(gaps=gaps, follow_up_queries=_follow_up_queries(gaps, reply, research))


def _made_queries(research: Research) -> list[str]:
    return [event.found.query for event in research.events_of(Searched)]


def _follow_up_queries(gaps: tuple[str, ...], reply: Gaps, research: Research) -> tuple[str, ...]:
    """Queries that were not made before: the reply's, else the gaps themselves."""
    made = {fold(query) for query in _made_queries(research)}
    for queries in (reply.follow_up_queries, list(gaps)):
        new = [query for query in deduplicate_queries(queries) if fold(query) not in made]
        if gaps and new:
            return tuple(new[:MAX_GAPS])
    return ()
