"""Claude through Anthropic's Messages API: native structured output and tools, over plain HTTP.

Formats: https://platform.claude.com/docs/en/api/messages,
https://platform.claude.com/docs/en/build-with-claude/structured-outputs,
https://platform.claude.com/docs/en/build-with-claude/prompt-caching. The newest models refuse a
temperature, so none is sent.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from agent.calls import Task
from agent.calls.http import Endpoint
from agent.calls.prices import Price
from agent.errors import ModelFailed
from agent.llm.anthropic_messages import (
    build_messages,
    declare_tools,
    extract_turn_json,
    join_text,
    mark_cached,
    text_block,
)
from agent.llm.model import (
    MAX_TOKENS,
    MODEL_EXISTS,
    Generation,
    HttpModel,
    describe_problem,
    describe_window,
    find_reply_limit,
)
from agent.llm.reply_forms import ReplyForms
from agent.llm.schemas import sent_schema, strict_schema
from agent.llm.tool_messages import append_transcript, split_conversation
from agent.state import get_path

API_VERSION = "2023-06-01"
#: Of a reply, thoughts included, where the task sets no limit: the API demands one.
MAX_REPLY_TOKENS = 16_000
#: How JSON is asked for, the best first: the schema binds the reply, or it is in the prompt.
SCHEMA_FORMS = ("format", "prompt")
#: Words of a refusal that name the way in which JSON was asked for.
FORM_WORDS = ("output_config", "output_format", "schema", "structured", "grammar")
#: Stop reasons with which a reply is not whole.
CUT_OFF = {"max_tokens", "model_context_window_exceeded"}


class Anthropic(HttpModel):
    """One model of Anthropic, or of a gateway that speaks its protocol."""

    provider = "anthropic"
    thinks = True

    def __init__(
        self, name: str, base_url: str, key: str, timeout: float, price: Price | None
    ) -> None:
        self.name = name
        self._price = price
        self.forms = ReplyForms(*SCHEMA_FORMS)
        self._takes_effort = True
        self._most_reply = MAX_TOKENS  # of the model, once a refusal named them
        self._replays_turns = True  # if not, earlier turns are sent as text
        headers = {"x-api-key": key, "anthropic-version": API_VERSION}
        endpoint = Endpoint(
            base_url,
            "ANTHROPIC_BASE_URL",
            "ANTHROPIC_API_KEY",
            model_name="ANTHROPIC_MODEL",
            secret=key,
            timeout=timeout,
            error_class=ModelFailed,
        )
        self._send = partial(endpoint.call, headers=headers)

    def _generate(self, task: Task[Any], correction: str, form: str) -> Generation:
        if task.tools:
            body = self._tools_body(task, correction)
            return _to_generation(self._send("/v1/messages", body=body), extract_turn_json)
        body = self._json_body(task, correction, form)
        generation = _to_generation(self._send("/v1/messages", body=body), join_text)
        return generation.model_copy(update={"form": form})

    def _drop_option(self, task: Task[Any], form: str, refusal: ModelFailed) -> bool:
        text = refusal.message.lower()
        if refusal.outcome != "rejected":
            return False
        if limit := find_reply_limit(text, self._reply_limit(task)):
            self._most_reply = limit
        elif task.thinking and self._takes_effort and ("effort" in text or "disabled" in text):
            self._takes_effort = False  # a model that always thinks alike
        elif task.exchanges and self._replays_turns and "thinking" in text:
            self._replays_turns = False  # thoughts go back only to the very same conversation
        else:
            is_named = not task.tools and any(word in text for word in FORM_WORDS)
            return is_named and self.forms.refuse(form)
        return True

    def _tools_body(self, task: Task[Any], correction: str) -> dict[str, Any]:
        if self._replays_turns:
            prompt, own_exchanges = split_conversation(task, self.name)
        else:
            prompt, own_exchanges = append_transcript(task.prompt(), task.exchanges), []
        messages = build_messages(prompt, own_exchanges, correction)
        return self._body(task, messages) | {"tools": declare_tools(task.tools)}

    def _json_body(self, task: Task[Any], correction: str, form: str) -> dict[str, Any]:
        schema = strict_schema(sent_schema(task.answer_type))
        prompt = append_transcript(task.prompt(), task.exchanges)
        if form == "prompt":
            prompt += f"\n\nReply with one JSON object of this JSON Schema:\n{json.dumps(schema)}"
        body = self._body(task, build_messages(prompt, [], correction))
        if form == "format":
            bound = {"format": {"type": "json_schema", "schema": schema}}
            body["output_config"] = body.get("output_config", {}) | bound
        return body

    def _body(self, task: Task[Any], messages: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "model": self.name,
            "max_tokens": self._reply_limit(task),
            "system": [mark_cached(text_block(task.system_prompt()))],
            "messages": messages,
            **self._thinking(task),
        }

    def _reply_limit(self, task: Task[Any]) -> int:
        return min(task.max_reply_tokens or MAX_REPLY_TOKENS, self._most_reply)

    def _thinking(self, task: Task[Any]) -> dict[str, Any]:
        """The options that say how much to think.

        Format: https://platform.claude.com/docs/en/build-with-claude/effort.
        """
        if not task.thinking or not self._takes_effort:
            return {}
        if task.thinking == "off":
            return {"thinking": {"type": "disabled"}}
        return {"output_config": {"effort": task.thinking}}

    def probe(self) -> str:
        """Say whether the key works and the model exists; costs nothing. Raises ModelFailed.

        Format: https://platform.claude.com/docs/en/api/models/retrieve.
        """
        model = self._send(f"/v1/models/{self.name}")
        return MODEL_EXISTS + describe_window(model.get("max_input_tokens"))


def _to_generation(body: dict[str, Any], extract: Callable[[Any], str]) -> Generation:
    stop_reason = body.get("stop_reason")
    is_cut_off, is_blocked = stop_reason in CUT_OFF, stop_reason == "refusal"
    text = extract(body.get("content"))
    read, written = (
        _token_count(body, name)
        for name in ("cache_read_input_tokens", "cache_creation_input_tokens")
    )
    return Generation(
        text=text,
        problem="refusal" if is_blocked else describe_problem(text, is_cut_off),
        is_blocked=is_blocked,
        is_cut_off=is_cut_off,
        input_tokens=_token_count(body, "input_tokens") + read + written,
        output_tokens=_token_count(body, "output_tokens"),
        cache_read_tokens=read,
        cache_write_tokens=written,
    )


def _token_count(body: dict[str, Any], name: str) -> int:
    count = get_path(body, "usage", name)
    return count if type(count) is int and count > 0 else 0
