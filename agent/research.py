"""What a run knows: a topic and what is learned about it. It grows only by events.

Values are frozen; `Research.grow` is the one place where state changes; whatever can be computed
from what is remembered is a property.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from agent.errors import Outcome
from agent.urls import canonical


class Frozen(BaseModel):
    """A value: immutable, and read back from JSON as it was written."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


# --- values ----------------------------------------------------------------------------------


Scalar = str | int | float | bool


class Form(Frozen):
    """What a slot's value must be: its type and, as JSON Schema has them, further limits.

    `text` is a slot without a schema: whatever the sources say.
    """

    type: Literal["text", "string", "integer", "number", "boolean", "date", "date-time"] = "text"
    options: tuple[Scalar, ...] = ()
    limits: dict[str, Any] = Field(default_factory=dict)


class Slot(Frozen):
    """A fact that an answer needs: `goalscorers`, `final.date`, `goals[].minute`.

    `[]` in a name stands for the items of a list: such a slot is found once for each of them.
    """

    name: str
    description: str = ""
    form: Form = Form()


class Attempt(Frozen):
    """One try at a service: who was asked, and how it went."""

    what: Literal["llm", "search", "page"]
    provider: str
    outcome: Outcome
    detail: str = ""
    remedy: str = ""
    seconds: float = 0.0


class Hit(Frozen):
    """What a search engine says of a page."""

    url: str
    title: str = ""
    snippet: str = ""
    date: str | None = None


class Found(Frozen):
    """The outcome of a search: hits best first, who gave them, and who was asked before."""

    query: str
    hits: tuple[Hit, ...]
    provider: str
    attempts: tuple[Attempt, ...] = ()
    at: str = ""  # UTC, ISO 8601, to the second


class Page(Frozen):
    """A page that was read: its text is what every quote and offset refers to.

    `url` is the address after redirects; `retrieved_at` is UTC, ISO 8601, to the second.
    """

    url: str
    title: str
    text: str
    sha256: str
    retrieved_at: str
    via: Literal["page", "snippet"] = "page"


class Source(Frozen):
    """A page with its number, which is its number for the whole run."""

    n: int
    page: Page
    hit: Hit


class Quote(Frozen):
    """Words of a source, at their place in its text: `page.text[start:end] == text`."""

    source: int
    text: str
    start: int
    end: int
    match: Literal["exact", "normalized"]


class Said(Frozen):
    """What one source says of a slot, in the words of `quote`.

    Of a slot with `[]` in its name, `item` is the place in that source's list; it is `told` where
    the reply numbered the items itself, so that one number is one item whoever tells of it.
    """

    slot: str
    value: Scalar
    quote: Quote
    item: int = 0
    told: bool = False


class Alternative(Frozen):
    """A value that sources give against the one that weighs most, who says it, and its weight."""

    value: Scalar
    citations: tuple[int, ...]
    weight: float


class Finding(Frozen):
    """What is known of a leaf: `winner`, `goals[0].minute`; a list without items by its own name.

    `weight` is that of `value`, `confidence` from 0 to 1: `agent/slots/weighing.py` says how.
    """

    slot: str
    status: Literal["filled", "missing", "conflict"]
    value: Scalar | None = None
    quotes: tuple[Quote, ...] = ()  # of the value first, then of the alternatives
    alternatives: tuple[Alternative, ...] = ()
    weight: float = 0.0
    confidence: float = 0.0


class SubQuery(Frozen):
    """A question that a report must answer on its way, as its plan has it."""

    query: str
    priority: Literal["High", "Medium", "Low"] = "Medium"
    reasoning: str = ""


Verdict = Literal["supported", "partial", "unsupported", "unchecked"]


class Claim(Frozen):
    """A sentence of the answer, the sources it cites, and what checking it said."""

    text: str
    citations: tuple[int, ...]
    verdict: Verdict = "unchecked"


class Section(Frozen):
    """Sentences of a report under their heading."""

    heading: str
    claims: tuple[Claim, ...]


