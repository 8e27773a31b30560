"""The schema of the answer object, and the text that is checked against it."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from agent.answer.values import Answer
from agent.evidence.credibility import credibility
from agent.state import Frozen, Hit


def answer_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of the answer object."""
    return Answer.model_json_schema(mode="serialization")


@cache
def answer_validator() -> Any:
    """The validator of answers; a tenth of a second to make, so a run makes it while it waits."""
    from jsonschema import Draft202012Validator

    return Draft202012Validator(answer_schema())


def warm_validator() -> None:
    """Make what answers are made with, which would otherwise be made at the first one."""
    from agent.checking.bench import Place, verdict

    answer_validator()
    verdict("a claim", (Place("something else", "", 0, 14),))
    credibility("", Hit(url="https://example.org/"), 2000)
    _build(Frozen)


def _build(model: type[Frozen]) -> None:
    """The validators of all values: they are built at first use unless somebody asks."""
    for kind in model.__subclasses__():
        kind.model_rebuild()
        _build(kind)


def to_json(answer: Answer, *, compact: bool = False) -> str:
    """The answer as JSON text with a trailing newline, checked against the schema.

    Raises jsonschema.ValidationError, which would be a bug of this program.
    """
    value = answer.model_dump(mode="json")
    answer_validator().validate(value)
    separators = (",", ":") if compact else None
    indent = None if compact else 2
    return json.dumps(value, ensure_ascii=False, indent=indent, separators=separators) + "\n"
