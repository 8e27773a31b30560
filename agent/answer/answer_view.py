"""The view of an answer: which document is shown of it, as a page, and shorter on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING

from agent.answer import doc, messages
from agent.answer.claims_view import list_claims, list_lines, list_warnings, read_sentence
from agent.answer.messages import state_of
from agent.evidence.bm25 import rank_texts
from agent.slots.conversion import slot_words
from agent.state import Claim, is_web_url

if TYPE_CHECKING:  # at run time, building an answer imports this module for the report's Markdown
    from agent.answer.report import LookedAt, ReportAnswer, ReportSection
    from agent.answer.schema import Answer, Citation, SlotAnswer


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
            *_list_sections(answer),
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
    none = list_lines(messages.NO_CONFLICTS if report.compared else messages.NOT_COMPARED)
    conflicts = [claim.model_copy(update={"form": "item"}) for claim in report.conflicts]
    disputed = list_lines(messages.DISPUTED if report.conflicts else "", "quiet")
    sections = (
        _list_labels("Methodology", messages.describe_methodology(report), "method"),
        doc.PagePart("Executive Summary", (*list_claims(claims, "answer"), *disputed), "answer"),
        doc.PagePart("Main Findings", themes, "findings"),
        doc.PagePart("Conflicting Information", list_claims(conflicts) or none, "conflicts"),
        doc.PagePart("Confidence Assessment", (doc.Prose(confidence),), "confidence"),
        doc.PagePart("Sources", _list_sources(citations), "sources"),
    )
    return doc.View(report.title, sections=sections)


def _list_sections(answer: Answer) -> Iterator[doc.PagePart]:
    if answer.report:
        yield from show_report(answer.report, answer.claims, answer.citations).sections
        yield doc.PagePart("Facts", _list_slots(answer), "facts")
        return
    text: Sequence[doc.Block] = list_claims(_leave_sides(answer), "answer")
    text = text or list_lines("" if answer.claims else answer.answer, "answer")
    text = text or list_lines(messages.explain_nothing(answer), "answer missing")
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
        items = [doc.Item(read_sentence(claim)) for claim in answer.report.conflicts]
        yield doc.Group((doc.Bullets(items),), "disagreement", messages.DISAGREE)


def _make_side(answer: Answer, value: str, numbers: Sequence[int]) -> doc.Group:
    cited = [one for one in answer.citations if one.id in numbers]
    ranks = rank_texts([one.quote for one in cited], value)
    best = max(zip(ranks, cited, strict=True), key=itemgetter(0), default=None)
    blocks: list[doc.Block] = [
        doc.Prose((value, *((" ", doc.Marks(numbers, value)) if numbers else ())), "value")
    ]
    if best:
        blocks += [_quote(best[1]), *list_lines(messages.describe_page(best[1]), "quiet")]
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
        *(() if is_whole else list_lines(line, "warn")),
        *(list_claims(_leave_sides(answer)) or list_lines("" if answer.claims else answer.answer)),
        *(_list_slots(answer) if has_values else ()),
        *_list_short_report(report),
        *(doc.Group((doc.Heading(name), *some)) for name, some in sources.items() if some),
        *list_warnings(messages.list_notes(answer), "quiet"),
        *(list_lines(line, "quiet") if is_whole else ()),
        *list_lines(messages.summarize_run(answer), "quiet"),
    ]
    return doc.View(report.title if report else answer.topic, blocks)


def _list_short_report(report: ReportAnswer | None) -> Iterator[doc.Block]:
    if report:
        yield from _list_themes(report)
        sure = doc.Text(f"Confidence: {report.confidence}. ", "strong")
        yield doc.Prose((sure, report.rationale))


def _list_checks(answer: Answer) -> Sequence[doc.Block]:
    """How many sentences have which verdict, and how they got it."""
    checks = messages.describe_checks(answer)
    items = [doc.Item((text,), role=role) for role, text in checks]
    counts = list_lines(messages.describe_verdicts(answer))
    return (*counts, doc.Bullets(items, "checks")) if items else counts


def _list_labels(heading: str, pairs: Sequence[tuple[str, str]], id: str) -> doc.PagePart:
    items = [doc.Item((doc.Text(f"{label}:", "strong"), " ", text)) for label, text in pairs]
    return doc.PagePart(heading, (doc.Bullets(items, "labelled"),), id)


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


def _list_themes(report: ReportAnswer) -> Iterator[doc.Block]:
    for n, theme in enumerate(report.sections, 1):
        if len(report.sections) > 1 or theme.heading != report.title:
            yield doc.Heading(theme.heading, f"theme-{n}")
        yield from list_claims(theme.sentences)
        yield from _list_open(theme)


def _list_open(theme: ReportSection) -> Sequence[doc.Block]:
    """To which questions of a section nothing was found."""
    if not theme.open:
        return list_lines("" if theme.sentences else messages.TOLD_ELSEWHERE, "quiet")
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
