"""The format `text` of a check: the report with marks, then what does not hold with its quotes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from agent.answer.check import CheckResult, ClaimCheck
from agent.answer.check_phrases import (
    MARKS,
    ORDER,
    ReportPiece,
    cut_report,
    describe,
    summarize,
    tally,
)
from agent.state.reports import CheckVerdict
from agent.state.sanitizing import sanitize_for_display

Paint = Callable[[str, CheckVerdict], str]


def to_check_text(result: CheckResult, paint: Paint = lambda text, _: text) -> str:
    """The check for a terminal. `paint` colours a text by a verdict."""
    lines = [summarize(result), tally(result), ""]
    if result.claims:
        marked = "".join(_mark(piece, paint) for piece in cut_report(result))
        lines += [marked.strip("\n"), ""]
    lines += _list_problems(result, paint)
    lines += [f"Warning: {sanitize_for_display(warning)}" for warning in result.warnings]
    return "\n".join(lines).rstrip("\n") + "\n"


def _mark(piece: ReportPiece, paint: Paint) -> str:
    """A piece of the report, a claim with its mark behind it."""
    text = "\n".join(map(sanitize_for_display, piece.text.split("\n")))
    if piece.claim is None:
        return text
    verdict = piece.claim.verdict
    label = "" if verdict == "supported" else f" {describe(piece.claim).partition(':')[0]}"
    return f"{text} {paint(f'{MARKS[verdict]}{label}', verdict)}"


def _list_problems(result: CheckResult, paint: Paint) -> Iterator[str]:
    """Each claim that is not confirmed, the worst first, with the quote that decides."""
    claims = [claim for claim in result.claims if claim.verdict != "supported"]
    for claim in sorted(claims, key=lambda claim: ORDER.index(claim.verdict)):
        line = f"{MARKS[claim.verdict]} {sanitize_for_display(describe(claim))}"
        yield paint(line, claim.verdict)
        yield f"  {sanitize_for_display(claim.text)}"
        yield from _quote_lines(claim, result)
        yield ""


def _quote_lines(claim: ClaimCheck, result: CheckResult) -> Iterator[str]:
    if claim.quote:
        url = next((one.page_url for one in result.sources if one.id == claim.source), "")
        yield f"  > {sanitize_for_display(claim.quote)}"
        yield f"    [{claim.source}] {sanitize_for_display(url)}"