class Report(Frozen):
    """What a report says beside its summary; numbers and sources are counted from the run."""

    title: str
    themes: tuple[Section, ...]
    conflicts: tuple[Claim, ...] = ()
    confidence: Literal["Low", "Medium", "High"]
    rationale: str = ""


# --- events: past participles; everything a run remembers arrives as one of these --------------


class Started(Frozen):
    type: Literal["started"] = "started"
    topic: str
    strategy: str
    reason: str = ""  # why this strategy, where none was asked for by name
    slots: tuple[Slot, ...] = ()


class Asked(Frozen):
    """A model was asked."""

    type: Literal["asked"] = "asked"
    task: str
    model: str
    attempts: tuple[Attempt, ...] = ()


class Planned(Frozen):
    """A report was planned; its sub-queries stand in the order of their priority."""

    type: Literal["planned"] = "planned"
    question_type: Literal["factual", "comparative", "exploratory", "technical"]
    search_strategy: str
    sub_queries: tuple[SubQuery, ...]


class Queried(Frozen):
    """The queries of a round are known; in the first round the slots too."""

    type: Literal["queried"] = "queried"
    round: int
    queries: tuple[str, ...]
    slots: tuple[Slot, ...] = ()


class Decided(Frozen):
    """A step of the loop was chosen; with `none` nothing comes of it. `note`: why, in words."""

    type: Literal["decided"] = "decided"
    step: int
    action: Literal["search_web", "return_answer", "none"]
    note: str = ""


class Browsed(Frozen):
    """A model said which words of a round's pages help, since ranking had found none."""

    type: Literal["browsed"] = "browsed"
    round: int
    quotes: tuple[Quote, ...]


class Searched(Frozen):
    type: Literal["searched"] = "searched"
    round: int
    found: Found


class PageRead(Frozen):
    """A page became a source."""

    type: Literal["page_read"] = "page_read"
    page: Page
    hit: Hit


class Blocked(Frozen):
    """A page was not read, because its credibility is not above the threshold."""

    type: Literal["blocked"] = "blocked"
    hit: Hit
    score: float
    threshold: float


class Doubted(Frozen):
    """What the sources leave open, and what would close it; nothing open: no second round."""

    type: Literal["doubted"] = "doubted"
    gaps: tuple[str, ...]
    follow_up_queries: tuple[str, ...] = ()


class Reflected(Frozen):
    """The slots were looked at: what sources say of them now, and what all that was said makes."""

    type: Literal["reflected"] = "reflected"
    round: int
    findings: tuple[Finding, ...]
    said: tuple[Said, ...] = ()
    need_more: bool
    new_queries: tuple[str, ...] = ()


class Composed(Frozen):
    """An answer: text with `[n]` markers, each of which has a quote. No quotes: insufficient.

    With a `report`, `text` and `claims` are its executive summary.
    """

    text: str
    quotes: tuple[Quote, ...]
    claims: tuple[Claim, ...]
    report: Report | None = None


class Answered(Composed):
    """The answer was written; its claims are not yet judged."""

    type: Literal["answered"] = "answered"


class Verified(Composed):
    """The answer was checked: every claim has its verdict; `dropped` are those left out."""

    type: Literal["verified"] = "verified"
    dropped: tuple[Claim, ...] = ()


class Failed(Frozen):
    """Something was skipped; the run went on. `stand_in` names what was used in its place."""

    type: Literal["failed"] = "failed"
    what: Literal["llm", "search", "page"]
    subject: str
    outcome: Outcome
    message: str
    remedy: str = ""
    stand_in: str = ""
    attempts: tuple[Attempt, ...] = ()


class Warned(Frozen):
    type: Literal["warned"] = "warned"
    message: str


class Halted(Frozen):
    """Gathering ended early; the answer comes from what there is."""

    type: Literal["halted"] = "halted"
    reason: str


Event = Annotated[
    Started
    | Asked
    | Planned
    | Queried
    | Decided
    | Browsed
    | Searched
    | PageRead
    | Blocked
    | Doubted
    | Reflected
    | Answered
    | Verified
    | Failed
    | Warned
    | Halted,
    Field(discriminator="type"),
]

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
