"""No model at all: tasks answered from their typed inputs, by rules, with verbatim sentences."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from agent.errors import ModelFailed
from agent.evidence import CJK, is_row, stop_words
from agent.evidence.names import find_names
from agent.llm.extractive import report as reports
from agent.llm.extractive.fact import is_generic
from agent.llm.extractive.facts import side_slots, suggest_slots
from agent.llm.extractive.filled import fill_slot, is_stated
from agent.llm.extractive.filling import fill_rows
from agent.llm.extractive.lines import Line, quotable_lines
from agent.llm.extractive.question import ParsedQuestion, named_opponents, parse_question
from agent.llm.extractive.ranking import ScoredLine, score_lines
from agent.llm.extractive.selection import (
    SURE,
    choose_sentences,
    confidence,
    drop_other_events,
    has_value_of_type,
    lead_in,
    names_together,
)
from agent.llm.extractive.synonyms import doer_noun
from agent.llm.model import Generation
from agent.outside import Task
from agent.outside.turns import TURNS
from agent.slots.forms import slot_words
from agent.state import Slot

QUERIES = (3, 5)  # at least where there are so many sensible ones, at most
MORE = 3
COMPARING = frozenset(
    "difference differences between compare comparison versus vs better both".split()
)


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
            "reflect": _read,
            "decide": _decide,
            "synthesize": _synthesize,
            "plan": lambda task: reports.make_plan(task.topic, _make_queries(task)["queries"]),
            "gather": reports.choose_calls,
            "gaps": _find_gaps,
            "draft": lambda task: reports.make_draft(
                task, _synthesize(_with_slots(task))["citations"]
            ),
            "verify": lambda _: {"verdicts": []},  # the rules judge
            "mend": lambda _: _NOTHING,
        }
        if task.name not in answers:
            raise ModelFailed(
                f"The extractive engine cannot {task.name.replace('_', ' ')}.",
                "Choose a model with --llm.",
                outcome="unsupported",
            )
        with TURNS.take():
            return Generation(text=json.dumps(answers[task.name](task), ensure_ascii=False))

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


# --- queries ---------------------------------------------------------------------------


def _make_queries(task: Task[Any]) -> dict[str, Any]:
    question = parse_question(task.topic)
    slots = task.slots or suggest_slots(question)
    found = [
        question.text,
        *_event_pages(question),
        *_targets(question),
        *_filler_queries(question, slots),
    ]
    return {
        "queries": _unique_queries([*found, *_narrow_question(question)])[: QUERIES[1]],
        "slots": [
            {"name": slot.name, "description": slot.description, "needed": slot.needed}
            for slot in slots
        ],
    }


def _event_pages(question: ParsedQuestion) -> list[str]:
    """The contest that a question names, as a page about it, and one about its final, is called."""
    if sides := named_opponents(question):
        contest = [name for name in question.surely_named if name not in sides]
        year = question.years
        return [" ".join((*sides, *year, *contest)), " ".join((*year, *contest, "Group matches"))]
    if not question.asks_for_final or not question.years:
        return []
    if re.search(f"[{CJK}]", question.text):
        cup = f"{question.years[0]}年世界杯" if "世界杯" in question.text else ""
        return [f"{cup}决赛 比分", f"{cup} 冠军 进球"] if cup else []
    subject = " ".join((*question.years, *question.surely_named))
    return [f"{subject} final", subject] if question.surely_named else []


def _narrow_question(question: ParsedQuestion) -> list[str]:
    """Parts of the question: its names, and its words without the first and the last ones."""
    plain = _content_words_as_written(question)
    cuts = [plain, plain[1:], plain[:-1], plain[2:]]
    named = [doer_noun(word) for word in question.text.casefold().rstrip("?").split()]
    subject = " ".join(question.surely_named)
    near = [f"{subject} {word}" for word in (*named, _LOOKED_FOR.get(question.kind, "")) if word]
    parts = [*question.names[:1], *(" ".join(cut) for cut in cuts if len(cut) > 1)]
    return [*parts[: QUERIES[0]], *(near if subject else [])]


#: A word that pages use beside a value of a type.
_LOOKED_FOR = {"date": "history", "name": "people", "place": "location", "money": "price"}


def _unique_queries(queries: Sequence[str]) -> list[str]:
    """The queries in order, each once: what differs only in stop words or case is one."""
    seen: dict[tuple[str, ...], str] = {}
    for query in queries:
        query = " ".join(query.split())[:300]
        key = tuple(w for w in re.findall(r"\w+", query.casefold()) if w not in stop_words())
        if query:
            seen.setdefault(key, query)
    return list(seen.values())


def _targets(question: ParsedQuestion) -> list[str]:
    """The sides of a comparison with what is compared, and each name."""
    rest = " ".join(word for word in _topic_left_out(question) if word.casefold() not in COMPARING)
    sides = [f"{side} {rest}" for side in question.sides]
    named = list(question.names[:3]) if len(question.names) > 1 else []
    said = " ".join(question.names).casefold()
    asked = [word for word in _content_words_as_written(question) if word.casefold() not in said]
    return [*sides, *named[:2], *([" ".join(asked)] if len(asked) > 2 else []), *named[2:]]


def _content_words_as_written(question: ParsedQuestion) -> list[str]:
    """The content words as written."""
    found = re.findall(r"[\w'’.&-]*\w", question.plain)
    if len(found) == 1 and (run := found[0]) and re.match(f"[{CJK}]", run[-1]):
        found = [run[i : i + 4] for i in range(0, len(run), 4)]  # no blanks to cut it at
    return [word for word in found if word.casefold() not in stop_words()]


def _topic_left_out(question: ParsedQuestion) -> list[str]:
    told = " ".join(question.sides).casefold()
    return [word for word in _content_words_as_written(question) if word.casefold() not in told][:4]


def _filler_queries(question: ParsedQuestion, slots: Sequence[Slot]) -> list[str]:
    named = bool(question.surely_named)
    subject = " ".join(
        (*question.names, *question.years) if named else _content_words_as_written(question)[:6]
    )
    asked = [slot.name.replace("_", " ") for slot in slots if not is_generic(slot.name)]
    if re.search(f"[{CJK}]", subject):
        return []  # names of slots are English
    return [f"{subject} {name}" for name in asked if name.casefold() not in subject.casefold()]


# --- reflect ---------------------------------------------------------------------------


def _read(task: Task[Any]) -> dict[str, Any]:
    """What the slots are, with the answer where the task asks for one."""
    asks_for_answer = "answer" in task.answer_type.model_fields
    return {**_reflect(task), **(_synthesize(task) if asks_for_answer else {})}


def _reflect(task: Task[Any]) -> dict[str, Any]:
    question = parse_question(task.topic)
    ranked = drop_other_events(score_lines(quotable_lines(task.evidence), question), question)
    told = fill_rows(task.slots, question, ranked)
    missing = [Slot(name=slot_words(row["name"])) for row in told if row["value"] is None]
    more = (
        [*_next_hops(question, ranked, task), *_filler_queries(question, missing)]
        if missing
        else []
    )
    fallback = (
        [" ".join(_content_words_as_written(question)[:8]) or question.text] if missing else []
    )
    return {
        "answerable": True,  # whether it would answer, its draft says
        "slots": told,
        "need_more": bool(missing),
        "new_queries": (_unique_queries(more) or fallback)[:MORE],
    }


def _find_gaps(task: Task[Any]) -> dict[str, Any]:
    """The facts that an answer would need and that the evidence does not say."""
    known = _reflect(_with_slots(task))
    missing = [row["name"].replace("_", " ") for row in known["slots"] if row["value"] is None]
    return {"gaps": missing, "follow_up_queries": known["new_queries"] if missing else []}


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


# --- decide ------------------------------------------------------------------------------


def _decide(task: Task[Any]) -> dict[str, Any]:
    """Answer where the evidence does; else follow the names that it gives; else give up.

    While the asked facts are not all found, names are followed once, though some answer would do.
    """
    task = task.model_copy(
        update={"slots": task.slots or suggest_slots(parse_question(task.topic))}
    )
    before = tuple(getattr(task, "queries", ()))
    draft, reflected = _synthesize(task), _reflect(task)
    hops = reflected["new_queries"] if task.evidence else []
    fresh = _drop_searched([*hops, *_make_queries(task)["queries"]], before)[:MORE]
    early = reflected["need_more"] and len(before) <= MORE and bool(_drop_searched(hops, before))
    if draft["answer"] and not early:
        return {"action": "return_answer", **draft}
    return {"action": "search_web" if fresh else "return_answer", "queries": fresh}


def _drop_searched(queries: Sequence[str], before: Sequence[str]) -> list[str]:
    known = {query.casefold() for query in before}
    return [query for query in _unique_queries(queries) if query.casefold() not in known]


# --- synthesize ---------------------------------------------------------------------------


def _synthesize(task: Task[Any]) -> dict[str, Any]:
    question = parse_question(task.topic)
    if not any(map(str.isalpha, "".join(question.words))):
        return _NOTHING  # `2+2`: numbers alone name nothing that a page could be about
    ranked = drop_other_events(score_lines(quotable_lines(task.evidence), question), question)
    if confidence(question, ranked) < SURE or not (
        names_together(question, ranked)
        and has_value_of_type(question, ranked)
        and is_stated(question, ranked)
    ):
        return _NOTHING
    strict = [slot for slot in task.slots if _is_own_fact(slot, question)]
    facts = [found for slot in strict if (found := fill_slot(slot, question, ranked))]
    if strict and not facts and question.asks_for_final:
        return _NOTHING
    picked = _pick_sentences(task, question, ranked, [found.line for found in facts])
    return {
        "answer": "".join(
            f"{line.text} [{line.source}]{_ending_of(line)}" for line in picked
        ).strip(),
        "citations": [{"source": line.source, "quote": line.text} for line in picked],
    }


def _is_own_fact(slot: Slot, question: ParsedQuestion) -> bool:
    """Whether a slot is a fact of its own, not the answer itself or a side of a comparison."""
    if is_generic(slot.name):
        return len(question.parts) > 1
    return slot.name not in side_slots(question)


def _pick_sentences(
    task: Task[Any], question: ParsedQuestion, ranked: Sequence[ScoredLine], wanted: Sequence[Line]
) -> list[Line]:
    """The sentences of the answer. A row that tells the fact is one, though no prose repeats it."""
    told = [(s, found) for s in task.slots if (found := fill_slot(s, question, ranked))]
    tabled = [(slot, found) for slot, found in told if is_row(found.line.text)]
    known = {s.line for s in ranked}
    top = max((s.score for s in ranked), default=0.0)
    more = [
        ScoredLine(line, top, 0.0, frozenset())
        for line in dict.fromkeys(found.line for _, found in tabled)
        if line not in known
    ]
    limit = int(getattr(task, "max_words", 80))
    wanted = list(dict.fromkeys([*wanted, *(found.line for _, found in tabled)]))
    only = bool(wanted) and (question.asks_for_final or bool(tabled))
    picked = choose_sentences(question, [*ranked, *more], limit, wanted, only=only)
    if tabled and set(picked) <= set(wanted):
        return sorted(picked, key=wanted.index)
    facts = [found.line for _, found in told]
    picked = sorted(picked, key=lambda line: line not in facts)  # what was asked for comes first
    return lead_in(picked, known, [*wanted, *facts], limit)


_NOTHING: dict[str, Any] = {"answer": "", "citations": []}


def _ending_of(line: Line) -> str:
    """What goes behind a sentence: a row of a table, which has no full stop, ends its line."""
    return "\n" if is_row(line.text) else " "
