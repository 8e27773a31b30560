"""Tools that a model may call in a reply, its calls of them, and their results.

Each turn is one recorded call, whose line in the journal has the exchange before it.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from typing import Any

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from agent.state import Frozen

MAX_CALLS = 64  # in one turn; a reply with more is invalid


class Tool(Frozen):
    """A tool that a model may call; `parameters` is the JSON Schema of its arguments."""

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
        default_factory=list, max_length=MAX_CALLS, description="tools to run; empty when done"
    )
    text: str = ""
    verbatim: SkipJsonSchema[dict[str, Any] | None] = None


class Exchange(Frozen):
    """A turn, the model that made it, and the result of each of its calls."""

    model: str
    turn: Turn
    results: tuple[str, ...]

    @property
    def size(self) -> int:
        """How many characters the results have."""
        return sum(map(len, self.results))

    def shorten(self, share: float) -> Exchange:
        """The exchange with this share of each result's beginning."""
        cut = tuple(result[: int(share * len(result))] for result in self.results)
        return self.model_copy(update={"results": cut})


def render_transcript(exchanges: Iterable[Exchange]) -> str:
    """Exchanges as text, for a model that did not make them, or that cannot call tools."""
    return "\n".join(
        f"{_render_call(call)}\n<result>\n{result}\n</result>"
        for exchange in exchanges
        for call, result in zip(exchange.turn.calls, exchange.results, strict=True)
    )


def describe_tools(tools: Iterable[Tool]) -> str:
    """Tools as text, for a model whose service has no tools."""
    lines = (f"- {t.name}{json.dumps(t.parameters)}: {t.description}" for t in tools)
    return "Tools that you may call:\n" + "\n".join(lines)


def _render_call(call: ToolCall) -> str:
    name = html.escape(call.name, quote=True)
    arguments = html.escape(json.dumps(call.arguments, ensure_ascii=False), quote=False)
    return f'<call tool="{name}">{arguments}</call>'
