"""SumUp: the title and executive summary of a report, from its supported sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import Field

from agent.calls import Ask, Task, TaskKind
from agent.evidence.citing import make_answered
from agent.settings import Settings
from agent.state import Answered, Claim, Event, Frozen, Halted, Research, Section
from agent.steps.ask_model import ask_with_fallback
from agent.steps.evidence_choice import select_evidence
from agent.steps.prompt_rules import DATA_RULE, escape, language_rule, render_topic
from agent.strategies.report.written_sentences import clean_line
from agent.verification.judged_claims import shown_text
from agent.verification.summary import first_sentences, leave_conflicts, said_as

MAX_CONTRADICTIONS = 10  # that a model names
MAX_SUMMARY_SENTENCES = 5  # as many as the prompt asks for
LEAST_WORDS = 40  # of a section
SUMMARY_SHARE = 0.25  # of the words of a report, that its summary has at most


class SummarySentence(Frozen):
    """A sentence, and which of the report's sentences it sums up."""

    text: str = Field(description="one sentence, without [n]")
    of: list[int] = Field(default_factory=list, description="numbers of sentences of the report")


class Contradiction(Frozen):
    """Two sentences of the report that cannot both be true, by their numbers."""

    first: int
    second: int


class SummaryText(Frozen):
    """The title and the executive summary of a report."""

    title: str = ""
    summary: list[SummarySentence] = Field(
        default_factory=list, description="3 to 5 sentences, the answer to the topic first"
    )
    contradictions: list[Contradiction] = Field(default_factory=list, description="mostly none")


class WriteSummary(Task[SummaryText]):
    """Asks for the summary of the sections."""

    name: ClassVar[str] = "summary"
    kind: ClassVar[TaskKind] = "write"

    headings: tuple[str, ...]
    sections: tuple[tuple[str, ...], ...]  # the sentences of each

    def system_prompt(self) -> str:
        return (
            "You give a report its title and its executive summary: 3 to 5 sentences, the answer "
            "to the topic first, made from the numbered sentences of the report alone, in other "
            "words than theirs; tell for each which of them it sums up. Name the pairs of "
            "sentences that cannot both be true. "
            f"{DATA_RULE} {language_rule(self.language)}"
        )

    def prompt(self) -> str:
        lines, n = [render_topic(self)], 0
        for heading, sentences in zip(self.headings, self.sections, strict=True):
            lines.append(f"## {escape(heading)}")
            for sentence in sentences:
                n += 1
                lines.append(f"{n}. {escape(sentence)}")
        return "\n".join(lines)


@dataclass(frozen=True)
class SumUp:
    """Gives a checked report its title and summary, made from the supported sentences.

    A sentence of the summary cites what those cite that it sums up. Sentences that by the model
    contradict each other are shown as a conflict only.
    """

    ask: Ask
    fallback: Ask
    settings: Settings

    def __call__(self, research: Research) -> Iterator[Event]:
        answer = research.answer
        report = answer.report if answer else None
        themes = [theme for theme in report.themes if theme.claims] if report else []
        if answer is None or report is None or not themes:
            return
        supported = [claim for theme in themes for claim in theme.claims]
        task = WriteSummary(
            topic=research.topic,
            # for rules: a model is shown none
            evidence=select_evidence(research, self.settings.effort.evidence_tokens),
            language=self.settings.lang,
            headings=tuple(theme.heading for theme in themes),
            sections=tuple(tuple(map(shown_text, theme.claims)) for theme in themes),
        )
        text = yield from ask_once(task, self.ask, self.fallback, research)
        summary = tuple(_sum_up(text, supported)) or tuple(first_sentences(themes))
        opposed = tuple(dict.fromkeys(_oppose(text.contradictions, themes)))
        sides = {said_as(claim) for claim in opposed}
        summary = tuple(claim for claim in summary if said_as(claim) not in sides)
        report = report.model_copy(update={"conflicts": (*report.conflicts, *opposed)})
        most = max(LEAST_WORDS, SUMMARY_SHARE * self.settings.report_words)
        summary = tuple(cut_words(summary[:MAX_SUMMARY_SENTENCES], most))
        title = clean_line(text.title, 200) or report.title
        yield Answered(
            text=make_answered(summary, ()).text,
            quotes=answer.quotes,
            claims=summary,
            report=leave_conflicts(report).model_copy(update={"title": title}),
        )


def _sum_up(text: SummaryText, supported: list[Claim]) -> Iterator[Claim]:
    for sentence in text.summary:
        cited = [supported[n - 1] for n in sentence.of if 0 < n <= len(supported)]
        numbers = dict.fromkeys(source for claim in cited for source in claim.citations)
        if (line := clean_line(sentence.text, 2000)) and numbers:
            same = [claim for claim in supported if claim.text == line]
            yield same[0] if same else Claim(text=line, citations=tuple(numbers))


def _oppose(pairs: Sequence[Contradiction], themes: Sequence[Section]) -> Iterator[Claim]:
    """Both sentences of each pair, as items below the headings of their sections."""
    sentences = dict(enumerate(((t.heading, c) for t in themes for c in t.claims), 1))
    for pair in pairs[:MAX_CONTRADICTIONS]:
        numbers = {pair.first, pair.second} & sentences.keys()
        sides = [sentences[n] for n in sorted(numbers) if sentences[n][1].form != "row"]
        intro = " / ".join(dict.fromkeys(heading for heading, _ in sides))
        if len(sides) == 2:
            for _, claim in sides:
                yield claim.model_copy(update={"form": "item", "intro": intro})


def ask_once(task: Any, ask: Ask, fallback: Ask, research: Research) -> Any:
    """Ask a model or the fallback; the halt of the run is reported once."""
    asking = ask_with_fallback(task, ask, fallback)
    try:
        while True:
            event = next(asking)
            if not (isinstance(event, Halted) and research.is_halted):
                yield event
    except StopIteration as end:
        return end.value


def cut_words(claims: Iterable[Claim], most: float) -> Iterator[Claim]:
    """The claims within so many words; at least the first one."""
    words = 0
    for claim in claims:
        words += len(claim.text.split())
        if words > most and words > len(claim.text.split()):
            return
        yield claim
