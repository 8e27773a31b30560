"""The answer object: what stands under each of its names."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from agent.answer.report import ReportAnswer
from agent.evidence.credibility import Credibility
from agent.outside.budget import Spent
from agent.state import Alternative, Attempt, Claim, Frozen, Scalar

SCHEMA_URL = "https://json-schema.org/draft/2020-12/schema"
Number = int | float


class Citation(Frozen):
    """A quote on its page. `id` is the source's number; a source quoted twice has two entries."""

    id: int
    title: str
    url: str
    quote: str
    start: int = Field(description="offset of the quote in the stored page text, in characters")
    end: int
    match: Literal["exact", "normalized", "none"]
    link: str = Field(description="opens the page at the quote")
    page_sha256: str
    retrieved_at: str
    via: Literal["page", "snippet"]
    credibility: Credibility


class SlotAnswer(Frozen):
    """What is known of a slot; `citations` are the numbers of the sources that say a value of it.

    Those that are not among the citations of an alternative say `value`.
    """

    value: Scalar | None
    status: Literal["filled", "missing", "conflict"]
    citations: tuple[int, ...] = ()
    confidence: float = Field(ge=0, le=1, description="a scale to sort by, not a probability")
    weight: float = Field(
        default=0.0, description="credibility of the independent witnesses, summed"
    )
    alternatives: tuple[Alternative, ...] = Field(default=(), description="what is said against it")


class SourceCounts(Frozen):
    """Pages by what became of them."""

    found: int = 0
    read: int = 0
    blocked: int = 0
    failed: int = 0


class Usage(Spent):
    """What the run spent."""

    rounds: int = 0
    seconds: float = 0.0


class RunInfo(Frozen):
    """Which run this was; `journal` is null where none could be written.

    `reason` says why `strategy` was chosen; it is empty where it was asked for by name.
    """

    id: str
    strategy: str
    reason: str = ""
    models: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    started_at: str
    journal: str | None = None


class Error(Frozen):
    """Why there is no answer, and what to do."""

    kind: str
    message: str
    remedy: str


class Answer(Frozen):
    """The answer object, on every way out."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        json_schema_extra={"$schema": SCHEMA_URL, "title": "Answer"},
        json_schema_serialization_defaults_required=True,
    )

    schema_version: Literal["1"] = "1"
    topic: str
    status: Literal["complete", "partial", "insufficient", "error"]
    degraded: bool = False
    answer: str = ""
    citations: tuple[Citation, ...] = ()
    claims: tuple[Claim, ...] = ()
    slots: dict[str, SlotAnswer] = Field(default_factory=dict)
    report: ReportAnswer | None = Field(
        default=None,
        exclude_if=lambda report: report is None,
        description="with the strategy report only: `claims` are its executive summary",
    )
    data: dict[str, Any] | None = Field(
        default=None,
        exclude_if=lambda data: data is None,
        description="with a schema of slots only: their values as one plain object in that schema, "
        "null where not found",
    )
    sources: SourceCounts = SourceCounts()
    attempts: tuple[Attempt, ...] = ()
    warnings: tuple[str, ...] = ()
    usage: Usage = Usage()
    run: RunInfo | None = None
    error: Error | None = None
