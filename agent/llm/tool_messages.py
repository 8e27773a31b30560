"""The messages of a conversation with tools, as every provider's file builds them.

A model gets its own turns as they came (`Turn.verbatim`), and those of another model as text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from agent.calls import Task
from agent.calls.model_tools import Exchange, render_transcript


def split_conversation(task: Task[Any], model: str) -> tuple[str, list[Exchange]]:
    """The first user message, and the exchanges after it that are the model's own.

    All exchanges up to the last one of another model are text in the first message.
    """
    first_own = 0
    for number, exchange in enumerate(task.exchanges, 1):
        if exchange.model != model or exchange.turn.verbatim is None:
            first_own = number
    earlier, own = task.exchanges[:first_own], task.exchanges[first_own:]
    return append_transcript(task.prompt(), earlier), list(own)


def append_transcript(prompt: str, exchanges: tuple[Exchange, ...]) -> str:
    """A prompt, followed by exchanges as text."""
    if not exchanges:
        return prompt
    return f"{prompt}\n\nWhat you have called so far:\n{render_transcript(exchanges)}"


def request_correction(correction: str) -> str:
    """The message that asks a model for another reply, with the fault of the last one."""
    return f"Your last reply could not be used: {correction}. Answer again."


def call_fields(name: str, id: str, arguments: Any) -> dict[str, Any]:
    """A call of a reply as the JSON of a `ToolCall`."""
    if isinstance(arguments, dict):
        return {"name": name, "id": id, "arguments": arguments}
    return {"name": name, "id": id, "fault": "the arguments are not a JSON object"}


def turn_json(calls: Sequence[dict[str, Any]], text: str, verbatim: dict[str, Any]) -> str:
    """A reply with its calls as the JSON of a `Turn`; "" if it has neither text nor a call."""
    if not calls and not text.strip():
        return ""
    return json.dumps({"calls": calls, "text": text, "verbatim": verbatim if calls else None})
