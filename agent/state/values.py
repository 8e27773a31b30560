"""Values that a run deals in: frozen, and read back from JSON as they were written."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Frozen(BaseModel):
    """A value: immutable, and read back from JSON as it was written."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


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


Outcome = Literal[
    "ok",
    "empty",  # answered, with nothing in it
    "no_key",
    "bad_key",
    "no_credit",
    "rate_limited",
    "timeout",
    "unavailable",  # 5xx, refused or cut connection
    "invalid",  # an answer that is not what was asked for: prose for JSON, wrong schema, cut off
    "blocked",  # a safety block, a consent or captcha page, robots.txt
    "forbidden",  # an address or a scheme that we do not reach
    "not_found",
    "unsupported",  # a content type that cannot be read
    "rejected",  # any other 4xx
    "missed",  # given up while the others of its group had long answered
]
