"""A report without a model: quoted sentences, a theme for each thing that was asked on the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent.evidence import content_words
from agent.llm.extractive.confidence import ANSWERED, rate_answer
from agent.llm.extractive.filling import fill_slot
from agent.llm.extractive.lines import Line, quotable_lines
from agent.llm.extractive.question import ParsedQuestion, parse_question
from agent.llm.extractive.ranking import score_lines
from agent.llm.extractive.selection import choose_sentences, join_neighbours
from agent.llm.extractive.templates import suggest_slots
from agent.outside import Task

THEME = 90  # words for a question of a section


def make_plan(topic: str, queries: Sequence[str]) -> dict[str, Any]:
    """The question first, then what may help to answer it."""
    rows = [
        {"query": query, "priority": "Medium" if n else "High", "reasoning": ""}
        for n, query in enumerate(queries)
    ]
    return {
        "question_type": "comparative" if parse_question(topic).sides else "factual",
        "search_strategy": "every query, and the best pages of each",
        "prioritized_sub_queries": rows,
    }


def _relevant_lines(evidence: list[Line], topic: str, cited: set[int]) -> list[Line]:
    """The lines of pages that the summary cites, or that speak of a name in the topic.

    A query says less than the topic, so that a page of something else may answer it.
    """
    names = [set(content_words(name)) for name in parse_question(topic).surely_named]
    said: dict[int, set[str]] = {}
    for line in evidence:
        said.setdefault(line.source, set()).update(content_words(f"{line.title} {line.text}"))
    kept = {n for n, bag in said.items() if not names or any(name <= bag for name in names)} | cited
    return [line for line in evidence if line.source in kept]


def _answering_lines(evidence: list[Line], question: ParsedQuestion) -> list[Line]:
    ranked = score_lines(evidence, question)
    is_stated = any(fill_slot(slot, question, ranked) for slot in suggest_slots(question))
    if rate_answer(question, ranked, is_stated=is_stated) < ANSWERED:
        return []
    return join_neighbours(choose_sentences(question, ranked, THEME), evidence, (), THEME)


def write_section(task: Task[Any], answer: dict[str, Any]) -> dict[str, Any]:
    """The sentences that answer the questions of a section.

    Without questions these are its heading, whose `answer` comes first, and its searches.
    """
    heading = getattr(task, "heading", "")
    whole = task.topic if heading in task.topic else f"{task.topic} {heading}"
    first, *others = [slot.name for slot in task.slots] or [whole, *getattr(task, "questions", ())]
    evidence = quotable_lines(task.evidence)
    lines = _answering_lines(evidence, parse_question(first))
    if not task.slots:
        others = others if lines else []
        evidence = _relevant_lines(evidence, task.topic, {line.source for line in lines})
    lines += [line for one in others for line in _answering_lines(evidence, parse_question(one))]
    told = answer["citations"] if lines and whole == task.topic and answer else ()
    made: dict[str, dict[str, Any]] = {}
    for one in (*map(_quote, told), *map(_make_sentence, lines)):
        made.setdefault(one["text"], one)
    return {"sentences": list(made.values()), "probability": answer.get("probability")}


def sum_up(task: Task[Any], answer: dict[str, Any]) -> dict[str, Any]:
    """The sentences of the report that answer its topic; else the first one of each section."""
    sections = getattr(task, "sections", ())
    numbered = {text: n for n, text in enumerate((t for own in sections for t in own), 1)}
    cited = answer["citations"] if answer["answer"] else ()
    quoted = [row["quote"] for row in cited if row["quote"] in numbered]
    rows = [{"text": text, "of": [numbered[text]]} for text in quoted or [s[0] for s in sections]]
    return {"summary": rows, "probability": answer["probability"] if quoted else None}


def _quote(row: dict[str, Any]) -> dict[str, Any]:
    return {"text": row["quote"], "citations": [row]}


def _make_sentence(line: Line) -> dict[str, Any]:
    return {"text": line.text, "citations": [{"source": line.source, "quote": line.text}]}
