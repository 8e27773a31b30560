"""An answer, with its report where it has one, as a Markdown document."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from agent.answer import phrases
from agent.answer.markdown import (
    Mark,
    address,
    definitions,
    escaped,
    items,
    labelled,
    link,
    linked,
    markers,
    paragraph,
    plain,
    sentence,
    table,
    target,
)
from agent.state import Claim

if TYPE_CHECKING:  # which has the report's Markdown in it
    from agent.answer import Answer, Citation
    from agent.answer.report import ReportAnswer

Section = tuple[str, str]  # its heading, which is ours, and its Markdown


def document(answer: Answer) -> str:
    """All that a reader wants of an answer; each `[n]` is a link to its quote."""
    by_source = phrases.by_source(answer.citations)
    found = {n: target(first.link) for n, (first, *_) in by_source.items()}
    targets = {n: where for n, where in found.items() if where}
    return _whole(answer, linked(targets)) + "\n" + definitions(targets) + "\n"


def _whole(answer: Answer, mark: Mark) -> str:
    told, claims, citations = answer.report, answer.claims, answer.citations
    if told:
        parts = [*_report(told, claims, citations, mark), ("Facts", _slots(answer, mark))]
        return _written(told.title, [("", _status(answer)), *parts, *_about(answer)])
    text = paragraph(claims, mark) or escaped(answer.answer)
    parts = [("", text), ("", _slots(answer, mark)), ("Sources", _sources(citations, mark))]
    return _written(answer.topic, [("", _status(answer)), *parts, *_about(answer)])


def report(told: ReportAnswer, claims: Iterable[Claim], citations: Sequence[Citation]) -> str:
    """The report alone, each `[n]` as text: `report.markdown` of the answer object.

    Title, Methodology, Executive Summary, Main Findings, Conflicting Information, Confidence
    Assessment, Sources: the order of the project's source design.
    """
    return _written(told.title, _report(told, claims, citations, plain))


def _written(title: str, sections: Iterable[Section]) -> str:
    parts = [f"# {escaped(title)}"]
    for heading, text in sections:
        if text:
            parts += [f"## {heading}", text] if heading else [text]
    return "\n\n".join(parts) + "\n"


def _report(
    told: ReportAnswer, claims: Iterable[Claim], citations: Sequence[Citation], mark: Mark
) -> list[Section]:
    themes = (
        f"### {escaped(part.heading)}\n\n{paragraph(part.sentences, mark)}"
        for part in told.sections
    )
    conflicts = items(sentence(one, mark) for one in told.conflicts)
    confidence = " ".join(filter(None, [f"**{told.confidence}**.", escaped(told.rationale)]))
    return [
        ("Methodology", labelled(phrases.methodology(told.methodology))),
        ("Executive Summary", paragraph(claims, mark)),
        ("Main Findings", "\n\n".join(themes)),
        ("Conflicting Information", conflicts or phrases.NO_CONFLICTS),
        ("Confidence Assessment", confidence),
        ("Sources", _sources(citations, mark)),
    ]


def _status(answer: Answer) -> str:
    degraded = "degraded: something stood in for what was asked for" * answer.degraded
    told = "; ".join(filter(None, [phrases.STATUSES[answer.status], degraded]))
    error = answer.error
    if error is None:
        return f"*{told}*"
    return f"**Error**: {escaped(error.message)}\n\n{escaped(error.remedy)}"


def _about(answer: Answer) -> list[Section]:
    """What stands behind every answer, with or without a report."""
    return [
        ("Checked", phrases.checked(phrases.every_claim(answer))),
        ("Warnings", items(map(escaped, answer.warnings))),
        ("About this run", labelled(phrases.about(answer))),
    ]


def _slots(answer: Answer, mark: Mark) -> str:
    rows = phrases.rows(answer)
    if not rows:
        return ""
    cells = [[escaped(row.name), _value(row, mark), escaped(row.status)] for row in rows]
    return table(("Fact", "Value", "Status"), cells)


def _value(row: phrases.Row, mark: Mark) -> str:
    """The value of a slot and those against it, each with who says it."""
    values = [(row.value, row.citations), *row.alternatives]
    told = (f"{escaped(phrases.flat(v))} {markers(ns, mark)}".strip() for v, ns in values)
    return "; but also: ".join(told)


def _sources(citations: Sequence[Citation], mark: Mark) -> str:
    by_source = phrases.by_source(citations)
    return "\n\n".join(_source(n, quoted, mark) for n, quoted in by_source.items())


def _source(number: int, citations: Sequence[Citation], mark: Mark) -> str:
    """A source, and under it each of its quotes with the link that opens the page there."""
    first = citations[0]
    title = f"{mark(number)} **{escaped(first.title or first.url)}**"
    head = "\\\n  ".join([title, address(first.url), escaped(phrases.how(first))])
    quotes = [f"  > {escaped(c.quote)} {link(c.link, 'at its place')}".rstrip() for c in citations]
    return "\n\n".join([f"- {head}", *quotes])
