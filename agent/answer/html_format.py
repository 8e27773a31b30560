"""The format `html`: an answer, with its report where it has one, as one self-contained page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from agent.answer import Answer, Citation, phrases
from agent.answer.html import (
    EMPTY,
    Markup,
    element,
    join_markup,
    language_attributes,
    link_element,
    render_document,
    text_element,
)
from agent.answer.report import ReportAnswer
from agent.evidence.copies import DISAGREEMENT
from agent.state import Claim

BASE_STYLE = "agent.answer/base.css"


def to_html(answer: Answer) -> str:
    """The answer as a page. Each `[n]` links to its source on the page, which links to the web."""
    title = answer.report.title if answer.report else answer.topic
    skip_link = element("a", "Skip to the answer", href="#answer", class_="skip")
    sections = _render_report(answer, answer.report) if answer.report else render_sections(answer)
    main = element("main", *sections)
    body = join_markup([skip_link, _render_header(answer, title), main, _render_footer(answer)])
    return render_document(title, body, BASE_STYLE, "agent.answer/page.css")


def to_html_frame(answer: Answer) -> str:
    """The page in a frame of another page, where neither changes the other; its links open."""
    return element(
        "iframe",
        srcdoc=to_html(answer),
        sandbox="allow-popups allow-top-navigation-by-user-activation",
        style="width:100%;height:32em;border:0",
    )


def render_sections(answer: Answer) -> list[Markup]:
    """The sections of an answer without a report: its text and slots, sources and warnings."""
    return [
        render_section(
            "Answer",
            _render_disagreement(answer),
            _render_text(answer),
            _render_slots(answer),
            id="answer",
        ),
        render_section("Sources", render_sources(answer.citations), id="sources"),
        render_warnings(answer),
    ]


def render_section(heading: str, *content: str, id: str) -> Markup:
    """A section, which is a landmark, with its heading; EMPTY without content."""
    if not any(content):
        return EMPTY
    heading_id = f"{id}-heading"
    return element(
        "section",
        element("h2", heading, id=heading_id),
        *content,
        id=id,
        aria_labelledby=heading_id,
    )


# --- the header ----------------------------------------------------------------------------------


def _render_header(answer: Answer, title: str) -> Markup:
    topic = text_element("p", answer.topic, class_="quiet") if title != answer.topic else EMPTY
    followed = phrases.describe_followed(answer)
    return element(
        "header",
        text_element("h1", title),
        topic,
        text_element("p", followed, class_="quiet") if followed else EMPTY,
        render_status(answer, phrases.STATUSES[answer.status]),
        render_error(answer),
        _render_contents(answer.report) if answer.report else EMPTY,
    )


def render_status(answer: Answer, status: str) -> Markup:
    """The status in words, and whether the answer is degraded.

    The CSS class of the status is the part before its first colon.
    """
    badges = [element("span", status, class_=f"badge {status.partition(':')[0]}")]
    if answer.degraded:
        badges.append(element("span", "degraded", class_="badge partial"))
    return element("p", *badges)


def render_error(answer: Answer) -> Markup:
    """Why there is no answer and what to do; EMPTY without an error."""
    error = answer.error
    if error is None:
        return EMPTY
    message = element("b", error.message)
    return element("p", message, " ", error.remedy, class_="trouble", role="alert")


def _render_contents(report: ReportAnswer) -> Markup:
    themes = (
        element("li", text_element("a", section.heading, href=f"#theme-{n}"))
        for n, section in enumerate(report.sections, 1)
    )
    entries = [
        ("#method", "Methodology", EMPTY),
        ("#answer", "Executive Summary", EMPTY),
        ("#findings", "Main Findings", element("ul", *themes)),
        ("#conflicts", "Conflicting Information", EMPTY),
        ("#confidence", f"Confidence: {report.confidence}", EMPTY),
        ("#sources", "Sources", EMPTY),
    ]
    items = (element("li", element("a", name, href=to), nested) for to, name, nested in entries)
    return element("nav", element("ul", *items), aria_label="Contents", class_="contents")


# --- the text ------------------------------------------------------------------------------------


def _render_report(answer: Answer, report: ReportAnswer) -> list[Markup]:
    methodology = _render_labelled(phrases.describe_methodology(report.methodology))
    level = element("b", f"{report.confidence}.")
    confidence = element("p", level, " ", _render_span(report.rationale))
    return [
        render_section("Methodology", methodology, id="method"),
        render_section("Executive Summary", _render_text(answer), id="answer"),
        render_section("Main Findings", *_render_themes(report), id="findings"),
        render_section("Conflicting Information", _render_conflicts(report), id="conflicts"),
        render_section("Confidence Assessment", confidence, id="confidence"),
        render_section("Sources", render_sources(answer.citations), id="sources"),
        render_section("Facts", _render_slots(answer), id="facts"),
        render_warnings(answer),
    ]


def _render_disagreement(answer: Answer) -> Markup:
    """The values of each slot about which sources disagree, before the answer says them."""
    rows = [row for row in phrases.slot_rows(answer) if row.is_disputed]
    if not rows:
        return EMPTY
    items = element("ul", *map(_render_disputed, rows))
    return element("div", element("p", element("b", DISAGREEMENT)), items, class_="disagreement")


def _render_disputed(row: phrases.SlotRow) -> Markup:
    values = [(row.value, row.citations), *row.alternatives]
    sides = (join_markup(_render_cited_value(*value)) for value in values)
    parts = ([" / " if n else "", side] for n, side in enumerate(sides))
    return element("li", f"{row.name}: ", *(piece for part in parts for piece in part))


def _render_text(answer: Answer) -> Markup:
    if answer.claims:
        return _render_claims(answer.claims, class_="answer")
    return text_element("p", answer.answer, class_="answer") if answer.answer else EMPTY


def _render_themes(report: ReportAnswer) -> Iterator[Markup]:
    for n, section in enumerate(report.sections, 1):
        yield text_element("h3", section.heading, id=f"theme-{n}")
        yield _render_claims(section.sentences)


def _render_conflicts(report: ReportAnswer) -> Markup:
    if not report.conflicts:
        return element("p", phrases.describe_conflicts(report))
    items = (claim.model_copy(update={"form": "item"}) for claim in report.conflicts)
    return _render_claims(tuple(items))


def _render_claims(claims: Sequence[Claim], **attributes: str) -> Markup:
    """Claims as paragraphs, lists and tables."""
    blocks = phrases.group_claims(claims)
    return join_markup(part for block in blocks for part in _render_block(block, attributes))


def _render_block(block: phrases.Block, attributes: dict[str, str]) -> Iterator[Markup]:
    if block.intro:
        yield text_element("p", block.intro, **attributes)
    if block.form == "sentence":
        yield _render_paragraph(block.claims, attributes)
    elif block.form == "item":
        yield element("ul", *map(_render_item, block.claims), **attributes)
    else:
        yield _render_table(block)


def _render_paragraph(claims: Sequence[Claim], attributes: dict[str, str]) -> Markup:
    text = " ".join(claim.text for claim in claims)
    sentences = (part for claim in claims for part in (_render_sentence(claim), " "))
    return element("p", *sentences, **attributes, **language_attributes(text))


def _render_item(claim: Claim) -> Markup:
    return element("li", _render_sentence(claim), **language_attributes(claim.text))


def _render_table(block: phrases.Block) -> Markup:
    head = element("tr", *(text_element("th", cell, scope="col") for cell in block.head))
    rows = (element("tr", *map(_render_cell, _row_cells(claim))) for claim in block.claims)
    return element("table", element("thead", head), element("tbody", *rows))


def _row_cells(claim: Claim) -> list[str]:
    """The cells of a row; its markers and its verdict are in the last one."""
    *cells, last = phrases.read_cells(claim.text)
    return [*cells, join_markup([last, " ", render_markers(claim.citations), *_verdict(claim)])]


def _render_cell(content: str) -> Markup:
    return element("td", content, **language_attributes(content))


def _verdict(claim: Claim) -> list[str]:
    """The verdict of a claim in words, a blank before it; nothing for `supported`."""
    words = phrases.VERDICT_LABELS.get(claim.verdict, "")
    if not words:
        return []
    return [" ", element("span", words, class_=f"mark {claim.verdict}", dir="ltr", lang="en")]


def _render_sentence(claim: Claim) -> Markup:
    """A sentence with its markers, and its verdict in words where that is not `supported`."""
    body, citations, end, _ = phrases.split_sentence(claim)
    return join_markup([body, render_markers(citations), end, *_verdict(claim)])


def _render_span(text: str) -> Markup:
    """Text in an element of its own, which says its language; EMPTY for ""."""
    return text_element("span", text) if text else EMPTY


def render_markers(numbers: Iterable[int]) -> Markup:
    """`[1][2]`, each a link to the quotes of its source."""
    return join_markup(
        element(
            "a", f"[{n}]", href=f"#source-{n}", class_="marker", aria_label=f"[{n}], source {n}"
        )
        for n in numbers
    )


# --- slots ---------------------------------------------------------------------------------------


def _render_slots(answer: Answer) -> Markup:
    rows = phrases.slot_rows(answer)
    if not rows:
        return EMPTY
    columns = (element("th", name, scope="col") for name in ("Fact", "Value", "Status"))
    head = element("thead", element("tr", *columns))
    return element("table", head, element("tbody", *map(_render_row, rows)), class_="slots")


def _render_row(row: phrases.SlotRow) -> Markup:
    label = element("span", "but also: ", class_="quiet") if row.is_disputed else EMPTY
    alternatives = [
        element("div", label, *_render_cited_value(value, citations))
        for value, citations in row.alternatives
    ]
    words, _, sources = row.status.partition(", ")
    status = element("span", words, class_=f"badge {row.kind}")
    name = _render_breakable(row.name)
    return element(
        "tr",
        element("th", name, scope="row", **language_attributes(row.name)),
        element("td", *_render_cited_value(row.value, row.citations), *alternatives),
        element("td", status, element("div", sources, class_="quiet") if sources else EMPTY),
    )


def _render_breakable(name: str) -> Markup:
    """A name such as `man_of_the_match`, which may be broken after each underscore."""
    first, *others = name.split("_")
    return join_markup([first, *(part for word in others for part in (Markup("_<wbr>"), word))])


def _render_cited_value(value: Any, citations: Sequence[int]) -> Iterator[Markup]:
    yield _render_value(value)
    if citations:
        yield join_markup([" ", render_markers(citations)])


def _render_value(value: Any) -> Markup:
    """A JSON value: an array as a list, an object as a description list."""
    if isinstance(value, dict):
        return element("dl", *(part for pair in value.items() for part in _render_property(*pair)))
    if isinstance(value, list):
        return element("ul", *(element("li", _render_value(item)) for item in value))
    return _render_span(phrases.format_scalar(value))


def _render_property(name: str, value: Any) -> Iterator[Markup]:
    yield text_element("dt", name)
    yield element("dd", _render_value(value))


# --- sources -------------------------------------------------------------------------------------


def render_sources(citations: Iterable[Citation]) -> Markup:
    """A list of the sources by their numbers, each with its quotes; EMPTY without citations."""
    by_source = phrases.group_by_source(citations)
    items = (_render_source(number, quotes) for number, quotes in by_source.items())
    return element("ul", *items, class_="sources") if by_source else EMPTY


def _render_source(number: int, citations: Sequence[Citation]) -> Markup:
    first = citations[0]
    title = first.title or first.url
    link = link_element(first.url, title, **language_attributes(title))
    return element(
        "li",
        element("span", f"[{number}]", class_="number"),
        element("p", link, class_="source"),
        element("p", first.url, class_="quiet"),
        element("p", phrases.describe_source(first), class_="quiet"),
        *map(_render_quote, citations),
        id=f"source-{number}",
        tabindex="-1",
    )


def _render_quote(citation: Citation) -> Markup:
    """A quote, and the link that opens its page at it."""
    match = "" if citation.match == "exact" else f" ({citation.match} match)"
    link = link_element(citation.link, f"Open the page at this quote{match}", class_="there")
    place = text_element("span", f"{citation.place} ", class_="quiet") if citation.place else EMPTY
    return element("div", text_element("blockquote", citation.quote), place, link)


# --- the end -------------------------------------------------------------------------------------


def render_warnings(answer: Answer) -> Markup:
    """The warnings of an answer, such as which sentences were left out; EMPTY without any."""
    items = (text_element("li", warning) for warning in answer.warnings)
    warnings = element("ul", *items, class_="warnings") if answer.warnings else EMPTY
    return render_section("Warnings", warnings, id="warnings")


def _render_footer(answer: Answer) -> Markup:
    verdicts = phrases.describe_verdicts(phrases.all_claims(answer))
    lines = [("Checked", verdicts)] if verdicts else []
    description = _render_labelled([*lines, *phrases.describe_run(answer)])
    return element("footer", element("h2", "About this run"), description)


def _render_labelled(pairs: Iterable[phrases.LabelledText]) -> Markup:
    """Labels and texts as a description list."""
    parts = (
        part
        for label, text in pairs
        for part in (element("dt", label), element("dd", _render_span(text)))
    )
    return element("dl", *parts, class_="labelled")
