"""No model at all: tasks answered from their typed inputs, by rules, with verbatim sentences."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from agent.errors import ModelFailed
from agent.evidence import is_row, split_sentences
from agent.evidence.markers import strip_markers
from agent.evidence.names import find_names
from agent.llm.extractive import report as reports
from agent.llm.extractive.confidence import ANSWERED, rate_answer
from agent.llm.extractive.fact import is_generic
from agent.llm.extractive.filling import Filled, fill_slot
from agent.llm.extractive.follow_up import complete_question, search_words
from agent.llm.extractive.lines import Line, quotable_lines
from agent.llm.extractive.queries import (
    distinct_queries,
    propose_queries,
    slot_queries,
    words_as_written,
)
from agent.llm.extractive.question import ParsedQuestion, parse_question
from agent.llm.extractive.ranking import ScoredLine, score_lines
from agent.llm.extractive.rows import fill_rows
from agent.llm.extractive.selection import choose_sentences, join_neighbours
from agent.llm.extractive.templates import side_slots, suggest_slots
from agent.llm.model import Generation
from agent.outside import Task
from agent.outside.turns import TURNS
from agent.slots.forms import slot_words
from agent.state import Slot

MORE = 3  # queries of a further round
MOST_CLOSE = 60  # words of what came closest, where nothing answers


class Extractive:
    """The engine that stands in where no model is used: deterministic, offline, in milliseconds.

    It quotes and never writes: an answer is made of whole sentences of the evidence, a slot's
    value stands in its quote, and what the evidence does not say is left open.
    """

    provider = "extractive"
    name = "extractive"

    def generate(self, task: Task[Any], correction: str) -> Generation:
        """Answer a task as JSON text. Raises ModelFailed for a task that rules cannot answer."""
        answers: dict[str, Callable[[Task[Any]], dict[str, Any]]] = {
            "generate_queries": _make_queries,
            "understand": _understand,
            "reflect": _reflect,
            "decide": _decide,
            "synthesize": _synthesize,
            "plan": lambda task: reports.make_plan(task.topic, _make_queries(task)["queries"]),
            "gather": lambda _: {"calls": []},  # code searches and reads where no tool is called
            "section": _write_section,
            "summary": lambda task: reports.sum_up(task, _synthesize(_with_slots(task))),
            "verify": lambda _: {"verdicts": []},  # the rules judge
            "mend": lambda _: {"answer": "", "citations": []},
        }
        if task.name not in answers:
            raise ModelFailed(
                f"The extractive engine cannot {task.name.replace('_', ' ')}.",
                "Choose a model with --llm.",
                outcome="unsupported",
            )
        with TURNS.take():
            answer = answers[task.name](task)
        confidence = answer.pop("probability", None)
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


def _make_queries(task: Task[Any]) -> dict[str, Any]:
    question = parse_question(task.topic)
    slots = task.slots or suggest_slots(question)
    rows = [{"name": s.name, "description": s.description, "needed": s.needed} for s in slots]
    return {"queries": propose_queries(question, slots), "slots": rows}


def _understand(task: Task[Any]) -> dict[str, Any]:
    earlier = getattr(task, "earlier", ())
    question = complete_question(task.topic, earlier, has_slots=bool(task.slots))
    plan = _make_queries(task.model_copy(update={"topic": question}))
    queries = [search_words(task.topic, earlier), *plan["queries"]]
    return {"question": question, "queries": queries, "slots": plan["slots"]}


# --- reflect -------------------------------------------------------------------------------------


def _reflect(task: Task[Any]) -> dict[str, Any]:
    """What the evidence says of the slots; without any, whether it says what the topic asks for."""
    asked = "answer" in task.answer_type.model_fields
    task = task if asked else _with_slots(task)
    read = _read(task)
    question, ranked = read.question, read.ranked
    told = fill_rows(task.slots, question, ranked if read.is_sure else ())
    missing = [Slot(name=slot_words(row["name"])) for row in told if row["value"] is None]
    hops = [*_next_hops(question, ranked, task), *slot_queries(question, missing)]
    more = distinct_queries(hops, question) or [" ".join(words_as_written(question)[:8])]
    draft = _draft(task, read) if asked else {}
    return {
        "answerable": draft.get("answer") != "",  # where none is asked for it is not known
        **draft,
        "slots": told,
        "need_more": bool(missing),
        "new_queries": [query or question.text for query in more][:MORE] if missing else [],
    }


def _with_slots(task: Task[Any]) -> Task[Any]:
    """A task whose slots are those that its topic suggests, unless it has some."""
    slots = task.slots or suggest_slots(parse_question(task.topic))
    return task.model_copy(update={"slots": slots})


def _next_hops(
    question: ParsedQuestion, ranked: Sequence[ScoredLine], task: Task[Any]
) -> list[str]:
    """Names in the best sentences that have no page of their own yet: the way to a second fact."""
    titles = {excerpt.title.casefold() for excerpt in task.evidence}
    told = question.text.casefold()
    best = sorted(ranked, key=lambda s: -s.score)[:2]
    found = [name for s in best for name in find_names(s.line.text)]
    fresh = [n for n in found if n.casefold() not in titles and n.casefold() not in told]
    return list(dict.fromkeys(fresh))[:2]


# --- decide --------------------------------------------------------------------------------------


def _decide(task: Task[Any]) -> dict[str, Any]:
    """Answer where the evidence does; else follow the names that it gives; else give up.

    While the asked facts are not all found, names are followed once, though some answer would do.
    """
    task = _with_slots(task)
    before = getattr(task, "queries", ())
    draft, reflected = _synthesize(task), _reflect(task)
    hops = reflected["new_queries"] if task.evidence else []
    fresh = _drop_searched([*hops, *_make_queries(task)["queries"]], task)[:MORE]
    early = reflected["need_more"] and len(before) <= MORE and bool(_drop_searched(hops, task))
    if draft["answer"] and not early:
        return {"action": "return_answer", **draft}
    return {"action": "search_web" if fresh else "return_answer", "queries": fresh}


def _drop_searched(queries: Sequence[str], task: Task[Any]) -> list[str]:
    known = {query.casefold() for query in getattr(task, "queries", ())}
    fresh = distinct_queries(queries, parse_question(task.topic))
    return [query for query in fresh if query.casefold() not in known]


# --- report ---------------------------------------------------------------------------------------


def _write_section(task: Task[Any]) -> dict[str, Any]:
    return reports.write_section(task, {} if task.slots else _synthesize(_with_slots(task)))


# --- synthesize ----------------------------------------------------------------------------------


class _Read(NamedTuple):
    """A question, the lines of the evidence with their scores for it, and what they state."""

    question: ParsedQuestion
    ranked: list[ScoredLine]
    stated: list[tuple[Slot, Filled]]
    confidence: float

    @property
    def is_sure(self) -> bool:
        return self.confidence >= ANSWERED


def _read(task: Task[Any]) -> _Read:
    question = parse_question(task.topic)
    ranked = score_lines(quotable_lines(task.evidence), question)
    found = ((slot, fill_slot(slot, question, ranked)) for slot in task.slots)
    stated = [(slot, value) for slot, value in found if value]
    confidence = rate_answer(question, ranked, is_stated=bool(stated))
    return _Read(question, ranked, stated, confidence)


def _synthesize(task: Task[Any]) -> dict[str, Any]:
    return _draft(task, _read(task))


def _draft(task: Task[Any], read: _Read) -> dict[str, Any]:
    """The answer in whole sentences, each with its citation, and how sure it is.

    The sentences that state what was asked for come first. They are all that is said where rows of
    a table state it, or where every fact that was asked for by name is told. Where it is not sure
    the answer is empty, and what is cited is what came closest.
    """
    question, ranked, stated, confidence = read
    if not read.is_sure:
        closest = choose_sentences(question, ranked, MOST_CLOSE)[:1]
        return {"answer": "", "citations": _cite(closest), "probability": confidence}
    told = list(dict.fromkeys(found.line for _, found in stated))
    facts = {slot.name: found.line for slot, found in stated}
    own = [facts.get(slot.name) for slot in task.slots if _is_own_fact(slot, question)]
    limit = int(getattr(task, "max_words", 80))
    if (own and all(own)) or any(found.is_field for _, found in stated):
        picked = told
    else:
        picked = choose_sentences(question, ranked, limit, [line for line in own if line])
        picked = sorted(picked, key=lambda line: line not in told)  # what was asked for is first
        said = {line.source for line in picked}
        sides = (facts[name] for name in side_slots(question) if name in facts)
        picked += [line for line in sides if line.source not in said]
    picked = join_neighbours(picked, [s.line for s in ranked], told, limit)
    return {
        "answer": _write_answer(picked),
        "citations": _cite(picked),
        "probability": confidence,
    }


def _cite(lines: Sequence[Line]) -> list[dict[str, Any]]:
    return [{"source": line.source, "quote": line.text} for line in lines]


def _write_answer(picked: Sequence[Line]) -> str:
    """Quoted sentences, each with its marker and none that its page has, as in `[1, 3]` of code.

    Rows of a table, items of a list and what would be read as one sentence begin a line.
    """
    listed = {line for pair in pairwise(picked) if pair[1].goes_on_list(pair[0]) for line in pair}
    text = ""
    for before, line in zip((None, *picked), picked, strict=False):
        mark = line.mark if line in listed else ""
        ends = before and (before in listed or not _are_apart(before, line))
        inline = line in listed and not mark
        text += "\n" if mark or is_row(line.text) or (ends and not inline) else " "
        text += f"{mark}{strip_markers(line.text)} [{line.source}]"
    return text.strip()


def _are_apart(before: Line, line: Line) -> bool:
    """Whether two lines, one behind the other, are read as two sentences."""
    spans = split_sentences(f"{before.text} {line.text}")
    return any(end == len(before.text) for _, end in spans)


def _is_own_fact(slot: Slot, question: ParsedQuestion) -> bool:
    """Whether a slot is a fact of its own, not the answer itself or a side of a comparison."""
    if is_generic(slot.name):
        return len(question.parts) > 1
    return slot.name not in side_slots(question)
