"""Any server with OpenAI's chat completions: OpenAI, Ollama, llama.cpp, vLLM, LM Studio.

Format: https://platform.openai.com/docs/api-reference/chat. Servers differ in how they take a JSON
schema, so three forms are known; one that a server refuses, or whose reply does not validate, is
given up for the next, for the rest of the run.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from agent.errors import ModelFailed
from agent.llm.chain import Generated
from agent.llm.conversation import opening, told
from agent.llm.openai_tools import declared, replayed, turn, without_thoughts
from agent.llm.prices import Price
from agent.llm.schemas import lean
from agent.outside import Task
from agent.outside.http import Endpoint
from agent.outside.tools import in_words
from agent.state.plain import dig

FORMS = ("json_schema", "json_object", "prompt")
AGAIN = "Your last reply could not be used: {}. Answer again."


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
        self._tools = True  # until the server refuses them: then they are told in words
        self._tempered = True  # until the server refuses a temperature
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
                return self._once(task, correction)
            except ModelFailed as error:
                if error.outcome != "rejected" or not self._gives_way(task):
                    raise

    def _once(self, task: Task[Any], correction: str) -> Generated:
        if task.tools and self._tools:
            return _generated(self._call(self._with_tools(task, correction)), turn)
        return _generated(self._call(self._body(task, correction)), _said)

    def _gives_way(self, task: Task[Any]) -> bool:
        """Leave out, for the rest of the run, the next thing that a server may have refused."""
        if task.tools and self._tools:
            self._tools = False
        elif task.temperature is not None and self._tempered:
            self._tempered = False
        elif self._form + 1 < len(FORMS):
            self._form += 1
        else:
            return False
        return True

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

    def _call(self, body: dict[str, Any]) -> dict[str, Any]:
        return self._endpoint.call("/chat/completions", headers=self._headers(), body=body)

    def _with_tools(self, task: Task[Any], correction: str) -> dict[str, Any]:
        prompt, own = opening(task, self.name)
        messages = self._messages(task, prompt, "") + replayed(own)
        if correction:
            messages.append({"role": "user", "content": AGAIN.format(correction)})
        return {"model": self.name, "messages": messages, "tools": declared(task.tools)}

    def _messages(self, task: Task[Any], prompt: str, correction: str) -> list[dict[str, Any]]:
        if correction:
            prompt += "\n\n" + AGAIN.format(correction)
        return [
            {"role": "system", "content": task.system()},
            {"role": "user", "content": prompt},
        ]

    def _body(self, task: Task[Any], correction: str) -> dict[str, Any]:
        form, schema = FORMS[self._form], lean(task.answer.model_json_schema())
        prompt = told(task.prompt(), task.exchanges)
        if task.tools:
            prompt += f"\n\n{in_words(task.tools)}"
        if form != "json_schema":
            prompt += f"\n\nReply with one JSON object of this JSON Schema:\n{json.dumps(schema)}"
        asked: dict[str, Any] = {
            "model": self.name,
            "messages": self._messages(task, prompt, correction),
        }
        if task.temperature is not None and self._tempered:
            asked["temperature"] = task.temperature
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


def _generated(body: dict[str, Any], read: Callable[[Any], str]) -> Generated:
    """A reply; `read` takes what it says out of its message."""
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
    text = read(message)
    problem = "" if text.strip() else "the reply was empty"
    if reason == "length":
        problem = "the reply was cut off at the output limit; be shorter"
    return Generated(text=text, problem=problem, **spent)


def _count(body: dict[str, Any], name: str) -> int:
    count = dig(body, "usage", name)
    return count if isinstance(count, int) and count > 0 else 0


def _said(message: Any) -> str:
    """What a message says, without a reasoning model's thoughts."""
    return without_thoughts(dig(message, "content"))
