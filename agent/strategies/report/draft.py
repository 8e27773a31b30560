"""DraftReport: a report as a model drafts it, reduced to the citations that its sources contain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar, Literal

from pydantic import Field

from agent.evidence import render_sources, select_passages, split_sentences
from agent.evidence.citing import (
    explain_lost_citations,
    locate_citation,
    make_answered,
    order_quotes,
)
from agent.evidence.credibility import Blocking
from agent.evidence.markers import strip_markers
from agent.outside import Ask, Task, TaskKind
from agent.state import (
    Answered,
    Cited,
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
from agent.state.sanitizing import sanitize_line
from agent.state.urls import canonical_url
from agent.steps.asking import ask_with_fallback
from agent.steps.prompt_rules import DATA_RULE, escape, language_rule, render_topic
from agent.steps.synthesize import build_abstention
from agent.strategies.report.tool_calls import credibility_scores

MAX_SUMMARY_SENTENCES = 5  # as many as the prompt asks for
MAX_THEMES = 12
MAX_THEME_SENTENCES = 30
MAX_TEXT_CHARS = 2000  # of a draft's sentence
Confidence = Literal["Low", "Medium", "High"]


class DraftSentence(Frozen):
    """A sentence, and the words of sources that it stands on."""

    text: str = Field(description="one sentence, without [n]")
    citations: list[Cited] = Field(default_factory=list, description="a quote for each source")


class Theme(Frozen):
    """What the sources say of one theme."""

    heading: str
    sentences: list[DraftSentence]


class ReportDraft(Frozen):
    """A report as a model drafts it. All empty if the sources do not say."""

    title: str = ""
    summary: list[DraftSentence] = Field(default_factory=list, description="3 to 5 sentences")
    themes: list[Theme] = Field(default_factory=list, description="findings by theme")
    conflicts: list[DraftSentence] = Field(
        default_factory=list, description="where sources contradict each other; empty if nowhere"
    )
    confidence: Confidence = "Low"
    rationale: str = Field(
        default="", description="why, by the sources' number, quality and agreement"
    )


class WriteReport(Task[ReportDraft]):
    """Asks for the report."""

    name: ClassVar[str] = "draft"
    kind: ClassVar[TaskKind] = "write"
    reply_tokens: ClassVar[int] = 6000

    queries: tuple[str, ...] = ()  # of all rounds; their answers make the themes
    gaps: tuple[str, ...] = ()
    credibility: tuple[str, ...] = ()  # of each source, as `[1] 0.8, an encyclopaedia`
    blocked_pages: int = 0

    @property
    def temperature(self) -> float:
        return 0.3

    def system_prompt(self) -> str:
        return (
            "You write a research report from sources: a title, a summary of 3 to 5 sentences, "
            "findings grouped by theme (not by query), where sources contradict each other, and "
            "how confident one may be and why. If a name of the topic stands for several people or "
            "things, tell of each and what tells them apart; that is no contradiction. "
            "Write each sentence so that it stands alone, and "
            "give for each a short quote, copied exactly, of every source that it stands on. If "
            f"the sources do not answer the topic, return empty lists. {DATA_RULE} "
            + language_rule(self.language)
        )

    def prompt(self) -> str:
        lines = [render_sources(self.evidence), render_topic(self)]
        lists = {
            "Sub-queries": self.queries,
            "Gaps found on the way": self.gaps,
            "Credibility of the sources": self.credibility,
        }
        for title, items in lists.items():
            if items:
                lines += [f"{title}:", *(f"- {escape(item)}" for item in items)]
        if self.blocked_pages:
            lines.append(f"Pages left out for their low credibility: {self.blocked_pages}")
        return "\n".join(lines)


@dataclass(frozen=True)
class DraftReport:
    """Writes the report. Citations whose quote is not in their source are dropped.

    Order, numbers and sources are made in code. With no sources no model is asked. Where no model
    answers, `fallback` does.
    """

    ask: Ask
    fallback: Ask
    budget: int  # tokens of evidence
    blocking: Blocking
    language: str = ""

    def __call__(self, research: Research) -> Iterator[Event]:
        if not research.sources:
            yield build_abstention(research)
            return
        wanted = (research.topic, *research.queries)
        task = WriteReport(
            topic=research.topic,
            evidence=select_passages(research.sources, wanted, self.budget),
            language=self.language,
            queries=research.queries,
            gaps=research.gap_analysis.gaps,
            credibility=_describe_credibility(research, self.blocking),
            blocked_pages=len(research.blocked_pages),
        )
        draft = yield from ask_with_fallback(task, self.ask, self.fallback)
        answer, warnings = build_report(draft, research)
        yield from (Warned(message=warning) for warning in warnings)
        yield answer if answer.claims else build_abstention(research)


def _describe_credibility(research: Research, blocking: Blocking) -> tuple[str, ...]:
    """A line for each source whose credibility is known."""
    scores = credibility_scores(research, blocking)
    lines: list[str] = []
    for source in research.sources:
        if scored := scores.get(canonical_url(source.hit.url)):
            _, credibility = scored
            lines.append(f"[{source.n}] {credibility.score:g}, {credibility.reason}")
    return tuple(lines)


# --- from a draft to a report ------------------------------------------------------------------


def build_report(draft: ReportDraft, research: Research) -> tuple[Answered, tuple[str, ...]]:
    """The report of a draft, its claims not yet checked, and warnings about lost citations.

    A citation counts only if its source contains the quote. Whether the quote supports the sentence
    is checked later, by Verify. Markers in titles and headings are removed.
    """
    builder = _ClaimBuilder(research.sources)
    summary = builder.build_claims(draft.summary, MAX_SUMMARY_SENTENCES)
    themes = tuple(
        Section(heading=_clean_line(theme.heading, 200) or research.topic, claims=claims)
        for theme in draft.themes[:MAX_THEMES]
        if (claims := builder.build_claims(theme.sentences))
    )
    conflicts = builder.build_claims(draft.conflicts)
    if not summary:
        summary = tuple(theme.claims[0] for theme in themes[:MAX_SUMMARY_SENTENCES]) or conflicts
    report = Report(
        title=_clean_line(draft.title, 200) or research.topic,
        themes=themes,
        conflicts=conflicts,
        confidence=draft.confidence,
        rationale=_clean_line(draft.rationale, 1000),
    )
    answer = Answered(
        text=make_answered(summary, ()).text,
        quotes=order_quotes(builder.quotes),
        claims=summary,
        report=report,
    )
    return answer, tuple(dict.fromkeys(explain_lost_citations(builder.lost, research.sources)))


class _ClaimBuilder:
    """Makes claims of a draft's sentences; collects their quotes and the citations that are lost.

    A citation is lost if its source does not contain the quote.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self.quotes: list[Quote] = []
        self.lost: list[Cited] = []

    def build_claims(
        self, sentences: Sequence[DraftSentence], limit: int = MAX_THEME_SENTENCES
    ) -> tuple[Claim, ...]:
        """At most `limit` claims, each citing the sources of its quotes."""
        claims = (claim for sentence in sentences for claim in self._split(sentence))
        return tuple(islice(claims, limit))

    def _split(self, sentence: DraftSentence) -> Iterator[Claim]:
        """A claim for each sentence of the text, so that each has a verdict of its own."""
        text = _clean_line(sentence.text, MAX_TEXT_CHARS)
        if not text:
            return
        found = [
            (cited, locate_citation(cited, self._sources, text)) for cited in sentence.citations
        ]
        quotes = [quote for _, located in found for quote in located]
        self.lost += [c for c, located in found if not located and c not in self.lost]
        self.quotes += quotes
        citations = tuple(dict.fromkeys(quote.source for quote in quotes))
        for start, end in split_sentences(text):
            yield Claim(text=text[start:end], citations=citations)


def _clean_line(text: str, limit: int) -> str:
    """A text on one line, without the model's own markers, which are set in code."""
    return sanitize_line(strip_markers(text), limit)
