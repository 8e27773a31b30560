"""Tools: what a model may call in a reply, what it called, and what it was told.

A model asks by name and arguments; it never runs anything itself. Each turn is one recorded call,
and the exchanges so far are part of the next request, so resume and replay know nothing of them.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from typing import Any

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from agent.state import Frozen

MOST_CALLS = 64  # of one turn; a reply with more is no usable reply


class Tool(Frozen):
    """Something that a model may call; `parameters` is the JSON Schema of its arguments."""

    name: str
    description: str
    parameters: dict[str, Any]


class ToolCall(Frozen):
    """One call of a tool. `fault` says why its arguments could not be read."""

    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    id: SkipJsonSchema[str] = ""
    fault: SkipJsonSchema[str] = ""


class Turn(Frozen):
    """What a model replied: calls, or none when it is done.

    `verbatim` is the reply in its service's own form, which must go back as it came.
    """

    calls: list[ToolCall] = Field(
        default_factory=list, max_length=MOST_CALLS, description="tools to run; empty when done"
    )
    text: str = ""
    verbatim: SkipJsonSchema[dict[str, Any] | None] = None


class Exchange(Frozen):
    """A turn, the model whose it was, and what each of its calls was answered."""

    model: str
    turn: Turn
    results: tuple[str, ...]


def transcript(exchanges: Iterable[Exchange]) -> str:
    """Exchanges as text, for a model that did not make them or that cannot call tools."""
    return "\n".join(
        f"<call tool={_quoted(call.name)}>{_escaped(call)}</call>\n<result>\n{result}\n</result>"
        for exchange in exchanges
        for call, result in zip(exchange.turn.calls, exchange.results, strict=True)
    )


def in_words(tools: Iterable[Tool]) -> str:
    """Tools as text, for a model whose service does not take them."""
    lines = (f"- {t.name}{json.dumps(t.parameters)}: {t.description}" for t in tools)
    return "Tools that you may call:\n" + "\n".join(lines)


def _quoted(name: str) -> str:
    return f'"{html.escape(name, quote=True)}"'


def _escaped(call: ToolCall) -> str:
    return html.escape(json.dumps(call.arguments, ensure_ascii=False), quote=False)
