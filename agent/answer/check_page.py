"""A check as one HTML page to pass on: the report with marks, and in the margin what decides.

It stands alone. Its script only opens quotes, goes from problem to problem, and opens all to print;
without it quotes open by a click, and the filter is CSS.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

from agent.answer import tree
from agent.answer.check import CheckResult, ClaimCheck, SourceCheck
from agent.answer.html import (
    EMPTY,
    Markup,
    element,
    join_markup,
    language_attributes,
    link_element,
    render_document,
)
from agent.answer.html_page import foreign_element, render_block
from agent.answer.shown import list_warnings
from agent.answer.shown_check import (
    ORDER,
    VERDICTS,
    ReportPiece,
    cut_rows,
    describe_check,
    describe_claim,
    describe_notes,
    describe_source,
    sort_sources,
    summarize,
)
from agent.state.urls import is_web_url

STYLES = tuple(f"agent.answer/{name}.css" for name in ("base", "page", "check"))
SCRIPT = "agent.answer/check.js"
SETTLED = ("supported", "unchecked")  # their quotes are closed at first


def write_check_page(result: CheckResult) -> str:
    """The page. All texts of the report and of its pages are escaped."""
    report = result.report
    title = (report.title or report.name if report else "") or "A report"
    lines = [*describe_check(result), result.error["remedy"] if result.error else ""]
    worst = {summarize(result): "summary fails" if result.ok is False else "summary"}
    told = (element("p", line, class_=worst.get(line, "told")) for line in lines if line)
    numbers = count(1)
    rows = [_render_row(row, numbers, result) for row in cut_rows(result)]
    parts = (
        element("header", foreign_element("h1", [title]), *told, _render_filter(result)),
        element(
            "main",
            element("section", *rows, id="report"),
            _render_section("By source", _list_sources(result)),
            _render_section("Warnings", list_warnings(result.warnings)),
        ),
    )
    return render_document(title, join_markup(parts), *STYLES, script=SCRIPT)


def _render_section(heading: str, blocks: Sequence[tree.Block]) -> Markup:
    content = map(render_block, blocks)
    return element("section", element("h2", heading), *content) if blocks else EMPTY


def _render_filter(result: CheckResult) -> Markup:
    """A choice of the sentences of one verdict; the style sheet hides the others."""
    chosen = [verdict for verdict in ORDER if result.counts.get(verdict)]
    if len(chosen) < 2:
        return EMPTY
    labels = [(one, f"{VERDICTS[one].label} {result.counts[one]}") for one in chosen]
    choices = (_render_choice(*one) for one in (("all", "All"), *labels))
    legend = element("legend", "Show")
    keys = element("p", "n, p: next and previous problem", class_="keys quiet")
    return join_markup((element("fieldset", legend, *choices, class_="filter"), keys))


def _render_choice(verdict: str, label: str) -> Markup:
    checked = {"checked": ""} if verdict == "all" else {}
    button = element("input", type="radio", name_="only", id=f"only-{verdict}", **checked)
    return element("label", Markup(button.removesuffix("</input>")), f" {label}")


def _render_row(row: Sequence[ReportPiece], numbers: Iterator[int], result: CheckResult) -> Markup:
    """A line of the report, and beside it what decides on each of its claims."""
    head = "".join(piece.text for piece in row)
    if head.startswith("#") and not any(piece.claim for piece in row):
        return foreign_element("h3", [head.strip("# *")])
    words: list[str] = []
    beside: list[Markup] = []
    for piece in row:
        if piece.claim is None:
            words.append(piece.text)
            continue
        number = next(numbers)
        words += _mark(piece.claim, piece.text, number)
        beside.append(_render_evidence(piece.claim, number, result))
    line = element("p", *words, **language_attributes(head))
    return element("div", line, element("div", *beside, class_="margin"), class_="row")


def _mark(claim: ClaimCheck, text: str, number: int) -> Iterator[str]:
    mark, label = VERDICTS[claim.verdict]
    words = mark if claim.verdict == "supported" else f"{mark} {label}"
    yield element("span", text, class_=f"claim-{claim.verdict}")
    yield " "
    where = {"href": f"#quote-{number}", "id": f"claim-{number}", "aria_label": label}
    yield element("a", words, class_=f"verdict {claim.verdict}", **where)


def _render_evidence(claim: ClaimCheck, number: int, result: CheckResult) -> Markup:
    """The verdict in words; a click opens the quote that decides, or is nearest."""
    cited = {one.id: one for one in result.sources}
    quote = foreign_element("blockquote", [claim.quote]) if claim.quote else EMPTY
    numbers = [claim.source] if claim.source else claim.sources
    pages = (_render_page(cited[n], claim) for n in numbers if n in cited)
    summary = element("summary", describe_claim(claim), class_=f"verdict {claim.verdict}")
    notes = (foreign_element("p", [note], class_="quiet") for note in describe_notes(claim))
    is_open = {} if claim.verdict in SETTLED else {"open": ""}
    where = {"class_": f"evidence {claim.verdict}", "id": f"quote-{number}"}
    return element("details", summary, *notes, quote, *pages, **where, **is_open)


def _render_page(source: SourceCheck, claim: ClaimCheck) -> Markup:
    name = f"[{source.id}] {source.title or source.url}"
    address = claim.link or source.url
    link = link_element(address, "Open the page", class_="there") if is_web_url(address) else EMPTY
    state = "" if source.status == "read" else f" · {describe_source(source)[1]}"
    return element("p", name, state, " ", link, class_="quiet")


def _list_sources(result: CheckResult) -> Sequence[tree.Block]:
    """Each source: what it carries, what became of it."""
    rows = [
        (
            (f"[{one.id}] ", tree.Text(one.title or one.url or "no address", url=one.url)),
            (counts,),
            (tree.Text(state, f"badge source-{one.status}"),),
        )
        for one in sort_sources(result)
        for counts, state in [describe_source(one)]
    ]
    return (tree.Table(("Source", "Sentences", "State"), rows, "slots"),) if rows else ()
