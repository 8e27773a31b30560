"""Messages and tools of Anthropic's Messages API.

A turn with calls goes back as it came: the service has signed its thoughts. The system prompt (in
`anthropic.py`), the evidence and the newest results of tools are marked for the prompt cache.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from agent.calls.model_tools import Exchange, Tool
from agent.llm.tool_messages import call_fields, request_correction, turn_json
from agent.state import get_path

#: What a prompt's evidence ends with: see `Excerpt`.
EVIDENCE_END = "</source>"


def text_block(text: str) -> dict[str, Any]:
    """A text as a block of content."""
    return {"type": "text", "text": text}


def mark_cached(block: dict[str, Any]) -> dict[str, Any]:
    """A block up to which the prompt is kept in the service's cache, for five minutes."""
    return {**block, "cache_control": {"type": "ephemeral"}}


def declare_tools(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """The `tools` field of a request."""
    return [
        {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
        for tool in tools
    ]


def build_messages(
    prompt: str, exchanges: Sequence[Exchange], correction: str
) -> list[dict[str, Any]]:
    """The prompt, then each turn as it came with the results of its calls, then a correction."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": _split_prompt(prompt)}]
    for exchange in exchanges:
        messages.append(exchange.turn.verbatim or {})
        messages.append({"role": "user", "content": _result_blocks(exchange)})
    if exchanges:
        *blocks, last = messages[-1]["content"]
        messages[-1]["content"] = [*blocks, mark_cached(last)]
    if correction:
        messages[-1]["content"].append(text_block(request_correction(correction)))
    return messages


def _split_prompt(prompt: str) -> list[dict[str, Any]]:
    """A prompt as blocks: all up to the end of its evidence, which may come again, and the rest."""
    head, mark, rest = prompt.rpartition(EVIDENCE_END)
    if not mark:
        return [text_block(prompt)]
    blocks = [mark_cached(text_block(head + mark))]
    return [*blocks, text_block(rest)] if rest.strip() else blocks


def _result_blocks(exchange: Exchange) -> list[dict[str, Any]]:
    return [
        {"type": "tool_result", "tool_use_id": call.id, "content": result}
        for call, result in zip(exchange.turn.calls, exchange.results, strict=True)
    ]


def extract_turn_json(content: Any) -> str:
    """A reply with its calls, as the JSON of a `Turn`; "" if it has neither text nor a call."""
    calls = [
        call_fields(block["name"], block["id"], block.get("input"))
        for block in _blocks(content, "tool_use")
        if isinstance(block.get("name"), str) and isinstance(block.get("id"), str)
    ]
    return turn_json(calls, join_text(content), {"role": "assistant", "content": content})


def _blocks(content: Any, kind: str) -> list[dict[str, Any]]:
    rows = content if isinstance(content, list) else []
    return [row for row in rows if get_path(row, "type") == kind]


def join_text(content: Any) -> str:
    """The text of a reply without its thoughts."""
    return "".join(str(block.get("text") or "") for block in _blocks(content, "text"))
