"""What the journal of a run that ended holds: its answer, its searches and pages. No step runs.

A journal of version 1 holds no answer. What its calls hold is shown. The file is not rewritten.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from agent.answer.cleaning import clean_answer
from agent.answer.schema import Answer, SourceCounts, Usage, build_run_info, upgrade_answer
from agent.calls.budget import round_dollars, sum_usage
from agent.calls.journal_lines import decode_error
from agent.calls.journal_reader import Recording, read_journal, read_newest_answer, translate_damage
from agent.errors import JournalDamaged, JournalError
from agent.evidence.markers import strip_markers
from agent.state import Claim, Event, Failed, Hit, Page, PageRead, Research, Searched, SearchResults
from agent.state.claims import LONGEST_EARLIER
from agent.state.json_data import Json, get_path
from agent.state.sanitizing import sanitize_line
from agent.state.urls import canonical_url

OLDER = "An earlier version made this run: its last draft is shown as it was, unchecked."
NOT_ENDED = "The run was cut off or is still under way: its journal holds no answer."


def read_answer(journal: Path) -> Answer:
    """The newest answer that a journal holds. Raises JournalError, also for one without any."""
    if (stored := read_newest_answer(journal)) is not None:
        return parse_answer(stored, journal)
    recording = read_journal(journal)
    if recording.header["journal"] > 1:
        raise JournalError(NOT_ENDED, f"Let it end, or continue it: --resume {journal.stem}")
    with translate_damage(journal):
        return _salvage(recording, journal)


def parse_answer(stored: Json, journal: Path) -> Answer:
    """A stored answer object, perhaps of an earlier version. Raises JournalDamaged."""
    try:
        answer = Answer.model_validate(upgrade_answer(stored))
    except ValidationError:
        fault = f"The answer that {journal} holds cannot be used."
        raise JournalDamaged(fault, "Remove that line and --resume the run.") from None
    run = answer.run and answer.run.model_copy(update={"journal": str(journal)})
    return clean_answer(answer.model_copy(update={"run": run}))


def _salvage(recording: Recording, journal: Path) -> Answer:
    """The question, the last draft, what was read and what it took."""
    lines = list(recording.calls.values())
    question, draft = _last_replies(str(recording.header["topic"]), lines)
    research = recorded_research(recording)
    used = round_dollars(sum_usage(lines)).model_dump()
    answer = Answer(
        topic=question,
        status="partial" if draft else "insufficient",
        answer=draft,
        claims=(Claim(text=draft, citations=()),) if draft else (),
        sources=SourceCounts(found=len(research.hits), read=len(research.sources)),
        warnings=(OLDER, *(f"Read: {source.page.url}" for source in research.sources)),
        usage=Usage(**used, seconds=recording.ended_at),
        run=build_run_info(recording.header, journal),
    )
    return clean_answer(answer)


def _last_replies(question: str, lines: list[Json]) -> tuple[str, str]:
    """The question in full and the answer, as models last wrote them."""
    text = ""
    for line in lines:
        reply = get_path(line, "response", "answer")
        if get_path(line, "request", "task") == "understand":
            question = str(get_path(reply, "question") or question)
        text = str(get_path(reply, "answer") or text)
    return sanitize_line(question, LONGEST_EARLIER), strip_markers(text).strip()


def recorded_research(recording: Recording) -> Research:
    """What a journal says was found and read. Lines of another shape are left out."""
    research = Research(str(recording.header.get("topic", "")))
    hits: dict[str, Hit] = {}
    for line in recording.calls.values():
        for event in _events_of(line, hits):
            research.grow(event)
    return research


def _events_of(line: Json, hits: dict[str, Hit]) -> Iterator[Event]:
    """The event of a search or a read; `hits`: those of all searches so far, by their page."""
    kind, request = line.get("call"), line.get("request", {})
    subject = str(request.get("query") or request.get("url") or "")
    try:
        if kind not in ("search", "read") or line.get("late"):
            return
        if "error" in line:
            error = decode_error(kind, line["error"])
            yield Failed(
                what="search" if kind == "search" else "page",
                subject=subject,
                outcome=error.outcome,
                message=error.message,
            )
        elif kind == "search":
            found = SearchResults.model_validate(line["response"])
            hits.update({canonical_url(hit.url): hit for hit in found.hits})
            yield Searched(round=1, found=found)
        else:
            page = Page.model_validate(line["response"])
            hit = hits.get(canonical_url(subject)) or Hit(url=page.url, title=page.title)
            yield PageRead(page=page, hit=hit)
    except (ValueError, TypeError, LookupError):
        return
