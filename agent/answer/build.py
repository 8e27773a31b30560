"""Building the answer object from the events of a run."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from agent.answer.addresses import CorpusAddresses
from agent.answer.check_result import build_check
from agent.answer.citations import build_citation, list_cited_quotes
from agent.answer.cleaning import change_texts, clean_answer
from agent.answer.failures import list_warnings, warn_of_copies
from agent.answer.formats import report_to_markdown
from agent.answer.numbering import number_sources, renumber
from agent.answer.report import build_report, count_sources
from agent.answer.schema import Answer, Error, RunInfo, SourceCounts, Usage
from agent.answer.slot_answers import build_slots
from agent.answer.status import decide_end, is_degraded
from agent.errors import AgentError
from agent.slots.slot_data import keep_valid
from agent.state import Asked, Attempt, CitedReport, Composed, Recalled, Research, Searched

OWN_TEXTS = {"state", "warnings", "attempts", "error"}  # fields whose words are the program's


def build_answer(
    research: Research,
    *,
    usage: Usage,
    run: RunInfo,
    schema: dict[str, Any] | None = None,
    report: CitedReport | None = None,
    warnings: Iterable[str] = (),
    error: AgentError | None = None,
    corpus: str = "",
) -> Answer:
    """The answer object of a run: `data` by the schema of its slots, `check` of its report."""
    addresses = CorpusAddresses(corpus, run.journal or "")
    check = build_check(report, research, addresses) if report else None
    composed = research.answer or Composed(text="", quotes=(), claims=())
    findings, data, unfit = research.findings, None, list[str]()
    if schema is not None:
        findings, data, unfit = keep_valid(schema, findings)
    cite = partial(build_citation, research=research, run=run, addresses=addresses)
    citations = tuple(map(cite, list_cited_quotes(composed, findings.values())))
    end = decide_end(research, findings, citations, check, error)
    answer = Answer(
        topic=research.original_topic,
        status=end.status,
        state=end.state,
        confidence=research.confidence,
        degraded=is_degraded(research, citations),
        answer=composed.text,
        citations=citations,
        closest=() if citations else tuple(map(cite, composed.closest)),
        claims=composed.claims,
        slots=build_slots(research, findings),
        data=data,
        report=build_report(research, addresses),
        check=check,
        sources=SourceCounts(**count_sources(research)),
        attempts=_list_attempts(research, error),
        warnings=(*list_warnings(research, report), *end.lacks, *unfit, *warnings),
        usage=usage,
        run=_complete_run(run, research),
        error=_to_error(error),
    )
    return _finish(answer, research, addresses)


def _finish(answer: Answer, research: Research, addresses: CorpusAddresses) -> Answer:
    """The answer with the numbers that its reader sees, and all that is made of these.

    No path of this machine is in it. What pages say stays: quotes are theirs letter by letter.
    """
    answer = clean_answer(change_texts(answer, addresses.shorten_text, OWN_TEXTS))
    numbers = number_sources(answer)
    numbered = renumber(answer, numbers)
    sources = [source for source in research.sources if source.n in numbers]
    copies = tuple(warn_of_copies(sources, numbers))
    if report := numbered.report:
        markdown = report_to_markdown(report, numbered.claims, numbered.citations)
        report = report.model_copy(update={"markdown": markdown})
    changes = {"report": report, "warnings": (*numbered.warnings, *copies)}
    return numbered.model_copy(update=changes)


def build_error_answer(topic: str, error: AgentError) -> Answer:
    """The answer object of a run that could not begin."""
    return clean_answer(Answer(topic=topic, status="error", error=_to_error(error)))


def _to_error(error: AgentError | None) -> Error | None:
    return Error(kind=error.kind, message=error.message, remedy=error.remedy) if error else None


def _list_attempts(research: Research, error: AgentError | None) -> tuple[Attempt, ...]:
    """Every try at a service; the raw replies of models stay in the journal."""
    attempts: tuple[Attempt, ...] = research.attempts + tuple(getattr(error, "attempts", ()))
    return tuple(attempt.model_copy(update={"reply": ""}) for attempt in attempts)


def _complete_run(run: RunInfo, research: Research) -> RunInfo:
    """With its models and search providers, in the order of first use, and its topic in full."""
    models = dict.fromkeys(event.model for event in research.events_of(Asked))
    searches = (event for event in research.events if isinstance(event, Searched | Recalled))
    providers = dict.fromkeys(p for event in searches for p in event.found.provider.split(", "))
    follows = run.follows and run.follows.model_copy(update={"understood": research.topic})
    services = {"models": tuple(models), "providers": tuple(providers)}
    return run.model_copy(update=services | {"follows": follows})
