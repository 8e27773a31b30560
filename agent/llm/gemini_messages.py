"""Gemini's messages in the types of its SDK: the request's contents, and what a reply holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent.calls import Task, Thinking
from agent.calls.model_tools import Exchange
from agent.llm.schemas import sent_schema
from agent.llm.tool_messages import (
    call_fields,
    request_correction,
    split_conversation,
    turn_json,
)

if TYPE_CHECKING:
    from google.genai.types import Content, Part


#: Tokens of thinking of the models before Gemini 3, which know no levels.
BUDGETS = {"off": 0, "low": 1024, "medium": 8192, "high": 24_576}


def response_config(task: Task[Any]) -> dict[str, Any]:
    """The options that say what a reply may be: calls of tools, or JSON of a schema.

    No temperature is set: Gemini 3 is made for its default, and may repeat itself for ever below
    it.
    """
    from google.genai import types

    limit = {"max_output_tokens": task.max_reply_tokens} if task.max_reply_tokens else {}
    if not task.tools:
        schema = sent_schema(task.answer_type)
        return {"response_mime_type": "application/json", "response_json_schema": schema, **limit}
    declarations = [
        types.FunctionDeclaration(
            name=tool.name, description=tool.description, parameters_json_schema=tool.parameters
        )
        for tool in task.tools
    ]
    return {"tools": [types.Tool(function_declarations=declarations)], **limit}


def thinking_config(level: Thinking, model: str) -> dict[str, Any]:
    """The option that says how much to think. Gemini 3 always thinks, its lite models hardly.

    Source: https://ai.google.dev/gemini-api/docs/thinking. A level and a budget together, and
    `minimal` for a model that is not lite, are refused.
    """
    if not level:
        return {}
    if "gemini-2." in model:
        return {"thinking_config": {"thinking_budget": BUDGETS[level]}}
    least = "minimal" if "lite" in model else "low"
    return {"thinking_config": {"thinking_level": {"off": least}.get(level, level)}}


def build_contents(task: Task[Any], model: str, correction: str) -> list[Content]:
    """The prompt and the exchanges so far: this model's own as they came, others as text.

    A turn must go back with its thought signatures, else Gemini 3 answers 400. Another model
    cannot use them.
    """
    from google.genai import types

    prompt, own_exchanges = split_conversation(task, model)
    contents = [types.Content(role="user", parts=[types.Part(text=prompt)])]
    for exchange in own_exchanges:
        contents.append(types.Content.model_validate(exchange.turn.verbatim))
        contents.append(types.Content(role="user", parts=_result_parts(exchange)))
    if correction:
        part = types.Part(text=f"\n\n{request_correction(correction)}")
        last = contents[-1]
        contents[-1] = last.model_copy(update={"parts": [*(last.parts or ()), part]})
    return contents


def _result_parts(exchange: Exchange) -> list[Part]:
    from google.genai import types

    return [
        types.Part(
            function_response=types.FunctionResponse(
                id=call.id or None, name=call.name, response={"result": result}
            )
        )
        for call, result in zip(exchange.turn.calls, exchange.results, strict=True)
    ]


def extract_text(content: Content) -> str:
    """The text of a reply, without the model's thoughts."""
    return "".join(part.text or "" for part in content.parts or () if not part.thought)


def extract_turn_json(content: Content) -> str:
    """A reply with its calls of tools, as the JSON of a `Turn`."""
    calls = [part.function_call for part in content.parts or () if part.function_call]
    calls_made = [call_fields(call.name or "", call.id or "", call.args or {}) for call in calls]
    verbatim = content.model_dump(mode="json", by_alias=True, exclude_none=True)
    return turn_json(calls_made, extract_text(content), verbatim)
