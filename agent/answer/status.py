"""What an answer is worth: its status with the reasons, and whether it is degraded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from agent.answer.check_result import ReportCheck, Shares
from agent.answer.counts import format_count, list_names
from agent.answer.failures import failed_models, list_open_failures
from agent.answer.messages import DISAGREE
from agent.answer.report import all_claims
from agent.answer.schema import Citation
from agent.answer.states import State, Status, decide_state
from agent.errors import AgentError
from agent.slots.conversion import slot_words
from agent.slots.weighing import is_disputed
from agent.state import HOLDING, Answered, Asked, Claim, Finding, Research, Searched, Verified

#: Where each slot that a model planned is of something else.
UNPLANNED = "The plan of the model does not match the question, so this may not answer it."
#: Of an answer that was found by its words.
PASSAGES = "No model has read them; they only share words with the question."
#: Outcomes of a try at a search provider after which nothing replaces it: it answered, or it
#: was never to be asked.
_NO_FAILURE = ("ok", "empty", "no_key", "skipped")


class End(NamedTuple):
    """How a run ended, and what its answer lacks, a sentence each."""

    status: Status
    state: State | None
    lacks: tuple[str, ...]


def decide_end(
    research: Research,
    findings: Mapping[str, Finding],
    citations: Iterable[Citation],
    check: ReportCheck | None,
    error: AgentError | None,
) -> End:
    """The end of a run: of its answer, or of the check that it made."""
    disputes = tuple(_find_disputes(research, findings))
    shortfalls = tuple(_find_shortfalls(research, findings))
    lacks = (*disputes, *shortfalls)
    if check and not error:
        return End(_decide_check_status(check.shares), None, lacks)
    status = _decide_status(research, citations, lacks, error)
    open_ = (*list_open_failures(research), *shortfalls)
    state = None if check or error else decide_state(research, status, open_, disputes)
    return End(status, state, lacks)


def _decide_status(
    research: Research,
    citations: Iterable[Citation],
    lacks: Sequence[str],
    error: AgentError | None,
) -> Status:
    if error or research.answer is None:
        return "error"
    if not tuple(citations):
        return "insufficient"
    is_short = bool(research.is_halted or _has_dropped(research) or lacks)
    return "partial" if is_short or research.is_answered_without_model else "complete"


def _decide_check_status(shares: Shares) -> Status:
    """Complete where every claim was judged; insufficient where none was."""
    if not shares.judged:
        return "insufficient"
    return "complete" if shares.judged == shares.claims else "partial"


def _has_dropped(research: Research) -> bool:
    """Whether a sentence was dropped; of a report one of its body, which is checked first."""
    checks = research.events_of(Verified)
    has_summary = research.answer and research.answer.report and len(checks) > 1
    return any(one.dropped for one in (checks[:-1] if has_summary else checks[-1:]))


def _find_shortfalls(research: Research, findings: Mapping[str, Finding]) -> Iterator[str]:
    """What an answer lacks, a sentence each, besides what warnings of the run's events say."""
    needed = {slot.name for slot in research.slots if slot.needed}
    missing = [f.slot for f in findings.values() if f.status == "missing" and is_of(f, needed)]
    claims = all_claims(research.answer) if research.answer else []
    if research.may_answer and claims and not research.model_failures:
        yield PASSAGES
    if claims and not research.has_fit_plan:
        yield UNPLANNED
    if missing:
        yield f"Not found: {list_names([*map(slot_words, missing)])}."
    report = research.answer.report if research.answer else None
    if unanswered := [one for theme in report.themes for one in theme.open] if report else []:
        yield f"Not answered: {list_names(unanswered)}"
    drafts = research.events_of(Answered)
    if research.answer and research.answer.claims and drafts and not drafts[-1].quotes:
        yield "No quote of the draft was found on its page: the answer quotes the sources."
    reflections = research.reflections
    is_read = research.is_drafted_by_rules or not reflections or reflections[-1].answerable
    if claims and not is_read:
        yield "The sources that were read may not answer this question."
    yield from _count_unsupported(claims)


def _find_disputes(research: Research, findings: Mapping[str, Finding]) -> Iterator[str]:
    """About what sources disagree, a sentence each. A card shows both sides."""
    report = research.answer.report if research.answer else None
    opposed = [slot_words(f.slot) for f in findings.values() if f.status == "conflict"]
    if opposed:
        yield f"{DISAGREE} about: {list_names(opposed)}."
    elif report and report.conflicts:
        yield f"{DISAGREE}: see Conflicting Information in the report."
    if disputed := [slot_words(f.slot) for f in findings.values() if is_disputed(f)]:
        yield f"{DISAGREE} about: {list_names(disputed)}. The better supported value is shown."


def is_of(finding: Finding, names: set[str]) -> bool:
    """Whether a finding is of one of these slots: `goals[0].minute` is of `goals[].minute`."""
    name = re.sub(r"\[\d+\]", "[]", finding.slot)
    return name in names or any(other.startswith(f"{name}[]") for other in names)


def _count_unsupported(claims: list[Claim]) -> Iterator[str]:
    """How many sentences of the answer are neither supported nor quoted, if any."""
    if count := sum(claim.verdict not in HOLDING for claim in claims):
        yield f"Not confirmed: {count} of {format_count(len(claims), 'sentence')}."


def is_degraded(research: Research, citations: Iterable[Citation]) -> bool:
    """Whether something that the answer uses replaced what was asked for.

    That is another model or search provider than one that failed, rules for a model, or the
    snippet of a page that the answer cites.
    """
    asked = research.events_of(Asked)
    models = {event.model for event in asked}
    return (
        bool(research.model_failures)
        or ("extractive" in models and len(models) > 1)
        or any(failed_models(event) for event in asked)
        or any(map(_has_other_provider, research.events_of(Searched)))
        or any(citation.via == "snippet" for citation in citations)
    )


def _has_other_provider(event: Searched) -> bool:
    """Whether a provider answered in the place of one that failed."""
    return any(
        attempt.provider != event.found.provider and attempt.outcome not in _NO_FAILURE
        for attempt in event.found.attempts
    )
