"""Replies whose shape is a little off: what is clear is read as it is meant, the rest refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from agent.calls import Task
from agent.llm.model import Generation
from agent.llm.replies import parse_reply
from agent.steps.generate_queries import MakeQueries
from agent.steps.judges import JudgeClaims
from agent.steps.reading_tasks import CheckCoverage, ReadSources
from agent.strategies.loop.decide import ChooseAction
from agent.strategies.report.plan_report import MakePlan
from agent.strategies.report.section_task import WriteSection

READ = ReadSources(topic="Who won?")
PLAN = MakeQueries(topic="Who won?")
CHECK = CheckCoverage(topic="Who won?")
JUDGE = JudgeClaims(topic="Who won?", claims=())
ACT = ChooseAction(topic="Who won?")
SECTION = WriteSection(topic="Who won?", heading="Winner")
OUTLINE = MakePlan(topic="Who won?")
SAID = "Argentina won [1]."
WORDS = "Argentina won the cup"
ROW = {"name": "winner", "value": "Argentina", "source": 1, "quote": WORDS}
CITED = {"source": 1, "quote": WORDS}
WHOLE = {"answerable": True, "answer": SAID, "citations": [CITED], "slots": [ROW]}
QUERIES = {"queries": ["world cup winner"], "slots": [{"name": "winner"}]}
VERDICT = {"verdicts": [{"claim": 1, "verdict": "supported", "source": 1}]}
SENTENCE = {"text": "Argentina won.", "citations": [CITED]}
TOLD = {"sentences": [SENTENCE]}
STEPS = {"prioritized_sub_queries": [{"query": "world cup winner", "priority": "High"}]}
SEARCH = {"action": "search_web", "queries": ["world cup winner"]}

#: A task, what was meant, and how it came.
SHAPES: list[tuple[Task[Any], Any, Any]] = [
    # slots
    (READ, WHOLE, {**WHOLE, "slots": {"winner": {**ROW}}}),
    (READ, WHOLE, {**WHOLE, "slots": ROW}),
    (READ, WHOLE, {**WHOLE, "slots": {"slots": [ROW]}}),
    (READ, WHOLE, {**WHOLE, "slots": json.dumps([ROW])}),
    (READ, WHOLE, {**WHOLE, "slots": [{**ROW, "source": "[1]"}]}),
    (READ, WHOLE, {**WHOLE, "slots": [{**ROW, "of": None}, None]}),
    (READ, WHOLE, {**WHOLE, "slots": [{k.upper(): v for k, v in ROW.items()}]}),
    (READ, {**WHOLE, "slots": []}, {**WHOLE, "slots": None}),
    (
        READ,
        {**WHOLE, "slots": [{"name": "winner", "value": "Argentina"}]},
        {**WHOLE, "slots": {"winner": "Argentina"}},
    ),
    # citations
    (READ, {**WHOLE, "citations": [{"source": 1}]}, {**WHOLE, "citations": [1]}),
    (READ, {**WHOLE, "citations": []}, {**WHOLE, "citations": None}),
    (READ, WHOLE, {**WHOLE, "citations": CITED}),
    (READ, WHOLE, {**WHOLE, "citations": {"1": WORDS}}),
    (READ, {**WHOLE, "citations": [{"quote": WORDS}]}, {**WHOLE, "citations": [WORDS]}),
    (READ, WHOLE, {**WHOLE, "citations": [{"source": {"id": 1}, "quote": [WORDS]}]}),
    (READ, WHOLE, {**WHOLE, "citations": [{"source": "1", "quote": WORDS, "title": "Cup"}]}),
    # the answer, the whole
    (READ, WHOLE, {"response": WHOLE}),
    (READ, WHOLE, {"thought": "It says so.", "answer": WHOLE}),
    (READ, WHOLE, [WHOLE]),
    (READ, WHOLE, {**WHOLE, "answer": {"text": SAID}}),
    (READ, {**WHOLE, "answer": ""}, {**WHOLE, "answer": None}),
    (READ, WHOLE, {**WHOLE, "answerable": "yes", "need_more": None, "new_queries": None}),
    (READ, WHOLE, {**{k.capitalize(): v for k, v in WHOLE.items()}, "needMore": False}),
    # queries
    (READ, {**WHOLE, "new_queries": ["a b"]}, {**WHOLE, "new_queries": "a b"}),
    (READ, {**WHOLE, "new_queries": ["a b", "c d"]}, {**WHOLE, "new_queries": "1. a b\n2. c d"}),
    (PLAN, QUERIES, {**QUERIES, "queries": "world cup winner"}),
    (PLAN, QUERIES, {**QUERIES, "queries": [{"query": "world cup winner", "why": "it is asked"}]}),
    (PLAN, QUERIES, {**QUERIES, "slots": [{"name": "winner", "description": None}]}),
    (OUTLINE, STEPS, {"prioritizedSubQueries": STEPS["prioritized_sub_queries"]}),
    (PLAN, QUERIES, {"Queries": ["world cup winner"], "Slots": {"winner": {}}}),
    (ACT, SEARCH, {"action": " Search-Web.", "queries": "world cup winner"}),
    # verdicts, reports
    (JUDGE, VERDICT, VERDICT["verdicts"]),
    (JUDGE, VERDICT, {"verdicts": {"1": {"verdict": "Supported.", "source": "[1]"}}}),
    (SECTION, TOLD, {"sentences": SENTENCE, "heading": None}),
    (SECTION, {"sentences": [{"text": "Argentina won."}]}, {"sentences": ["Argentina won."]}),
]

#: What is not clear: the model is asked again, with the fault.
UNCLEAR: list[tuple[Task[Any], Any]] = [
    (READ, {}),
    (READ, {"note": "Argentina won."}),
    (READ, "Argentina won."),
    (CHECK, {"slots": 7}),
    (PLAN, {"plan": {"a": QUERIES, "b": QUERIES}}),
    (JUDGE, {"verdicts": [{"claim": 1, "verdict": "perhaps"}]}),
    (SECTION, {"sentences": [7]}),
]


def read(task: Task[Any], reply: Any) -> tuple[Any, tuple[str, ...]]:
    return parse_reply(Generation(text=json.dumps(reply)), task)


@pytest.mark.parametrize(("task", "meant", "came"), SHAPES)
def test_what_is_clear_is_read_as_it_is_meant(task: Task[Any], meant: Any, came: Any) -> None:
    answer, mended = read(task, came)
    assert answer == task.answer_type.model_validate(meant, extra="ignore")
    plain, untouched = read(task, meant)
    assert plain == answer and untouched == ()
    assert mended or fits(task, came, answer)


def fits(task: Task[Any], came: Any, answer: Any) -> bool:
    """Whether a reply is its answer without being mended: `yes` is true, too."""
    try:
        return bool(task.answer_type.model_validate(came, extra="ignore") == answer)
    except ValidationError:
        return False


@pytest.mark.parametrize(("task", "came"), UNCLEAR)
def test_what_is_not_clear_is_refused(task: Task[Any], came: Any) -> None:
    with pytest.raises(ValueError, match="the reply"):
        read(task, came)


LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
FIELDS = st.sampled_from(["answer", "slots", "citations", "name", "quote", "new_queries", "x"])
VALUES = st.recursive(
    LEAVES, lambda one: st.lists(one, max_size=3) | st.dictionaries(FIELDS, one, max_size=3)
)


@given(VALUES)
def test_any_json_is_an_answer_or_a_value_error(value: Any) -> None:
    for task in (READ, PLAN, JUDGE, SECTION):
        try:
            answer, _ = read(task, value)
        except ValueError:
            continue
        assert isinstance(answer, task.answer_type)
