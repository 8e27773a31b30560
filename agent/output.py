"""What the user receives: the answer object, its schema, and how a run becomes one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Literal

from pydantic import ConfigDict, Field

from agent.budget import Spent
from agent.errors import AgentError
from agent.evidence import copies
from agent.links import link
from agent.pages.credibility import Credibility, credibility
from agent.render import document
from agent.report import ReportAnswer, cited, report
from agent.research import (
    Alternative,
    Asked,
    Attempt,
    Blocked,
    Claim,
    Failed,
    Finding,
    Frozen,
    Halted,
    Hit,
    PageRead,
    Quote,
    Research,
    Scalar,
    Searched,
    Warned,
)
from agent.slots.data import settled

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


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of the answer object."""
    return Answer.model_json_schema(mode="serialization")


@cache
def validator() -> Any:
    """The validator of answers; a tenth of a second to make, so a run makes it while it waits."""
    from jsonschema import Draft202012Validator

    return Draft202012Validator(schema())


def warm() -> None:
    """Make what answers are made with, which would otherwise be made at the first one."""
    from agent.steps.claims import Place, verdict

    validator()
    verdict("a claim", (Place("something else", "", 0, 14),))
    credibility("", Hit(url="https://example.org/"), 2000)
    _build(Frozen)


def _build(model: type[Frozen]) -> None:
    """The validators of all values: they are built at first use unless somebody asks."""
    for kind in model.__subclasses__():
        kind.model_rebuild()
        _build(kind)


def to_json(answer: Answer, *, compact: bool = False) -> str:
    """The answer as JSON text with a trailing newline, checked against the schema.

    Raises jsonschema.ValidationError, which would be a bug of this program.
    """
    value = answer.model_dump(mode="json")
    validator().validate(value)
    separators = (",", ":") if compact else None
    indent = None if compact else 2
    return json.dumps(value, ensure_ascii=False, indent=indent, separators=separators) + "\n"


def failure(topic: str, error: AgentError) -> Answer:
    """The answer object of a run that could not begin."""
    return Answer(topic=topic, status="error", error=_told(error))


def answer(
    research: Research,
    *,
    usage: Usage,
    run: RunInfo,
    schema: dict[str, Any] | None = None,
    warnings: Iterable[str] = (),
    error: AgentError | None = None,
) -> Answer:
    """The answer object of a run that ended; with `data` where its slots have a schema."""
    answered = research.answer
    claims = answered.claims if answered else ()
    findings, data = research.findings, None
    if schema is not None:
        findings, data, misfits = settled(schema, findings)
        warnings = (*misfits, *warnings)
    quotes = _quotes(research, findings.values())
    citations = tuple(_citation(quote, research, run) for quote in quotes)
    return Answer(
        topic=research.topic,
        status=_status(research, error),
        degraded=_degraded(research),
        answer=answered.text if answered else "",
        citations=citations,
        claims=claims,
        slots={name: _slot(finding) for name, finding in findings.items()},
        data=data,
        report=_report(research, claims, citations),
        sources=_counts(research),
        attempts=research.attempts + tuple(getattr(error, "attempts", ())),
        warnings=(*_warnings(research), *_repeated(research, citations), *warnings),
        usage=usage,
        run=run.model_copy(update=_asked(research)),
        error=_told(error) if error else None,
    )


def _told(error: AgentError) -> Error:
    return Error(kind=error.kind, message=error.message, remedy=error.remedy)


def _status(
    research: Research, error: AgentError | None
) -> Literal["complete", "partial", "insufficient", "error"]:
    if error or research.answer is None:
        return "error"
    if research.of(Halted):
        return "partial"
    return "complete" if research.answer.quotes else "insufficient"


def _degraded(research: Research) -> bool:
    """Whether a fallback stood in for what was asked for."""
    stood_in = any(event.stand_in for event in research.of(Failed))
    return stood_in or any(event.model == "extractive" for event in research.of(Asked))


