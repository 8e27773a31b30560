"""A streamed reply of OpenAI's chat completions, put together as the reply that was not streamed.

Format: https://platform.openai.com/docs/api-reference/chat-streaming, lines `data: {...}` of
server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html) with what is new
in `choices[0].delta`. Calls of tools come in pieces that have the same `index`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agent.calls.model_tools import MAX_CALLS
from agent.llm.openai_tools import join_parts
from agent.state import InvalidJson, Json, get_objects, get_path, parse_json


def is_stream(data: bytes) -> bool:
    """Whether a body is server-sent events; a server that does not stream sends one object."""
    return data.lstrip().startswith((b"data:", b"event:", b":"))


def join_stream(data: bytes) -> Json | None:
    """The reply that a stream has in pieces; None if the stream was cut off.

    An error that the server sends within a stream is in the field `error`.
    """
    reply: Json = {}
    message: Json = {"role": "assistant", "content": ""}
    calls: dict[int, Json] = {}
    finish_reason = None
    for event in _parse_events(data):
        if event.get("error"):
            return {"error": event["error"]}
        if isinstance(event.get("usage"), dict):
            reply["usage"] = event["usage"]
        delta = get_path(event, "choices", 0, "delta")
        _add_texts(message, delta if isinstance(delta, dict) else {})
        for piece in get_objects(delta, "tool_calls"):
            _add_call(calls, piece)
        finish_reason = get_path(event, "choices", 0, "finish_reason") or finish_reason
    if finish_reason is None:
        return None
    if calls:
        message["tool_calls"] = [calls[n] for n in sorted(calls)]
    return {**reply, "choices": [{"message": message, "finish_reason": finish_reason}]}


def _parse_events(data: bytes) -> Iterator[Json]:
    for line in data.splitlines():
        if line.startswith(b"data:"):
            try:
                event = parse_json(line[5:])
            except InvalidJson:
                continue
            if isinstance(event, dict):
                yield event


def _add_texts(message: Json, delta: Json) -> None:
    for name, value in delta.items():
        if name != "role" and (text := join_parts(value)):
            message[name] = (message.get(name) or "") + text


def _add_call(calls: dict[int, Json], piece: Json) -> None:
    index = piece.get("index")
    index = index if isinstance(index, int) else len(calls) if piece.get("id") else len(calls) - 1
    if not 0 <= index < MAX_CALLS:
        return
    call = calls.setdefault(index, {"function": {"name": "", "arguments": ""}})
    delta: Any = piece.get("function")
    function = delta if isinstance(delta, dict) else {}
    for name in ("name", "arguments"):
        if isinstance(function.get(name), str):
            call["function"][name] += function[name]
    call |= {k: v for k, v in piece.items() if k not in ("index", "function") and v is not None}
