"""The audit of a checked report: every quote, offset and link, and all of it by replay."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from agent import __version__
from agent.answer.check import CheckResult, build_check_result
from agent.errors import JournalError
from agent.evidence.links import quote_link
from agent.outside.budget import round_dollars, sum_usage
from agent.outside.recording import read_journal
from agent.run.begin import research
from agent.run.journal_evidence import JournalEvidence
from agent.run.replay import Replay
from agent.settings import Settings
from agent.state.json_data import Json
from agent.state.values import hash_text


def is_check_result(value: Json) -> bool:
    """Whether an object is the result of a check, and no answer."""
    return value.get("schema_version") == "check-1"


def read_check(value: Json) -> tuple[CheckResult | None, list[tuple[str, str]]]:
    """A result of a check, or where it has not the form of one, and how."""
    try:
        return CheckResult.model_validate(value), []
    except ValidationError as error:
        rows = error.errors()
    return None, [(".".join(("$", *map(str, row["loc"]))), row["msg"]) for row in rows]


def find_check_failures(
    result: CheckResult, evidence: JournalEvidence
) -> Iterator[tuple[str, str]]:
    """Where a result does not stand on the report and on the pages of the journal."""
    report = result.report
    text = report.text if report else ""
    if report and report.sha256 != hash_text(text, "replace"):
        yield "report.sha256", "it is not that of the report's text"
    sources = {source.id: source for source in result.sources}
    for i, claim in enumerate(result.claims):
        where = f"claims[{i}]"
        if not 0 <= claim.start <= claim.end <= len(text):
            yield where, "its offsets are not in the report"
        for n in claim.sources:
            if n not in sources:
                yield where, f"{n} is not among the sources"
        if not claim.quote:
            continue
        source = sources.get(claim.source or 0)
        pages = evidence.pages.get(source.page_sha256, []) if source else []
        start, end = claim.quote_start or 0, claim.quote_end or 0
        if not source or not pages:
            yield where, "the journal holds no page of its quote"
        elif pages[0]["text"][start:end] != claim.quote:
            yield f"{where}.quote", "the page does not hold this quote at these offsets"
        elif claim.link != quote_link(source.page_url, pages[0]["text"], start, end):
            yield f"{where}.link", "the link does not open this page at this quote"


def replay_check(result: CheckResult, journal: Path | None) -> Replay | None:
    """The result that replaying the journal gives; None where it cannot give this one again."""
    if journal is None:
        return None
    recording = read_journal(journal)
    is_outdated = recording.resumed_after_halt and result.status != "complete"
    if is_outdated or recording.header.get("version") != __version__:
        return None
    answer = research("", Settings(replay=journal)).answer()
    if answer.error and answer.error.kind == JournalError.kind:
        return None
    max_usage = round_dollars(sum_usage(recording.calls.values()))
    again = build_check_result(answer).model_dump(mode="json")
    return Replay(again, max_usage.model_dump(mode="json"))


def count_checked(result: CheckResult | None) -> Json:
    """How much of a result was audited."""
    claims = result.claims if result else ()
    return {
        "citations": sum(bool(claim.quote) for claim in claims),
        "claims": len(claims),
        "slots": 0,
        "pages": sum(source.read for source in result.sources) if result else 0,
    }


def find_judged_claims(result: CheckResult) -> Iterator[Json]:
    """The verdicts that a model gave."""
    for i, claim in enumerate(result.claims):
        if claim.by not in ("", "rule"):
            yield {"where": f"claims[{i}]", "verdict": claim.verdict, "by": claim.by}
