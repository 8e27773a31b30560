"""No model at all: tasks answered from their typed inputs, by rules, with verbatim sentences."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from agent.errors import ModelFailed
from agent.evidence import CJK, STOP_WORDS, is_row
from agent.llm.chain import Generated
from agent.llm.extractive import report as reports
from agent.llm.extractive.facts import generic, sided, suggested
from agent.llm.extractive.filled import filled, in_prose, stated
from agent.llm.extractive.filling import rows
from agent.llm.extractive.finders import names
from agent.llm.extractive.lines import Line, lines
from agent.llm.extractive.question import Question, opponents, understood
from agent.llm.extractive.ranking import Scored, scored
from agent.llm.extractive.selection import (
    SURE,
    chosen,
    confidence,
    of_type,
    pertinent,
    together,
)
from agent.llm.extractive.synonyms import noun
from agent.outside import Task
from agent.slots.forms import spoken
from agent.state import Slot

QUERIES = (3, 5)  # at least where there are so many sensible ones, at most
MORE = 3
CERTAIN = 1.5  # log odds from which on an answer may stand though no asked fact was found
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

    def generate(self, task: Task[Any], correction: str) -> Generated:
        """Answer a task as JSON text. Raises ModelFailed for a task that rules cannot answer."""
        answers: dict[str, Callable[[Task[Any]], dict[str, Any]]] = {
            "generate_queries": _queries,
            "reflect": _reflect,
            "decide": _decide,
            "synthesize": _synthesize,
            "plan": lambda task: reports.plan(task.topic, _queries(task)["queries"]),
            "gather": reports.calls,
            "gaps": _gaps,
            "draft": lambda task: reports.draft(task, _synthesize(_slotted(task))["citations"]),
            "verify": lambda _: {"verdicts": []},  # the rules judge
            "mend": lambda _: _NOTHING,
        }
        if task.name not in answers:
            raise ModelFailed(
                f"The extractive engine cannot {task.name.replace('_', ' ')}.",
                "Choose a model with --llm.",
                outcome="unsupported",
            )
        return Generated(text=json.dumps(answers[task.name](task), ensure_ascii=False))

    def warm(self) -> None:
        """Nothing is needed."""

    def close(self) -> None:
        """Nothing is held."""

    def probe(self) -> str:
        """It can always be asked."""
        return "it needs no key and no network"

    def price(self, generated: Generated) -> float:
        """Nothing."""
        return 0.0


# --- queries ---------------------------------------------------------------------------


def _queries(task: Task[Any]) -> dict[str, Any]:
    question = understood(task.topic)
    slots = task.slots or suggested(question)
    found = [question.text, *_event(question), *_targets(question), *_fillers(question, slots)]
    return {
        "queries": _distinct([*found, *_narrower(question)])[: QUERIES[1]],
        "slots": [{"name": slot.name, "description": slot.description} for slot in slots],
    }


def _event(question: Question) -> list[str]:
    """The contest that a question names, as a page about it, and one about its final, is called."""
    if sides := opponents(question):
        contest = [name for name in question.surely_named if name not in sides]
        year = question.years
        return [" ".join((*sides, *year, *contest)), " ".join((*year, *contest, "Group matches"))]
    if not question.final or not question.years:
        return []
    if re.search(f"[{CJK}]", question.text):
        cup = f"{question.years[0]}年世界杯" if "世界杯" in question.text else ""
        return [f"{cup}决赛 比分", f"{cup} 冠军 进球"] if cup else []
    subject = " ".join((*question.years, *question.surely_named))
    return [f"{subject} final", subject] if question.surely_named else []


def _narrower(question: Question) -> list[str]:
    """Parts of the question: its names, and its words without the first and the last ones."""
    plain = _plain(question)
    cuts = [plain, plain[1:], plain[:-1], plain[2:]]
    named = [noun(word) for word in question.text.casefold().rstrip("?").split()]
    subject = " ".join(question.surely_named)
    near = [f"{subject} {word}" for word in (*named, _LOOKED_FOR.get(question.kind, "")) if word]
    parts = [*question.names[:1], *(" ".join(cut) for cut in cuts if len(cut) > 1)]
    return [*parts[: QUERIES[0]], *(near if subject else [])]


#: A word that pages use beside a value of a type.
_LOOKED_FOR = {"date": "history", "name": "people", "place": "location", "money": "price"}


def _distinct(queries: Sequence[str]) -> list[str]:
    """The queries in order, each once: what differs only in stop words or case is one."""
    seen: dict[tuple[str, ...], str] = {}
    for query in queries:
        query = " ".join(query.split())[:300]
        key = tuple(w for w in re.findall(r"\w+", query.casefold()) if w not in STOP_WORDS)
        if query:
            seen.setdefault(key, query)
    return list(seen.values())


def _targets(question: Question) -> list[str]:
    """The sides of a comparison with what is compared, and each name."""
    rest = " ".join(word for word in _unsaid(question) if word.casefold() not in COMPARING)
    sides = [f"{side} {rest}" for side in question.sides]
    named = list(question.names[:3]) if len(question.names) > 1 else []
    said = " ".join(question.names).casefold()
    asked = [word for word in _plain(question) if word.casefold() not in said]
    return [*sides, *named[:2], *([" ".join(asked)] if len(asked) > 2 else []), *named[2:]]


def _plain(question: Question) -> list[str]:
    """The content words as written."""
    found = re.findall(r"[\w'’.&-]*\w", question.plain)
    if len(found) == 1 and (run := found[0]) and re.match(f"[{CJK}]", run[-1]):
        found = [run[i : i + 4] for i in range(0, len(run), 4)]  # no blanks to cut it at
    return [word for word in found if word.casefold() not in STOP_WORDS]


def _unsaid(question: Question) -> list[str]:
    told = " ".join(question.sides).casefold()
    return [word for word in _plain(question) if word.casefold() not in told][:4]


def _fillers(question: Question, slots: Sequence[Slot]) -> list[str]:
    named = bool(question.surely_named)
    subject = " ".join((*question.names, *question.years) if named else _plain(question)[:6])
    asked = [slot.name.replace("_", " ") for slot in slots if not generic(slot.name)]
    if re.search(f"[{CJK}]", subject):
        return []  # names of slots are English
    return [f"{subject} {name}" for name in asked if name.casefold() not in subject.casefold()]


# --- reflect ---------------------------------------------------------------------------


def _reflect(task: Task[Any]) -> dict[str, Any]:
    question = understood(task.topic)
    ranked = pertinent(scored(lines(task.evidence), question), question)
    told = rows(task.slots, question, ranked)
    missing = [Slot(name=spoken(row["name"])) for row in told if row["value"] is None]
    more = [*_hops(question, ranked, task), *_fillers(question, missing)] if missing else []
    fallback = [" ".join(_plain(question)[:8]) or question.text] if missing else []
    return {
        "slots": told,
        "need_more": bool(missing),
        "new_queries": (_distinct(more) or fallback)[:MORE],
    }


def _gaps(task: Task[Any]) -> dict[str, Any]:
    """The facts that an answer would need and that the evidence does not say."""
    known = _reflect(_slotted(task))
    missing = [row["name"].replace("_", " ") for row in known["slots"] if row["value"] is None]
    return {"gaps": missing, "follow_up_queries": known["new_queries"] if missing else []}


def _slotted(task: Task[Any]) -> Task[Any]:
    """A task whose slots are those that its topic suggests, unless it has some."""
    slots = task.slots or suggested(understood(task.topic))
    return task.model_copy(update={"slots": slots})


def _hops(question: Question, ranked: Sequence[Scored], task: Task[Any]) -> list[str]:
    """Names in the best sentences that have no page of their own yet: the way to a second fact."""
    titles = {excerpt.title.casefold() for excerpt in task.evidence}
    told = question.text.casefold()
    best = sorted(ranked, key=lambda s: -s.score)[:2]
    found = [name for s in best for name in names(s.line.text)]
    fresh = [n for n in found if n.casefold() not in titles and n.casefold() not in told]
    return list(dict.fromkeys(fresh))[:2]


# --- decide ------------------------------------------------------------------------------


def _decide(task: Task[Any]) -> dict[str, Any]:
    """Answer where the evidence does; else follow the names that it gives; else give up.

    While the asked facts are not all found, names are followed once, though some answer would do.
    """
    task = task.model_copy(update={"slots": task.slots or suggested(understood(task.topic))})
    before = tuple(getattr(task, "queries", ()))
    draft, reflected = _synthesize(task), _reflect(task)
    hops = reflected["new_queries"] if task.evidence else []
    fresh = _unsearched([*hops, *_queries(task)["queries"]], before)[:MORE]
    early = reflected["need_more"] and len(before) <= MORE and bool(_unsearched(hops, before))
    if draft["answer"] and not early:
        return {"action": "return_answer", **draft}
    return {"action": "search_web" if fresh else "return_answer", "queries": fresh}


def _unsearched(queries: Sequence[str], before: Sequence[str]) -> list[str]:
    known = {query.casefold() for query in before}
    return [query for query in _distinct(queries) if query.casefold() not in known]


# --- synthesize ---------------------------------------------------------------------------


def _synthesize(task: Task[Any]) -> dict[str, Any]:
    question = understood(task.topic)
    ranked = pertinent(scored(lines(task.evidence), question), question)
    if confidence(question, ranked) < SURE or not (
        together(question, ranked) and of_type(question, ranked) and stated(question, ranked)
    ):
        return _NOTHING
    strict = [slot for slot in task.slots if _asked_by_name(slot, question)]
    facts = [found for slot in strict if (found := filled(slot, question, ranked))]
    sure = confidence(question, ranked) >= CERTAIN and not question.final
    if strict and not facts and not sure:
        return _NOTHING
    picked = _picked(task, question, ranked, [found.line for found in facts])
    return {
        "answer": "".join(f"{line.text} [{line.source}]{_after(line)}" for line in picked).strip(),
        "citations": [{"source": line.source, "quote": line.text} for line in picked],
    }


def _asked_by_name(slot: Slot, question: Question) -> bool:
    """Whether a slot is a fact of its own, not the answer itself or a side of a comparison."""
    if generic(slot.name):
        return len(question.parts) > 1
    return slot.name not in sided(question)


def _picked(
    task: Task[Any], question: Question, ranked: Sequence[Scored], wanted: Sequence[Line]
) -> list[Line]:
    """The sentences of the answer. A row that tells the fact is one, though no prose repeats it."""
    told = [(s, found) for s in task.slots if (found := filled(s, question, ranked))]
    tabled = [(slot, found) for slot, found in told if is_row(found.line.text)]
    prose = [same for slot, found in tabled if (same := in_prose(slot, found, question, ranked))]
    known = {s.line for s in ranked}
    top = max((s.score for s in ranked), default=0.0)
    more = [
        Scored(line, top, 0.0, frozenset())
        for line in dict.fromkeys(found.line for _, found in tabled)
        if line not in known
    ]
    limit = int(getattr(task, "max_words", 80))
    wanted = list(dict.fromkeys([*prose, *wanted, *(found.line for _, found in tabled)]))
    only = bool(wanted) and (question.final or bool(tabled))
    picked = chosen(question, [*ranked, *more], limit, wanted, only=only)
    if tabled and set(picked) <= set(wanted):
        return sorted(picked, key=wanted.index)
    facts = [found.line for _, found in told]
    return sorted(picked, key=lambda line: line not in facts)  # what was asked for comes first


_NOTHING: dict[str, Any] = {"answer": "", "citations": []}


def _after(line: Line) -> str:
    """What goes behind a sentence: a row of a table, which has no full stop, ends its line."""
    return "\n" if is_row(line.text) else " "
