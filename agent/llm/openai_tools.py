"""Tools as OpenAI's chat completions have them.

Format: https://platform.openai.com/docs/guides/function-calling. Arguments are JSON in a string
that the model wrote, so it may be broken. Servers add fields of their own to a message, some of
which must come back (thought signatures, reasoning), so a message goes back as it came.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from agent.outside.tools import Exchange, Tool
from agent.state.plain import dig, rows

_THOUGHT = re.compile(r"<think>.*?(</think>|\Z)", re.S)
BROKEN = "the arguments are not a JSON object"


def declared(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """Tools as a request offers them."""
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
            },
        }
        for tool in tools
    ]


def replayed(exchanges: Sequence[Exchange]) -> list[dict[str, Any]]:
    """Turns as the messages that they were, each followed by its results."""
    messages: list[dict[str, Any]] = []
    for exchange in exchanges:
        messages.append(exchange.turn.verbatim or {})
        messages += [
            {"role": "tool", "tool_call_id": call.id, "content": result}
            for call, result in zip(exchange.turn.calls, exchange.results, strict=True)
        ]
    return messages


def turn(message: Any) -> str:
    """A message with its calls, as JSON of a `Turn`; "" if it says nothing and calls nothing."""
    text = without_thoughts(dig(message, "content"))
    said = _told_apart([call for call in rows(message, "tool_calls") if _named(call)])
    if not said and not text.strip():
        return ""
    kept = {name: value for name, value in message.items() if value or name == "content"}
    verbatim = {**kept, "role": "assistant", "tool_calls": [_valid(call) for call in said]}
    return json.dumps(
        {
            "calls": [_called(call) for call in said],
            "text": text,
            "verbatim": verbatim if said else None,
        }
    )


def _named(call: dict[str, Any]) -> bool:
    return isinstance(dig(call, "function", "name"), str)


def _told_apart(calls: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Calls with an id each to answer to: some servers give none, or one to all."""
    given = {call["id"] for call in calls if call.get("id") and isinstance(call["id"], str)}
    ids = [
        call.get("id") if len(given) == len(calls) else f"call_{n}" for n, call in enumerate(calls)
    ]
    return [{"type": "function", **call, "id": id} for call, id in zip(calls, ids, strict=True)]


def _called(call: dict[str, Any]) -> dict[str, Any]:
    arguments = _arguments(call)
    named = {"name": call["function"]["name"], "id": call["id"]}
    if arguments is None:
        return {**named, "fault": BROKEN}
    return {**named, "arguments": arguments}


def _valid(call: dict[str, Any]) -> dict[str, Any]:
    """A call that a server takes back: some refuse a history whose arguments are broken."""
    if _arguments(call) is not None and isinstance(call["function"]["arguments"], str):
        return call
    arguments = json.dumps(_arguments(call) or {})
    return {**call, "function": {**call["function"], "arguments": arguments}}


def _arguments(call: dict[str, Any]) -> dict[str, Any] | None:
    """The arguments; None if they are no JSON object. Some servers give the object itself."""
    given = call["function"].get("arguments") or {}
    try:
        value = json.loads(given) if isinstance(given, str) else given
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def without_thoughts(content: Any) -> str:
    """What a message says, without a reasoning model's thoughts."""
    if isinstance(content, list):
        content = "".join(str(dig(part, "text") or "") for part in content)
    return _THOUGHT.sub("", content) if isinstance(content, str) else ""
