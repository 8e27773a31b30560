"""An answer, with its report where it has one, as one HTML page that stands alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from agent.answer import Answer, Citation, phrases
from agent.answer.html import NOTHING, Markup, joined, link, spoken, tag, whole
from agent.answer.report import ReportAnswer
from agent.state import Claim

BASE = "agent.answer/base.css"


def page(answer: Answer) -> str:
    """The whole page. Each `[n]` leads to its quote in the page, and from there to its source."""
    title = answer.report.title if answer.report else answer.topic
    skip = tag("a", "Skip to the answer", href="#answer", class_="skip")
    main = tag("main", *(_report(answer) if answer.report else parts(answer)))
    body = joined([skip, _head(answer, title), main, _about(answer)])
    return whole(title, body, BASE, "agent.answer/page.css")


def parts(answer: Answer) -> list[Markup]:
    """An answer without a report: its text, facts, sources and warnings."""
    return [
        section("Answer", _text(answer), _slots(answer), id="answer"),
        section("Sources", sources(answer.citations), id="sources"),
        warnings(answer),
    ]


def section(heading: str, *inside: str, id: str) -> Markup:
    """A landmark with its heading; nothing where there is nothing in it."""
    if not any(inside):
        return NOTHING
    name = f"{id}-heading"
    return tag("section", tag("h2", heading, id=name), *inside, id=id, aria_labelledby=name)


# --- the head ------------------------------------------------------------------------------------


def _head(answer: Answer, title: str) -> Markup:
    asked = tag("p", answer.topic, class_="quiet", **spoken(answer.topic))
    return tag(
        "header",
        tag("h1", title, **spoken(title)),
        asked if title != answer.topic else NOTHING,
        badges(answer, phrases.STATUSES[answer.status]),
        trouble(answer),
        _contents(answer.report) if answer.report else NOTHING,
    )


def badges(answer: Answer, status: str) -> Markup:
    """The status in words, and whether something stood in."""
    told = [tag("span", status, class_=f"badge {status.partition(':')[0]}")]
    told += [tag("span", "degraded", class_="badge partial")] * answer.degraded
    return tag("p", *told)


def trouble(answer: Answer) -> Markup:
    """Why there is no answer, and what to do."""
    error = answer.error
    if error is None:
        return NOTHING
    return tag("p", tag("b", error.message), " ", error.remedy, class_="trouble", role="alert")


def _contents(report: ReportAnswer) -> Markup:
    themes = (
        tag("li", tag("a", part.heading, href=f"#theme-{n}", **spoken(part.heading)))
        for n, part in enumerate(report.sections, 1)
    )
    entries = [
        ("#method", "Methodology", NOTHING),
        ("#answer", "Executive Summary", NOTHING),
        ("#findings", "Main Findings", tag("ul", *themes)),
        ("#conflicts", "Conflicting Information", NOTHING),
        ("#confidence", f"Confidence: {report.confidence}", NOTHING),
        ("#sources", "Sources", NOTHING),
    ]
    listed = (tag("li", tag("a", name, href=to), under) for to, name, under in entries)
    return tag("nav", tag("ul", *listed), aria_label="Contents", class_="contents")


# --- the text ------------------------------------------------------------------------------------


def _report(answer: Answer) -> list[Markup]:
    report = answer.report
    assert report is not None
    confidence = tag("p", tag("b", f"{report.confidence}."), " ", _worded(report.rationale))
    return [
        section("Methodology", _labelled(phrases.methodology(report.methodology)), id="method"),
        section("Executive Summary", _text(answer), id="answer"),
        section("Main Findings", *_themes(report), id="findings"),
        section("Conflicting Information", _conflicts(report), id="conflicts"),
        section("Confidence Assessment", confidence, id="confidence"),
        section("Sources", sources(answer.citations), id="sources"),
        section("Facts", _slots(answer), id="facts"),
        warnings(answer),
    ]


def _text(answer: Answer) -> Markup:
    if answer.claims:
        return _paragraph(answer.claims, class_="answer")
    words = answer.answer
    return tag("p", words, class_="answer", **spoken(words)) if words else NOTHING


def _themes(report: ReportAnswer) -> Iterator[Markup]:
    for n, part in enumerate(report.sections, 1):
        yield tag("h3", part.heading, id=f"theme-{n}", **spoken(part.heading))
        yield _paragraph(part.sentences)


def _conflicts(report: ReportAnswer) -> Markup:
    if not report.conflicts:
        return tag("p", phrases.NO_CONFLICTS)
    told = (tag("li", _sentence(claim), **spoken(claim.text)) for claim in report.conflicts)
    return tag("ul", *told)


def _paragraph(claims: Iterable[Claim], **attributes: str) -> Markup:
    claims = tuple(claims)
    words = " ".join(claim.text for claim in claims)
    inside = (part for claim in claims for part in (_sentence(claim), " "))
    return tag("p", *inside, **attributes, **spoken(words))


def _sentence(claim: Claim) -> Markup:
    """A sentence, its markers, and in words what checking it said against it."""
    body, citations, end, said = phrases.sentence(claim)
    mark = tag("span", said, class_=f"mark {claim.verdict}", dir="ltr", lang="en")
    return joined([body, markers(citations), end, *([" ", mark] if said else ())])


def _worded(text: str) -> Markup:
    """Text of anybody's; nothing where there is none."""
    return tag("span", text, **spoken(text)) if text else NOTHING