def _quotes(research: Research, findings: Iterable[Finding]) -> list[Quote]:
    """Every quote that the answer, its report or a slot stands on, once, by source and place."""
    answered = research.answer
    quotes = set(answered.quotes if answered else ())
    if answered and answered.report:  # whose draft may have quotes for what was left out
        quotes = {quote for quote in quotes if quote.source in cited(answered)}
    for finding in findings:
        quotes.update(finding.quotes)
    return sorted(quotes, key=lambda quote: (quote.source, quote.start, quote.end, quote.match))


def _citation(quote: Quote, research: Research, run: RunInfo) -> Citation:
    source = research.sources[quote.source - 1]
    page = source.page
    return Citation(
        id=quote.source,
        title=page.title,
        url=page.url,
        quote=quote.text,
        start=quote.start,
        end=quote.end,
        match=quote.match,
        link=link(page.url, page.text, quote.start, quote.end),
        page_sha256=page.sha256,
        retrieved_at=page.retrieved_at,
        via=page.via,
        credibility=credibility(research.topic, source.hit, int(run.started_at[:4])),
    )


def slots(research: Research) -> dict[str, SlotAnswer]:
    """What is known of each slot while the run goes on."""
    return {name: _slot(finding) for name, finding in research.findings.items()}


def _slot(finding: Finding) -> SlotAnswer:
    return SlotAnswer(
        value=finding.value,
        status=finding.status,
        citations=tuple(sorted({quote.source for quote in finding.quotes})),
        confidence=finding.confidence,
        weight=finding.weight,
        alternatives=finding.alternatives,
    )


def _report(
    research: Research, claims: tuple[Claim, ...], citations: tuple[Citation, ...]
) -> ReportAnswer | None:
    """The report with its Markdown, made of nothing but what the answer object holds."""
    counts = _counts(research)
    told = report(research, blocked=counts.blocked, failed=counts.failed)
    written = told and document.report(told, claims, citations)
    return told and told.model_copy(update={"markdown": written})


def _counts(research: Research) -> SourceCounts:
    unread = [event for event in research.of(Failed) if event.what == "page"]
    return SourceCounts(
        found=len(research.hits),
        read=sum(event.page.via == "page" for event in research.of(PageRead)),
        blocked=sum(event.outcome in ("blocked", "forbidden") for event in unread)
        + len(research.of(Blocked)),
        failed=sum(event.outcome not in ("blocked", "forbidden") for event in unread),
    )


def _warnings(research: Research) -> list[str]:
    warnings = [*_without_model(research.of(Asked))]
    for event in research.of(Failed):
        stood_in = f" Used instead: {event.stand_in}." if event.stand_in else ""
        warnings.append(f"{event.subject}: {event.message}{stood_in}")
    warnings += dict.fromkeys(event.reason for event in research.of(Halted))
    warnings += [event.message for event in research.of(Warned)]
    return warnings


def _without_model(asked: Iterable[Asked]) -> Iterator[str]:
    """Whether no model was used at all, or else for what."""
    models: dict[str, dict[str, None]] = {}
    for event in asked:
        models.setdefault(event.model, {})[event.task] = None
    tasks = models.pop("extractive", None)
    if tasks and models:
        yield f"No model was used for: {', '.join(tasks)}. What stands in is quoted from sources."
    elif tasks:
        yield "No model was used: the answer is made of sentences quoted from sources."


def _repeated(research: Research, citations: Iterable[Citation]) -> Iterator[str]:
    """Cited pages that have one text: they are one witness."""
    cited = {citation.id for citation in citations}
    for n, first in copies([s for s in research.sources if s.n in cited]).items():
        if n != first:
            yield f"[{n}] has the text of [{first}]: they are one witness."


def _asked(research: Research) -> dict[str, tuple[str, ...]]:
    """Who answered: models and search providers, each once, in order."""
    models = dict.fromkeys(event.model for event in research.of(Asked))
    providers = dict.fromkeys(event.found.provider for event in research.of(Searched))
    return {"models": tuple(models), "providers": tuple(providers)}
