"""Building the answer object from the events of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from agent.answer.addresses import CorpusAddresses
from agent.answer.check_result import build_check
from agent.answer.failures import describe_fallbacks, list_failures
from agent.answer.formats import report_to_markdown
from agent.answer.numbering import number_sources, renumber, renumber_slot
from agent.answer.report import build_report, cited_sources, count_sources
from agent.answer.schema import (
    Answer,
    Citation,
    Error,
    Followed,
    RunInfo,
    SlotAnswer,
    SourceCounts,
    Usage,
    answer_validator,
)
from agent.answer.status import decide_end, is_degraded, is_of, list_names
from agent.calls.budget import CallUsage, round_dollars
from agent.calls.journal_lines import parent_of
from agent.errors import AgentError
from agent.evidence.credibility import rate_credibility
from agent.evidence.near_duplicates import find_copies
from agent.evidence.text_fragments import quote_link
from agent.slots.slot_data import keep_valid
from agent.slots.weighing import rate_confidence
from agent.state import (
    Asked,
    Attempt,
    CitedReport,
    Composed,
    Finding,
    Frozen,
    Hit,
    Page,
    Quote,
    Recalled,
    Research,
    Searched,
    Source,
    Warned,
)
from agent.state.characters import strip_controls
from agent.state.json_data import map_texts
from agent.state.places import find_place

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
    cite = partial(_build_citation, research=research, run=run, addresses=addresses)
    citations = tuple(map(cite, _cited_quotes(composed, findings.values())))
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
        slots=_build_slots(research, findings),
        data=data,
        report=build_report(research, addresses),
        check=check,
        sources=SourceCounts(**count_sources(research)),
        attempts=_list_attempts(research, error),
        warnings=(*_event_warnings(research, report), *end.lacks, *unfit, *warnings),
        usage=usage,
        run=_complete_run(run, research),
        error=_to_error(error),
    )
    return _finish(answer, research, addresses)


def _change_texts(
    answer: Answer, change: Callable[[str], str], only: set[str] | None = None
) -> Answer:
    """The answer with a change to each of its texts, or to those of some fields only."""
    said = answer.model_dump(include=only)
    changed = map_texts(said, change)
    return answer if changed == said else Answer.model_validate(answer.model_dump() | changed)


def _finish(answer: Answer, research: Research, addresses: CorpusAddresses) -> Answer:
    """The answer with the numbers that its reader sees, and all that is made of these.

    No path of this machine is in it. What pages say stays: quotes are theirs letter by letter.
    """
    answer = clean_answer(_change_texts(answer, addresses.shorten_text, OWN_TEXTS))
    numbers = number_sources(answer)
    numbered = renumber(answer, numbers)
    sources = [source for source in research.sources if source.n in numbers]
    copies = tuple(_copy_warnings(sources, numbers))
    if report := numbered.report:
        markdown = report_to_markdown(report, numbered.claims, numbered.citations)
        report = report.model_copy(update={"markdown": markdown})
    changes = {"report": report, "warnings": (*numbered.warnings, *copies)}
    return numbered.model_copy(update=changes)


def build_error_answer(topic: str, error: AgentError) -> Answer:
    """The answer object of a run that could not begin."""
    return clean_answer(Answer(topic=topic, status="error", error=_to_error(error)))


def clean_answer(answer: Answer) -> Answer:
    """An answer without characters that command a terminal.

    Pages and replies lose them when they come. A journal that somebody else made may hold them.
    """
    return _change_texts(answer, strip_controls)


def build_run_info(header: Mapping[str, Any], journal: Path | None) -> RunInfo:
    """Which run an answer is of, from the header of its journal and the journal's path."""
    parent = parent_of(dict(header))
    return RunInfo(
        id=header["run"],
        strategy=header["strategy"],
        started_at=header["at"],
        journal=str(journal) if journal else None,
        follows=parent
        and Followed(run=parent.run, question=parent.earlier[-1].question, understood=""),
    )


def build_usage(calls: CallUsage, rounds: int, seconds: float) -> Usage:
    """What a run used: its calls, rounds and seconds, to 1 ms and to a millionth of a dollar."""
    fields = round_dollars(calls).model_dump()
    return Usage(**fields, rounds=rounds, seconds=round(seconds, 3))


def _to_error(error: AgentError | None) -> Error | None:
    return Error(kind=error.kind, message=error.message, remedy=error.remedy) if error else None


def _cited_quotes(composed: Composed, findings: Iterable[Finding]) -> list[Quote]:
    """The quotes of the answer, its report and its slots, without duplicates, by source and offset.

    With a report, quotes of a source that no sentence cites are left out: the draft may have had
    them for sentences that were dropped.
    """
    quotes = set(composed.quotes)
    if composed.report:
        cited = cited_sources(composed)
        quotes = {quote for quote in quotes if quote.source in cited}
    for finding in findings:
        quotes.update(finding.quotes)
    return sorted(quotes, key=lambda quote: (quote.source, quote.start, quote.end, quote.match))


