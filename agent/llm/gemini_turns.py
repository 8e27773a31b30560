"""What is said to Gemini and what it says, as its SDK has it: prompts, turns, replies."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from agent.llm.conversation import opening
from agent.llm.schemas import lean
from agent.outside import Task
from agent.outside.tools import Exchange

if TYPE_CHECKING:
    from google.genai.types import Content, Part


def form(task: Task[Any]) -> dict[str, Any]:
    """What a reply may be: calls of tools, or JSON of a schema.

    No temperature: Gemini 3 is made for its default, and may repeat itself for ever below that.
    """
    from google.genai import types

    if not task.tools:
        schema = lean(task.answer.model_json_schema())
        return {"response_mime_type": "application/json", "response_json_schema": schema}
    declared = [
        types.FunctionDeclaration(
            name=tool.name, description=tool.description, parameters_json_schema=tool.parameters
        )
        for tool in task.tools
    ]
    return {"tools": [types.Tool(function_declarations=declared)]}


def contents(task: Task[Any], model: str, correction: str) -> list[Content]:
    """The prompt, and the turns so far: this model's own as they came, another's as text.

    A turn's thought signatures must come back with it, else Gemini 3 answers 400, and they are
    worth nothing to another model.
    """
    from google.genai import types

    prompt, own = opening(task, model)
    told = [types.Content(role="user", parts=[types.Part(text=prompt)])]
    for exchange in own:
        told.append(types.Content.model_validate(exchange.turn.verbatim))
        told.append(types.Content(role="user", parts=_results(exchange)))
    if correction:
        again = f"Your last reply could not be used: {correction}. Answer again."
        told[-1] = told[-1].model_copy(
            update={"parts": [*(told[-1].parts or ()), types.Part(text=f"\n\n{again}")]}
        )
    return told


def _results(exchange: Exchange) -> list[Part]:
    from google.genai import types

    return [
        types.Part(
            function_response=types.FunctionResponse(
                id=call.id or None, name=call.name, response={"result": result}
            )
        )
        for call, result in zip(exchange.turn.calls, exchange.results, strict=True)
    ]


def text_of(content: Content) -> str:
    """What a reply says, without its thoughts."""
    return "".join(part.text or "" for part in content.parts or () if not part.thought)


def turn_of(content: Content) -> str:
    """A reply with its calls, as JSON of a `Turn`."""
    called = [part.function_call for part in content.parts or () if part.function_call]
    return json.dumps(
        {
            "calls": [
                {"name": call.name or "", "arguments": call.args or {}, "id": call.id or ""}
                for call in called
            ],
            "text": text_of(content),
            "verbatim": content.model_dump(mode="json", by_alias=True, exclude_none=True)
            if called
            else None,
        }
    )
