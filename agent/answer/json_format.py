"""The format `json`: the answer object as JSON text that keeps its JSON Schema."""

from __future__ import annotations

import json

from agent.answer.schema import Answer, answer_validator


def to_json(answer: Answer, *, compact: bool = False) -> str:
    """The answer as JSON text with a trailing newline; with `compact` on one line.

    The text is validated. Raises jsonschema.ValidationError, which would be a bug of this program.
    """
    value = answer.model_dump(mode="json")
    answer_validator().validate(value)
    separators = (",", ":") if compact else None
    indent = None if compact else 2
    return json.dumps(value, ensure_ascii=False, indent=indent, separators=separators) + "\n"
