"""What is known of a topic: it grows by events, in one place."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest
from typing import TypeVar

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
    Reflected,
    Searched,
)
from agent.state.urls import canonical
from agent.state.values import Attempt, Finding, Found, Frozen, Hit, Said, Slot, Source

E = TypeVar("E", bound=Frozen)


class Research:
    """A topic and what is learned about it."""

    def __init__(self, topic: str, slots: tuple[Slot, ...] = ()) -> None:
        self.topic = topic
        self.slots = slots  # named by the caller, or found by the first step
        self.events: list[Event] = []

    def grow(self, event: Event) -> Event:
        """Remember an event. The only place where a run's state changes."""
        self.events.append(event)
        if isinstance(event, Queried) and not self.slots:
            self.slots = event.slots
        return event

    def of(self, kind: type[E]) -> list[E]:
        """The events of one kind, in the order in which they came."""
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def round(self) -> int:
        """The current round of searching, from 1; 0 before the first queries."""
        return len(self.of(Queried))

    @property
    def halted(self) -> bool:
        """Whether gathering ended early: nothing more is to be searched or read."""
        return bool(self.of(Halted))

    @property
    def queries(self) -> tuple[str, ...]:
        """Every query so far, in order."""
        return tuple(query for event in self.of(Queried) for query in event.queries)

    @property
    def current_queries(self) -> tuple[str, ...]:
        """The queries of this round."""
        rounds = self.of(Queried)
        return rounds[-1].queries if rounds else ()

    @property
    def searches(self) -> tuple[str, ...]:
        """Every search that was made, once, in order; those that failed too."""
        made = (
            event.found.query if isinstance(event, Searched) else event.subject
            for event in self.events
            if isinstance(event, Searched) or (isinstance(event, Failed) and event.what == "search")
        )
        return tuple(dict.fromkeys(made))

    @property
    def hits(self) -> dict[str, Hit]:
        """What searching found, one hit a page, by canonical URL, in order."""
        found: dict[str, Hit] = {}
        for event in self.of(Searched):
            for hit in event.found.hits:
                found.setdefault(canonical(hit.url), hit)
        return found

    @property
    def sources(self) -> tuple[Source, ...]:
        """The pages that were read, numbered from 1 in the order in which they became sources."""
        read = self.of(PageRead)
        return tuple(Source(n=n, page=e.page, hit=e.hit) for n, e in enumerate(read, 1))

    def unread(self, per_query: int) -> list[Hit]:
        """The best `per_query` hits of each query of this round that were not tried before."""
        ranked = (hit for found in self._found for hit in found.hits[:per_query])
        return self._untried(ranked)

    def unseen(self, most: int) -> list[Hit]:
        """At most `most` hits of this round that were not tried before: by rank, then by query."""
        rows = zip_longest(*(found.hits for found in self._found))
        return self._untried(hit for row in rows for hit in row if hit)[:most]

    @property
    def _found(self) -> list[Found]:
        return [event.found for event in self.of(Searched) if event.round == self.round]

    def _untried(self, hits: Iterable[Hit]) -> list[Hit]:
        tried = {canonical(e.hit.url) for e in self.of(PageRead)}
        tried |= {canonical(e.subject) for e in self.of(Failed) if e.what == "page"}
        tried |= {canonical(e.hit.url) for e in self.of(Blocked)}
        chosen: dict[str, Hit] = {}
        for hit in hits:
            if (key := canonical(hit.url)) not in tried:
                chosen.setdefault(key, hit)
        return list(chosen.values())

    @property
    def new_queries(self) -> tuple[str, ...]:
        """What the last reflection wants searched; empty when nothing more is needed."""
        reflections = self.of(Reflected)
        return reflections[-1].new_queries if reflections and reflections[-1].need_more else ()

    @property
    def plan(self) -> Planned | None:
        """How a report is researched."""
        plans = self.of(Planned)
        return plans[-1] if plans else None

    @property
    def doubts(self) -> Doubted:
        """What the sources leave open, as last said; nothing if nobody asked."""
        return self.of(Doubted)[-1] if self.of(Doubted) else Doubted(gaps=())

    @property
    def findings(self) -> dict[str, Finding]:
        """What is known of each leaf, as last reflected; what was not yet looked at is missing."""
        reflections = self.of(Reflected)
        if reflections:
            return {finding.slot: finding for finding in reflections[-1].findings}
        names = dict.fromkeys(slot.name.partition("[]")[0] for slot in self.slots)
        return {name: Finding(slot=name, status="missing") for name in names}

    def said(self, *more: Said) -> tuple[Said, ...]:
        """What sources say of slots, with what is new; of a list or slot, a source's last word."""
        last: dict[tuple[str, int], tuple[Said, ...]] = {}
        for told in (*(event.said for event in self.of(Reflected)), more):
            fresh: dict[tuple[str, int], tuple[Said, ...]] = {}
            for one in told:
                key = one.slot.partition("[]")[0], one.quote.source
                fresh[key] = (*fresh.get(key, ()), one)
            last |= fresh
        return tuple(one for group in last.values() for one in group)

    @property
    def findings_are_new(self) -> bool:
        """Whether the slots were reflected on after the last page was read."""
        kinds = [e.type for e in self.events if isinstance(e, Reflected | PageRead)]
        return bool(kinds) and kinds[-1] == "reflected"

    @property
    def answer(self) -> Composed | None:
        """The answer, once there is one; checked, once it is."""
        answers = self.of(Composed)
        return answers[-1] if answers else None

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """Every try at a model, a search provider or a page, in order.

        Each search tells whom it did not ask, so that it explains itself; that is told once.
        """
        tries: list[Attempt] = []
        for event in self.events:
            if isinstance(event, Asked | Failed):
                tries.extend(event.attempts)
            elif isinstance(event, Searched):
                tries.extend(event.found.attempts)
        made = [attempt for attempt in tries if attempt.seconds or attempt.outcome == "ok"]
        return tuple(a for i, a in enumerate(tries) if a in made or a not in tries[:i])
