"""What is shown of an answer, as a tree: as a page, and shorter on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from agent.answer import phrases, tree
from agent.answer.chart import draw_chart
from agent.answer.dated import Series, series_of_rows, series_of_sentences, series_of_slots
from agent.evidence.citing import render_claim
from agent.evidence.copies import DISAGREEMENT
from agent.state import Claim, Verdict
from agent.state.urls import is_web_url

if TYPE_CHECKING:  # at run time, building an answer imports this module for the report's Markdown
    from agent.answer.links import LookedAt
    from agent.answer.report import ReportAnswer
    from agent.answer.schema import Answer, Citation, SlotAnswer

LONG_PARAGRAPH = 400  # characters; only then does it end where other pages are cited


def show_answer(answer: Answer) -> tree.Shown:
    """The answer, with its report where it has one, as a page."""
    report = answer.report
    title = report.title if report else answer.topic
    above = (answer.topic if title != answer.topic else "", phrases.describe_followed(answer))
    return tree.Shown(
        title,
        head=(
            *(tree.Prose((line,), "quiet") for line in above if line),
            *list_badges(answer),
            *list_error(answer),
        ),
        sections=(
            *(_list_report_sections(answer, report) if report else list_sections(answer)),
            tree.PagePart("Checked", _lines(phrases.describe_verdicts(answer)), "checked"),
            tree.PagePart("Warnings", list_warnings(answer.warnings), "warnings"),
            tree.PagePart("Links that were looked at", list(_list_links(report)), "links"),
        ),
        foot=(_list_labels("About this run", phrases.describe_run(answer), "run"),),
        has_contents=report is not None,
    )


def show_report(
    report: ReportAnswer, claims: Iterable[Claim], citations: Sequence[Citation]
) -> tree.Shown:
    """The report alone.

    Its sections are Methodology, Executive Summary (the claims of the answer), Main Findings,
    Conflicting Information, Confidence Assessment and Sources, in this order.
    """
    confidence = (tree.Text(report.confidence, "strong"), ". ", report.rationale)
    themes = tuple(_list_themes(report)) or tuple(_lines(phrases.ALL_SUMMED_UP))
    none = _lines(phrases.NO_CONFLICTS if report.compared else phrases.NOT_COMPARED)
    sections = (
        _list_labels("Methodology", phrases.describe_methodology(report), "method"),
        tree.PagePart("Executive Summary", _list_charted(list(claims), "answer"), "answer"),
        tree.PagePart("Main Findings", themes, "findings"),
        tree.PagePart("Conflicting Information", _list_conflicts(report) or none, "conflicts"),
        tree.PagePart("Confidence Assessment", (tree.Prose(confidence),), "confidence"),
        tree.PagePart("Sources", _list_sources(citations), "sources"),
    )
    return tree.Shown(report.title, sections=sections)


def _list_report_sections(answer: Answer, report: ReportAnswer) -> Iterator[tree.PagePart]:
    yield from show_report(report, answer.claims, answer.citations).sections
    yield tree.PagePart("Facts", _list_slots(answer), "facts")


def list_sections(answer: Answer) -> Iterator[tree.PagePart]:
    """The sections of an answer without a report."""
    text = _list_charted(answer.claims, "answer") or _lines(answer.answer, "answer")
    disputes = [item for item in _list_disputes(answer) if answer.report is None]
    blocks = (*_list_box(disputes), *text, *_list_slots(answer))
    yield tree.PagePart("Answer", blocks, "answer", is_lead=True)
    yield tree.PagePart("Sources", _list_sources(answer.citations), "sources")
    yield tree.PagePart(phrases.CLOSEST, _list_sources(answer.closest), "closest")


def show_on_terminal(answer: Answer) -> tree.Shown:
    """The answer as a terminal shows it: what sources disagree about first."""
    report = answer.report
    rivals = [one for one in answer.warnings if one.startswith(f"{DISAGREEMENT}: ")]
    disputes = _list_disputes(answer)
    told = () if disputes else rivals
    warnings = [one for one in answer.warnings if one not in told]
    is_settled = answer.status == "complete" and not answer.degraded
    has_values = any(slot.value is not None for slot in answer.slots.values())
    lists = {"Sources": answer.citations, phrases.CLOSEST: answer.closest}
    sources = {name: _list_sources(some, is_short=True) for name, some in lists.items()}
    blocks: list[tree.Block] = [
        *_list_box(disputes or [tree.Item((rival,)) for rival in rivals]),
        *(() if is_settled else _lines(phrases.describe_status(answer), "warn")),
        *(_list_claims(answer.claims) or _lines(answer.answer)),
        *(_list_slots(answer, phrases.VALUE_LABELS) if has_values else ()),
        *(_list_short_report(report) if report else ()),
        *(tree.Group((tree.Heading(name), *some)) for name, some in sources.items() if some),
        *list_warnings(warnings, "quiet"),
        *_lines(phrases.summarize_run(answer), "quiet"),
    ]
    return tree.Shown(report.title if report else answer.topic, blocks)


def _list_short_report(report: ReportAnswer) -> Iterator[tree.Block]:
    yield from _list_themes(report)
    yield tree.Prose((tree.Text(f"Confidence: {report.confidence}. ", "strong"), report.rationale))


def _list_labels(heading: str, pairs: Sequence[tuple[str, str]], id: str) -> tree.PagePart:
    return tree.PagePart(heading, (tree.Labels(pairs),), id)


def _lines(text: str, role: str = "") -> Sequence[tree.Block]:
    """A paragraph; none for ""."""
    return (tree.Prose((text,), role),) if text else ()


def list_badges(answer: Answer) -> Sequence[tree.Block]:
    """The status in words, and whether the answer is degraded."""
    badges = [tree.Text(phrases.STATUSES[answer.status], f"badge {answer.status}")]
    if answer.degraded:
        badges.append(tree.Text(f"degraded: {phrases.STOOD_IN}", "badge partial"))
    return (tree.Prose(badges, "status"),)


def list_error(answer: Answer) -> Iterator[tree.Block]:
    """Why there is no answer and what to do."""
    if error := answer.error:
        yield tree.Prose((tree.Text(error.message, "strong"), " ", error.remedy), "trouble")


def list_warnings(warnings: Iterable[str], role: str = "") -> Sequence[tree.Block]:
    """What the reader is warned of, a line each."""
    items = tuple(tree.Item((tree.Text(warning, role),)) for warning in warnings)
    return (tree.Bullets(items, "warnings"),) if items else ()


# --- the text ------------------------------------------------------------------------------------


def _list_claims(claims: Iterable[Claim], role: str = "") -> list[tree.Block]:
    """Claims in order: sentences as paragraphs, items as lists, rows as tables."""
    groups = groupby(claims, key=lambda claim: (claim.form, claim.intro))
    return [
        block
        for (form, intro), some in groups
        for block in _list_block(form, intro, list(some), role)
    ]


def _list_charted(claims: Sequence[Claim], role: str = "") -> list[tree.Block]:
    """Claims in order, and below them the numbers over time of their sentences."""
    charts = [block for one in series_of_sentences(claims) for block in _tabulate(one)]
    return _list_claims(claims, role) + charts


def _tabulate(series: Series) -> Sequence[tree.Block]:
    """A series as a table with its chart."""
    rows = [((one.at,), (one.said, " ", tree.Marks(one.citations))) for one in series.points]
    return (tree.Table(("", series.name), rows), draw_chart(series))


def _list_block(form: str, intro: str, claims: Sequence[Claim], role: str) -> Iterator[tree.Block]:
    """Claims of one form. The intro of rows ends with the head of their table."""
    lines = [] if form == "sentence" else [line.strip() for line in intro.splitlines()]
    table = [line for line in lines if form == "row" and line.startswith("|")]
    yield from _lines(" ".join(line for line in lines if line and line not in table), role)
    if form == "row":
        head = phrases.read_cells(table[0]) if table else []
        yield tree.Table(head, tuple(map(_read_row, claims)))
        yield from map(draw_chart, series_of_rows(intro, claims))
        yield from (tree.Prose(note, "quiet") for claim in claims for note in list_notes(claim))
    elif form == "item":
        items = [(claim, [tree.Item(note) for note in list_notes(claim)]) for claim in claims]
        yield tree.Bullets([tree.Item(_read_sentence(one), notes) for one, notes in items], role)
    else:
        yield from _list_sentences(claims, role)


def _list_sentences(claims: Sequence[Claim], role: str) -> Iterator[tree.Block]:
    """Sentences as paragraphs. One ends where it is long and other pages are cited, and with a
    sentence that has notes: they stand below it."""
    parts: list[tree.Inline] = []
    length, cited = 0, set[int]()
    for claim in claims:
        if length > LONG_PARAGRAPH and cited.isdisjoint(claim.citations):
            yield tree.Prose(parts, role)
            parts, length = [], 0
        length, cited = length + len(claim.text), set(claim.citations)
        parts += (*_read_sentence(claim), " ")
        if notes := list_notes(claim):
            yield tree.Prose(parts, role)
            yield from (tree.Prose(note, "quiet") for note in notes)
            parts, length = [], 0
    if parts:
        yield tree.Prose(parts, role)


def list_notes(claim: Claim) -> list[tree.Parts]:
    """The lines below a claim: how its numbers follow, and how it differs from its page."""
    notes: list[tree.Parts] = []
    if (made := claim.calculation) and made.operands:  # else the claim is what is computed
        numbers = tuple(dict.fromkeys(one.citation for one in made.operands))
        notes.append((phrases.describe_calculation(made), " ", tree.Marks(numbers)))
    told = phrases.describe_differences(claim.differences, claim.verdict, "answer")
    return notes + [(line,) for line in told]


def _read_sentence(claim: Claim) -> tree.Parts:
    """A claim with its marks, which stand before its final punctuation."""
    marks = "".join(f"[{n}]" for n in claim.citations)
    body, _, end = render_claim(claim).rpartition(marks) if marks else (claim.text, "", "")
    return (body, tree.Marks(claim.citations), end, *_tell_verdict(claim))


def _read_row(claim: Claim) -> Sequence[tree.Parts]:
    """The cells of a row; its marks and its verdict are in the last one."""
    *cells, last = phrases.read_cells(claim.text)
    marks = (" ", tree.Marks(claim.citations)) if claim.citations else ()
    return [*((cell,) for cell in cells), (last, *marks, *_tell_verdict(claim))]


def _tell_verdict(claim: Claim) -> tree.Parts:
    words = phrases.VERDICT_LABELS.get(claim.verdict, "")
    return (" ", tree.Text(words, f"mark {claim.verdict}")) if words else ()


def _list_themes(report: ReportAnswer) -> Iterator[tree.Block]:
    for n, theme in enumerate(report.sections, 1):
        yield tree.Heading(theme.heading, f"theme-{n}")
        dated = {one.text: one.at for one in theme.timeline}
        yield from _list_charted([one for one in theme.sentences if one.text not in dated])
        yield from _list_timeline([one for one in theme.sentences if one.text in dated], dated)
        yield from _lines(f"Not found: {' '.join(theme.open)}" if theme.open else "", "quiet")


def _list_timeline(claims: Sequence[Claim], dated: Mapping[str, str]) -> Sequence[tree.Block]:
    """Sentences with their times, in order."""
    items = [
        tree.Item((tree.Text(dated[one.text], "strong"), ": ", *_read_sentence(one)))
        for one in sorted(claims, key=lambda one: dated[one.text])
    ]
    return (tree.Bullets(items, "timeline"),) if items else ()


def _list_conflicts(report: ReportAnswer) -> Sequence[tree.Block]:
    return _list_claims(claim.model_copy(update={"form": "item"}) for claim in report.conflicts)


def _list_links(report: ReportAnswer | None) -> Iterator[tree.Block]:
    """The pages of a report by what became of them."""
    links = report.links if report else ()
    for became, words in phrases.BECAME.items():
        items = [tree.Item(_name_link(link)) for link in links if link.became == became]
        if items:
            yield tree.Heading(f"{words} ({len(items)})", f"links-{became}")
            yield tree.Bullets(items)


def _name_link(link: LookedAt) -> tree.Parts:
    title = link.title or link.url
    reason = f": {link.reason}" if link.reason else ""
    if is_web_url(link.url):
        return (tree.Text(title, url=link.url), reason)
    return (f"{title} ({link.url}){reason}",)


# --- slots ---------------------------------------------------------------------------------------


def _list_disputes(answer: Answer) -> list[tree.Item]:
    """A line for each slot about which sources disagree, and each conflict that a report found."""
    slots = answer.slots.items()
    lines = [tree.Item((f"{n}: ", *_join_values(s))) for n, s in slots if phrases.is_disputed(s)]
    conflicts = answer.report.conflicts if answer.report else ()
    return [*lines, *(tree.Item(_read_sentence(claim)) for claim in conflicts)]


def _list_box(items: Sequence[tree.Item]) -> Sequence[tree.Block]:
    return (tree.Group((tree.Bullets(items),), "disagreement", DISAGREEMENT),) if items else ()


def _list_slots(answer: Answer, found: Mapping[Verdict, str] | None = None) -> Sequence[tree.Block]:
    rows = [
        (
            (name,),
            _join_values(slot),
            (tree.Text(phrases.describe_slot(slot, found), f"badge {slot.status}"),),
        )
        for name, slot in answer.slots.items()
    ]
    table = tree.Table(("Fact", "Value", "Status"), rows, "slots")
    return (table, *map(draw_chart, series_of_slots(answer.slots))) if rows else ()


def _join_values(slot: SlotAnswer) -> tree.Parts:
    """The value of a slot and its alternatives, each with the marks of its sources."""
    between = "; but also: " if phrases.is_disputed(slot) else "; "
    parts = [
        part
        for value, numbers in phrases.list_values(slot)
        for part in (between, value, *((" ", tree.Marks(numbers)) if numbers else ()))
    ]
    return parts[1:]


# --- sources -------------------------------------------------------------------------------------


def _list_sources(citations: Iterable[Citation], *, is_short: bool = False) -> Sequence[tree.Block]:
    """The sources by their numbers, each with its quotes."""
    by_source = phrases.group_by_source(citations)
    return [_make_source(n, quotes, is_short) for n, quotes in by_source.items()]


def _make_source(number: int, citations: Sequence[Citation], is_short: bool) -> tree.SourceEntry:
    first = citations[0]
    limits = phrases.describe_limits(first)
    about = f"{limits} was read" * bool(limits) if is_short else phrases.describe_source(first)
    quotes = [tree.Quotation(one.quote, one.link, one.place, one.match) for one in citations]
    return tree.SourceEntry(number, phrases.shown_title(first), first.url, about, quotes)
