"""ResearchSections: each section of a plan is a small research of its own, all side by side.

Its questions are slots; its searches, pages, rounds and evidence are those of any run. All sections
share their sources. A round of all sections goes step by step: every search, every page by section
and rank, every reading. So no prompt depends on which section was faster. In a quick report, and
for sections without questions, a model searches and reads with tools for all of them at once.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Generator, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import zip_longest

from agent.errors import SearchFailed
from agent.settings import Settings
from agent.slots.weighing import make_findings
from agent.state import (
    MAX_SEARCHES,
    Doubted,
    Event,
    Failed,
    Finding,
    Halted,
    Hit,
    PlannedSection,
    Queried,
    Research,
    Searched,
    canonical_url,
    index_hits,
)
from agent.steps.page_choice import choose_pages
from agent.steps.reflect import Reflect
from agent.steps.web_search import salvage_pages
from agent.strategies.report.gather import Gather, count_rounds
from agent.strategies.report.plan_report import PRIORITY_ORDER
from agent.strategies.report.tool_use import UseTools

TURNS_USED_UP = "max iterations reached — report may be incomplete."
TURNS_A_ROUND = 2  # one to search, one to read


@dataclass(frozen=True)
class ResearchSections:
    """Researches the sections in rounds, each in as many of its own as the settings allow.

    A section that needs others waits until these are done; it then reads what they found before it
    searches. So does each section where pages of an earlier run are known. Raises Halt, and
    SearchFailed when every search failed and nothing was read.
    """

    use_tools: UseTools
    gather: Gather
    reflect: Reflect
    settings: Settings

    def __call__(self, research: Research) -> Iterator[Event]:
        queries = yield from self._begin(research)
        while queries and not research.is_halted:
            turns = max(self.settings.max_iterations, TURNS_A_ROUND)
            if (research.round + 1) * TURNS_A_ROUND > turns:
                yield Halted(reason=TURNS_USED_UP)
                return
            are_turns_used_up = yield from self._gather(research, queries)
            yield from self._reflect(research, list(queries))
            queries = yield from self._choose_queries(research)
            gaps = tuple(find_open(research))
            yield Doubted(
                gaps=gaps, follow_up_queries=tuple(q for own in queries.values() for q in own)
            )
            if are_turns_used_up and gaps and not queries and not research.is_halted:
                yield Halted(reason=TURNS_USED_UP)

    def _begin(self, research: Research) -> Generator[Event, None, dict[int, tuple[str, ...]]]:
        """What each section searches first."""
        if research.sources:
            queries = yield from self._choose_queries(research)
        else:
            sections = enumerate(plan_sections(research), 1)
            ready = sorted((row for row in sections if not row[1].after), key=_priority)
            queries = {n: _plan_queries(one, research) for n, one in ready}
        return queries

    def salvage(self, research: Research) -> Iterator[Event]:
        """After a halt: the pages of the round that were read, and what they say, by rules."""
        begun = _find_begun(research)
        yield from salvage_pages(self.use_tools.read, self._choose_hits(research, begun), research)
        for n in begun:
            view = research.of_section(n)
            if view.sources and not view.are_findings_current:
                yield from _tag(self.reflect.run_without_model(view), n)

    def _gather(
        self, research: Research, queries: dict[int, tuple[str, ...]]
    ) -> Generator[Event, None, bool]:
        """Search and read for all sections; returns whether a model used up its turns."""
        this_round, are_turns_used_up = research.round + 1, False
        for n, own in queries.items():
            yield Queried(round=this_round, queries=own, section=n)
        asked = {n: own for n, own in queries.items() if not self._uses_tools(research, n)}
        if asked:
            yield from self.use_tools.search_queries(asked, research)
            yield from self.use_tools.read_hits(self._choose_hits(research, asked), research)
        if explored := [query for n, own in queries.items() if n not in asked for query in own]:
            are_turns_used_up = yield from self.gather(research, tuple(dict.fromkeys(explored)))
        failures = [event for event in research.events_of(Failed) if event.what == "search"]
        if failures and not (research.events_of(Searched) or research.sources):
            last = failures[-1]
            raise SearchFailed(last.message, last.remedy, outcome=last.outcome)
        return are_turns_used_up

    def _uses_tools(self, research: Research, n: int) -> bool:
        """Whether a model gathers for a section, with one loop of tools for all of these."""
        is_quick = self.settings.depth == "quick"
        return is_quick or not plan_sections(research)[n - 1].questions

    def _searched_for(self, research: Research, n: int) -> Research:
        """What was searched for a section: where tools were used, it is not known for which."""
        return research if self._uses_tools(research, n) else research.of_section(n)

    def _choose_hits(self, research: Research, sections: Collection[int]) -> list[Hit]:
        """The pages of this round by section and rank; where not all may be read, some of each.

        Then each query has fewer.
        """
        due = [one for one in research.events_of(Queried) if one.round == research.round]
        left = self.settings.effort.max_sources - len(research.sources)
        pages, asked = self.settings.effort.pages_per_query, max(1, len(research.current_queries))
        limit = max(1, min(pages, left // asked))
        views = [
            self._searched_for(research, one.section) for one in due if one.section in sections
        ]
        lists = [choose_pages(view, limit) for view in views]
        ranked = index_hits(hit for rank in zip_longest(*lists) for hit in rank if hit)
        taken = set(list(ranked)[: max(0, left)])
        chosen = index_hits(hit for own in lists for hit in own)
        return [hit for hit in chosen.values() if canonical_url(hit.url) in taken]

    def _reflect(self, research: Research, sections: Sequence[int]) -> Iterator[Event]:
        """Read what is known for each section: the models are asked side by side."""
        views = {n: research.of_section(n) for n in sections}
        for view in views.values():
            self.reflect.start(view)
        for n, view in views.items():
            yield from _tag(self.reflect(view), n)

    def _choose_queries(
        self, research: Research
    ) -> Generator[Event, None, dict[int, tuple[str, ...]]]:
        """What each section searches next: nothing where it waits or is done."""
        while True:
            begun = {n: research.of_section(n) for n in _find_begun(research)}
            queries = {n: own for n, view in begun.items() if (own := self._next_queries(view))}
            fresh = _find_ready(research, begun, done=begun.keys() - queries.keys())
            if not fresh or research.is_halted:
                return queries
            yield from self._reflect(research, fresh)

    def _next_queries(self, view: Research) -> tuple[str, ...]:
        rounds = len(view.events_of(Queried))
        if not rounds and _is_open(view):  # it has read only
            return view.new_queries or _plan_queries(_section_of(view), view)
        return view.new_queries if rounds < count_rounds(self.settings) else ()


def _priority(numbered: tuple[int, PlannedSection]) -> int:
    """Of a section with its number: that of its most important search."""
    ranks = (PRIORITY_ORDER[search.priority] for search in numbered[1].searches)
    return min(ranks, default=PRIORITY_ORDER["High"])


def _is_open(view: Research) -> bool:
    """Whether a section that has read has a question open; without any, whether it needs more."""
    if view.slots:
        return any(one.status != "filled" for one in view.findings.values())
    return not view.sources or any(one.need_more for one in view.reflections[-1:])


def _tag(events: Iterator[Event], section: int) -> Iterator[Event]:
    for event in events:
        has_section = "section" in type(event).model_fields
        yield event.model_copy(update={"section": section}) if has_section else event


def _find_begun(research: Research) -> list[int]:
    """The sections that were searched or read for, in their order."""
    return sorted({getattr(event, "section", 0) for event in research.events} - {0})


def _find_ready(research: Research, begun: Container[int], done: Set[int]) -> list[int]:
    """The sections that can begin now, since what they wait for is done."""
    sections = plan_sections(research)
    ended = {sections[n - 1].heading for n in done}
    numbered = enumerate(sections, 1)
    return [n for n, one in numbered if n not in begun and ended.issuperset(one.after)]


def plan_sections(research: Research) -> tuple[PlannedSection, ...]:
    """The sections of the plan."""
    return research.plan.sections if research.plan else ()


def _section_of(view: Research) -> PlannedSection:
    return plan_sections(view)[view.section - 1]


def _plan_queries(section: PlannedSection, research: Research) -> tuple[str, ...]:
    """What a section searches first: as planned, else its questions, else its heading."""
    planned = tuple(search.query for search in section.searches)
    asked = tuple(slot.name for slot in section.slots)[:MAX_SEARCHES]
    return planned or asked or (f"{research.topic} {section.heading}",)


def weigh_all(research: Research) -> tuple[Finding, ...]:
    """What all sections found for each question, a question of several sections once.

    So two sections that say something else of one question are a conflict.
    """
    views = [research.of_section(n) for n in range(1, len(plan_sections(research)) + 1)]
    slots = {slot.name: slot for view in views for slot in view.slots}
    said = tuple(dict.fromkeys(one for view in views for one in view.latest_statements()))
    return make_findings(tuple(slots.values()), said, research.sources, research.topic)


def find_open(research: Research) -> list[str]:
    """The questions of the plan to which nothing is known, and the sections that need more."""
    missing = [one.slot for one in weigh_all(research) if one.status == "missing"]
    views = [research.of_section(n) for n in _find_begun(research)]
    return missing + [_section_of(v).heading for v in views if not v.slots and _is_open(v)]
