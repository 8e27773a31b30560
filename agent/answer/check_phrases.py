"""The words and marks that all formats of a check share."""

from __future__ import annotations

from typing import NamedTuple

from agent.answer.check import FAILING, CheckResult, ClaimCheck
from agent.state.reports import CheckVerdict

MARKS: dict[CheckVerdict, str] = {
    "supported": "✓",
    "partial": "◐",
    "unsupported": "✗",
    "contradicted": "✗",
    "unchecked": "○",
    "unreadable": "⊘",
}
LABELS: dict[CheckVerdict, str] = {
    "supported": "confirmed",
    "partial": "in part",
    "unsupported": "not on the page",
    "contradicted": "contradicted",
    "unchecked": "not judged",
    "unreadable": "page not readable",
}
#: Trouble first.
ORDER: tuple[CheckVerdict, ...] = (
    "contradicted",
    "unsupported",
    "partial",
    "unreadable",
    "unchecked",
    "supported",
)


class ReportPiece(NamedTuple):
    """A part of the report's text, with the claim that it is, if it is one."""

    text: str
    claim: ClaimCheck | None = None


def summarize(result: CheckResult) -> str:
    """What came of a check, in a sentence."""
    if result.error:
        return result.error["message"]
    failing = sum(result.counts.get(verdict, 0) for verdict in FAILING)
    if failing:
        return f"{failing} sentence{'s do' if failing > 1 else ' does'} not hold"
    if not result.claims:
        return "No sentence cites a source"
    supported = result.counts.get("supported", 0)
    return (
        "Every sentence with a source holds"
        if supported == len(result.claims)
        else f"Nothing was found wrong; {supported} of {len(result.claims)} sentences are confirmed"
    )


def tally(result: CheckResult) -> str:
    """How many sentences have each verdict: `4 confirmed, 1 in part`."""
    counted = [f"{n} {LABELS[v]}" for v in ORDER if (n := result.counts.get(v, 0))]
    if result.uncited:
        counted.append(f"{len(result.uncited)} without a source")
    return ", ".join(counted)


def describe(claim: ClaimCheck) -> str:
    """The verdict on a claim in words, with what is wrong."""
    label = LABELS[claim.verdict]
    return f"{label}: {claim.reason}" if claim.reason else label


def cut_report(result: CheckResult) -> list[ReportPiece]:
    """The report's text in order, cut at its claims."""
    text = result.report.text if result.report else ""
    pieces: list[ReportPiece] = []
    at = 0
    for claim in sorted(result.claims, key=lambda claim: claim.start):
        if claim.start < at:
            continue
        pieces += [
            ReportPiece(text[at : claim.start]),
            ReportPiece(text[claim.start : claim.end], claim),
        ]
        at = claim.end
    return [*pieces, ReportPiece(text[at:])]
