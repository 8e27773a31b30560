"""The view of a check: the report with marks, and with each what decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from agent.answer import doc
from agent.answer.check_result import (
    FAILING,
    CheckResult,
    ClaimCheck,
    ReportInfo,
    SourceCheck,
    SourceStatus,
)
from agent.answer.claims_view import list_warnings, show_differences
from agent.answer.messages import QUOTED, describe_calculation
from agent.state import HOLDING, CheckVerdict, MarkForm


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
    "quoted": VerdictWords("“”", QUOTED.lower()),
    "supported": VerdictWords("✓", "confirmed"),
}
MARKS: dict[MarkForm, str] = {
    "links": "links",
    "brackets": "numbers in brackets",
    "raised": "raised numbers",
    "digits": "numbers behind words",
    "notes": "notes",
    "authors": "authors and years",
    "spans": "spans given by the service",
    "raw": "the product's own marks",
}
STATUSES: dict[SourceStatus, str] = {
    "retracted": "retracted",
    "archived": "read in an archived copy",
    "paywalled": "behind a paywall",
    "read": "read",
    "dead": "dead link",
    "blocked": "not open to programs",
    "unreadable": "not read",
    "unaddressed": "not read",
}
SETTLED = (*HOLDING, "unchecked")  # their quotes are closed at first


def show_check(result: CheckResult) -> doc.View:
    """The check as a page: the report with marks, and next to it what decides."""
    report = result.report
    found = (*_describe_report(result.report, result),) if result.report else ()
    lines = [*found, _describe_shares(result), summarize(result), _tally(result)]
    lines += [result.error["remedy"]] if result.error else []
    worst = {summarize(result): "summary fails" if result.ok is False else "summary"}
    lines_shown = [doc.Prose((line,), worst.get(line, "told")) for line in lines if line]
    uncited = [doc.Item((one.text,)) for one in result.uncited]
    return doc.View(
        (report.title or report.name if report else "") or "A report",
        head=(doc.Group(lines_shown),),
        sections=(
            doc.PagePart("The report", _list_lines(result), "report"),
            doc.PagePart("By source", _tabulate_sources(result), "sources"),
            doc.PagePart("Without a source", [doc.Bullets(uncited)] if uncited else (), "uncited"),
            doc.PagePart("Warnings", list_warnings(result.warnings), "warnings"),
        ),
    )


def _list_lines(result: CheckResult) -> list[doc.Block]:
    """The lines of the report, and next to each what decides on its claims."""
    numbers: dict[int, int] = {}  # of claims, by where they begin
    blocks: list[doc.Block] = []
    for row in cut_rows(result):
        head = "".join(piece.text for piece in row)
        claims = [piece.claim for piece in row if piece.claim]
        if head.startswith("#") and not claims:
            blocks.append(doc.Heading(head.strip("# *")))
            continue
        for claim in claims:
            numbers[claim.start] = len(numbers) + 1
        evidence = [_make_evidence(one, numbers[one.start], result) for one in claims]
        blocks.append(doc.ReportLine(_mark_row(row, numbers), evidence))
    return blocks


def _make_evidence(claim: ClaimCheck, number: int, result: CheckResult) -> doc.Evidence:
    """The verdict on a claim in words, and the quote that decides or is nearest."""
    cited = {one.id: one for one in result.sources}
    notes = [doc.Prose(note, "quiet") for note in list_notes(claim)]
    quote = [doc.Quotation(claim.quote)] if claim.quote else []
    numbers = [claim.source] if claim.source else claim.sources
    pages = [_make_page_line(cited[n], claim) for n in numbers if n in cited]
    is_open = claim.verdict not in SETTLED
    blocks: list[doc.Block] = [*notes, *quote, *pages]
    return doc.Evidence(number, claim.verdict, describe_claim(claim), blocks, is_open)


def _make_page_line(source: SourceCheck, claim: ClaimCheck) -> doc.Prose:
    state = "" if source.status == "read" else f" · {describe_source(source)[1]}"
    address = claim.link or source.url
    link = doc.Text(source.page_url or source.url, "there", address)
    name = f"[{source.id}] {source.title}".strip()
    return doc.Prose((f"{name}{state} ", link), "quiet")


def _tabulate_sources(result: CheckResult) -> Sequence[doc.Block]:
    """Each source: what it carries, what became of it; those of most sentences first."""
    ordered = sorted(result.sources, key=lambda one: (-sum(one.counts.values()), one.id))
    rows = [
        (
            (f"[{one.id}] ", doc.Text(one.title or one.url or "no address", url=one.url)),
            (counts,),
            (doc.Text(state, f"badge source-{one.status}"),),
        )
        for one in ordered
        for counts, state in [describe_source(one)]
    ]
    return (doc.Table(("Source", "Sentences", "State"), rows, "slots"),) if rows else ()


# --- what was found -------------------------------------------------------------------------------


def _describe_report(report: ReportInfo, result: CheckResult) -> Iterator[str]:
    has_most = 2 * report.unaddressed <= report.marks
    if not has_most:
        share = f"{report.marks - report.unaddressed} of {report.marks}"
        yield f"Only {share} source marks have an address. {report.advice}".rstrip()
    counts = [_number(report.sentences, "sentence"), f"{report.cited_sentences} with a source"]
    counts.append(_number(result.shares.sources, "source"))
    if report.unaddressed:
        counts.append(f"{_number(report.unaddressed, 'mark')} without an address")
    by = f" with {MARKS[report.marked_by]}" if report.marked_by else ""
    yield f"{', '.join(counts)}. Read as {report.form}{by}."
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
        return "No sentence cites a source, so nothing could be checked"
    failing = sum(result.counts.get(verdict, 0) for verdict in FAILING)
    if failing:
        return f"{failing} sentence{'s do' if failing > 1 else ' does'} not hold"
    shares = result.shares
    if not shares.judged:
        return "No sentence could be checked"
    if shares.holding == shares.claims and result.counts.get("supported"):
        return "Every sentence with a source holds"
    if shares.holding == shares.claims:
        return "Every sentence with a source is on its page, word for word"
    return f"Nothing was found wrong; {shares.holding} of {shares.judged} judged sentences hold"


def _tally(result: CheckResult) -> str:
    """How many sentences have each verdict: `4 confirmed, 1 in part`."""
    uncited = [f"{len(result.uncited)} without a source"] if result.uncited else []
    return ", ".join(_count_words(result.counts) + uncited)


def _count_words(counts: dict[str, int]) -> list[str]:
    return [f"{counts[one]} {words.label}" for one, words in VERDICTS.items() if counts.get(one)]


# --- sources --------------------------------------------------------------------------------------


def describe_source(source: SourceCheck) -> tuple[str, str]:
    """The sentences that a source carries, and what became of it."""
    state = STATUSES[source.status]
    reason = source.notice or ("" if source.status == "read" else source.reason)
    return ", ".join(_count_words(source.counts)), f"{state}: {reason}" if reason else state


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


def _mark_row(row: Sequence[ReportPiece], numbers: Mapping[int, int]) -> doc.Parts:
    """A line of the report, each claim with its mark behind it."""
    parts: list[doc.Inline] = []
    for before, piece in zip((ReportPiece(""), *row), row, strict=False):
        gap = (" ",) if before.claim and piece.text[:1].isalnum() else ()
        parts += [*gap, *_mark(piece, numbers)]
    return parts


def _mark(piece: ReportPiece, numbers: Mapping[int, int]) -> doc.Parts:
    if piece.claim is None:
        return (piece.text,)
    verdict = piece.claim.verdict
    mark, label = VERDICTS[verdict]
    words = mark if verdict in HOLDING else f"{mark} {label}"
    number = numbers.get(piece.claim.start, 0)
    sentence = doc.Sentence((piece.text,), verdict, describe_claim(piece.claim))
    return (sentence, " ", doc.Verdict(words, verdict, number))


def describe_claim(claim: ClaimCheck) -> str:
    """The verdict on a claim in words, with what is wrong."""
    mark, label = VERDICTS[claim.verdict]
    reason = f": {claim.reason}" if claim.reason else ""
    return f"{mark} {label}{reason}"


def list_notes(claim: ClaimCheck) -> list[doc.Parts]:
    """How its numbers follow, and the sentence nearest to it, a line each."""
    made = [(describe_calculation(claim.calculation),)] if claim.calculation else []
    return [*made, *show_differences(claim.differences, claim.text, "report")]
