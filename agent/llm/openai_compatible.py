"""Any server with OpenAI's chat completions: OpenAI, Ollama, llama.cpp, vLLM, LM Studio.

Format: https://platform.openai.com/docs/api-reference/chat. Servers differ in how they take a JSON
schema, so three forms are known; one that a server refuses, or whose reply does not validate, is
given up for the next, for the rest of the run.
"""

from __future__ import annotations

import json
import re
from typing import Any

from agent.errors import ModelFailed
from agent.foreign import dig
from agent.http import Endpoint
from agent.llm import Generated
from agent.llm.prices import Price
from agent.llm.schemas import lean
from agent.outside import Task

FORMS = ("json_schema", "json_object", "prompt")
_THOUGHT = re.compile(r"<think>.*?(</think>|\Z)", re.S)


class OpenAICompatible:
    """One model of one server. A server on this machine needs no key."""

    provider = "openai"

    def __init__(
        self, name: str, base_url: str, key: str, timeout: float, price: Price | None
    ) -> None:
        self.name = name
        self._key = key
        self._price = price
        self._form = 0
        self._endpoint = Endpoint(
            base_url,
            "OPENAI_BASE_URL",
            "OPENAI_API_KEY" if key else "",
            secret=key,
            timeout=timeout,
            failure=ModelFailed,
        )

    def generate(self, task: Task[Any], correction: str) -> Generated:
        """Answer a task. Raises ModelFailed with the outcome of this one try."""
        if correction and self._form == 0:
            self._form = 1  # the server may have ignored the schema: say it in words
        while True:
            try:
                return _generated(self._send(task, correction))
            except ModelFailed as error:
                if error.outcome != "rejected" or self._form + 1 == len(FORMS):
                    raise
                self._form += 1

    def probe(self) -> str:
        """Whether the server answers and lists the model, in words; costs nothing.

        Some servers answer to any name, so one that is not listed is told, not refused. Raises
        ModelFailed. Format: https://platform.openai.com/docs/api-reference/models/list.
        """
        listed = self._endpoint.call("/models", headers=self._headers())
        names = [row.get("id") for row in self._endpoint.listed(listed, "data")]
        if self.name in names or f"{self.name}:latest" in names:  # Ollama's way to say it
            return "the server lists the model"
        return "the server answers, but does not list the model"

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._key}"} if self._key else {}

    def _send(self, task: Task[Any], correction: str) -> dict[str, Any]:
        return self._endpoint.call(
            "/chat/completions", headers=self._headers(), body=self._body(task, correction)
        )

    def _body(self, task: Task[Any], correction: str) -> dict[str, Any]:
        form, schema = FORMS[self._form], lean(task.answer.model_json_schema())
        prompt = task.prompt()
        if form != "json_schema":
            prompt += f"\n\nReply with one JSON object of this JSON Schema:\n{json.dumps(schema)}"
        if correction:
            prompt += f"\n\nYour last reply could not be used: {correction}. Answer again."
        asked: dict[str, Any] = {
            "model": self.name,
            "messages": [
                {"role": "system", "content": task.system()},
                {"role": "user", "content": prompt},
            ],
        }
        if form == "json_schema":
            named = {"name": task.name, "schema": schema}
            asked["response_format"] = {"type": "json_schema", "json_schema": named}
        elif form == "json_object":
            asked["response_format"] = {"type": "json_object"}
        return asked

    def price(self, generated: Generated) -> float | None:
        """US dollars; None where the price or the tokens are not known."""
        if self._price is None or not generated.input_tokens:
            return None
        return self._price.usd(generated.input_tokens, generated.output_tokens)

    def warm(self) -> None:
        """Import what the first call needs."""
        import requests  # noqa: F401

    def close(self) -> None:
        """Nothing is held between calls."""


def _generated(body: dict[str, Any]) -> Generated:
    spent = {
        "input_tokens": _count(body, "prompt_tokens"),
        "output_tokens": _count(body, "completion_tokens"),
    }
    message = dig(body, "choices", 0, "message")
    reason = dig(body, "choices", 0, "finish_reason")
    if reason == "content_filter" or dig(message, "refusal"):
        raise ModelFailed(
            "The model refused to reply.", "Rephrase the question.", outcome="blocked"
        )
    text = _text(dig(message, "content"))
    problem = "" if text.strip() else "the reply was empty"
    if reason == "length":
        problem = "the reply was cut off at the output limit; be shorter"
    return Generated(text=text, problem=problem, **spent)


def _count(body: dict[str, Any], name: str) -> int:
    count = dig(body, "usage", name)
    return count if isinstance(count, int) and count > 0 else 0


def _text(content: Any) -> str:
    """What a message says, without a reasoning model's thoughts."""
    if isinstance(content, list):
        content = "".join(str(dig(part, "text") or "") for part in content)
    return _THOUGHT.sub("", content) if isinstance(content, str) else ""
