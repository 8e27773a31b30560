"""No model at all: tasks answered from their typed inputs, by rules, with verbatim sentences."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from agent.errors import ModelFailed
from agent.llm import Generated
from agent.llm.question import Question, understood
from agent.llm.ranking import Line, Scored, lines, scored, typed
from agent.llm.slots import filled, suggested
from agent.outside import Task

QUERIES = 5


class Extractive:
    """The engine that stands in where no model is used: deterministic, offline, in milliseconds.

    It quotes and never writes: an answer is made of whole sentences of the evidence, a slot's
    value stands in its quote, and what the evidence does not say is left open.
    """

    provider = "extractive"
    name = "extractive"

    def generate(self, task: Task[Any], correction: str) -> Generated:
        """Answer a task as JSON text. Raises ModelFailed for a task that rules cannot answer."""
        answers: dict[str, Callable[[Task[Any]], dict[str, Any]]] = {
            "generate_queries": _queries,
            "reflect": _reflect,
            "synthesize": _synthesize,
        }
        if task.name not in answers:
            raise ModelFailed(
                f"The extractive engine cannot {task.name.replace('_', ' ')}.",
                "Choose a model with --llm.",
                outcome="unsupported",
            )
        return Generated(text=json.dumps(answers[task.name](task), ensure_ascii=False))

    def price(self, generated: Generated) -> float:
        """Nothing."""
        return 0.0


# --- queries -----------------------------------------------------------------------------------


def _queries(task: Task[Any]) -> dict[str, Any]:
    question = understood(task.topic)
    slots = task.slots or suggested(question)
    return {
        "queries": _distinct([question.text, *_targets(question), *_fillers(question, slots)]),
        "slots": [{"name": slot.name, "description": slot.description} for slot in slots],
    }


def _distinct(queries: Sequence[str]) -> list[str]:
    seen: dict[str, str] = {}
    for query in queries:
        query = " ".join(query.split())[:300]
        if query:
            seen.setdefault(query.casefold(), query)
    return list(seen.values())[:QUERIES]


def _targets(question: Question) -> list[str]:
    """The sides of a comparison, the names with what is asked of them, each name."""
    rest = " ".join(_plain(question))
    sides = [f"{side} {' '.join(_unsaid(question, side))}" for side in question.sides]
    named = list(question.names) if len(question.names) > 1 else []
    return [*sides, *named, rest]


def _plain(question: Question) -> list[str]:
    """The content words as written."""
    from agent.evidence import STOP_WORDS

    found = re.findall(r"[\w'’.&-]*\w", question.text)
    return [word for word in found if word.casefold() not in STOP_WORDS]


def _unsaid(question: Question, side: str) -> list[str]:
    told = " ".join(question.sides).casefold()
    return [word for word in _plain(question) if word.casefold() not in told][:4]


def _fillers(question: Question, slots: Sequence[Any]) -> list[str]:
    subject = " ".join(question.names) or " ".join(_plain(question)[:6])
    return [f"{subject} {slot.name.replace('_', ' ')}" for slot in slots]


# --- reflect -------------------------------------------------------------------------------------


def _reflect(task: Task[Any]) -> dict[str, Any]:
    question = understood(task.topic)
    ranked = scored(lines(task.evidence), question)
    found = [filled(slot, question, ranked) for slot in task.slots]
    missing = [slot for slot, value in zip(task.slots, found, strict=True) if value["value"] is None]
    more = [*_hops(question, ranked, task), *_fillers(question, missing)] if missing else []
    return {
        "slots": found,
        "need_more": bool(missing),
        "new_queries": (_distinct(more) or [question.text])[:3] if missing else [],
    }


def _hops(question: Question, ranked: Sequence[Scored], task: Task[Any]) -> list[str]:
    """Names in the best sentence that have no page of their own yet: the way to a second fact."""
    from agent.llm.values import names

    titles = {excerpt.title.casefold() for excerpt in task.evidence}
    told = question.text.casefold()
    best = sorted(ranked, key=lambda s: -s.score)[:2]
    fresh = [
        name
        for s in best
        for name in names(s.line.text)
        if name.casefold() not in titles and name.casefold() not in told
    ]
    return list(dict.fromkeys(fresh))[:2]


# --- synthesize ------------------------------------------------------------------------------------

ENOUGH = 0.5  # share of the question that the best sentence must speak of


def _synthesize(task: Task[Any]) -> dict[str, Any]:
    question = understood(task.topic)
    ranked = scored(lines(task.evidence), question)
    chosen = _chosen(question, ranked, getattr(task, "max_words", 80))
    return {
        "answer": " ".join(f"{line.text} [{line.source}]" for line in chosen),
        "citations": [{"source": line.source, "quote": line.text} for line in chosen],
    }


def _chosen(question: Question, ranked: Sequence[Scored], limit: int) -> list[Line]:
    best = sorted(ranked, key=lambda s: -s.score)
    if not best or best[0].cover < ENOUGH:
        return []
    chosen: list[Line] = []
    for candidate in best:
        length = _length(candidate.line.text)
        if candidate.score < 0.5 * best[0].score or len(chosen) == 4:
            break
        if length <= limit and candidate.line.text not in {line.text for line in chosen}:
            chosen.append(candidate.line)
            limit -= length
    return chosen


def _length(text: str) -> int:
    """Words, or two characters of Chinese, Japanese or Korean."""
    from agent.evidence import CJK

    return len(text.split()) + len(re.findall(f"[{CJK}]", text)) // 2


__all__ = ["Extractive", "typed"]
