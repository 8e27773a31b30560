"""The format `html` of a check: the report beside the quotes that decide, as one page."""

from __future__ import annotations

from collections.abc import Sequence

from agent.answer.check import CheckResult, ClaimCheck
from agent.answer.check_phrases import (
    LABELS,
    MARKS,
    ORDER,
    ReportPiece,
    cut_report,
    describe,
    summarize,
    tally,
)
from agent.answer.html import (
    EMPTY,
    Markup,
    element,
    join_markup,
    link_element,
    render_document,
    text_element,
)
from agent.answer.html_format import BASE_STYLE, render_section

STYLES = (BASE_STYLE, "agent.answer/page.css", "agent.answer/check.css")


def to_check_html(result: CheckResult) -> str:
    """The check as a self-contained page: a row for each paragraph, its quotes beside it."""
    title = (result.report.title or result.report.name if result.report else "") or "A report"
    failing = "error" if not result.ok else "complete"
    header = element(
        "header",
        text_element("h1", title),
        element("p", element("span", summarize(result), class_=f"badge {failing}")),
        element("p", tally(result), class_="quiet"),
        element("p", result.error["remedy"], class_="trouble") if result.error else EMPTY,
    )
    rows = [_render_row(some, result) for some in _split_rows(cut_report(result))]
    main = element(
        "main",
        element("div", *rows, id="report"),
        render_section("Sources", _render_sources(result), id="sources"),
        render_section("Warnings", _render_warnings(result), id="warnings"),
    )
    return render_document(title, join_markup([header, main]), *STYLES)


def _split_rows(pieces: Sequence[ReportPiece]) -> list[list[ReportPiece]]:
    """The pieces by paragraph: a row ends where text between claims has an empty line."""
    rows: list[list[ReportPiece]] = [[]]
    for piece in pieces:
        if piece.claim is None and "\n" in piece.text:
            head, _, tail = piece.text.partition("\n")
            rows[-1].append(ReportPiece(head))
            rows.append([ReportPiece(tail.strip("\n"))])
        else:
            rows[-1].append(piece)
    return [row for row in rows if any(piece.text.strip() for piece in row)]


def _render_row(row: Sequence[ReportPiece], result: CheckResult) -> Markup:
    claims = [piece.claim for piece in row if piece.claim]
    worst = sorted(claims, key=lambda claim: ORDER.index(claim.verdict))
    beside = [_render_evidence(claim, result) for claim in worst if claim.verdict != "supported"]
    beside = beside or [_render_evidence(claim, result) for claim in worst[:1]]
    return element(
        "div",
        element("p", *map(_render_piece, row)),
        element("div", *beside),
        class_="row",
    )


def _render_piece(piece: ReportPiece) -> Markup:
    lines = [join_markup([line]) for line in piece.text.split("\n")]
    text = Markup("\n".join(lines))
    if piece.claim is None:
        return text
    verdict = piece.claim.verdict
    label = MARKS[verdict] if verdict == "supported" else f"{MARKS[verdict]} {LABELS[verdict]}"
    mark = element("span", label, class_=f"verdict {verdict}")
    return join_markup([element("span", text, class_=f"claim {verdict}"), " ", mark])


def _render_evidence(claim: ClaimCheck, result: CheckResult) -> Markup:
    source = next((one for one in result.sources if one.id == claim.source), None)
    words = f"{MARKS[claim.verdict]} {describe(claim)}"
    return element(
        "div",
        element("p", words, class_=f"verdict {claim.verdict}"),
        text_element("blockquote", claim.quote) if claim.quote else EMPTY,
        element(
            "p",
            f"[{source.id}] {source.title or source.url} · ",
            link_element(claim.link, "Open the page at these words"),
            class_="quiet",
        )
        if source
        else EMPTY,
        class_="evidence",
    )


def _render_sources(result: CheckResult) -> Markup:
    if not result.sources:
        return EMPTY
    items = [
        element(
            "li",
            element("span", str(one.id), class_="number"),
            element("p", link_element(one.url, one.title or one.url), class_="source"),
            element("p", "read" if one.read else f"not read: {one.reason}", class_="quiet"),
        )
        for one in result.sources
    ]
    return element("ul", *items, class_="sources")


def _render_warnings(result: CheckResult) -> Markup:
    if not result.warnings:
        return EMPTY
    return element("ul", *(element("li", one) for one in result.warnings), class_="warnings")
