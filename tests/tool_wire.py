"""Turns with tools as Gemini and OpenAI-compatible servers have them on the wire.

Both hold a client to what they said: a turn must come back as it was issued, with a result for each
call, else the request is refused, as the services do.
"""

from __future__ import annotations

import base64
import json
from itertools import count
from typing import Any

#: What each turn of a conversation was told of its calls.
Told = tuple[tuple[str, ...], ...]


class Issued:
    """What a service has sent: every call with its id, and the signature of its turn."""

    def __init__(self) -> None:
        self._number = count(1)
        self._gemini: dict[str, tuple[dict[str, Any], bytes]] = {}
        self._openai: dict[str, dict[str, Any]] = {}

    # --- Gemini ------------------------------------------------------------------------------

    def gemini_parts(self, reply: dict[str, Any]) -> list[dict[str, Any]]:
        """The parts of a turn; the first call alone is signed, as Gemini 3 does."""
        parts: list[dict[str, Any]] = [{"text": reply["text"]}] if reply.get("text") else []
        for at, call in enumerate(reply.get("calls", ())):
            identity, signature = f"fc-{next(self._number)}", b""
            part = {
                "functionCall": {
                    "id": identity,
                    "name": call["name"],
                    "args": call.get("arguments", {}),
                }
            }
            if at == 0:
                signature = f"signature of {identity} >>>???".encode()
                part["thoughtSignature"] = base64.b64encode(signature).decode()
            self._gemini[identity] = (part["functionCall"], signature)
            parts.append(part)
        return parts or [{"text": ""}]

    def gemini_results(self, contents: list[dict[str, Any]]) -> Told | str:
        """What each turn of a conversation was told; a text if the conversation is refused."""
        told: list[list[str]] = []
        for said, answered in zip(contents[1::2], contents[2::2], strict=True):
            calls = [part for part in said["parts"] if "functionCall" in part]
            for part in calls:
                call, signature = self._gemini[part["functionCall"]["id"]]
                given = base64.urlsafe_b64decode(part.get("thoughtSignature", ""))
                if given != signature or part["functionCall"] != call:
                    return "Function call is missing a thought_signature in functionCall parts."
            results = [part["functionResponse"] for part in answered["parts"] if "text" not in part]
            asked = [(part["functionCall"]["id"], part["functionCall"]["name"]) for part in calls]
            if asked != [(result["id"], result["name"]) for result in results]:
                return "The function response parts must equal the function call parts."
            told.append([result["response"]["result"] for result in results])
        return tuple(map(tuple, told))

    # --- OpenAI ------------------------------------------------------------------------------

    def openai_message(self, reply: dict[str, Any]) -> dict[str, Any]:
        """The message of a turn, with a field that a gateway to Gemini adds and wants back."""
        calls = []
        for call in reply.get("calls", ()):
            arguments = call.get("arguments", {})
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            made = {
                "id": f"call-{next(self._number)}",
                "type": "function",
                "function": {"name": call["name"], "arguments": text},
                "extra_content": {"google": {"thought_signature": f"s{len(self._openai)}"}},
            }
            self._openai[made["id"]] = made
            calls.append(made)
        message = {"role": "assistant", "content": reply.get("text"), "refusal": None}
        return {**message, "tool_calls": calls} if calls else message

    def openai_results(self, messages: list[dict[str, Any]]) -> Told | str:
        """What each turn of a conversation was told; a text if the conversation is refused."""
        told: list[list[str]] = []
        left: list[str] = []
        for message in messages[2:]:
            if message["role"] == "assistant":
                if left:
                    return "An assistant message with tool_calls must be followed by its results."
                left, told = [call["id"] for call in message["tool_calls"]], [*told, []]
                if fault := self._changed(message["tool_calls"]):
                    return fault
            elif message["role"] == "tool":
                if message["tool_call_id"] not in left:
                    return f"No tool call {message['tool_call_id']}."
                left.remove(message["tool_call_id"])
                told[-1].append(message["content"])
        return "Results are missing." if left else tuple(map(tuple, told))

    def _changed(self, calls: list[dict[str, Any]]) -> str:
        for call in calls:
            try:
                json.loads(call["function"]["arguments"])
            except ValueError:
                return "Tool call arguments are no JSON."
            if call["extra_content"] != self._openai[call["id"]]["extra_content"]:
                return "The thought signature is missing."
        return ""
