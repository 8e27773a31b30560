"""What the user receives: the answer object, how a run becomes one, and its formats.

What people read is a tree (`tree.py`), made of an answer (`shown.py`) or of a check
(`shown_check.py`) and written as text, Markdown or HTML: `formats.py` has a function for each. A
new format is a new writer, offered by the command line (`agent/cli/output.py`) and the server
(`agent/server/responses.py`).
"""

from agent.answer.build import (
    build_answer,
    build_error_answer,
    build_run_info,
    build_slot_answers,
    build_usage,
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
    "to_json",
    "warm_validators",
]
