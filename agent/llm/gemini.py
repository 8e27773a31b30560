"""Gemini's models: native structured output, validated by us."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agent.calls import Task
from agent.calls.gemini_api import USABLE_REASONS, GeminiConnection, count_tokens
from agent.calls.prices import Price
from agent.errors import ModelFailed
from agent.llm.gemini_messages import (
    build_contents,
    extract_text,
    extract_turn_json,
    response_config,
    thinking_config,
)
from agent.llm.model import (
    MODEL_EXISTS,
    Generation,
    HttpModel,
    describe_problem,
    describe_window,
)
from agent.llm.reply_forms import ReplyForms

if TYPE_CHECKING:
    from google.genai import Client
    from google.genai.types import Content, GenerateContentResponse

#: Finish reasons of the safety filters. With another one that is not usable it is asked again.
BLOCKED = set("SAFETY BLOCKLIST PROHIBITED_CONTENT SPII LANGUAGE IMAGE_SAFETY".split())
#: The correction for a model whose reply was withheld as a copy of a page.
RECITED = "the reply repeated a page at length: copy only a few words in each quote"


class Gemini(HttpModel):
    """One Gemini model."""

    provider = "gemini"
    thinks = True

    def __init__(self, name: str, connection: GeminiConnection, price: Price | None) -> None:
        self.name = name
        self._connection = connection
        self._price = price
        self._takes_thinking = True
        self.forms = ReplyForms("")  # its own, which binds a reply

    def _drop_option(self, task: Task[Any], form: str, refusal: ModelFailed) -> bool:
        refuses = refusal.outcome == "rejected" and task.thinking and "think" in refusal.message
        was, self._takes_thinking = self._takes_thinking, self._takes_thinking and not refuses
        return was and bool(refuses)  # an older or another model: it thinks as it does

    def _generate(self, task: Task[Any], correction: str, form: str) -> Generation:
        extract = extract_turn_json if task.tools else extract_text
        return self._connection.call(
            lambda client: _to_generation(self._send(client, task, correction), extract)
        )

    def probe(self) -> str:
        """Say whether the key works and the model exists; costs nothing. Raises ModelFailed."""
        return MODEL_EXISTS + describe_window(self._connection.probe(self.name))

    def _send(self, client: Client, task: Task[Any], correction: str) -> GenerateContentResponse:
        from google.genai import types

        config = types.GenerateContentConfig(
            system_instruction=task.system_prompt(),
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
            **response_config(task),
            **thinking_config(task.thinking if self._takes_thinking else "", self.name),
        )
        contents = build_contents(task, self.name, correction)
        return client.models.generate_content(model=self.name, contents=contents, config=config)

    def warm(self) -> None:
        """Import the SDK and make the client."""
        self._connection.client()

    def close(self) -> None:
        """Close the connection, which all models of the run share."""
        self._connection.close()


def _to_generation(
    response: GenerateContentResponse, extract: Callable[[Content], str]
) -> Generation:
    candidate = next(iter(response.candidates or ()), None)
    feedback = response.prompt_feedback
    refused = feedback.block_reason if feedback and not candidate else None
    ended = refused or (candidate and candidate.finish_reason)
    reason = str(ended.name) if ended else "STOP"
    is_blocked, is_usable = bool(refused) or reason in BLOCKED, reason in USABLE_REASONS
    content = candidate.content if candidate and is_usable else None
    text = extract(content) if content and content.parts else ""
    is_cut_off = reason == "MAX_TOKENS"
    problem = describe_problem(text, is_cut_off)
    if not is_usable:
        early = RECITED if reason == "RECITATION" else f"the reply ended early ({reason})"
        problem = reason if is_blocked else early
    return Generation(
        text=text,
        problem=problem,
        is_blocked=is_blocked,
        is_cut_off=is_cut_off,
        **count_tokens(response),
    )
