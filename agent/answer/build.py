"""Building the answer object from the events of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from agent.answer.markdown_format import report_to_markdown
from agent.answer.report import ReportAnswer, build_report, cited_sources
from agent.answer.schema import (
    Answer,
    Citation,
    Error,
    RunInfo,
    SlotAnswer,
    SourceCounts,
    Usage,
    answer_validator,
)
from agent.characters import strip_controls
from agent.errors import AgentError
from agent.evidence import find_copies
from agent.evidence.credibility import rate_credibility
from agent.evidence.links import quote_link
from agent.outside.budget import CallUsage
from agent.slots.data import keep_valid
from agent.state import (
    Asked,
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
    Searched,
    Warned,
)
from agent.state.json_data import map_texts

#: Outcomes of a page that count as `blocked`; all others count as `failed`.
BLOCKED_OUTCOMES = ("blocked", "forbidden")


def build_answer(
    research: Research,
    *,
    usage: Usage,
    run: RunInfo,
    schema: dict[str, Any] | None = None,
    warnings: Iterable[str] = (),
    error: AgentError | None = None,
) -> Answer:
    """The answer object of a run that ended.

    `schema` is the JSON Schema of the slots, if the run has one; the answer then has `data`.
    `warnings` come after those of the run's events.
    """
    composed = research.answer
    claims = composed.claims if composed else ()
    findings, data = research.findings, None
    if schema is not None:
        findings, data, data_warnings = keep_valid(schema, findings)
        warnings = (*data_warnings, *warnings)
    quotes = _cited_quotes(research, findings.values())
    citations = tuple(_build_citation(quote, research, run) for quote in quotes)
    answer = Answer(
        topic=research.topic,
        status=_decide_status(research, error),
        degraded=_is_degraded(research),
        answer=composed.text if composed else "",
        citations=citations,
        claims=claims,
        slots=_build_slots(findings),
        data=data,
        report=_build_report(research, claims, citations),
        sources=_count_sources(research),
        attempts=research.attempts + tuple(getattr(error, "attempts", ())),
        warnings=(*_event_warnings(research), *_copy_warnings(research, citations), *warnings),
        usage=usage,
        run=run.model_copy(update=_used_services(research)),
        error=_to_error(error) if error else None,
    )
    return _strip_controls(answer)


def build_error_answer(topic: str, error: AgentError) -> Answer:
    """The answer object of a run that could not begin."""
    return _strip_controls(Answer(topic=topic, status="error", error=_to_error(error)))


def _strip_controls(answer: Answer) -> Answer:
    """An answer without characters that command a terminal.

    Pages and replies lose them when they come. A journal that somebody else made may hold them.
    """
    value = answer.model_dump()
    clean = map_texts(value, strip_controls)
    return answer if clean == value else Answer.model_validate(clean)


def build_run_info(header: Mapping[str, Any], journal: Path | None) -> RunInfo:
    """Which run an answer is of, from the header of its journal and the journal's path."""
    return RunInfo(
        id=header["run"],
        strategy=header["strategy"],
        reason=str(header.get("reason", "")),
        started_at=header["at"],
        journal=str(journal) if journal else None,
    )


def build_usage(calls: CallUsage, rounds: int, seconds: float) -> Usage:
    """What a run used: its calls, its rounds, and its seconds, which are rounded to 1 ms."""
    return Usage(**calls.model_dump(), rounds=rounds, seconds=round(seconds, 3))


def _to_error(error: AgentError) -> Error:
    return Error(kind=error.kind, message=error.message, remedy=error.remedy)


def _decide_status(
    research: Research, error: AgentError | None
) -> Literal["complete", "partial", "insufficient", "error"]:
    if error or research.answer is None:
        return "error"
    if research.is_halted:
        return "partial"
    return "complete" if research.answer.quotes else "insufficient"


def _is_degraded(research: Research) -> bool:
    """Whether a fallback was used in a call, or no model in a task."""
    used_fallback = any(event.stand_in for event in research.events_of(Failed))
    return used_fallback or any(event.model == "extractive" for event in research.events_of(Asked))


def _cited_quotes(research: Research, findings: Iterable[Finding]) -> list[Quote]:
    """The quotes of the answer, its report and its slots, without duplicates, by source and offset.

    With a report, quotes of a source that no sentence cites are left out: the draft may have had
    them for sentences that were dropped.
    """
    composed = research.answer
    quotes = set(composed.quotes if composed else ())
    if composed and composed.report:
        cited = cited_sources(composed)
        quotes = {quote for quote in quotes if quote.source in cited}
    for finding in findings:
        quotes.update(finding.quotes)
    return sorted(quotes, key=lambda quote: (quote.source, quote.start, quote.end, quote.match))


