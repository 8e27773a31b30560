"""No model at all: tasks answered with passages and fields of the evidence, word for word."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

from agent.calls import Task
from agent.errors import ModelFailed
from agent.evidence import CJK, stop_words
from agent.evidence.language import CLOSING
from agent.evidence.markers import strip_markers
from agent.evidence.proper_names import find_names, find_question_names
from agent.llm.extractive import labelled_fields, sentence_ranking
from agent.llm.extractive.candidates import STOPS, Line, Question, read_lines, read_question
from agent.llm.extractive.labelled_fields import LabelledValue
from agent.llm.model import Generation
from agent.slots.conversion import slot_words

QUERIES = 5
FURTHER = 3  # queries of a further round
MOST_FIELDS = 12  # of a page, as slots


class Extractive:
    """The backend where no model is used: deterministic, offline, in milliseconds.

    It finds passages and fields and quotes them; it writes nothing and plans no slots.
    """

    provider = "extractive"
    name = "extractive"

    def generate(self, task: Task[Any], correction: str) -> Generation:
        """Answer a task as JSON text. Raises ModelFailed for a task that a finder cannot answer."""
        answers: dict[str, Callable[[Task[Any]], dict[str, Any]]] = {
            "generate_queries": _make_queries,
            "understand": _understand,
            "reflect": _reflect,
            "decide": _decide,
            "synthesize": lambda task: _Finder(task).draft(),
            "plan": _make_plan,
            "gather": lambda _: {"calls": []},  # code searches and reads where no tool is called
            "section": _write_section,
            "summary": _sum_up,
            "verify": lambda _: {"verdicts": []},
            "mend": lambda _: {"answer": "", "citations": []},
        }
        if task.name not in answers:
            fault = f"The extractive backend cannot {task.name.replace('_', ' ')}."
            raise ModelFailed(fault, "Choose a model with --llm.", outcome="unsupported")
        answer = answers[task.name](task)
        confidence = answer.pop("confidence", None)
        return Generation(text=json.dumps(answer, ensure_ascii=False), confidence=confidence)

    def warm(self) -> None:
        """Nothing is needed."""

    def close(self) -> None:
        """Nothing is held."""

    def probe(self) -> str:
        """It can always be asked."""
        return "it needs no key and no network"

    def cost_usd(self, generation: Generation) -> float:
        """Nothing."""
        return 0.0


# --- what to search for --------------------------------------------------------------------------


def _make_queries(task: Task[Any]) -> dict[str, Any]:
    question = read_question(task.topic)
    names = find_question_names(task.topic, stop_words(question.language))
    written = _written_words(question)
    about = " ".join(names) or " ".join(written[:6])
    of_slots = [f"{about} {slot_words(slot)}" for slot in task.slots]
    candidates = [question.text, " ".join(written), *of_slots, *names]
    queries = list(dict.fromkeys(query[:300] for query in candidates if query.strip()))
    return {"queries": queries[:QUERIES] or [task.topic], "slots": []}


def _written_words(question: Question) -> list[str]:
    words = re.findall(r"[\w'’.&-]*\w", question.text)
    if len(words) == 1 and re.match(f"[{CJK}]", words[0][-1]):
        words = [words[0][i : i + 4] for i in range(0, len(words[0]), 4)]
    stop = stop_words(question.language)
    return [word for word in words if word.casefold() not in stop]


def _understand(task: Task[Any]) -> dict[str, Any]:
    earlier, topic = getattr(task, "earlier", ()), task.topic
    if earlier and not find_question_names(topic):
        words = _written_words(read_question(earlier[-1].question))
        subject = [word for word in words if not word.islower()] or words
        topic = f"{topic.rstrip(' ?？؟')} {' '.join(subject)}?"
    return {"question": topic, **_make_queries(task.model_copy(update={"topic": topic}))}


# --- what the evidence says ----------------------------------------------------------------------


class _Finder:
    """What the evidence of a task has for its question: lines by rank, fields, how sure it is."""

    def __init__(self, task: Task[Any]) -> None:
        self.question = read_question(task.topic)
        self.limit = int(getattr(task, "max_words", 80))
        self.named = task.slots
        lines = read_lines(task.evidence)
        self.ranked = sentence_ranking.score_lines(lines, self.question)
        self.pages = labelled_fields.read_pages(lines, self.question)

    @cached_property
    def fillings(self) -> dict[str, list[LabelledValue]]:
        fill = partial(labelled_fields.fill_slot, question=self.question, pages=self.pages)
        by_slot = {slot.name: fill(slot) for slot in self.named}
        return {name: fields for name, fields in by_slot.items() if fields}

    @cached_property
    def own_fields(self) -> tuple[list[LabelledValue], bool]:
        """The fields that are the slots where nobody named one, and whether these settle it."""
        if self.named:
            return [], False
        return labelled_fields.suggest_fields(self.question, self.pages)

    @property
    def is_whole(self) -> bool:
        return len(self.fillings) == len(self.named) if self.named else self.own_fields[1]

    @cached_property
    def confidence(self) -> float:
        return sentence_ranking.rate_answer(self.ranked, self.question)

    @property
    def has_answer(self) -> bool:
        return self.confidence >= sentence_ranking.ANSWERED or self.is_whole or bool(self.fillings)

    def lines(self) -> list[Line]:
        if self.named and self.is_whole:
            chosen = []
        else:
            own = {field.line.source for field in self.own_fields[0] if self.is_whole}
            unasked = labelled_fields.unasked_lines(self.question, self.pages)
            ranked = [s for s in self.ranked if not own or s.line.source in own]
            ranked = [s for s in ranked if s.line not in unasked]
            chosen = sentence_ranking.choose_lines(ranked, self.question, self.limit)
        fills = [fields[0].line for fields in self.fillings.values()]
        return list(dict.fromkeys((*fills, *chosen)))[: sentence_ranking.MOST]

    def draft(self) -> dict[str, Any]:
        lines = self.lines() if self.has_answer else []
        return {
            "answer": _write(lines),
            "citations": list(map(_cite, lines)),
            "confidence": self.confidence,
        }

    def rows(self) -> list[dict[str, Any]]:
        empty = {"value": None, "source": None, "quote": ""}
        rows = []
        for slot in self.named:
            name = slot.name.partition("[]")[0]
            fields = self.fillings.get(slot.name, ())
            rows += [_make_row(name, field, is_list="[]" in slot.name) for field in fields]
            rows += [] if fields else [{"name": name, **empty}]
        for field in self.own_fields[0][:MOST_FIELDS] if self.has_answer else ():
            name = re.sub(r"\W+", "_", field.label.casefold()).strip("_")
            rows += [_make_row(name, field, is_list=False)] if name else []
        return rows


def _make_row(name: str, field: LabelledValue, *, is_list: bool) -> dict[str, Any]:
    items = [item for item in re.split(r"\s*[,;、]\s*", field.value) if item]
    value = json.dumps(items, ensure_ascii=False) if is_list else field.value
    return {"name": name, "value": value, "source": field.line.source, "quote": field.line.text}


def _cite(line: Line) -> dict[str, Any]:
    return {"source": line.source, "quote": line.text}


def _write(lines: Sequence[Line]) -> str:
    text, before = "", " "
    for line in lines:
        apart = " " if line.text.rstrip(CLOSING).endswith(STOPS) else "\n"
        text += f"{min(apart, before)}{strip_markers(line.text)} [{line.source}]"
        before = apart
    return text.strip()


def _reflect(task: Task[Any]) -> dict[str, Any]:
    finder = _Finder(task)
    draft = finder.draft() if "answer" in task.answer_type.model_fields else {}
    return {
        "answerable": draft.get("answer") != "",
        **draft,
        "slots": finder.rows(),
        "need_more": not finder.is_whole,
        "new_queries": [] if finder.is_whole else _next_queries(finder, task),
    }


def _next_queries(finder: _Finder, task: Task[Any]) -> list[str]:
    """Names in the best lines that have no page of their own: the way to a second fact."""
    asked_text = finder.question.text.casefold()
    titles = {excerpt.title.casefold() for excerpt in task.evidence}
    best = sorted(finder.ranked, key=lambda s: -s.score)[:2]
    names = dict.fromkeys(name for s in best for name in find_names(s.line.text))
    return [n for n in names if n.casefold() not in titles and n.casefold() not in asked_text][:2]


def _decide(task: Task[Any]) -> dict[str, Any]:
    before = {query.casefold() for query in getattr(task, "queries", ())}
    finder = _Finder(task)
    hops = _next_queries(finder, task) if task.evidence else []
    planned = _make_queries(task)["queries"]
    fresh = [query for query in (*hops, *planned) if query.casefold() not in before]
    is_early = len(before) <= FURTHER and not finder.is_whole
    if fresh and (not finder.has_answer or (is_early and fresh[0] in hops)):
        return {"action": "search_web", "queries": fresh[:FURTHER]}
    return {"action": "return_answer", **finder.draft()}


# --- a report ------------------------------------------------------------------------------------


def _make_plan(task: Task[Any]) -> dict[str, Any]:
    queries = _make_queries(task)["queries"]
    rows = [{"query": q, "priority": "Medium" if n else "High"} for n, q in enumerate(queries)]
    return {"prioritized_sub_queries": rows}


def _write_section(task: Task[Any]) -> dict[str, Any]:
    heading = getattr(task, "heading", "")
    whole = task.topic if heading in task.topic else f"{task.topic} {heading}"
    topics = [slot.name for slot in task.slots] or [whole, *getattr(task, "questions", ())]
    lines: dict[Line, None] = {}
    sure = 0.0
    for topic in topics:
        finder = _Finder(task.model_copy(update={"topic": topic, "slots": ()}))
        if finder.has_answer:
            lines |= dict.fromkeys(finder.lines())
            sure = max(sure, finder.confidence)
        elif topic == whole:
            break  # a search of it says less than it does
    rows = [{"text": line.text, "citations": [_cite(line)]} for line in lines]
    return {"sentences": rows, "confidence": sure or None}


def _sum_up(task: Task[Any]) -> dict[str, Any]:
    rows, at = [], 1
    for own in getattr(task, "sections", ()):
        rows += [{"text": own[0], "of": [at]}] if own else []
        at += len(own)
    return {"summary": rows}
