"""What the user receives: the answer object, its schema, and how a run becomes one."""

from agent.output.form import schema, to_json, validator, warm
from agent.output.making import answer, failure, slots
from agent.output.values import (
    Answer,
    Citation,
    Error,
    RunInfo,
    SlotAnswer,
    SourceCounts,
    Usage,
)

__all__ = [
    "Answer",
    "Citation",
    "Error",
    "RunInfo",
    "SlotAnswer",
    "SourceCounts",
    "Usage",
    "answer",
    "failure",
    "schema",
    "slots",
    "to_json",
    "validator",
    "warm",
]
