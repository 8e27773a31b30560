"""What a model is asked for a section of a report, and what it replies."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from agent.calls import Task, TaskKind
from agent.evidence import render_sources
from agent.evidence.selection import select_quoted
from agent.settings import Settings
from agent.state import Excerpt, Finding, Frozen, Research
from agent.steps.evidence_choice import select_evidence
from agent.steps.prompt_rules import (
    DATA_RULE,
    QUOTED_SENTENCE_RULE,
    escape,
    language_rule,
    list_lines,
    render_topic,
    strategy_lines,
)
from agent.strategies.report.sections import plan_sections
from agent.strategies.report.sum_up import LEAST_WORDS
from agent.strategies.report.written_sentences import DraftSentence


class SectionText(Frozen):
    """A section of a report; without sentences where the sources do not answer it."""

    sentences: list[DraftSentence] = Field(default_factory=list)


class WriteSection(Task[SectionText]):
    """Asks for a section."""

    name: ClassVar[str] = "section"
    kind: ClassVar[TaskKind] = "write"
    reply_tokens: ClassVar[int] = 4000

    heading: str
    others: tuple[str, ...] = ()  # headings of the other sections
    questions: tuple[str, ...] = ()  # with what is known: `question: value [n]`
    max_words: int = 200
    question_type: str = ""
    search_strategy: str = ""

    @property
    def temperature(self) -> float:
        return 0.3

    def system_prompt(self) -> str:
        return (
            "You write one section of a research report from sources. Answer its questions, then "
            "tell what else its heading asks for and the sources say; leave what belongs to the "
            "other sections to them, and say nothing twice. Where sources contradict each other, "
            f"tell both sides. {QUOTED_SENTENCE_RULE} "
            "Return no sentences where the sources have nothing on it. "
            f"{DATA_RULE} {language_rule(self.language)}"
        )

    def prompt(self) -> str:
        lines = [render_sources(self.evidence), render_topic(self)]
        lines += strategy_lines(self.question_type, self.search_strategy)
        lines.append(f"Section: {escape(self.heading)}, at most {self.max_words} words")
        lines += list_lines({"Questions": self.questions, "Other sections": self.others})
        return "\n".join(lines)


def build_section_task(research: Research, n: int, settings: Settings) -> WriteSection:
    """What is asked for a section, by its number from 1."""
    sections, view = plan_sections(research), research.of_section(n)
    return WriteSection(
        topic=research.topic,
        slots=view.slots,
        evidence=_choose_evidence(view, settings.effort.evidence_tokens),
        language=settings.lang,
        heading=sections[n - 1].heading,
        others=tuple(one.heading for one in sections if one is not sections[n - 1]),
        questions=tuple(map(_ask, view.findings.values())) or view.queries,
        max_words=max(LEAST_WORDS, settings.report_words // len(sections)),
        question_type=research.plan.question_type if research.plan else "",
        search_strategy=research.plan.search_strategy if research.plan else "",
    )


def _ask(one: Finding) -> str:
    """A question of a section, with its answer and the source of that where it is known."""
    is_known = one.status == "filled" and one.quotes
    return f"{one.slot}: {one.value} [{one.quotes[0].source}]" if is_known else one.slot


def _choose_evidence(view: Research, budget: int) -> tuple[Excerpt, ...]:
    """The passages that answer the questions of a section; the best for it where none is known.

    So they are too where rules read, which find more answers when they write, and for an only
    section, whose question may take several facts.
    """
    quotes = [statement.quote for statement in view.latest_statements()]
    if not quotes or view.is_read_by_rules or len(plan_sections(view)) == 1:
        return select_evidence(view, budget)
    return select_quoted(view.sources, quotes, budget)