def _build_citation(quote: Quote, research: Research, run: RunInfo) -> Citation:
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
        link=quote_link(page.url, page.text, quote.start, quote.end),
        page_sha256=page.sha256,
        retrieved_at=page.retrieved_at,
        via=page.via,
        credibility=rate_credibility(research.topic, source.hit, int(run.started_at[:4])),
    )


def build_slot_answers(research: Research) -> dict[str, SlotAnswer]:
    """The findings so far, while the run goes on."""
    return _build_slots(research.findings)


def _build_slots(findings: Mapping[str, Finding]) -> dict[str, SlotAnswer]:
    return {
        name: SlotAnswer(
            value=finding.value,
            status=finding.status,
            citations=tuple(sorted({quote.source for quote in finding.quotes})),
            confidence=finding.confidence,
            weight=finding.weight,
            alternatives=finding.alternatives,
        )
        for name, finding in findings.items()
    }


def _build_report(
    research: Research, claims: tuple[Claim, ...], citations: tuple[Citation, ...]
) -> ReportAnswer | None:
    """The report with its Markdown, which is made from the answer object alone."""
    counts = _count_sources(research)
    report = build_report(research, blocked=counts.blocked, failed=counts.failed)
    if report is None:
        return None
    return report.model_copy(update={"markdown": report_to_markdown(report, claims, citations)})


def _count_sources(research: Research) -> SourceCounts:
    failed_pages = [event for event in research.events_of(Failed) if event.what == "page"]
    return SourceCounts(
        found=len(research.hits),
        read=sum(event.page.via == "page" for event in research.events_of(PageRead)),
        blocked=sum(event.outcome in BLOCKED_OUTCOMES for event in failed_pages)
        + len(research.events_of(Blocked)),
        failed=sum(event.outcome not in BLOCKED_OUTCOMES for event in failed_pages),
    )


def _event_warnings(research: Research) -> list[str]:
    warnings = [*_model_warnings(research.events_of(Asked))]
    for event in research.events_of(Failed):
        fallback = f" Used instead: {event.stand_in}." if event.stand_in else ""
        warnings.append(f"{event.subject}: {event.message}{fallback}")
    warnings += dict.fromkeys(event.reason for event in research.events_of(Halted))
    warnings += [event.message for event in research.events_of(Warned)]
    return warnings


def _model_warnings(events: Iterable[Asked]) -> Iterator[str]:
    """Which tasks were done without a model, or that all were."""
    tasks_by_model: dict[str, dict[str, None]] = {}  # dict keys as an ordered set
    for event in events:
        tasks_by_model.setdefault(event.model, {})[event.task] = None
    extractive = tasks_by_model.pop("extractive", None)
    if extractive and tasks_by_model:
        tasks = ", ".join(extractive)
        yield f"No model was used for: {tasks}. What stands in is quoted from sources."
    elif extractive:
        yield "No model was used: the answer is made of sentences quoted from sources."


def _copy_warnings(research: Research, citations: Iterable[Citation]) -> Iterator[str]:
    """Which cited pages have the text of another one: together they are one witness."""
    cited = {citation.id for citation in citations}
    sources = [source for source in research.sources if source.n in cited]
    for n, original in find_copies(sources).items():
        if n != original:
            yield f"[{n}] has the text of [{original}]: they are one witness."


def _used_services(research: Research) -> dict[str, tuple[str, ...]]:
    """The models and search providers that replied, each once, in the order of first use."""
    models = dict.fromkeys(event.model for event in research.events_of(Asked))
    providers = dict.fromkeys(event.found.provider for event in research.events_of(Searched))
    return {"models": tuple(models), "providers": tuple(providers)}


def warm_validators() -> None:
    """Build and load what the first answer needs, while the run waits for something else.

    These are the validator of answers, the tables of the rules and of credibility, and pydantic's
    validators, which are otherwise built at first use.
    """
    from agent.checking.bench import QuotePlace, decide_verdict

    answer_validator()
    decide_verdict("a claim", (QuotePlace("something else", "", 0, 14),))
    rate_credibility("", Hit(url="https://example.org/"), 2000)
    _rebuild_models(Frozen)


def _rebuild_models(base: type[Frozen]) -> None:
    for model in base.__subclasses__():
        model.model_rebuild()
        _rebuild_models(model)
