"""What is shown of a check, as a tree: the report with marks, and the quotes that decide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from agent.answer import tree
from agent.answer.check import FAILING, CheckResult, ClaimCheck
from agent.state.reports import CheckVerdict


class VerdictWords(NamedTuple):
    """How a verdict is shown."""

    mark: str
    label: str


#: Trouble first.
VERDICTS: dict[CheckVerdict, VerdictWords] = {
    "contradicted": VerdictWords("✗", "contradicted"),
    "unsupported": VerdictWords("✗", "not on the page"),
    "partial": VerdictWords("◐", "in part"),
    "unreadable": VerdictWords("⊘", "page not readable"),
    "unchecked": VerdictWords("○", "not judged"),
    "supported": VerdictWords("✓", "confirmed"),
}
ORDER = tuple(VERDICTS)


def show_check(result: CheckResult) -> tree.Shown:
    """The check as a page: a row for each paragraph of the report, its quotes beside it."""
    report = result.report
    badge = tree.Text(_summarize(result), f"badge {'complete' if result.ok else 'error'}")
    remedy = [tree.Prose((result.error["remedy"],), "trouble")] if result.error else []
    sources = [
        tree.SourceEntry(
            one.id, one.title, one.url, "read" if one.read else f"not read: {one.reason}"
        )
        for one in result.sources
    ]
    return tree.Shown(
        (report.title or report.name if report else "") or "A report",
        head=(tree.Prose((badge,)), tree.Prose((_tally(result),), "quiet"), *remedy),
        sections=(
            tree.PagePart(
                "The report", [_show_row(row, result) for row in _cut_rows(result)], "report"
            ),
            tree.PagePart("Sources", sources, "sources"),
            tree.PagePart("Warnings", _list_warnings(result), "warnings"),
        ),
    )


def show_check_on_terminal(result: CheckResult) -> tree.Shown:
    """The check for a terminal: the marked report, then what does not hold, the worst first."""
    worst = sorted(result.claims, key=lambda claim: ORDER.index(claim.verdict))
    rows = [_mark_row(row) for row in _cut_rows(result)] if result.claims else []
    blocks: list[tree.Block] = [
        tree.Group((tree.Prose((_summarize(result),)), tree.Prose((_tally(result),)))),
        *map(tree.Prose, rows),
        *(_show_problem(claim, result) for claim in worst if claim.verdict != "supported"),
        *_list_warnings(result),
    ]
    return tree.Shown("", blocks)


def _summarize(result: CheckResult) -> str:
    """What came of a check, in a sentence."""
    if result.error:
        return result.error["message"]
    failing = sum(result.counts.get(verdict, 0) for verdict in FAILING)
    if failing:
        return f"{failing} sentence{'s do' if failing > 1 else ' does'} not hold"
    if not result.claims:
        return "No sentence cites a source"
    supported = result.counts.get("supported", 0)
    if supported == len(result.claims):
        return "Every sentence with a source holds"
    return f"Nothing was found wrong; {supported} of {len(result.claims)} sentences are confirmed"


def _tally(result: CheckResult) -> str:
    """How many sentences have each verdict: `4 confirmed, 1 in part`."""
    counts = [(result.counts.get(verdict, 0), words.label) for verdict, words in VERDICTS.items()]
    counts.append((len(result.uncited), "without a source"))
    return ", ".join(f"{n} {label}" for n, label in counts if n)


def _list_warnings(result: CheckResult) -> Sequence[tree.Block]:
    items = [tree.Item((warning,)) for warning in result.warnings]
    return (tree.Bullets(items, "warnings"),) if items else ()


# --- the report ----------------------------------------------------------------------------------


class _Piece(NamedTuple):
    """A part of the report's text, with the claim that it is, if it is one."""

    text: str
    claim: ClaimCheck | None = None


def _cut_rows(result: CheckResult) -> list[list[_Piece]]:
    """The report's text cut at its claims, by line: a row for each that is not empty."""
    rows: list[list[_Piece]] = [[]]
    for piece in _cut_report(result):
        first, *others = [piece.text] if piece.claim else piece.text.split("\n")
        rows[-1].append(piece._replace(text=first))
        rows += [[_Piece(line)] for line in others]
    return [row for row in rows if any(piece.text.strip() for piece in row)]


def _cut_report(result: CheckResult) -> Iterator[_Piece]:
    text = result.report.text if result.report else ""
    at = 0
    for claim in sorted(result.claims, key=lambda claim: claim.start):
        if claim.start >= at:
            yield _Piece(text[at : claim.start])
            yield _Piece(text[claim.start : claim.end], claim)
            at = claim.end
    yield _Piece(text[at:])


def _mark_row(row: Sequence[_Piece]) -> tree.Parts:
    """A line of the report, each claim with its mark behind it."""
    return [part for piece in row for part in _mark(piece)]


def _mark(piece: _Piece) -> tree.Parts:
    if piece.claim is None:
        return (piece.text,)
    verdict = piece.claim.verdict
    mark, label = VERDICTS[verdict]
    words = mark if verdict == "supported" else f"{mark} {label}"
    return (tree.Text(piece.text, f"claim-{verdict}"), " ", tree.Text(words, f"verdict {verdict}"))


def _describe(claim: ClaimCheck) -> tree.Prose:
    """The verdict on a claim in words, with what is wrong."""
    mark, label = VERDICTS[claim.verdict]
    reason = f": {claim.reason}" if claim.reason else ""
    return tree.Prose((tree.Text(f"{mark} {label}{reason}", f"verdict {claim.verdict}"),))


def _show_row(row: Sequence[_Piece], result: CheckResult) -> tree.Group:
    """A line of the report, and beside it what decides: all that does not hold, or the first."""
    claims = [piece.claim for piece in row if piece.claim]
    worst = sorted(claims, key=lambda claim: ORDER.index(claim.verdict))
    failing = [claim for claim in worst if claim.verdict != "supported"]
    beside = [_show_evidence(claim, result) for claim in failing or worst[:1]]
    return tree.Group((tree.Prose(_mark_row(row)), tree.Group(beside)), "row")


def _show_evidence(claim: ClaimCheck, result: CheckResult) -> tree.Group:
    quote = [tree.Quotation(claim.quote)] if claim.quote else []
    link = tree.Text("Open the page at these words", url=claim.link)
    sources = (one for one in result.sources if one.id == claim.source)
    pages = (tree.Prose((f"[{s.id}] {s.title or s.url} · ", link), "quiet") for s in sources)
    return tree.Group((_describe(claim), *quote, *pages), "evidence")


def _show_problem(claim: ClaimCheck, result: CheckResult) -> tree.Group:
    """A claim that is not confirmed, with the quote that decides."""
    urls = [one.page_url for one in result.sources if one.id == claim.source]
    source = (tree.Prose((f"  [{claim.source}] {url}",)) for url in urls)
    quote = (tree.Prose((f"> {claim.quote}",)), *source) if claim.quote else ()
    return tree.Group((_describe(claim), tree.Group((tree.Prose((claim.text,)), *quote), "inset")))
