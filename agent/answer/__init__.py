"""What the user receives: the answer object, its schema, and how a run becomes one."""

from agent.answer.form import answer_schema, answer_validator, to_json, warm_validator
from agent.answer.making import make_answer, make_failure, slot_answers
from agent.answer.values import Answer, Citation, Error, RunInfo, SlotAnswer, SourceCounts, Usage

__all__ = [
    "Answer",
    "Citation",
    "Error",
    "RunInfo",
    "SlotAnswer",
    "SourceCounts",
    "Usage",
    "answer_schema",
    "answer_validator",
    "make_answer",
    "make_failure",
    "slot_answers",
    "to_json",
    "warm_validator",
]
