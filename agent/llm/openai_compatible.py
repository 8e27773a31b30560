"""Any server with OpenAI's chat completions: OpenAI, Ollama, llama.cpp, vLLM, LM Studio.

Format: https://platform.openai.com/docs/api-reference/chat. Servers differ in what they accept:
tools, a temperature, streams, and three ways to give a JSON schema (`SCHEMA_FORMS`). An option that
the server refuses by name is left out, for the rest of the run.

Replies are streamed, so that a slow one is waited for and a silent server is not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from agent.errors import ModelFailed
from agent.evidence import estimate_tokens
from agent.llm.conversation import append_transcript, request_correction, split_conversation
from agent.llm.forms import FormLadder
from agent.llm.model import (
    NO_CALL,
    Generation,
    describe_problem,
    describe_window,
    find_reply_limit,
    generation_cost_usd,
)
from agent.llm.openai_stream import is_stream, join_stream
from agent.llm.openai_tools import declare_tools, extract_text, extract_turn_json, replay_messages
from agent.llm.schemas import sent_schema
from agent.outside import Task
from agent.outside.http import Endpoint
from agent.outside.prices import Price
from agent.outside.tools import describe_tools
from agent.state.json_data import get_path

#: The names of the limit on a reply's tokens. Most servers know the first alone, OpenAI's newest
#: models the second.
LIMIT_NAMES = ("max_tokens", "max_completion_tokens")
OPENAI_HOST = "api.openai.com"
#: Where lists of models say the window, in tokens: vLLM, OpenRouter, LM Studio, llama.cpp.
WINDOW_PATHS = (("max_model_len",), ("context_length",), ("max_context_length",), ("meta", "n_ctx"))
SCHEMA_FORMS = ("json_schema", "json_object", "prompt")
#: What a refusal calls the form of the reply.
FORM_WORDS = re.compile(r"format|schema|json|grammar|structured", re.I)
LONGEST_REPLY = 880.0  # seconds for a whole reply, a little less than the chain of models waits
#: Seconds of silence that a server without a key may have at least: it is on a machine of one's
#: own, and reads a prompt of 3,000 tokens for minutes where it has no graphics card.
OWN_SERVER_SILENCE = 300.0


class OpenAICompatible:
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
        self.forms = FormLadder(*SCHEMA_FORMS)
        self._accepts_tools = True  # if not, tools are described in the prompt
        self._accepts_temperature = True
        self._accepts_stream = True
        self._most_reply: int | None = None  # tokens, once a refusal told them
        self.thinks = urlsplit(base_url).hostname == OPENAI_HOST
        self._takes_effort = self.thinks or takes_effort
        self._limit_name = LIMIT_NAMES[self.thinks]
        self._endpoint = Endpoint(
            base_url,
            "OPENAI_BASE_URL" if provider == "openai" else "OPENAI_SERVERS",
            "OPENAI_API_KEY" if provider == "openai" else "OPENAI_SERVER_KEYS",
            secret=key,
            needs_key=False,
            timeout=timeout if key else max(timeout, OWN_SERVER_SILENCE),
            error_class=ModelFailed,
            longest=LONGEST_REPLY,
        )

    def generate(self, task: Task[Any], correction: str) -> Generation:
        """Answer a task. Raises ModelFailed with the outcome of this one try."""
        while True:
            form = self.forms.current  # other threads may change it meanwhile
            try:
                return self._generate(task, correction, form)
            except ModelFailed as error:
                if self._lower_reply_limit(task, error.message):
                    continue
                if error.outcome != "rejected" or not self._drop_option(task, form, error.message):
                    raise

    def _generate(self, task: Task[Any], correction: str, form: str) -> Generation:
        if not (task.tools and self._accepts_tools):
            body = self._build_json_body(task, correction, form)
            generation = _to_generation(body, self._post_chat(body), extract_text)
            return generation.model_copy(update={"form": form})
        body = self._build_tools_body(task, correction)
        generation = _to_generation(body, self._post_chat(body), extract_turn_json)
        if task.exchanges or not _speaks_of_tools(generation.text, task):
            return generation
        self._accepts_tools = False  # it knows them, and cannot call them: the schema will do
        return generation.model_copy(update={"problem": NO_CALL})

    def _lower_reply_limit(self, task: Task[Any], refusal: str) -> bool:
        """Ask for replies as short as the model gives; False if that is not what was refused."""
        limit = find_reply_limit(refusal, self._reply_limit(task))
        self._most_reply = limit or self._most_reply
        return limit is not None

    def _drop_option(self, task: Task[Any], form: str, message: str) -> bool:
        """Leave out an option that the refusal names; False if it names none that was sent."""
        if task.max_reply_tokens and all(name in message for name in LIMIT_NAMES):
            self._limit_name = LIMIT_NAMES[1]
        elif self._takes_effort and task.thinking and "effort" in message:
            self._takes_effort = False
        elif self._accepts_stream and "stream" in message:
            self._accepts_stream = False
        elif task.tools and self._accepts_tools:
            self._accepts_tools = not re.search("tool|function", message, re.I)
            return not self._accepts_tools
        elif self._accepts_temperature and "temperature" in message:
            self._accepts_temperature = False
        else:
            return bool(FORM_WORDS.search(message)) and self.forms.refuse(form)
        return True

    def probe(self) -> str:
        """Say whether the server answers and lists the model; costs nothing. Raises ModelFailed.

        Some servers answer to any model name, so a name that is not listed is no failure. Format:
        https://platform.openai.com/docs/api-reference/models/list.
        """
        endpoint = replace(self._endpoint, timeout=self._timeout, longest=None)
        body = endpoint.call("/models", headers=self._headers())
        named = (self.name, f"{self.name}:latest")  # Ollama adds the tag
        for model in self._endpoint.get_results(body, "data"):
            if model.get("id") in named:
                window = next(filter(None, (get_path(model, *path) for path in WINDOW_PATHS)), None)
                return "the server lists the model" + describe_window(window)
        return "the server answers, but does not list the model"

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._key}"} if self._key else {}

    def _post_chat(self, body: dict[str, Any]) -> dict[str, Any]:
        if self._accepts_stream:
            body = {**body, "stream": True, "stream_options": {"include_usage": True}}
        data = self._endpoint.fetch("/chat/completions", headers=self._headers(), body=body)
        if not is_stream(data):
            return self._endpoint.parse_object(data)
        reply = join_stream(data)
        if reply is None:
            raise self._endpoint.build_error("unavailable", "the reply broke off")
        if "error" in reply:
            raise self._endpoint.error_from_message(reply["error"], "unavailable")
        return reply

    def _build_tools_body(self, task: Task[Any], correction: str) -> dict[str, Any]:
        """A request whose reply may call tools natively."""
        prompt, own_exchanges = split_conversation(task, self.name)
        messages = _opening_messages(task, prompt) + replay_messages(own_exchanges)
        if correction:
            messages.append({"role": "user", "content": request_correction(correction)})
        body = {"model": self.name, "messages": messages, "tools": declare_tools(task.tools)}
        return body | self._limits(task)

    def _build_json_body(self, task: Task[Any], correction: str, form: str) -> dict[str, Any]:
        """A request whose reply is JSON; tools and earlier exchanges are text in the prompt."""
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
        if task.temperature is not None and self._accepts_temperature:
            body["temperature"] = task.temperature
        if form == "json_schema":
            named_schema = {"name": task.name, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named_schema}
        elif form == "json_object":
            body["response_format"] = {"type": "json_object"}
        return body

    def _limits(self, task: Task[Any]) -> dict[str, Any]:
        """The options that bound the tokens of a reply, and say how much to think."""
        limit = self._reply_limit(task)
        level = {"off": "none"}.get(task.thinking, task.thinking)
        bound = {self._limit_name: limit} if limit else {}
        return bound | ({"reasoning_effort": level} if level and self._takes_effort else {})

    def _reply_limit(self, task: Task[Any]) -> int | None:
        return min(filter(None, (task.max_reply_tokens, self._most_reply)), default=None)

    def cost_usd(self, generation: Generation) -> float | None:
        """US dollars; None where the price or the tokens are not known."""
        return generation_cost_usd(self._price, generation)

    def warm(self) -> None:
        """Import what the first call needs."""
        import requests  # noqa: F401

    def close(self) -> None:
        """Do nothing: no connection is held between calls."""


def _opening_messages(task: Task[Any], prompt: str) -> list[dict[str, Any]]:
    return [
        {"role": "system", "content": task.system_prompt()},
        {"role": "user", "content": prompt},
    ]


def _speaks_of_tools(turn: str, task: Task[Any]) -> bool:
    """Whether a turn, as JSON, calls no tool and names one."""
    told = json.loads(turn) if turn else {}
    return not told.get("calls") and any(tool.name in told.get("text", "") for tool in task.tools)


def _to_generation(
    request: dict[str, Any], reply: dict[str, Any], extract: Callable[[Any], str]
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
        **_token_counts(request, reply, message),
    )


def _token_counts(request: dict[str, Any], reply: dict[str, Any], message: Any) -> dict[str, int]:
    """The tokens that a server counted; about as many as there are where it counts none."""
    told = {
        name: get_path(reply, "usage", path)
        for name, path in (
            ("input_tokens", "prompt_tokens"),
            ("output_tokens", "completion_tokens"),
        )
    }
    if all(isinstance(count, int) and count >= 0 for count in told.values()):
        cached = get_path(reply, "usage", "prompt_tokens_details", "cached_tokens")
        is_count = type(cached) is int and 0 <= cached <= told["input_tokens"]
        return told | ({"cache_read_tokens": cached} if is_count else {})
    return {
        "input_tokens": estimate_tokens(json.dumps(request["messages"], ensure_ascii=False)),
        "output_tokens": estimate_tokens(json.dumps(message, ensure_ascii=False)),
    }
