"""Tool calls in the wire formats of Gemini, OpenAI-compatible servers and Anthropic.

All services check a conversation: each of their turns must come back unchanged, with a result for
each call. Otherwise they refuse the request, and so do these.
"""

from __future__ import annotations

import base64
import json
from itertools import count
from typing import Any

#: For each turn of a conversation, the results of its calls.
ToolResults = tuple[tuple[str, ...], ...]


class IssuedCalls:
    """The tool calls that a service has sent, by id, with the signatures of their turns."""

    def __init__(self) -> None:
        self._number = count(1)
        self._gemini: dict[str, tuple[dict[str, Any], bytes]] = {}
        self._openai: dict[str, dict[str, Any]] = {}
        self._anthropic: dict[str, list[dict[str, Any]]] = {}

    # --- Gemini ------------------------------------------------------------------------------

    def gemini_parts(self, reply: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the parts of a turn; only the first call has a signature, as with Gemini 3."""
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

    def gemini_results(self, contents: list[dict[str, Any]]) -> ToolResults | str:
        """Return the results of each turn; an error message if the conversation is refused."""
        results_by_turn: list[list[str]] = []
        for turn, reply in zip(contents[1::2], contents[2::2], strict=True):
            calls = [part for part in turn["parts"] if "functionCall" in part]
            for part in calls:
                call, signature = self._gemini[part["functionCall"]["id"]]
                returned = base64.urlsafe_b64decode(part.get("thoughtSignature", ""))
                if returned != signature or part["functionCall"] != call:
                    return "Function call is missing a thought_signature in functionCall parts."
            results = [part["functionResponse"] for part in reply["parts"] if "text" not in part]
            made = [part["functionCall"] for part in calls]
            if [(call["id"], call["name"]) for call in made] != [
                (result["id"], result["name"]) for result in results
            ]:
                return "The function response parts must equal the function call parts."
            results_by_turn.append([result["response"]["result"] for result in results])
        return tuple(map(tuple, results_by_turn))

    # --- OpenAI ------------------------------------------------------------------------------

    def openai_message(self, reply: dict[str, Any]) -> dict[str, Any]:
        """Return the message of a turn, with the signature field of a gateway to Gemini."""
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

    def openai_results(self, messages: list[dict[str, Any]]) -> ToolResults | str:
        """Return the results of each turn; an error message if the conversation is refused."""
        results_by_turn: list[list[str]] = []
        open_ids: list[str] = []
        for message in messages[2:]:
            if message["role"] == "assistant":
                if open_ids:
                    return "An assistant message with tool_calls must be followed by its results."
                open_ids = [call["id"] for call in message["tool_calls"]]
                results_by_turn.append([])
                if fault := self._find_fault(message["tool_calls"]):
                    return fault
            elif message["role"] == "tool":
                if message["tool_call_id"] not in open_ids:
                    return f"No tool call {message['tool_call_id']}."
                open_ids.remove(message["tool_call_id"])
                results_by_turn[-1].append(message["content"])
        return "Results are missing." if open_ids else tuple(map(tuple, results_by_turn))

    def _find_fault(self, calls: list[dict[str, Any]]) -> str:
        for call in calls:
            try:
                json.loads(call["function"]["arguments"])
            except ValueError:
                return "Tool call arguments are no JSON."
            if call["extra_content"] != self._openai[call["id"]]["extra_content"]:
                return "The thought signature is missing."
        return ""

    # --- Anthropic ---------------------------------------------------------------------------

    def anthropic_content(self, reply: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the content of a turn, with its signed thoughts first."""
        n = next(self._number)
        content = [{"type": "thinking", "thinking": "", "signature": f"signature {n}"}]
        content += [{"type": "text", "text": reply["text"]}] if reply.get("text") else []
        for call in reply.get("calls", ()):
            made = {"id": f"toolu_{next(self._number)}", "name": call["name"]}
            content.append({"type": "tool_use", **made, "input": call.get("arguments", {})})
            self._anthropic[made["id"]] = content
        return content

    def anthropic_results(self, messages: list[dict[str, Any]]) -> ToolResults | str:
        """Return the results of each turn; an error message if the conversation is refused."""
        results_by_turn: list[tuple[str, ...]] = []
        for turn, reply in zip(messages[1::2], messages[2::2], strict=True):
            ids = [block["id"] for block in turn["content"] if block["type"] == "tool_use"]
            if turn["role"] != "assistant" or turn["content"] != self._anthropic[ids[0]]:
                return "`thinking` blocks must remain as they were in the original response."
            results = [block for block in reply["content"] if block["type"] == "tool_result"]
            if ids != [block["tool_use_id"] for block in results]:
                return "`tool_use` ids were found without `tool_result` blocks."
            results_by_turn.append(tuple(block["content"] for block in results))
        return tuple(results_by_turn)
