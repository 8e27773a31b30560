"""What the user receives: the answer object, how a run becomes one, and its formats.

What people read is a tree (`tree.py`), made of an answer (`shown.py`) or of a check
(`shown_check.py`) and written as text, Markdown or HTML. A new format is a line of
`agent/shell/formats.py`, which every door offers, and its writer in `formats.py`.
"""

from agent.answer.build import (
    build_answer,
    build_error_answer,
    build_run_info,
    build_slot_answers,
    build_usage,
    list_failures,
    warm_validators,
)
from agent.answer.json_format import to_json
from agent.answer.schema import (
    Answer,
    Citation,
    Error,
    RunInfo,
    SlotAnswer,
    SourceCounts,
    Usage,
    answer_schema,
    answer_validator,
)

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
    "build_answer",
    "build_error_answer",
    "build_run_info",
    "build_slot_answers",
    "build_usage",
    "list_failures",
    "to_json",
    "warm_validators",
]