def _build_citation(
    quote: Quote, research: Research, run: RunInfo, addresses: CorpusAddresses
) -> Citation:
    source = research.sources[quote.source - 1]
    return Citation(
        id=quote.source,
        match=quote.match,
        **cite_page(source.page, quote.start, quote.end, addresses),
        date=source.hit.date or "",
        work={k: v for k, v in (source.hit.work or {}).items() if k != "abstract"} or None,
        credibility=rate_credibility(
            research.query_that_found(source.hit), source.hit, int(run.started_at[:4])
        ),
    )


def cite_page(page: Page, start: int, end: int, addresses: CorpusAddresses) -> dict[str, Any]:
    """What a citation has from its page: by this it is built, and by this it is audited."""
    url = addresses.shorten_url(page.url)
    return {
        "title": page.title,
        "url": url,
        "quote": page.text[start:end],
        "start": start,
        "end": end,
        "place": find_place(page.text, page.places, start),
        "link": quote_link(url, page.text, start, end),
        "page_sha256": page.sha256,
        "retrieved_at": page.retrieved_at,
        "via": page.via,
        "text_from": page.text_from,
        "partial_text": page.partial_text,
        "copy_of": page.copy_of,
    }


def build_slot_answers(research: Research) -> dict[str, SlotAnswer]:
    """The findings so far, while the run goes on. Sources have no numbers before the answer."""
    return {
        name: renumber_slot(slot, {})
        for name, slot in _build_slots(research, research.findings).items()
    }


def _build_slots(research: Research, findings: Mapping[str, Finding]) -> dict[str, SlotAnswer]:
    needed = {slot.name for slot in research.slots if slot.needed}
    return {
        name: SlotAnswer(
            value=finding.value,
            status=finding.status,
            citations=tuple(sorted({quote.source for quote in finding.quotes})),
            confidence=rate_confidence(finding),
            verdict=finding.verdict,
            by=finding.by,
            weight=finding.weight,
            alternatives=finding.alternatives,
            of=finding.of,
            unasked=not is_of(finding, needed),
        )
        for name, finding in findings.items()
    }


def _event_warnings(research: Research, report: CitedReport | None) -> list[str]:
    warnings = [*list_failures(research), *(report.warnings if report else ())]
    warnings += describe_fallbacks(research)
    warnings += [event.message for event in research.events_of(Warned)]
    return [*warnings, *_blocked_warning(research)]


def _list_attempts(research: Research, error: AgentError | None) -> tuple[Attempt, ...]:
    """Every try at a service; the raw replies of models stay in the journal."""
    attempts: tuple[Attempt, ...] = research.attempts + tuple(getattr(error, "attempts", ()))
    return tuple(attempt.model_copy(update={"reply": ""}) for attempt in attempts)


def _blocked_warning(research: Research) -> Iterator[str]:
    """Which pages were blocked, the first of them by name."""
    if urls := [event.hit.url for event in research.blocked_pages]:
        yield f"Not read because of low credibility: {list_names(urls)}."


def _copy_warnings(sources: Sequence[Source], numbers: Mapping[int, int]) -> Iterator[str]:
    """Which cited pages have the text of another one: together they are one witness."""
    for n, original in find_copies(sources).items():
        if n != original:
            yield f"[{numbers[n]}] repeats [{numbers[original]}]: they count as one source."


def _complete_run(run: RunInfo, research: Research) -> RunInfo:
    """With its models and search providers, in the order of first use, and its topic in full."""
    models = dict.fromkeys(event.model for event in research.events_of(Asked))
    searches = (event for event in research.events if isinstance(event, Searched | Recalled))
    providers = dict.fromkeys(p for event in searches for p in event.found.provider.split(", "))
    follows = run.follows and run.follows.model_copy(update={"understood": research.topic})
    services = {"models": tuple(models), "providers": tuple(providers)}
    return run.model_copy(update=services | {"follows": follows})


def warm_validators() -> None:
    """Build and load what the first answer needs, while the run waits for something else.

    These are the validator of answers, the tables of the rules and of credibility, and pydantic's
    validators, which are otherwise built at first use.
    """
    from agent.verification.judge_view import QuotePlace
    from agent.verification.rules import decide_verdict

    answer_validator()
    decide_verdict("a claim", (QuotePlace("something else", "", 0, 14),))
    rate_credibility("", Hit(url="https://example.org/"), 2000)
    _rebuild_models(Frozen)


def _rebuild_models(base: type[Frozen]) -> None:
    for model in base.__subclasses__():
        model.model_rebuild()
        _rebuild_models(model)
