"""Draft: a report as a model drafts it, made into one whose every citation stands."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Literal

from pydantic import Field, field_validator

from agent.evidence import select, sentences, show
from agent.evidence.citing import MARKERS, Cited, lost_citations, ordered, quote_of, told
from agent.outside import Ask, Task
from agent.state import (
    Answered,
    Blocked,
    Claim,
    Event,
    Frozen,
    Quote,
    Report,
    Research,
    Section,
    Source,
    Warned,
)
from agent.state.plain import plain
from agent.state.urls import canonical
from agent.steps.asking import DATA_RULE, answered, language_rule
from agent.steps.synthesize import nothing_found
from agent.strategies.report.tool_use import scores

SUMMARY = 5  # sentences of the executive summary, as the design of the report has it
MOST_THEMES = 12
MOST_SENTENCES = 30  # of a theme
LONGEST = 2000  # characters of a sentence
Confidence = Literal["Low", "Medium", "High"]


class Sentence(Frozen):
    """A sentence, and the words of sources that it stands on."""

    text: str = Field(description="one sentence, without [n]")
    citations: list[Cited] = Field(default_factory=list, description="a quote for each source")


class Theme(Frozen):
    """What the sources say of one theme."""

    heading: str
    sentences: list[Sentence]


class ReportDraft(Frozen):
    """A report as a model drafts it. All empty if the sources do not say."""

    title: str = ""
    summary: list[Sentence] = Field(default_factory=list, description="3 to 5 sentences")
    themes: list[Theme] = Field(default_factory=list, description="findings by theme")
    conflicts: list[Sentence] = Field(
        default_factory=list, description="where sources contradict each other; empty if nowhere"
    )
    confidence: Confidence = "Low"
    rationale: str = Field(
        default="", description="why, by the sources' number, quality and agreement"
    )

    @field_validator("confidence", mode="before")
    @classmethod
    def _known(cls, value: Any) -> Any:
        return value.strip().capitalize() if isinstance(value, str) else value


class DraftReport(Task[ReportDraft]):
    """Asks for the report."""

    queries: tuple[str, ...] = ()  # what was asked on the way: themes are made of the answers
    gaps: tuple[str, ...] = ()
    trust: tuple[str, ...] = ()  # how credible each source is, as `[1] 0.8, an encyclopaedia`
    kept_away: int = 0  # pages that were blocked

    @property
    def name(self) -> str:
        return "draft"

    @property
    def answer(self) -> type[ReportDraft]:
        return ReportDraft

    @property
    def temperature(self) -> float:
        return 0.3

    def system(self) -> str:
        return (
            "You write a research report from sources: a title, a summary of 3 to 5 sentences, "
            "findings grouped by theme (not by query), where sources contradict each other, and "
            "how confident one may be and why. Write each sentence so that it stands alone, and "
            "give for each a short quote, copied exactly, of every source that it stands on. If "
            f"the sources do not answer the topic, return empty lists. {DATA_RULE} "
            + language_rule(self.language)
        )

    def prompt(self) -> str:
        lines = [show(self.evidence), f"<topic>{html.escape(self.topic, quote=False)}</topic>"]
        lists = {"Sub-queries": self.queries, "Gaps found on the way": self.gaps}
        for title, rows in {**lists, "Credibility of the sources": self.trust}.items():
            if rows:
                lines += [f"{title}:", *(f"- {html.escape(row, quote=False)}" for row in rows)]
        if self.kept_away:
            lines.append(f"Pages left out for their low credibility: {self.kept_away}")
        return "\n".join(lines)


class Draft:
    """Writes the report; order, numbers and sources are made in code, invented citations dropped.

    With no sources no model is asked. Where no model answers, `stand_in` does.
    """

    def __init__(self, ask: Ask, stand_in: Ask, budget: int, language: str = "") -> None:
        self._ask = ask
        self._stand_in = stand_in
        self._budget = budget
        self._language = language

    def __call__(self, research: Research) -> Iterator[Event]:
        if not research.sources:
            yield nothing_found(research)
            return
        wanted = " ".join((research.topic, *research.queries))
        task = DraftReport(
            topic=research.topic,
            evidence=select(research.sources, wanted, self._budget),
            language=self._language,
            queries=research.queries,
            gaps=research.doubts.gaps,
            trust=_trust(research),
            kept_away=len(research.of(Blocked)),
        )
        draft = yield from answered(task, self._ask, self._stand_in)
        answer, warnings = drafted(draft, research)
        yield from (Warned(message=warning) for warning in warnings)
        yield answer if answer.claims else nothing_found(research)


def _trust(research: Research) -> tuple[str, ...]:
    known = scores(research)
    rows = (
        (s.n, known[key][1]) for s in research.sources if (key := canonical(s.hit.url)) in known
    )
    return tuple(f"[{n}] {found.score:g}, {found.reason}" for n, found in rows)


# --- from a draft to a report ----------------------------------------------------------------


def drafted(draft: ReportDraft, research: Research) -> tuple[Answered, tuple[str, ...]]:
    """The report of a draft, its claims not yet judged, with warnings about lost citations.

    A citation counts only if its quote stands on its page; what a sentence stands on then is for
    the check to say. Titles and headings have no markers of their own.
    """
    made = _Making(research.sources)
    summary = made.claims(draft.summary, SUMMARY)
    themes = tuple(
        Section(heading=_bare(theme.heading, 200) or research.topic, claims=claims)
        for theme in draft.themes[:MOST_THEMES]
        if (claims := made.claims(theme.sentences))
    )
    conflicts = made.claims(draft.conflicts)
    summary = summary or tuple(theme.claims[0] for theme in themes[:SUMMARY]) or conflicts
    report = Report(
        title=_bare(draft.title, 200) or research.topic,
        themes=themes,
        conflicts=conflicts,
        confidence=draft.confidence,
        rationale=_bare(draft.rationale, 1000),
    )
    answered = Answered(
        text=told(summary, ()).text,
        quotes=ordered(made.quotes),
        claims=summary,
        report=report,
    )
    return answered, tuple(dict.fromkeys(lost_citations(made.lost, research.sources)))


class _Making:
    """Sentences on their way into a report, with the quotes that stand and those that do not."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self.quotes: list[Quote] = []
        self.lost: list[Cited] = []

    def claims(self, rows: Sequence[Sentence], most: int = MOST_SENTENCES) -> tuple[Claim, ...]:
        """Sentences as claims that cite what their quotes stand on."""
        return tuple(islice((claim for row in rows for claim in self._claims(row)), most))

    def _claims(self, row: Sentence) -> Iterator[Claim]:
        """A claim for each sentence of a text: what is true of one must not speak for the next."""
        text = _bare(row.text, LONGEST)
        if not text:
            return
        found = [(cited, quote_of(cited, self._sources)) for cited in row.citations]
        quotes = [quote for _, quote in found if quote]
        self.lost += [cited for cited, quote in found if quote is None and cited not in self.lost]
        self.quotes += quotes
        cites = tuple(dict.fromkeys(quote.source for quote in quotes))
        for start, end in sentences(text):
            yield Claim(text=text[start:end], citations=cites)


def _bare(text: str, limit: int) -> str:
    """A text on one line, without markers of its own: those are ours to set."""
    return plain(MARKERS.sub("", text), limit)
