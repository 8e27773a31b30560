"""`Research`: what a run knows of its topic. It grows by events, in one place."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest
from typing import TypeVar

from agent.state.claims import Draft, Finding, Slot, Statement
from agent.state.events import (
    Asked,
    Blocked,
    Composed,
    Doubted,
    Event,
    Failed,
    Halted,
    PageRead,
    Planned,
    Queried,
    Recalled,
    Reflected,
    Searched,
    Understood,
    Verified,
)
from agent.state.urls import canonical_url
from agent.state.values import Attempt, Frozen, Hit, SearchResults, Source, work_key

EventT = TypeVar("EventT", bound=Frozen)
#: The tasks whose reply is an answer, or may be one.
DRAFTING = frozenset({"reflect", "decide", "synthesize", "section", "summary"})


class Research:
    """A topic, and all events of its run so far."""

    section = 0  # of a report, where it is what is known of one; 0: it is the whole run

    def __init__(self, topic: str, slots: tuple[Slot, ...] = ()) -> None:
        self.original_topic = topic  # as it was asked
        self.slots = slots  # from the caller, or else from the first event that names some
        self.events: list[Event] = []

    def grow(self, event: Event) -> Event:
        """Add an event. The only place where a run's state changes."""
        self.events.append(event)
        if isinstance(event, Queried | Understood) and not self.slots:
            self.slots = event.slots
        return event

    def of_section(self, number: int) -> Research:
        """What is known of a section of the plan by now: its own rounds, over all sources.

        Its topic is the run's with its heading, its slots are its questions.
        """
        section = self.plan.sections[number - 1] if self.plan else None
        view = Research(self.topic, section.slots if section else ())
        if section and section.heading not in self.topic:
            view.original_topic = f"{self.topic} {section.heading}"
        view.section = number
        own = (e for e in self.events if getattr(e, "section", number) == number)
        view.events = [event for event in own if not isinstance(event, Understood)]
        return view

    @property
    def topic(self) -> str:
        """The topic in full: as it was asked, or as it was understood after an earlier run."""
        understood = self.events_of(Understood)
        return understood[-1].topic if understood else self.original_topic

    @property
    def parent_queries(self) -> tuple[str, ...]:
        """The queries with which the pages of earlier runs were searched."""
        return tuple(query for event in self.events_of(Understood) for query in event.queries)

    def events_of(self, kind: type[EventT]) -> list[EventT]:
        """The events of one class, oldest first."""
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def round(self) -> int:
        """The current round of searching, from 1; 0 before the first queries."""
        return max((event.round for event in self.events_of(Queried)), default=0)

    @property
    def is_halted(self) -> bool:
        """Whether gathering ended early: then nothing more is searched or read."""
        return bool(self.events_of(Halted))

    @property
    def queries(self) -> tuple[str, ...]:
        """Every query so far, oldest first."""
        return tuple(query for event in self.events_of(Queried) for query in event.queries)

    @property
    def current_queries(self) -> tuple[str, ...]:
        """The queries of this round, of all sections."""
        rounds = self.events_of(Queried)
        return tuple(query for one in rounds if one.round == self.round for query in one.queries)

    @property
    def searched_queries(self) -> tuple[str, ...]:
        """The queries that were searched, each once, oldest first; failed searches too."""
        queries = (
            event.found.query if isinstance(event, Searched) else event.subject
            for event in self.events
            if isinstance(event, Searched) or (isinstance(event, Failed) and event.what == "search")
        )
        return tuple(dict.fromkeys(queries))

    @property
    def hits(self) -> dict[str, Hit]:
        """The first hit of each page, by canonical URL, in the order of the searches."""
        return index_hits(hit for found in self._all_results for hit in found.hits)

    @property
    def _all_results(self) -> list[SearchResults]:
        """The results of all searches, of those in the pages of earlier runs too."""
        return [event.found for event in self.events if isinstance(event, Searched | Recalled)]

    def query_that_found(self, hit: Hit) -> str:
        """The first query whose results have the page of a hit; the topic where none has it."""
        page = canonical_url(hit.url)
        searches = self._all_results
        return next((s.query for s in searches if page in index_hits(s.hits)), self.topic)

    @property
    def sources(self) -> tuple[Source, ...]:
        """The pages that became sources, numbered from 1 in the order of their events."""
        pages = enumerate(self.events_of(PageRead), 1)
        return tuple(Source.of(n, event.page, event.hit) for n, event in pages)

    @property
    def sources_by_page(self) -> dict[str, Source]:
        """The sources, each by the canonical URL that was asked for."""
        return {canonical_url(source.hit.url): source for source in self.sources}

    def untried_hits_by_rank(self, limit: int) -> list[Hit]:
        """At most `limit` untried hits of this round, ordered by rank, then by query."""
        ranks = zip_longest(*(results.hits for results in self.round_results))
        return self.filter_untried(hit for rank in ranks for hit in rank if hit)[:limit]

    @property
    def round_results(self) -> list[SearchResults]:
        """The results of this round's searches."""
        return [event.found for event in self.events_of(Searched) if event.round == self.round]

    def filter_untried(self, hits: Iterable[Hit]) -> list[Hit]:
        """The hits whose page was not read, failed or blocked in this run; one hit a page."""
        tried = _tried_pages(self.events)
        return [hit for key, hit in index_hits(hits).items() if key not in tried]

    @property
    def blocked_pages(self) -> list[Blocked]:
        """The blocks of pages that were not tried after all."""
        failed = {e.subject for e in self.events_of(Failed) if e.what == "page"}
        tried = failed | {event.hit.url for event in self.events_of(PageRead)}
        return [event for event in self.events_of(Blocked) if event.hit.url not in tried]

    @property
    def pages_tried_before(self) -> frozenset[str]:
        """The pages that were read, failed or were blocked before this round, as canonical URLs."""
        starts = [i for i, event in enumerate(self.events) if isinstance(event, Queried)]
        return _tried_pages(self.events[: starts[-1]] if starts else ())

    @property
    def new_queries(self) -> tuple[str, ...]:
        """Those that the last reflection asks for, if any."""
        last = self.reflections[-1:]
        return last[0].new_queries if last and last[0].need_more else ()

    @property
    def reflections(self) -> list[Reflected]:
        """Its own reflections, oldest first: not those of single sections, unless it is one."""
        return [event for event in self.events_of(Reflected) if event.section == self.section]

    @property
    def is_read_by_rules(self) -> bool:
        """Whether rules, and no model, made a reading."""
        return any(one.is_by_rules for one in self.events_of(Asked) if one.task == "reflect")

    @property
    def plan(self) -> Planned | None:
        """The plan of a report; None in other strategies."""
        plans = self.events_of(Planned)
        return plans[-1] if plans else None

    @property
    def has_fit_plan(self) -> bool:
        """Whether the slots of each plan, if it has any, are of the question."""
        return all(e.is_plan_fit for e in self.events if isinstance(e, Queried | Understood))

    @property
    def gap_analysis(self) -> Doubted:
        """What the last round of a report left open; without gaps before the first one."""
        return self.events_of(Doubted)[-1] if self.events_of(Doubted) else Doubted(gaps=())

    @property
    def findings(self) -> dict[str, Finding]:
        """The finding of each slot, as checked or reflected last; all missing before the first."""
        own = [e for e in self.events if getattr(e, "section", 0) == self.section]
        checked = [e for e in own if isinstance(e, Reflected | Verified)]
        checked = [e for e in checked if e.findings or isinstance(e, Reflected) and e.computed]
        if checked:
            return {finding.slot: finding for finding in checked[-1].findings}
        slot_names = (slot.name for slot in self.slots if slot.is_asked)
        names = dict.fromkeys(name.partition("[]")[0] for name in slot_names)
        return {name: Finding(slot=name, status="missing") for name in names}

    def latest_statements(self, *newest: Statement) -> tuple[Statement, ...]:
        """The statements of sources about slots, those of all reflections and the `newest`.

        What a later reflection has from a source about a slot, or about a list with all its items,
        replaces what an earlier one has.
        """
        latest: dict[tuple[str, int], tuple[Statement, ...]] = {}
        for statements in (*(event.said for event in self.reflections), newest):
            groups: dict[tuple[str, int], tuple[Statement, ...]] = {}
            for statement in statements:
                key = statement.slot.partition("[]")[0], statement.quote.source
                groups[key] = (*groups.get(key, ()), statement)
            latest |= groups
        return tuple(statement for group in latest.values() for statement in group)

    @property
    def are_findings_current(self) -> bool:
        """Whether the last reflection came after the last page."""
        own = [e for e in self.events if getattr(e, "section", self.section) == self.section]
        kinds = [e.type for e in own if isinstance(e, Reflected | PageRead)]
        return bool(kinds) and kinds[-1] == "reflected"

    @property
    def current_draft(self) -> Draft | None:
        """The draft of the last reflection; None if it made none, or a page came after it."""
        return self.reflections[-1].draft if self.are_findings_current else None

    @property
    def confidence(self) -> float | None:
        """How sure the rules are of the answer; None where a model drafted it last."""
        drafting = [event for event in self.events_of(Asked) if event.task in DRAFTING]
        return drafting[-1].confidence if drafting else None

    @property
    def model_failures(self) -> list[Failed]:
        """The tasks that no model answered, oldest first."""
        return [event for event in self.events_of(Failed) if event.what == "llm"]

    @property
    def is_drafted_by_rules(self) -> bool:
        """Whether rules drafted what is answered: what was drafted last, of a report all of it."""
        names = DRAFTING - {"summary"}
        drafting = [event for event in self.events_of(Asked) if event.task in names]
        last = [event for event in drafting if event.task == "section"] or drafting[-1:]
        return bool(last) and all(event.is_by_rules for event in last)

    @property
    def is_answered_without_model(self) -> bool:
        """Whether a model failed, and rules drafted what is answered in its place."""
        return bool(self.model_failures) and self.is_drafted_by_rules

    @property
    def may_answer(self) -> bool:
        """Whether rules drafted the answer, and no fields of a page say all that is asked."""
        is_whole = bool(self.reflections) and not self.reflections[-1].need_more
        return self.is_drafted_by_rules and not is_whole

    @property
    def answer(self) -> Composed | None:
        """The latest answer: None at first, then as written, then as checked."""
        answers = self.events_of(Composed)
        return answers[-1] if answers else None

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """Every try at a model, a search provider or a page, oldest first.

        A search also lists the providers that it skipped. Equal ones of those are listed once.
        """
        attempts: list[Attempt] = []
        for event in self.events:
            if isinstance(event, Asked | Failed):
                attempts.extend(event.attempts)
            elif isinstance(event, Searched):
                attempts.extend(event.found.attempts)
            elif isinstance(event, PageRead):
                attempts.extend(event.page.attempts)
        made = [attempt for attempt in attempts if attempt.seconds or attempt.outcome == "ok"]
        return tuple(a for i, a in enumerate(attempts) if a in made or a not in attempts[:i])


def index_hits(hits: Iterable[Hit]) -> dict[str, Hit]:
    """The first hit of each page or work, by canonical URL, in their order."""
    by_page: dict[str, Hit] = {}
    works: set[str] = set()
    for hit in hits:
        work = work_key(hit.work)
        if work not in works:
            by_page.setdefault(canonical_url(hit.url), hit)
        works |= {work} - {""}
    return by_page


def _tried_pages(events: Iterable[Event]) -> frozenset[str]:
    urls = []
    for event in events:
        match event:
            case PageRead(hit=hit) | Blocked(hit=hit):
                urls.append(hit.url)
            case Failed(what="page", subject=url):
                urls.append(url)
    return frozenset(map(canonical_url, urls))
