"""Events: past participles. Everything that a run remembers arrives as one of these."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from agent.state.values import (
    Attempt,
    Claim,
    Finding,
    Found,
    Frozen,
    Hit,
    Outcome,
    Page,
    Quote,
    Report,
    Said,
    Slot,
    SubQuery,
)


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
