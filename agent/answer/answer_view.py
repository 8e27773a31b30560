"""The view of an answer: which document is shown of it, as a page, and shorter on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from agent.answer import doc, messages
from agent.answer.states import state_of
from agent.evidence.citing import render_claim
from agent.evidence.ranking import rank_texts
from agent.slots.forms import slot_words
from agent.state import Claim, Differences
from agent.state.urls import is_web_url
from agent.verification.differences import split_runs

if TYPE_CHECKING:  # at run time, building an answer imports this module for the report's Markdown
    from agent.answer.report import LookedAt, ReportAnswer, ReportSection
    from agent.answer.schema import Answer, Citation, SlotAnswer

MOST_COLUMNS = 6  # of a table that compares
LONG_PARAGRAPH = 400  # characters; only then does it end where other pages are cited


def show_answer(answer: Answer) -> doc.View:
    """The answer, with its report where it has one, as a page."""
    report = answer.report
    title = report.title if report else answer.topic
    above = (answer.topic if title != answer.topic else "", messages.describe_followed(answer))
    return doc.View(
        title,
        head=(
            *(doc.Prose((line,), "quiet") for line in above if line),
            *list_badges(answer),
            *list_error(answer),
        ),
        sections=(
            *(_list_report_sections(answer, report) if report else list_sections(answer)),
            doc.PagePart("How it was checked", _list_checks(answer), "checked"),
            doc.PagePart("Notes", list_warnings(messages.list_notes(answer)), "warnings"),
            doc.PagePart("Links that were looked at", list(_list_links(report)), "links"),
        ),
        foot=(_list_labels("About this run", messages.describe_run(answer), "run"),),
        has_contents=report is not None,
    )


def show_report(
    report: ReportAnswer, claims: Iterable[Claim], citations: Sequence[Citation]
) -> doc.View:
    """The report alone.

    Its sections are Methodology, Executive Summary (the claims of the answer), Main Findings,
    Conflicting Information, Confidence Assessment and Sources, in this order.
    """
    confidence = (doc.Text(report.confidence, "strong"), ". ", report.rationale)
    themes = tuple(_list_themes(report))
    none = _lines(messages.NO_CONFLICTS if report.compared else messages.NOT_COMPARED)
    conflicts = [claim.model_copy(update={"form": "item"}) for claim in report.conflicts]
    disputed = _lines(messages.DISPUTED if report.conflicts else "", "quiet")
    sections = (
        _list_labels("Methodology", messages.describe_methodology(report), "method"),
        doc.PagePart("Executive Summary", (*_list_claims(claims, "answer"), *disputed), "answer"),
        doc.PagePart("Main Findings", themes, "findings"),
        doc.PagePart("Conflicting Information", _list_claims(conflicts) or none, "conflicts"),
        doc.PagePart("Confidence Assessment", (doc.Prose(confidence),), "confidence"),
        doc.PagePart("Sources", _list_sources(citations), "sources"),
    )
    return doc.View(report.title, sections=sections)


def _list_report_sections(answer: Answer, report: ReportAnswer) -> Iterator[doc.PagePart]:
    yield from show_report(report, answer.claims, answer.citations).sections
    yield doc.PagePart("Facts", _list_slots(answer), "facts")


def list_sections(answer: Answer) -> Iterator[doc.PagePart]:
    """The sections of an answer without a report."""
    text: Sequence[doc.Block] = _list_claims(_leave_sides(answer), "answer")
    text = text or _lines("" if answer.claims else answer.answer, "answer")
    text = text or _lines(messages.explain_nothing(answer), "answer missing")
    blocks = (*_list_disagreements(answer), *text, *_list_slots(answer))
    yield doc.PagePart("Answer", blocks, "answer", is_lead=True)
    yield doc.PagePart(messages.CLOSEST, _list_sources(answer.closest), "closest")
    yield doc.PagePart("What to try", _list_tries(answer), "tries")
    yield doc.PagePart("Sources", _list_sources(answer.citations), "sources")


def _list_tries(answer: Answer) -> Sequence[doc.Block]:
    """What to do where nothing that was read answers."""
    if answer.status != "insufficient":
        return ()
    return (doc.Bullets([doc.Item((t,), role=r) for r, t in messages.TRIES.items()]),)


def _leave_sides(answer: Answer) -> Sequence[Claim]:
    """The claims but for those that the card of a disagreement shows; all in a report."""
    disputed = [slot for slot in answer.slots.values() if messages.is_disputed(slot)]
    cited = {n for slot in disputed for n in slot.citations}
    sides = {" ".join(one.quote.split()) for one in answer.citations if one.id in cited}
    return [one for one in answer.claims if one.form != "item" or one.text not in sides]


def _list_disagreements(answer: Answer) -> Iterator[doc.Block]:
    """A card for each slot about which sources disagree, and one for what a report has of it."""
    for name, slot in answer.slots.items():
        if messages.is_disputed(slot):
            sides = [_make_side(answer, *one) for one in messages.list_values(slot)]
            yield doc.Group(sides, "disagreement", f"{messages.DISAGREE}: {slot_words(name)}")
    if answer.report and answer.report.conflicts:
        items = [doc.Item(_read_sentence(claim)) for claim in answer.report.conflicts]
        yield doc.Group((doc.Bullets(items),), "disagreement", messages.DISAGREE)


def _make_side(answer: Answer, value: str, numbers: Sequence[int]) -> doc.Group:
    cited = [one for one in answer.citations if one.id in numbers]
    ranks = rank_texts([one.quote for one in cited], value)
    best = max(zip(ranks, cited, strict=True), key=itemgetter(0), default=None)
    blocks: list[doc.Block] = [
        doc.Prose((value, *((" ", doc.Marks(numbers, value)) if numbers else ())), "value")
    ]
    if best:
        blocks += [_quote(best[1]), *_lines(messages.describe_page(best[1]), "quiet")]
    return doc.Group(blocks, "side")


def show_on_terminal(answer: Answer) -> doc.View:
    """The answer as a terminal shows it: what sources disagree about first."""
    report = answer.report
    line = f"{state_of(answer).name}. {messages.describe_open(answer)}".strip()
    is_whole = state_of(answer).name == "Answered"
    has_values = any(slot.value is not None for slot in answer.slots.values())
    lists = {"Sources": answer.citations, messages.CLOSEST: answer.closest}
    sources = {name: _list_sources(some, is_short=True) for name, some in lists.items()}
    blocks: list[doc.Block] = [
        *_list_disagreements(answer),
        *(() if is_whole else _lines(line, "warn")),
        *(_list_claims(_leave_sides(answer)) or _lines("" if answer.claims else answer.answer)),
        *(_list_slots(answer) if has_values else ()),
        *(_list_short_report(report) if report else ()),
        *(doc.Group((doc.Heading(name), *some)) for name, some in sources.items() if some),
        *list_warnings(messages.list_notes(answer), "quiet"),
        *(_lines(line, "quiet") if is_whole else ()),
        *_lines(messages.summarize_run(answer), "quiet"),
    ]
    return doc.View(report.title if report else answer.topic, blocks)


def _list_short_report(report: ReportAnswer) -> Iterator[doc.Block]:
    yield from _list_themes(report)
    yield doc.Prose((doc.Text(f"Confidence: {report.confidence}. ", "strong"), report.rationale))


def _list_checks(answer: Answer) -> Sequence[doc.Block]:
    """How many sentences have which verdict, and how they got it."""
    checks = messages.describe_checks(answer)
    items = [doc.Item((text,), role=role) for role, text in checks]
    counts = _lines(messages.describe_verdicts(answer))
    return (*counts, doc.Bullets(items, "checks")) if items else counts


def _list_labels(heading: str, pairs: Sequence[tuple[str, str]], id: str) -> doc.PagePart:
    items = [doc.Item((doc.Text(f"{label}:", "strong"), " ", text)) for label, text in pairs]
    return doc.PagePart(heading, (doc.Bullets(items, "labelled"),), id)


def _lines(text: str, role: str = "") -> Sequence[doc.Block]:
    """A paragraph; none for ""."""
    return (doc.Prose((text,), role),) if text else ()


def list_badges(answer: Answer) -> Sequence[doc.Block]:
    """The state of the answer, and what is open."""
    is_quoted = answer.status == "complete" and messages.is_quoted(answer)
    role = "quoted" if is_quoted else answer.status
    badge = doc.Text(state_of(answer).name, f"badge {role}")
    open_ = messages.describe_open(answer)
    return (doc.Prose((badge, *([f" {open_}"] if open_ else [])), "status"),)


def list_error(answer: Answer) -> Iterator[doc.Block]:
    """Why there is no answer and what to do."""
    if error := answer.error:
        yield doc.Prose((doc.Text(error.message, "strong"), " ", error.remedy), "trouble")


def list_warnings(warnings: Iterable[str], role: str = "") -> Sequence[doc.Block]:
    """What the reader is warned of, a line each."""
    items = tuple(doc.Item((doc.Text(warning, role),)) for warning in warnings)
    return (doc.Bullets(items, "warnings"),) if items else ()


# --- the text ------------------------------------------------------------------------------------


def _list_claims(claims: Iterable[Claim], role: str = "") -> list[doc.Block]:
    """Claims in order: sentences as paragraphs, items as lists, rows as tables."""
    blocks: list[doc.Block] = []
    for is_row, several in groupby(claims, key=lambda claim: claim.form == "row"):
        groups = groupby(several, key=lambda claim: (claim.form, claim.intro))
        made = [(form, intro, list(some)) for (form, intro), some in groups]
        if is_row and (crossed := _cross([rows for _, _, rows in made])):
            below = (_list_row_notes(rows) for _, _, rows in made)
            blocks += (crossed, *(block for some in below for block in some))
        else:
            blocks += (block for one in made for block in _list_block(*one, role))
    return blocks


def _cross(tables: Sequence[Sequence[Claim]]) -> doc.Table | None:
    """Tables that each ask one thing of the same few, as one; None where they are not such.

    What each asks is a row, and a disputed cell has every value.
    """
    heads = [messages.read_cells(rows[0].intro.partition("\n")[0]) for rows in tables]
    things = dict.fromkeys(messages.read_cells(one.text)[0] for rows in tables for one in rows)
    if len(tables) < 2 or len(things) > MOST_COLUMNS or any(head[1:] != [""] for head in heads):
        return None
    lines = []
    for (asked, _), rows in zip(heads, tables, strict=True):
        cells: dict[str, list[doc.Inline]] = {thing: [] for thing in things}
        for thing, value in map(_read_row, rows):
            cell = cells[doc.plain_text(thing)]
            cell += (*([" / "] if cell else []), *value)
        lines.append(((asked,), *(tuple(cell) or ("–",) for cell in cells.values())))
    return doc.Table(("", *things), lines, "compared")


def _list_block(form: str, intro: str, claims: Sequence[Claim], role: str) -> Iterator[doc.Block]:
    """Claims of one form. The intro of rows ends with the head of their table."""
    lines = [] if form == "sentence" else [line.strip() for line in intro.splitlines()]
    table = [line for line in lines if form == "row" and line.startswith("|")]
    yield from _lines(" ".join(line for line in lines if line and line not in table), role)
    if form == "row":
        head = messages.read_cells(table[0]) if table else []
        yield doc.Table(head, tuple(map(_read_row, claims)))
        yield from _list_row_notes(claims)
    elif form == "item":
        items = [(claim, [doc.Item(note) for note in list_notes(claim)]) for claim in claims]
        yield doc.Bullets([doc.Item(_read_sentence(one), notes) for one, notes in items], role)
    else:
        yield from _list_sentences(claims, role)


def _list_row_notes(rows: Sequence[Claim]) -> Iterator[doc.Block]:
    yield from (doc.Prose(note, "quiet") for row in rows for note in list_notes(row))


def _list_sentences(claims: Sequence[Claim], role: str) -> Iterator[doc.Block]:
    """Sentences as paragraphs. One ends where it is long and other pages are cited, and with a
    sentence that has notes: they stand below it."""
    parts: list[doc.Inline] = []
    length, cited = 0, set[int]()
    for claim in claims:
        if length > LONG_PARAGRAPH and cited.isdisjoint(claim.citations):
            yield doc.Prose(parts, role)
            parts, length = [], 0
        length, cited = length + len(claim.text), set(claim.citations)
        parts += (*_read_sentence(claim), " ")
        if notes := list_notes(claim):
            yield doc.Prose(parts, role)
            yield from (doc.Prose(note, "quiet") for note in notes)
            parts, length = [], 0
    if parts:
        yield doc.Prose(parts, role)


def list_notes(claim: Claim) -> list[doc.Parts]:
    """The lines below a claim: how its numbers follow, and the sentence nearest to it."""
    notes: list[doc.Parts] = []
    if (made := claim.calculation) and made.operands:  # else the claim is what is computed
        numbers = tuple(dict.fromkeys(one.citation for one in made.operands))
        notes.append((messages.describe_calculation(made), " ", doc.Marks(numbers)))
    return notes + show_differences(claim.differences, claim.text, "answer")


def show_differences(found: Differences | None, claim: str, said: str) -> list[doc.Parts]:
    """The nearest sentence of a page above a claim, a line each, marked where they differ."""
    if found is None:
        return []
    runs = list(split_runs(found.sentence, claim))
    pages, own = ([(run.is_same, run.page) for run in runs], [(r.is_same, r.claim) for r in runs])
    return [("page: ", *_mark_runs(pages)), (f"{said}: ", *_mark_runs(own))]


def _mark_runs(runs: Iterable[tuple[bool, str]]) -> Iterator[doc.Inline]:
    for is_same, words in runs:
        if words:
            yield from (words if is_same else doc.Text(words, "strong"), " ")


def _read_sentence(claim: Claim) -> doc.Parts:
    """A claim with its marks, which stand before its final punctuation."""
    marks = "".join(f"[{n}]" for n in claim.citations)
    body, _, end = render_claim(claim).rpartition(marks) if marks else (claim.text, "", "")
    parts = (body, doc.Marks(claim.citations, claim.text), end, *_tell_verdict(claim))
    return (doc.Sentence(parts, claim.verdict, messages.explain_verdict(claim)),)


def _read_row(claim: Claim) -> Sequence[doc.Parts]:
    """The cells of a row; its marks and its verdict are in the last one."""
    *cells, last = messages.read_cells(claim.text)
    marks = (" ", doc.Marks(claim.citations, claim.text)) if claim.citations else ()
    return [*((cell,) for cell in cells), (last, *marks, *_tell_verdict(claim))]


def _tell_verdict(claim: Claim) -> Sequence[str | doc.Text]:
    words = "" if claim.verdict == "quoted" else messages.VERDICT_LABELS.get(claim.verdict, "")
    return (" ", doc.Text(words, f"mark {claim.verdict}")) if words else ()


def _list_themes(report: ReportAnswer) -> Iterator[doc.Block]:
    for n, theme in enumerate(report.sections, 1):
        if len(report.sections) > 1 or theme.heading != report.title:
            yield doc.Heading(theme.heading, f"theme-{n}")
        yield from _list_claims(theme.sentences)
        yield from _list_open(theme)


def _list_open(theme: ReportSection) -> Sequence[doc.Block]:
    """To which questions of a section nothing was found."""
    if not theme.open:
        return _lines("" if theme.sentences else messages.TOLD_ELSEWHERE, "quiet")
    items = tuple(doc.Item((question,)) for question in theme.open)
    return (doc.Prose(("Not found:",), "quiet"), doc.Bullets(items, "quiet"))


def _list_links(report: ReportAnswer | None) -> Iterator[doc.Block]:
    """The pages of a report by what became of them."""
    links = report.links if report else ()
    for became, words in messages.BECAME.items():
        items = [doc.Item(_name_link(link)) for link in links if link.became == became]
        if items:
            yield doc.Heading(f"{words} ({len(items)})", f"links-{became}")
            yield doc.Bullets(items)


def _name_link(link: LookedAt) -> doc.Parts:
    title = link.title or link.url
    reason = f": {link.reason}" if link.reason else ""
    if is_web_url(link.url):
        return (doc.Text(title, url=link.url), reason)
    return (f"{title} ({link.url}){reason}",)


# --- slots ---------------------------------------------------------------------------------------


def _list_slots(answer: Answer) -> Sequence[doc.Block]:
    rows = [
        (
            (slot_words(name),),
            _join_values(slot),
            (doc.Text(messages.describe_slot(slot), f"badge {slot.status}"),),
        )
        for name, slot in answer.slots.items()
        if not slot.unasked and (answer.report or not messages.is_disputed(slot))
    ]
    table = doc.Table(("Fact", "Value", "Sources"), rows, "slots")
    return (table,) if rows else ()


def _join_values(slot: SlotAnswer) -> doc.Parts:
    """The value of a slot and its alternatives, each with the marks of its sources."""
    values = messages.list_values(slot)
    shown = values if slot.of or messages.is_disputed(slot) else values[:1]
    parts = [
        part
        for value, numbers in shown
        for part in ("; ", value, *((" ", doc.Marks(numbers, value)) if numbers else ()))
    ]
    return parts[1:]


# --- sources -------------------------------------------------------------------------------------


def _list_sources(citations: Iterable[Citation], *, is_short: bool = False) -> Sequence[doc.Block]:
    """The sources by their numbers, each with its quotes."""
    by_source = messages.group_by_source(citations)
    return [_make_source(n, quotes, is_short) for n, quotes in by_source.items()]


def _make_source(number: int, citations: Sequence[Citation], is_short: bool) -> doc.SourceEntry:
    first = citations[0]
    limits = messages.describe_limits(first)
    about = f"{limits} was read" * bool(limits) if is_short else messages.describe_source(first)
    quotes = list(map(_quote, citations))
    return doc.SourceEntry(number, messages.shown_title(first), first.url, about, quotes)


def _quote(one: Citation) -> doc.Quotation:
    return doc.Quotation(one.quote, one.link, one.place, one.match)
