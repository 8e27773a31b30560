"""A check in words: what was found, and, on a terminal, the report with marks and what fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from agent.answer import tree
from agent.answer.check import (
    FAILING,
    CheckResult,
    ClaimCheck,
    ReportInfo,
    SourceCheck,
    SourceStatus,
)
from agent.answer.phrases import describe_calculation, describe_differences
from agent.answer.shown import list_warnings
from agent.state.reports import CheckVerdict, MarkForm


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
MARKS: dict[MarkForm, str] = {
    "links": "links",
    "brackets": "numbers in brackets",
    "raised": "raised numbers",
    "digits": "numbers behind words",
    "notes": "notes",
    "authors": "authors and years",
    "spans": "spans that the service tells",
    "raw": "marks of the product's own",
}
STATUSES: dict[SourceStatus, str] = {
    "retracted": "retracted",
    "archived": "read in an archived copy",
    "paywalled": "behind a paywall",
    "read": "read",
    "dead": "dead link",
    "blocked": "closed to programs",
    "unreadable": "not read",
    "unaddressed": "not read",
}
OVERRIDE = "; --form takes it for something else"
CARRYING = 5  # sources that carry most, on a terminal
MOST_TOLD = 25


def show_check_on_terminal(result: CheckResult) -> tree.Shown:
    """The check for a terminal: what was found, the marked report, then what does not hold."""
    worst = sorted(result.claims, key=lambda claim: ORDER.index(claim.verdict))
    rows = [_mark_row(row) for row in cut_rows(result)] if result.claims else []
    blocks: list[tree.Block] = [
        tree.Group(tuple(tree.Prose((line,)) for line in describe_check(result, OVERRIDE))),
        *map(tree.Prose, rows),
        *(_show_problem(claim, result) for claim in worst if _is_shown(claim)),
        *_list_sources(result),
        *list_warnings(result.warnings),
    ]
    return tree.Shown("", blocks)


# --- what was found -------------------------------------------------------------------------------


def describe_check(result: CheckResult, override: str = "") -> list[str]:
    """What was found, as what the report was taken, what could be read of it, what came of it.

    `override` says how to take it for something else.
    """
    return [*describe_found(result, override), *filter(None, (summarize(result), _tally(result)))]


def describe_found(result: CheckResult, override: str = "") -> list[str]:
    """What the report has, and what of it could not be read or judged."""
    found = _describe_report(result.report, result, override) if result.report else ()
    return [line for line in (*found, _describe_shares(result)) if line]


def _describe_report(report: ReportInfo, result: CheckResult, override: str) -> Iterator[str]:
    has_most = 2 * report.unaddressed <= report.marks
    if not has_most:
        told = f"{report.marks - report.unaddressed} of {report.marks}"
        yield f"Under half of the marks find an address: {told}. {report.advice}".rstrip()
    counts = [_number(report.sentences, "sentence"), f"{report.cited_sentences} with a source"]
    counts.append(_number(result.shares.sources, "source"))
    if report.unaddressed:
        counts.append(f"{_number(report.unaddressed, 'mark')} without an address")
    by = f" with {MARKS[report.marked_by]}" if report.marked_by else ""
    yield f"{', '.join(counts)}. Taken for {report.form}{by}{override}."
    yield report.advice * has_most


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


def _describe_shares(result: CheckResult) -> str:
    """What could not be read or judged; "" where nothing was left out."""
    shares = result.shares
    if result.error or (shares.read, shares.judged) == (shares.sources, shares.claims):
        return ""
    judged = f"{shares.judged} of {shares.claims} sentences with a source were judged"
    return f"{shares.read} of {shares.sources} sources were read, {judged}."


def summarize(result: CheckResult) -> str:
    """What came of a check, in a sentence: of what was judged alone."""
    if result.error:
        return result.error["message"]
    if not result.claims:
        return "No sentence cites a source: nothing is proved"
    failing = sum(result.counts.get(verdict, 0) for verdict in FAILING)
    if failing:
        return f"{failing} sentence{'s do' if failing > 1 else ' does'} not hold"
    shares = result.shares
    if not shares.judged:
        return "No sentence could be judged: nothing is proved"
    if shares.holding == shares.claims:
        return "Every sentence with a source holds"
    return f"Nothing was found wrong; {shares.holding} of {shares.judged} judged sentences hold"


def _tally(result: CheckResult) -> str:
    """How many sentences have each verdict: `4 confirmed, 1 in part`."""
    uncited = [f"{len(result.uncited)} without a source"] if result.uncited else []
    return ", ".join(_count_words(result.counts) + uncited)


def _count_words(counts: dict[str, int]) -> list[str]:
    return [f"{counts[one]} {words.label}" for one, words in VERDICTS.items() if counts.get(one)]


# --- sources --------------------------------------------------------------------------------------


def sort_sources(result: CheckResult) -> list[SourceCheck]:
    """Those that carry most sentences first."""
    return sorted(result.sources, key=lambda one: (-sum(one.counts.values()), one.id))


def describe_source(source: SourceCheck) -> tuple[str, str]:
    """The sentences that a source carries, and what became of it."""
    state = STATUSES[source.status]
    reason = source.notice or ("" if source.status == "read" else source.reason)
    return ", ".join(_count_words(source.counts)), f"{state}: {reason}" if reason else state


def _list_sources(result: CheckResult) -> Sequence[tree.Block]:
    """The sources that carry most, and those of which something is to be told."""
    ordered = sort_sources(result)
    told = [one for n, one in enumerate(ordered) if n < CARRYING or one.status != "read"]
    items = [tree.Item((_describe_line(one),)) for one in told[:MOST_TOLD]]
    if more := len(ordered) - len(items):
        items.append(tree.Item((f"and {more} more",)))
    return (tree.Heading("By source"), tree.Bullets(items)) if told else ()


def _describe_line(source: SourceCheck) -> str:
    counts, state = describe_source(source)
    number = f"[{source.id}] {source.title or source.url}"
    return f"{number}: {counts or 'no sentence'}; {state}"


# --- the report ----------------------------------------------------------------------------------


class ReportPiece(NamedTuple):
    """A part of the report's text, with the claim that it is, if it is one."""

    text: str
    claim: ClaimCheck | None = None


