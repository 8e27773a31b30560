"""Any server with OpenAI's chat completions: OpenAI, Ollama, llama.cpp, vLLM, LM Studio.

Format: https://platform.openai.com/docs/api-reference/chat. An option that the server refuses by
name is left out for the rest of the run. Replies are streamed: a slow one is waited for, a silent
server is not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from agent.calls import Task
from agent.calls.http import Endpoint, find_error_message
from agent.calls.model_tools import describe_tools
from agent.calls.prices import Price
from agent.errors import ModelFailed
from agent.evidence import estimate_tokens
from agent.llm.model import (
    NO_CALL,
    Generation,
    HttpModel,
    describe_problem,
    describe_window,
    find_reply_limit,
)
from agent.llm.openai_stream import is_stream, join_stream
from agent.llm.openai_tools import declare_tools, extract_text, extract_turn_json, replay_messages
from agent.llm.reply_forms import ReplyForms
from agent.llm.schemas import sent_schema
from agent.llm.tool_messages import append_transcript, request_correction, split_conversation
from agent.state import get_objects, get_path

#: The names of the limit on a reply's tokens. Most servers know the first alone, OpenAI's newest
#: models the second.
LIMIT_NAMES = ("max_tokens", "max_completion_tokens")
OPENAI_HOST = "api.openai.com"
#: Where lists of models say the window, in tokens: vLLM, OpenRouter, LM Studio, llama.cpp.
WINDOW_PATHS = (("max_model_len",), ("context_length",), ("max_context_length",), ("meta", "n_ctx"))
SCHEMA_FORMS = ("json_schema", "json_object", "prompt")
#: What a refusal calls an option, and the form of the reply. Tools are then in the prompt.
OPTION_WORDS = {
    "effort": "effort",
    "stream": "stream",
    "tools": "tool|function",
    "temperature": "temperature",
}
FORM_WORDS = re.compile(r"format|schema|json|grammar|structured", re.I)
LONGEST_REPLY = 880.0  # seconds for a whole reply, a little less than the chain of models waits
#: Seconds of silence that a server of one's own may have at least: without a graphics card it is
#: slow.
OWN_SERVER_SILENCE = 300.0


class OpenAICompatible(HttpModel):
    """One model of one server. A server on this machine needs no key."""

    streams = True

    def __init__(
        self,
        name: str,
        base_url: str,
        key: str,
        timeout: float,
        price: Price | None,
        takes_effort: bool = False,
        provider: str = "openai",
    ) -> None:
        """`takes_effort`: the server knows `reasoning_effort`, as OpenAI's own does.

        `provider`: the server's name among OPENAI_SERVERS, or `openai`: that of OPENAI_BASE_URL.
        """
        self.provider = provider
        self.name = name
        self._key = key
        self._timeout = timeout
        self._price = price
        self.forms = ReplyForms(*SCHEMA_FORMS)
        self._most_reply: int | None = None  # tokens, once a refusal named them
        self.thinks = urlsplit(base_url).hostname == OPENAI_HOST
        self._options = set(OPTION_WORDS) - (set() if self.thinks or takes_effort else {"effort"})
        self._limit_name = LIMIT_NAMES[self.thinks]
        base_url = base_url.rstrip("/").removesuffix("/chat/completions")
        is_main = provider == "openai"
        url_name = "OPENAI_BASE_URL" if is_main else "OPENAI_SERVERS"
        hint = "" if re.search(r"/v\d", base_url) else f" (most servers want /v1: {base_url}/v1)"
        self._endpoint = Endpoint(
            base_url,
            url_name + hint,
            "OPENAI_API_KEY" if is_main else "OPENAI_SERVER_KEYS",
            model_name="OPENAI_MODEL" if is_main else "the model of --llm",
            secret=key,
            needs_key=False,
            timeout=timeout if key else max(timeout, OWN_SERVER_SILENCE),
            error_class=ModelFailed,
            longest=LONGEST_REPLY,
        )

    def _generate(self, task: Task[Any], correction: str, form: str) -> Generation:
        if not (task.tools and "tools" in self._options):
            body = self._build_json_body(task, correction, form)
            generation = read_generation(body, self._post_chat(body))
            return generation.model_copy(update={"form": form})
        body = self._build_tools_body(task, correction)
        generation = read_generation(body, self._post_chat(body), extract_turn_json)
        if task.exchanges or not _speaks_of_tools(generation.text, task):
            return generation
        self._options -= {"tools"}  # it writes of them, and calls none: the schema will do
        return generation.model_copy(update={"problem": NO_CALL})

    def _drop_option(self, task: Task[Any], form: str, refusal: ModelFailed) -> bool:
        message = refusal.message
        if limit := find_reply_limit(message, self._reply_limit(task)):
            self._most_reply = limit
            return True
        if refusal.outcome != "rejected":
            return False
        if LIMIT_NAMES[0] in message and self._limit_name == LIMIT_NAMES[0]:
            self._limit_name = LIMIT_NAMES[1]
            return True
        for option in sorted(self._options):
            if re.search(OPTION_WORDS[option], message, re.I):
                self._options -= {option}
                return True
        return bool(FORM_WORDS.search(message)) and self.forms.refuse(form)

    def probe(self) -> str:
        """Say whether the server answers and lists the model; costs nothing. Raises ModelFailed.

        Some servers answer to any model name, so a name that is not listed is no failure. Format:
        https://platform.openai.com/docs/api-reference/models/list.
        """
        endpoint = replace(self._endpoint, timeout=self._timeout, longest=None)
        body = endpoint.call("/models", headers=self._headers())
        rows = self._endpoint.get_results(body, "data")
        with suppress(ModelFailed):  # Ollama alone names the window there, of loaded models
            base = endpoint.base_url.removesuffix("/v1")
            loaded = replace(endpoint, base_url=base).call("/api/ps", headers=self._headers())
            rows = get_objects(loaded, "models") + rows
        named = (self.name, f"{self.name}:latest")  # Ollama adds the tag
        for model in rows:
            if model.get("id", model.get("model")) in named:
                window = next(filter(None, (get_path(model, *path) for path in WINDOW_PATHS)), None)
                return "the server lists the model" + describe_window(window)
        return "the server answers, but does not list the model"

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._key}"} if self._key else {}

    def _post_chat(self, body: dict[str, Any]) -> dict[str, Any]:
        if "stream" in self._options:
            body = {**body, "stream": True, "stream_options": {"include_usage": True}}
        data = self._endpoint.fetch("/chat/completions", headers=self._headers(), body=body)
        reply = join_stream(data) if is_stream(data) else self._endpoint.parse_object(data)
        if reply is None:
            raise self._endpoint.build_error("unavailable", "the reply broke off")
        if error := reply.get("error") or get_path(reply, "choices", 0, "error"):
            raise self._endpoint.error_from_message({"error": error}, "unavailable")
        if "choices" not in reply and find_error_message(reply):
            raise self._endpoint.error_from_message(reply, "unavailable")
        return reply

    def _build_tools_body(self, task: Task[Any], correction: str) -> dict[str, Any]:
        prompt, own_exchanges = split_conversation(task, self.name)
        messages = _opening_messages(task, prompt) + replay_messages(own_exchanges)
        if correction:
            messages.append({"role": "user", "content": request_correction(correction)})
        body = {"model": self.name, "messages": messages, "tools": declare_tools(task.tools)}
        return body | self._limits(task)

    def _build_json_body(self, task: Task[Any], correction: str, form: str) -> dict[str, Any]:
        schema = sent_schema(task.answer_type)
        prompt = append_transcript(task.prompt(), task.exchanges)
        if task.tools:
            prompt += f"\n\n{describe_tools(task.tools)}"
        if form != "json_schema":
            prompt += f"\n\nReply with one JSON object of this JSON Schema:\n{json.dumps(schema)}"
        if correction:
            prompt += f"\n\n{request_correction(correction)}"
        body: dict[str, Any] = {"model": self.name, "messages": _opening_messages(task, prompt)}
        body |= self._limits(task)
        if task.temperature is not None and "temperature" in self._options:
            body["temperature"] = task.temperature
        if form == "json_schema":
            named_schema = {"name": task.name, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named_schema}
        elif form == "json_object":
            body["response_format"] = {"type": "json_object"}
        return body

    def _limits(self, task: Task[Any]) -> dict[str, Any]:
        limit = self._reply_limit(task)
        level = {"off": "none"}.get(task.thinking, task.thinking)
        bound = {self._limit_name: limit} if limit else {}
        return bound | ({"reasoning_effort": level} if level and "effort" in self._options else {})

    def _reply_limit(self, task: Task[Any]) -> int | None:
        return min(filter(None, (task.max_reply_tokens, self._most_reply)), default=None)


def _opening_messages(task: Task[Any], prompt: str) -> list[dict[str, Any]]:
    return [
        {"role": "system", "content": task.system_prompt()},
        {"role": "user", "content": prompt},
    ]


def _speaks_of_tools(turn: str, task: Task[Any]) -> bool:
    reply = json.loads(turn) if turn else {}
    return not reply.get("calls") and any(tool.name in reply.get("text", "") for tool in task.tools)


def read_generation(
    request: dict[str, Any], reply: dict[str, Any], extract: Callable[[Any], str] = extract_text
) -> Generation:
    """A reply as a generation; `extract` takes the text out of its message."""
    message = get_path(reply, "choices", 0, "message")
    finish_reason = get_path(reply, "choices", 0, "finish_reason")
    is_cut_off = finish_reason == "length"
    text = extract(message)
    refusal = get_path(message, "refusal") or (finish_reason == "content_filter" and finish_reason)
    return Generation(
        text=text,
        problem=str(refusal) if refusal else describe_problem(text, is_cut_off),
        is_blocked=bool(refusal),
        is_cut_off=is_cut_off,
        prompt_chars=sum(len(str(message["content"] or "")) for message in request["messages"]),
        usd=_read_cost(reply),
        **_token_counts(request, reply, message),
    )


def _read_cost(reply: dict[str, Any]) -> float | None:
    cost = get_path(reply, "usage", "cost")
    return float(cost) if type(cost) in (int, float) and cost >= 0 else None


def _token_counts(request: dict[str, Any], reply: dict[str, Any], message: Any) -> dict[str, int]:
    paths = ("prompt_tokens",), ("completion_tokens",), ("prompt_tokens_details", "cached_tokens")
    read, written, cached = (get_path(reply, "usage", *path) for path in paths)
    if type(read) is not int or type(written) is not int:
        parts = request["messages"], message
        read, written = (estimate_tokens(json.dumps(one, ensure_ascii=False)) for one in parts)
    cached = cached if type(cached) is int and 0 <= cached <= read else 0
    return {"input_tokens": read, "output_tokens": written, "cache_read_tokens": cached}
