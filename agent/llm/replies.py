"""Replies of models, parsed and validated as the answer of their task.

Every reply passes here, calls of tools too, so here characters that command a terminal are taken
out of what a model says.
"""

from __future__ import annotations

import re
from typing import Any

from pydantic import ValidationError

from agent.characters import strip_controls
from agent.llm.model import Generation
from agent.outside import AnswerT, Task
from agent.state.json_data import InvalidJson, map_texts, parse_first_json

MAX_REPLY_CHARS = 200_000  # a longer reply is no answer to any of our tasks
_CODE_FENCE = re.compile(r"^\s*```[a-zA-Z]*\s*\n?|\n?\s*```\s*$")


def parse_reply(generation: Generation, task: Task[AnswerT]) -> AnswerT:
    """Parse a reply to a task: JSON, or tagged text where the task takes it. Raises ValueError.

    The message of the error is written for the model, which is asked again with it. Code fences,
    and prose around one JSON object, are accepted, since models add both.
    """
    if generation.problem:
        raise ValueError(generation.problem)
    if len(generation.text) > MAX_REPLY_CHARS:
        raise ValueError(f"the reply is longer than {MAX_REPLY_CHARS} characters")
    text = _CODE_FENCE.sub("", generation.text)
    value = task.parse_tagged_reply(strip_controls(text))
    return _validate(_clean(_parse_json(text) if value is None else value), task.answer_type)


def _clean(value: Any) -> Any:
    """A reply's JSON without characters that command a terminal.

    `verbatim` of a turn stays as it is: it goes back to the model's service, which may have signed
    it, and nowhere else.
    """
    clean = map_texts(value, strip_controls)
    return {**clean, "verbatim": value["verbatim"]} if "verbatim" in value else clean


def _parse_json(text: str) -> Any:
    """The first JSON object of a text."""
    begin = text.find("{")
    if begin < 0:
        raise ValueError("the reply holds no JSON object")
    try:
        return parse_first_json(text, begin)
    except InvalidJson as error:
        raise ValueError(f"the reply is not valid JSON: {error}") from None


def _validate(value: Any, answer_type: type[AnswerT]) -> AnswerT:
    try:
        return answer_type.model_validate(value, extra="ignore")  # nobody asked for more
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(str(key) for key in first["loc"])
        raise ValueError(f"the reply does not fit the schema: {path}: {first['msg']}") from None