def cut_rows(result: CheckResult) -> list[list[ReportPiece]]:
    """The report's text cut at its claims, by line: a row for each that is not empty."""
    rows: list[list[ReportPiece]] = [[]]
    for piece in _cut_report(result):
        first, *others = [piece.text] if piece.claim else piece.text.split("\n")
        rows[-1].append(piece._replace(text=first))
        rows += [[ReportPiece(line)] for line in others]
    return [row for row in rows if any(piece.text.strip() for piece in row)]


def _cut_report(result: CheckResult) -> Iterator[ReportPiece]:
    text = result.report.text if result.report else ""
    at = 0
    for claim in sorted(result.claims, key=lambda claim: claim.start):
        if claim.start >= at:
            yield ReportPiece(text[at : claim.start])
            yield ReportPiece(text[claim.start : claim.end], claim)
            at = claim.end
    yield ReportPiece(text[at:])


def _mark_row(row: Sequence[ReportPiece]) -> tree.Parts:
    """A line of the report, each claim with its mark behind it."""
    parts: list[tree.Inline] = []
    for before, piece in zip((ReportPiece(""), *row), row, strict=False):
        gap = (" ",) if before.claim and piece.text[:1].isalnum() else ()
        parts += [*gap, *_mark(piece)]
    return parts


def _mark(piece: ReportPiece) -> tree.Parts:
    if piece.claim is None:
        return (piece.text,)
    verdict = piece.claim.verdict
    mark, label = VERDICTS[verdict]
    words = mark if verdict == "supported" else f"{mark} {label}"
    return (tree.Text(piece.text, f"claim-{verdict}"), " ", tree.Text(words, f"verdict {verdict}"))


def describe_claim(claim: ClaimCheck) -> str:
    """The verdict on a claim in words, with what is wrong."""
    mark, label = VERDICTS[claim.verdict]
    reason = f": {claim.reason}" if claim.reason else ""
    return f"{mark} {label}{reason}"


def _is_shown(claim: ClaimCheck) -> bool:
    """Whether there is more to say of a claim than that it is confirmed."""
    return bool(claim.verdict != "supported" or describe_notes(claim))


def describe_notes(claim: ClaimCheck) -> list[str]:
    """How its numbers follow, and where it differs from the page, a line each."""
    made = [describe_calculation(claim.calculation)] if claim.calculation else []
    return made + describe_differences(claim.differences, claim.verdict, "report")


def _show_problem(claim: ClaimCheck, result: CheckResult) -> tree.Group:
    """A claim that is not confirmed, with the quote that decides."""
    urls = [one.page_url for one in result.sources if one.id == claim.source]
    source = (tree.Prose((f"  [{claim.source}] {url}",)) for url in urls)
    quote = (tree.Prose((f"> {claim.quote}",)), *source) if claim.quote else ()
    notes = [tree.Prose((note,), "quiet") for note in describe_notes(claim)]
    return tree.Group(
        (
            tree.Prose((describe_claim(claim),)),
            tree.Group((tree.Prose((claim.text,)), *notes, *quote), "inset"),
        )
    )
