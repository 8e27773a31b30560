"""The audit of a checked report: every quote, offset and link."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from agent.answer.check import CheckResult
from agent.evidence.links import quote_link
from agent.run.journal_evidence import JournalEvidence
from agent.state.json_data import Json
from agent.state.values import hash_text

#: Where in a result, as a path, and what is wrong there.
Failure = tuple[str, str]


class Audited(NamedTuple):
    """What was found in a result without replaying it."""

    failures: list[Failure]
    verdicts: Sequence[tuple[str, str, str]]  # where, which, by whom
    checked: Json  # how much was


def audit_check(result: CheckResult, evidence: JournalEvidence) -> Audited:
    """The audit of a checked report by the pages of its journal."""
    claims = [(f"claims[{i}]", claim.verdict, claim.by) for i, claim in enumerate(result.claims)]
    checked = {
        "citations": sum(bool(claim.quote) for claim in result.claims),
        "claims": len(claims),
        "slots": 0,
        "pages": sum(source.read for source in result.sources),
    }
    return Audited(list(_find_failures(result, evidence)), claims, checked)


def _find_failures(result: CheckResult, evidence: JournalEvidence) -> Iterator[Failure]:
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
