"""Tools and messages of OpenAI's chat completions.

Format: https://platform.openai.com/docs/guides/function-calling. The arguments of a call may be
invalid JSON. Servers add fields to a message that must be sent back, so all fields are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from agent.calls.model_tools import Exchange, Tool
from agent.llm.tool_messages import call_fields, turn_json
from agent.state import InvalidJson, get_objects, get_path, parse_json

_TAG = r"(?:\w+:)?(?:think(?:ing)?|thoughts?|reasoning)"
#: Whole thoughts; the end of some without a beginning; the beginning of some without an end. In
#: harmony every channel but `analysis` ends them.
_THOUGHTS = re.compile(rf"<({_TAG})>.*?</\1>|\[THINK\].*?\[/THINK\]", re.S | re.I)
_THOUGHTS_END = re.compile(rf"</{_TAG}>|\[/THINK\]|<\|channel\|>(?!analysis).*?<\|message\|>", re.I)
_UNENDED = re.compile(
    rf"(?:<{_TAG}>|\[THINK\]|<\|channel\|>|<\|(?:end|return|call)\|>).*", re.S | re.I
)
#: Where servers put thoughts, and some of them the reply.
_THOUGHT_FIELDS = ("reasoning_content", "reasoning", "thinking")


def declare_tools(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """The `tools` field of a request."""
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


def replay_messages(exchanges: Sequence[Exchange]) -> list[dict[str, Any]]:
    """Exchanges as messages: each turn as it came, followed by the results of its calls."""
    messages: list[dict[str, Any]] = []
    for exchange in exchanges:
        messages.append(exchange.turn.verbatim or {})
        messages += [
            {"role": "tool", "tool_call_id": call.id, "content": result}
            for call, result in zip(exchange.turn.calls, exchange.results, strict=True)
        ]
    return messages


def extract_turn_json(message: Any) -> str:
    """A message with its calls, as the JSON of a `Turn`; "" if it has neither text nor a call."""
    text = extract_text(message)
    named = [c for c in get_objects(message, "tool_calls") if _has_name(c)]
    calls = _with_unique_ids(named)
    fields = {name: value for name, value in message.items() if value or name == "content"}
    sent = [_with_valid_arguments(call) for call in calls]
    calls_made = [
        call_fields(call["function"]["name"], call["id"], _parse_arguments(call)) for call in calls
    ]
    return turn_json(calls_made, text, {**fields, "role": "assistant", "tool_calls": sent})


def extract_text(message: Any) -> str:
    """The text of a message without thoughts; JSON alone is text among the thoughts, too."""
    text = strip_thoughts(join_parts(get_path(message, "content")))
    if text.strip():
        return text
    fields = (strip_thoughts(join_parts(get_path(message, name))) for name in _THOUGHT_FIELDS)
    return next(filter(_is_json_object, fields), "")


def join_parts(content: Any) -> str:
    """A content as text: it may come as a list of parts, some of which have none."""
    if isinstance(content, list):
        return "".join(str(get_path(part, "text") or "") for part in content)
    return content if isinstance(content, str) else ""


def strip_thoughts(text: str) -> str:
    """A reply without what a model thought before it, in whatever tags; JSON stays as it is."""
    if _is_json_object(text):
        return text
    return _UNENDED.sub("", _THOUGHTS_END.split(_THOUGHTS.sub("", text))[-1])


def _is_json_object(text: str) -> bool:
    try:
        return isinstance(parse_json(text), dict)
    except InvalidJson:
        return False


def _has_name(call: dict[str, Any]) -> bool:
    return isinstance(get_path(call, "function", "name"), str)


def _with_unique_ids(calls: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Calls with one id each; some servers give no ids, or the same one to all calls."""
    unique = {call["id"] for call in calls if call.get("id") and isinstance(call["id"], str)}
    ids = [
        call.get("id") if len(unique) == len(calls) else f"call_{n}" for n, call in enumerate(calls)
    ]
    return [{"type": "function", **call, "id": id} for call, id in zip(calls, ids, strict=True)]


def _with_valid_arguments(call: dict[str, Any]) -> dict[str, Any]:
    """A call that can be sent back: some servers refuse a history with invalid arguments."""
    if _parse_arguments(call) is not None and isinstance(call["function"].get("arguments"), str):
        return call
    arguments = json.dumps(_parse_arguments(call) or {})
    return {**call, "function": {**call["function"], "arguments": arguments}}


def _parse_arguments(call: dict[str, Any]) -> dict[str, Any] | None:
    """The arguments of a call; None if they are no JSON object. Some servers send an object."""
    raw = call["function"].get("arguments") or {}
    try:
        value = json.loads(raw) if isinstance(raw, str) else raw
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
