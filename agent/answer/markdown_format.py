"""The format `markdown`: an answer, with its report where it has one, as a Markdown document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from agent.answer import phrases
from agent.answer.markdown import (
    MarkerFormat,
    escape_markdown,
    format_autolink,
    format_claims,
    format_labelled_list,
    format_link,
    format_link_definitions,
    format_link_destination,
    format_list,
    format_markers,
    format_plain_marker,
    format_table,
    linked_marker_format,
)
from agent.evidence.copies import DISAGREEMENT
from agent.state import Claim

if TYPE_CHECKING:  # at run time, building an answer imports this module for the report's Markdown
    from agent.answer import Answer, Citation
    from agent.answer.report import ReportAnswer

Section = tuple[str, str]  # heading and body, both Markdown; a body of "" leaves the section out


def to_markdown(answer: Answer) -> str:
    """The answer as a document. Each `[n]` links to the first quote of its source."""
    by_source = phrases.group_by_source(answer.citations)
    links = {n: format_link_destination(quotes[0].link) for n, quotes in by_source.items()}
    destinations = {n: link for n, link in links.items() if link}
    body = _render_document(answer, linked_marker_format(destinations))
    return f"{body}\n{format_link_definitions(destinations)}\n"


def report_to_markdown(
    report: ReportAnswer, claims: Iterable[Claim], citations: Sequence[Citation]
) -> str:
    """The report alone, each `[n]` as text: `report.markdown` of the answer object.

    Its sections are Methodology, Executive Summary (the claims of the answer), Main Findings,
    Conflicting Information, Confidence Assessment and Sources, in this order.
    """
    return _join_sections(
        report.title, _report_sections(report, claims, citations, format_plain_marker)
    )


def _render_document(answer: Answer, format_marker: MarkerFormat) -> str:
    report, claims, citations = answer.report, answer.claims, answer.citations
    slots = _render_slots(answer, format_marker)
    if report:
        title = report.title
        body = [*_report_sections(report, claims, citations, format_marker), ("Facts", slots)]
    else:
        title = answer.topic
        text = format_claims(claims, format_marker) or escape_markdown(answer.answer)
        sources = _render_sources(citations, format_marker)
        disagreement = _render_disagreement(answer, format_marker)
        body = [("", disagreement), ("", text), ("", slots), ("Sources", sources)]
    followed = ("", escape_markdown(phrases.describe_followed(answer)))
    head = [followed, ("", _render_status(answer))]
    return _join_sections(title, [*head, *body, *_run_sections(answer)])


def _join_sections(title: str, sections: Iterable[Section]) -> str:
    parts = [f"# {escape_markdown(title)}"]
    for heading, body in sections:
        if body:
            parts += [f"## {heading}", body] if heading else [body]
    return "\n\n".join(parts) + "\n"


def _report_sections(
    report: ReportAnswer,
    claims: Iterable[Claim],
    citations: Sequence[Citation],
    format_marker: MarkerFormat,
) -> list[Section]:
    themes = (
        f"### {escape_markdown(theme.heading)}\n\n{format_claims(theme.sentences, format_marker)}"
        for theme in report.sections
    )
    conflicts = format_claims(_as_items(report.conflicts), format_marker)
    confidence = f"**{report.confidence}**. {escape_markdown(report.rationale)}".rstrip(" ")
    return [
        ("Methodology", format_labelled_list(phrases.describe_methodology(report.methodology))),
        ("Executive Summary", format_claims(claims, format_marker)),
        ("Main Findings", "\n\n".join(themes)),
        ("Conflicting Information", conflicts or phrases.describe_conflicts(report)),
        ("Confidence Assessment", confidence),
        ("Sources", _render_sources(citations, format_marker)),
    ]


def _as_items(claims: Iterable[Claim]) -> Iterator[Claim]:
    return (claim.model_copy(update={"form": "item"}) for claim in claims)


def _render_status(answer: Answer) -> str:
    """The status, or of an answer with an error what went wrong and what to do."""
    error = answer.error
    if error:
        return f"**Error**: {escape_markdown(error.message)}\n\n{escape_markdown(error.remedy)}"
    degraded = "; degraded: something stood in for what was asked for" if answer.degraded else ""
    return f"*{phrases.STATUSES[answer.status]}{degraded}*"


def _run_sections(answer: Answer) -> list[Section]:
    """What every answer ends with: verdicts, warnings, and what the run was and spent."""
    return [
        ("Checked", phrases.describe_verdicts(phrases.all_claims(answer))),
        ("Warnings", format_list(map(escape_markdown, answer.warnings))),
        ("About this run", format_labelled_list(phrases.describe_run(answer))),
    ]


def _render_slots(answer: Answer, format_marker: MarkerFormat) -> str:
    rows = phrases.slot_rows(answer)
    if not rows:
        return ""
    cells = [
        [escape_markdown(row.name), _render_values(row, format_marker), escape_markdown(row.status)]
        for row in rows
    ]
    return format_table(("Fact", "Value", "Status"), cells)


def _render_disagreement(answer: Answer, format_marker: MarkerFormat) -> str:
    """The values of each slot about which sources disagree, before the answer says them."""
    lines = [
        f"{escape_markdown(row.name)}: {_render_values(row, format_marker)}"
        for row in phrases.slot_rows(answer)
        if row.is_disputed
    ]
    return f"**{DISAGREEMENT}**\n\n{format_list(lines)}" if lines else ""


def _render_values(row: phrases.SlotRow, format_marker: MarkerFormat) -> str:
    """The value of a slot and its alternatives, each with the markers of its sources."""
    values = (
        f"{escape_markdown(phrases.format_value(value))} {format_markers(numbers, format_marker)}"
        for value, numbers in [(row.value, row.citations), *row.alternatives]
    )
    between = "; but also: " if row.is_disputed else "; "
    return between.join(value.strip() for value in values)


def _render_sources(citations: Sequence[Citation], format_marker: MarkerFormat) -> str:
    by_source = phrases.group_by_source(citations)
    return "\n\n".join(_render_source(n, quotes, format_marker) for n, quotes in by_source.items())


def _render_source(number: int, citations: Sequence[Citation], format_marker: MarkerFormat) -> str:
    """A source, and below it each of its quotes with the link that opens the page there."""
    first = citations[0]
    lines = [
        f"{format_marker(number)} **{escape_markdown(first.title or first.url)}**",
        format_autolink(first.url),
        escape_markdown(phrases.describe_source(first)),
    ]
    quotes = [
        f"  > {escape_markdown(citation.quote)} {_render_place(citation)}" for citation in citations
    ]
    return "\n\n".join(["- " + "\\\n  ".join(lines), *(quote.rstrip() for quote in quotes)])


def _render_place(citation: Citation) -> str:
    """Where a quote stands, and the link that opens the page there."""
    link = format_link(citation.link, "at its place")
    return f"({escape_markdown(citation.place)}) {link}" if citation.place else link
