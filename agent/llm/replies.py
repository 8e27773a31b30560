"""Replies of models, parsed and validated as the answer of their task.

Every reply passes here, calls of tools too, so here characters that command a terminal are taken
out of what a model says.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

from pydantic import ValidationError

from agent.calls import AnswerT, Task
from agent.llm.model import Generation
from agent.llm.reply_repair import Shape
from agent.state import InvalidJson, map_texts, parse_first_json, parse_json
from agent.state.characters import strip_controls

MAX_REPLY_CHARS = 200_000  # a longer reply is no answer to any of our tasks
_CODE_FENCE = re.compile(r"^\s*```[a-zA-Z]*\s*\n?|\n?\s*```\s*$")
_FENCED_JSON = re.compile(r"```\w*\s*(\{.*?\})\s*```", re.S)
#: How models that were trained with a browser cite: source, then lines of it.
_BROWSER_CITATION = re.compile(r"【(\d+)†[^】]{0,100}】")


def parse_reply(generation: Generation, task: Task[AnswerT]) -> tuple[AnswerT, tuple[str, ...]]:
    """Parse a reply to a task: JSON, or tagged text where the task takes it. Raises ValueError.

    Returns the answer, and the parts that had another shape than the schema's. The message of the
    error is for the model. Code fences, and prose around one JSON object, are accepted.
    """
    if generation.problem:
        raise ValueError(generation.problem)
    if len(generation.text) > MAX_REPLY_CHARS:
        raise ValueError(f"the reply is longer than {MAX_REPLY_CHARS} characters")
    text = _CODE_FENCE.sub("", generation.text)
    tagged = task.parse_tagged_reply(strip_controls(text))
    value = _clean(_parse_json(text) if tagged is None else tagged)
    if task.tools:  # its turns are put together by us
        return _validate(value, task.answer_type), ()
    shape = Shape(task.answer_type.model_json_schema())
    return _validate(shape.fit(value), task.answer_type), tuple(dict.fromkeys(shape.mended))


def _clean(value: Any) -> Any:
    """A reply's JSON without characters that command a terminal, with `[1]` for `【1†...】`.

    `verbatim` of a turn stays as it is: it goes back to the model's service, which may have signed
    it, and nowhere else.
    """
    clean = map_texts(value, lambda text: _BROWSER_CITATION.sub(r"[\1]", strip_controls(text)))
    return {**clean, "verbatim": value["verbatim"]} if "verbatim" in value else clean


def _parse_json(text: str) -> Any:
    """The list that a text is, the JSON object in its last fence, or the first one in it."""
    if text.lstrip().startswith(("[", "{")):
        with suppress(InvalidJson):
            return parse_json(text)
    elif fenced := _FENCED_JSON.findall(text):
        text = fenced[-1]
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
