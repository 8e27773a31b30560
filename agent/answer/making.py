"""How a run that ended becomes an answer object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from agent.answer import document
from agent.answer.report import ReportAnswer, cited, report
from agent.answer.values import Answer, Citation, Error, RunInfo, SlotAnswer, SourceCounts, Usage
from agent.errors import AgentError
from agent.evidence import copies
from agent.evidence.credibility import credibility
from agent.evidence.links import link
from agent.slots.data import settled
from agent.state import (
    Asked,
    Blocked,
    Claim,
    Failed,
    Finding,
    Halted,
    PageRead,
    Quote,
    Research,
    Searched,
    Warned,
)


def make_failure(topic: str, error: AgentError) -> Answer:
    """The answer object of a run that could not begin."""
    return Answer(topic=topic, status="error", error=_told(error))


def make_answer(
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


def slot_answers(research: Research) -> dict[str, SlotAnswer]:
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
