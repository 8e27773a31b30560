"""WriteSections: the sections of a report, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from agent.calls import Ask
from agent.evidence import content_words
from agent.evidence.citing import explain_lost_citations, order_quotes
from agent.settings import Settings
from agent.state import Answered, Claim, Event, Finding, Quote, Report, Research, Section, Warned
from agent.state.plans import name_slot
from agent.steps.ask_model import begin
from agent.steps.resolve_conflicts import quote_conflicts
from agent.steps.synthesize import build_abstention
from agent.strategies.report.section_task import SectionText, build_section_task
from agent.strategies.report.sections import plan_sections, weigh_all
from agent.strategies.report.sum_up import ask_once, cut_words
from agent.strategies.report.written_sentences import SentenceClaims, clean_line
from agent.verification.summary import said_as

TELLING = 0.6  # of the words of a question, in sentences that are taken to answer it
SPARE = 1.25  # of the words that were asked for: what is longer is cut


@dataclass(frozen=True)
class WriteSections:
    """Writes the sections, side by side, each from the passages that fit it best.

    A section that compares things has a table of what was found of each. Questions that several
    sources, or several sections, answer otherwise are conflicts. Where no model answers, `fallback`
    does.
    """

    ask: Ask
    fallback: Ask
    settings: Settings

    def __call__(self, research: Research) -> Iterator[Event]:
        found = weigh_all(research)
        known = {one.slot: one for one in found}
        numbers = range(1, len(plan_sections(research)) + 1)
        tasks = [build_section_task(research, n, self.settings) for n in numbers]
        for task in tasks if research.sources else ():
            begin(task, self.ask)
        by_rules = research.is_read_by_rules  # these fill few questions, but quote their answers
        builder = SentenceClaims(research.sources, self.settings.max_citations)
        themes: list[Section] = []
        written: set[str] = set()
        for n, task in enumerate(tasks, 1):
            text = SectionText()
            if research.sources:
                text = yield from ask_once(task, self.ask, self.fallback, research)
            made = builder.build_claims(text.sentences)
            claims = tuple(cut_words(_take_new(made, written), SPARE * task.max_words))
            claims = _order_by_page(claims, builder.quotes) if by_rules else claims
            table = list(_tabulate(research, n, known, builder.quotes))
            rows = tuple(_take_new(table, written))
            missing = [one.name for one in task.slots if known[one.name].status == "missing"]
            unanswered = [one for one in missing if not by_rules or not _tells(made, one)]
            themes.append(
                Section(
                    heading=task.heading,
                    claims=(*claims, *rows),
                    open=tuple(unanswered) or (() if made or table else (task.heading,)),
                )
            )
        lost = explain_lost_citations(builder.lost, research.sources)
        yield from (Warned(message=message) for message in lost)
        conflicts, quotes = quote_conflicts(found, research.sources)
        if not builder.quotes and not quotes:
            yield build_abstention(research)
            return
        report = Report(
            title=research.topic,
            themes=tuple(themes),
            conflicts=conflicts,
            compared=sum(len({quote.source for quote in one.quotes}) > 1 for one in found),
        )
        yield Answered(
            text="", quotes=order_quotes((*builder.quotes, *quotes)), claims=(), report=report
        )


def _tells(claims: Iterable[Claim], question: str) -> bool:
    """Whether sentences have most of the words of a question."""
    said = {word for claim in claims for word in content_words(claim.text)}
    asked = set(content_words(question))
    return bool(asked) and len(asked & said) >= TELLING * len(asked)


def _take_new(claims: Iterable[Claim], written: set[str]) -> Iterator[Claim]:
    """The claims that were not written before."""
    for claim in claims:
        if (key := said_as(claim)) not in written:
            written.add(key)
            yield claim


def _order_by_page(claims: Sequence[Claim], quotes: Iterable[Quote]) -> tuple[Claim, ...]:
    """Quoted sentences as their pages have them, those of a page together; the best one first."""
    places = {quote.text: quote.start for quote in quotes}
    pages = list(dict.fromkeys(claim.citations for claim in claims))
    rest = sorted(claims[1:], key=lambda one: (pages.index(one.citations), places.get(one.text, 0)))
    return (*claims[:1], *rest)


def _tabulate(
    research: Research, n: int, known: dict[str, Finding], quotes: list[Quote]
) -> Iterator[Claim]:
    """A table for each question that is asked of several things: a row for each, with sources."""
    section = plan_sections(research)[n - 1]
    for question in section.questions if section.things else ():
        for thing in section.things:
            one = known[name_slot(question, thing)]
            quotes += one.quotes
            for value, sources in _list_values(one):
                yield Claim(
                    text=f"| {_cell(thing)} | {_cell(value)} |",
                    citations=sources,
                    form="row",
                    intro=f"| {_cell(question)} | |\n|---|---|",
                )


def _list_values(one: Finding) -> Iterator[tuple[object, tuple[int, ...]]]:
    """The value of a question with its sources; of one in conflict every value."""
    others = {n for other in one.alternatives for n in other.citations}
    numbers = dict.fromkeys(quote.source for quote in one.quotes)
    if one.status != "missing" and numbers:
        yield one.value, tuple(n for n in numbers if n not in others) or tuple(numbers)
    for other in one.alternatives:
        if one.status == "conflict" and other.of == one.of:
            yield other.value, other.citations


def _cell(value: object) -> str:
    return clean_line(str(value), 300).replace("|", "\\|")