def markers(numbers: Iterable[int]) -> Markup:
    """`[1][2]`, each of which leads to the quotes of its source."""
    return joined(
        tag("a", f"[{n}]", href=f"#source-{n}", class_="marker", aria_label=f"[{n}], source {n}")
        for n in numbers
    )


# --- facts ---------------------------------------------------------------------------------------


def _slots(answer: Answer) -> Markup:
    rows = phrases.rows(answer)
    if not rows:
        return NOTHING
    head = tag("tr", *(tag("th", name, scope="col") for name in ("Fact", "Value", "Status")))
    body = tag("tbody", *map(_row, rows))
    return tag("table", tag("thead", head), body, class_="slots")


def _row(row: phrases.Row) -> Markup:
    against = [
        tag("div", tag("span", "but also: ", class_="quiet"), *_said(value, citations))
        for value, citations in row.alternatives
    ]
    kind, _, confidence = row.status.partition(", ")
    status = tag("span", kind, class_=f"badge {kind}")
    return tag(
        "tr",
        tag("th", _breakable(row.name), scope="row", **spoken(row.name)),
        tag("td", *_said(row.value, row.citations), *against),
        tag("td", status, tag("div", confidence, class_="quiet") if confidence else NOTHING),
    )


def _breakable(name: str) -> Markup:
    """A name such as `man_of_the_match`, which a narrow column may break."""
    first, *others = name.split("_")
    return joined([first, *(part for word in others for part in (Markup("_<wbr>"), word))])


def _said(value: Any, citations: Sequence[int]) -> Iterator[Markup]:
    yield _value(value)
    if citations:
        yield joined([" ", markers(citations)])


def _value(value: Any) -> Markup:
    """A JSON value: lists as lists, objects as terms and what they are."""
    if isinstance(value, dict):
        return tag("dl", *(part for pair in value.items() for part in _term(*pair)))
    if isinstance(value, list):
        return tag("ul", *(tag("li", _value(inner)) for inner in value))
    return _worded(phrases.scalar(value))


def _term(name: str, value: Any) -> Iterator[Markup]:
    yield tag("dt", name, **spoken(name))
    yield tag("dd", _value(value))


# --- sources -------------------------------------------------------------------------------------


def sources(citations: Iterable[Citation]) -> Markup:
    """Each source once, by its number, with its quotes."""
    by_source = phrases.by_source(citations)
    listed = (_source(number, quoted) for number, quoted in by_source.items())
    return tag("ul", *listed, class_="sources") if by_source else NOTHING


def _source(number: int, citations: Sequence[Citation]) -> Markup:
    first = citations[0]
    title = first.title or first.url
    return tag(
        "li",
        tag("span", f"[{number}]", class_="number"),
        tag("p", link(first.url, title, **spoken(title)), class_="source"),
        tag("p", first.url, class_="quiet"),
        tag("p", phrases.how(first), class_="quiet"),
        *(_quote(citation) for citation in citations),
        id=f"source-{number}",
        tabindex="-1",
    )


def _quote(citation: Citation) -> Markup:
    """A quote, and the link that opens the page at it."""
    loose = "" if citation.match == "exact" else f" ({citation.match} match)"
    there = link(citation.link, f"Open the page at this quote{loose}", class_="there")
    return tag("div", tag("blockquote", citation.quote, **spoken(citation.quote)), there)


# --- what stands behind it -----------------------------------------------------------------------


def warnings(answer: Answer) -> Markup:
    """What the reader should know, such as sentences that were left out."""
    told = (tag("li", warning, **spoken(warning)) for warning in answer.warnings)
    listed = tag("ul", *told, class_="warnings") if answer.warnings else NOTHING
    return section("Warnings", listed, id="warnings")


def _about(answer: Answer) -> Markup:
    checked = phrases.checked(phrases.every_claim(answer))
    lines = [("Checked", checked)] if checked else []
    told = _labelled([*lines, *phrases.about(answer)])
    return tag("footer", tag("h2", "About this run"), told)


def _labelled(pairs: Iterable[tuple[str, str]]) -> Markup:
    told = (part for label, text in pairs for part in (tag("dt", label), tag("dd", _worded(text))))
    return tag("dl", *told, class_="labelled")
