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

AT_ONCE = 8  # searches or pages of one turn
THEME = 90  # words of a theme
RATIONALE = "No model was used: the sentences are quoted, and were not weighed against each other."


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


def choose_calls(task: Task[Any]) -> dict[str, Any]:
    """What to search, then what to read: the inputs say what is worth it."""
    if not task.exchanges:
        wanted = [("search_web", {"query": row.query}) for row in getattr(task, "queries", ())]
    else:
        wanted = [("fetch_page", {"url": url}) for url in getattr(task, "unread_urls", ())]
    return {"calls": [{"name": name, "arguments": given} for name, given in wanted[:AT_ONCE]]}


def make_draft(task: Task[Any], answer: dict[str, Any]) -> dict[str, Any]:
    """A report whose summary is the sentences of an answer; empty where that is."""
    cited = answer["citations"]
    head = {"title": task.topic, "rationale": RATIONALE, "probability": answer["probability"]}
    if not answer["answer"]:
        return head
    return {
        **head,
        "summary": [{"text": row["quote"], "citations": [row]} for row in cited],
        "themes": _make_themes(task, {row["source"] for row in cited}),
        "confidence": "Low",
    }


def _make_themes(task: Task[Any], cited: set[int]) -> list[dict[str, Any]]:
    """The sentences that answer each query, none twice."""
    evidence = _relevant_lines(quotable_lines(task.evidence), task.topic, cited)
    told, themes = set[str](), []
    for query in dict.fromkeys((task.topic, *getattr(task, "queries", ()))):
        lines = _answering_lines(evidence, parse_question(query))
        fresh = [line for line in lines if line.text not in told]
        told |= {line.text for line in fresh}
        if fresh:
            themes.append({"heading": query, "sentences": [_make_sentence(line) for line in fresh]})
    return themes


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


def _make_sentence(line: Line) -> dict[str, Any]:
    return {"text": line.text, "citations": [{"source": line.source, "quote": line.text}]}
