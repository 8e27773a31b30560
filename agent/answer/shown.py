"""What is shown of an answer, as a tree: as a page, and shorter on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from agent.answer import phrases, tree
from agent.answer.status import DISAGREEMENT
from agent.evidence.citing import render_claim
from agent.state import Claim, Verdict
from agent.state.urls import is_web_url

if TYPE_CHECKING:  # at run time, building an answer imports this module for the report's Markdown
    from agent.answer.report import LookedAt, ReportAnswer, ReportSection
    from agent.answer.schema import Answer, Citation, SlotAnswer

MOST_COLUMNS = 6  # of a table that compares
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
    summary = _leave_conflicts(list(claims), report)
    conflicts = [claim.model_copy(update={"form": "item"}) for claim in report.conflicts]
    disputed = _lines(phrases.DISPUTED if report.conflicts else "", "quiet")
    sections = (
        _list_labels("Methodology", phrases.describe_methodology(report), "method"),
        tree.PagePart("Executive Summary", (*_list_claims(summary, "answer"), *disputed), "answer"),
        tree.PagePart("Main Findings", themes, "findings"),
        tree.PagePart("Conflicting Information", _list_claims(conflicts) or none, "conflicts"),
        tree.PagePart("Confidence Assessment", (tree.Prose(confidence),), "confidence"),
        tree.PagePart("Sources", _list_sources(citations), "sources"),
    )
    return tree.Shown(report.title, sections=sections)


def _leave_conflicts(claims: Sequence[Claim], report: ReportAnswer) -> Sequence[Claim]:
    """The claims but for those that are told as conflicts, unless nothing else is left."""
    opposed = {claim.text for claim in report.conflicts}
    return [claim for claim in claims if claim.text not in opposed] or claims


def _list_report_sections(answer: Answer, report: ReportAnswer) -> Iterator[tree.PagePart]:
    yield from show_report(report, answer.claims, answer.citations).sections
    yield tree.PagePart("Facts", _list_slots(answer), "facts")


def list_sections(answer: Answer) -> Iterator[tree.PagePart]:
    """The sections of an answer without a report."""
    text = _list_claims(answer.claims, "answer") or _lines(answer.answer, "answer")
    disputes = [item for item in _list_disputes(answer) if answer.report is None]
    blocks = (*_list_box(disputes), *text, *_list_slots(answer))
    yield tree.PagePart("Answer", blocks, "answer", is_lead=True)
    yield tree.PagePart("Sources", _list_sources(answer.citations), "sources")
    yield tree.PagePart(phrases.CLOSEST, _list_sources(answer.closest), "closest")


def show_on_terminal(answer: Answer) -> tree.Shown:
    """The answer as a terminal shows it: what sources disagree about first."""
    report = answer.report
    disputes = _list_disputes(answer)
    is_settled = answer.status == "complete" and not answer.degraded
    has_values = any(slot.value is not None for slot in answer.slots.values())
    lists = {"Sources": answer.citations, phrases.CLOSEST: answer.closest}
    sources = {name: _list_sources(some, is_short=True) for name, some in lists.items()}
    blocks: list[tree.Block] = [
        *_list_box(disputes),
        *(() if is_settled else _lines(phrases.describe_status(answer), "warn")),
        *(_list_claims(answer.claims) or _lines(answer.answer)),
        *(_list_slots(answer, phrases.VALUE_LABELS) if has_values else ()),
        *(_list_short_report(report) if report else ()),
        *(tree.Group((tree.Heading(name), *some)) for name, some in sources.items() if some),
        *list_warnings(answer.warnings, "quiet"),
        *_lines(phrases.summarize_run(answer), "quiet"),
    ]
    return tree.Shown(report.title if report else answer.topic, blocks)


def _list_short_report(report: ReportAnswer) -> Iterator[tree.Block]:
    yield from _list_themes(report)
    yield tree.Prose((tree.Text(f"Confidence: {report.confidence}. ", "strong"), report.rationale))


def _list_labels(heading: str, pairs: Sequence[tuple[str, str]], id: str) -> tree.PagePart:
    items = [tree.Item((tree.Text(f"{label}:", "strong"), " ", text)) for label, text in pairs]
    return tree.PagePart(heading, (tree.Bullets(items, "labelled"),), id)


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
    blocks: list[tree.Block] = []
    for is_row, several in groupby(claims, key=lambda claim: claim.form == "row"):
        groups = groupby(several, key=lambda claim: (claim.form, claim.intro))
        made = [(form, intro, list(some)) for (form, intro), some in groups]
        if is_row and (crossed := _cross([rows for _, _, rows in made])):
            below = (_list_row_notes(rows) for _, _, rows in made)
            blocks += (crossed, *(block for some in below for block in some))
        else:
            blocks += (block for one in made for block in _list_block(*one, role))
    return blocks


def _cross(tables: Sequence[Sequence[Claim]]) -> tree.Table | None:
    """Tables that each ask one thing of the same few, as one; None where they are not such.

    What each asks is a row, and a disputed cell has every value.
    """
    heads = [phrases.read_cells(rows[0].intro.partition("\n")[0]) for rows in tables]
    things = dict.fromkeys(phrases.read_cells(one.text)[0] for rows in tables for one in rows)
    if len(tables) < 2 or len(things) > MOST_COLUMNS or any(head[1:] != [""] for head in heads):
        return None
    lines = []
    for (asked, _), rows in zip(heads, tables, strict=True):
        cells: dict[str, list[tree.Inline]] = {thing: [] for thing in things}
        for thing, value in map(_read_row, rows):
            cell = cells[tree.plain_text(thing)]
            cell += (*([" / "] if cell else []), *value)
        lines.append(((asked,), *(tuple(cell) or ("–",) for cell in cells.values())))
    return tree.Table(("", *things), lines, "compared")


def _list_block(form: str, intro: str, claims: Sequence[Claim], role: str) -> Iterator[tree.Block]:
    """Claims of one form. The intro of rows ends with the head of their table."""
    lines = [] if form == "sentence" else [line.strip() for line in intro.splitlines()]
    table = [line for line in lines if form == "row" and line.startswith("|")]
    yield from _lines(" ".join(line for line in lines if line and line not in table), role)
    if form == "row":
        head = phrases.read_cells(table[0]) if table else []
        yield tree.Table(head, tuple(map(_read_row, claims)))
        yield from _list_row_notes(claims)
    elif form == "item":
        items = [(claim, [tree.Item(note) for note in list_notes(claim)]) for claim in claims]
        yield tree.Bullets([tree.Item(_read_sentence(one), notes) for one, notes in items], role)
    else:
        yield from _list_sentences(claims, role)


def _list_row_notes(rows: Sequence[Claim]) -> Iterator[tree.Block]:
    yield from (tree.Prose(note, "quiet") for row in rows for note in list_notes(row))


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
        yield from _list_claims(theme.sentences)
        yield from _list_open(theme)


def _list_open(theme: ReportSection) -> Sequence[tree.Block]:
    """To which questions of a section nothing was found."""
    if not theme.open:
        return _lines("" if theme.sentences else phrases.TOLD_ELSEWHERE, "quiet")
    items = tuple(tree.Item((question,)) for question in theme.open)
    return (tree.Prose(("Not found:",), "quiet"), tree.Bullets(items, "quiet"))


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
    return (table,) if rows else ()


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
