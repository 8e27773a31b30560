"""Gemini through the SDK google-genai: native structured output, validated by us.

The SDK has no total deadline, and its retries ignore `Retry-After`. So `ModelChain` does both, and
the SDK's own retries are off.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from agent.errors import ModelFailed
from agent.llm.gemini_turns import (
    build_contents,
    extract_text,
    extract_turn_json,
    response_config,
    thinking_config,
)
from agent.llm.model import Generation, describe_problem
from agent.llm.prices import Price, generation_cost_usd
from agent.outside import Task
from agent.outside.http import describe_redirect, parse_retry_after
from agent.state import Outcome

if TYPE_CHECKING:
    from google.genai import Client
    from google.genai.errors import APIError
    from google.genai.types import Content, GenerateContentResponse

T = TypeVar("T")

OUTCOME_BY_STATUS: dict[int, Outcome] = {
    401: "bad_key",
    402: "no_credit",
    403: "bad_key",
    404: "not_found",
}
REMEDIES: dict[Outcome, str] = {
    "bad_key": "Check GEMINI_API_KEY.",
    "no_credit": "Check the quota and billing of the Gemini account, or choose another model.",
    "rate_limited": "Wait, or choose another model with GEMINI_MODEL.",
    "not_found": "Check GEMINI_MODEL.",
    "unavailable": "Try again later.",
}
#: What the SDK raises for a body of another shape: it does not check one before it reads it.
UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
#: Seconds to wait for the first request to be sent: the SDK builds its validators then, in 40 ms.
FIRST_REQUEST_WAIT = 0.3
QUOTA_WAIT = 120.0  # seconds; longer than anybody waits: a quota of a day is not waited for
_IS_TOO_LONG = re.compile(r"input token count|exceeds the maximum number of tokens", re.I)
#: Finish reasons: the model called a tool in a way that cannot be parsed.
MALFORMED_CALL = {"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"}
#: Finish reasons with which the reply may be used.
USABLE = {"STOP", "MAX_TOKENS", "FINISH_REASON_UNSPECIFIED"}
#: Finish reasons of the safety filters. With any other reason the model is asked again.
BLOCKED = set("SAFETY BLOCKLIST PROHIBITED_CONTENT SPII LANGUAGE IMAGE_SAFETY".split())
#: What a model is told for other reasons than that it called a tool wrongly.
RECITED = "the reply repeated a page at length: copy only a few words in each quote"


class GeminiConnection:
    """One client for all models of a run, made at the first call: its import takes half a second.

    Only the arguments decide where the key is sent. Other Google variables of the environment
    (Vertex, replay mode) must not redirect it. The proxies of the environment are honoured.
    """

    def __init__(self, key: str, base_url: str, api_version: str, timeout: float) -> None:
        self._key = key
        self._base_url = base_url
        self._api_version = {"beta": "v1beta"}.get(api_version, api_version)
        self._timeout = timeout
        self._lock = threading.Lock()
        self._client: Client | None = None
        self.first_request_sent = threading.Event()

    def client(self) -> Client:
        """The client. It can be shared between threads."""
        with self._lock:
            if self._client is None:
                self._client = self._connect()
            return self._client

    def close(self) -> None:
        """Close the client, if there is one."""
        with self._lock:
            if self._client is not None:
                self._client.close()

    def _connect(self) -> Client:
        import httpx2
        from google.genai import Client, types
        from google.genai.client import DebugConfig

        # one TLS context for the SDK's clients: 20 ms each; a redirect would get the key
        shared = {"verify": httpx2.create_ssl_context(), "follow_redirects": False}
        options = types.HttpOptions(
            base_url=self._base_url or None,
            api_version=self._api_version or None,
            timeout=int(self._timeout * 1000),
            retry_options=types.HttpRetryOptions(attempts=1),
            client_args={**shared, "event_hooks": {"request": [self._mark_sent]}},
            async_client_args=shared,
        )
        no_replay = DebugConfig(client_mode=None, replays_directory=None, replay_id=None)
        return Client(
            api_key=self._key, vertexai=False, http_options=options, debug_config=no_replay
        )

    def _mark_sent(self, _: object) -> None:
        self.first_request_sent.set()

    def redact(self, text: str) -> str:
        """A text without the key."""
        return text.replace(self._key, "[key]") if self._key else text


class Gemini:
    """One Gemini model."""

    provider = "gemini"
    thinks = True

    def __init__(self, name: str, connection: GeminiConnection, price: Price | None) -> None:
        self.name = name
        self._connection = connection
        self._price = price
        self._takes_thinking = True

    def generate(self, task: Task[Any], correction: str) -> Generation:
        """Answer a task. Raises ModelFailed with the outcome of this one try."""
        try:
            return self._generate(task, correction)
        except ModelFailed as error:
            refuses = error.outcome == "rejected" and task.thinking and "think" in error.message
            if not (refuses and self._takes_thinking):
                raise
            self._takes_thinking = False  # an older or another model: it thinks as it does
            return self._generate(task, correction)

    def _generate(self, task: Task[Any], correction: str) -> Generation:
        extract = extract_turn_json if task.tools else extract_text
        return self._call_sdk(
            lambda client: _to_generation(self._send(client, task, correction), extract)
        )

    def probe(self) -> str:
        """Say whether the key works and the model exists; costs nothing. Raises ModelFailed.

        Asks `models.get` of the Gemini API.
        """
        model = self._call_sdk(lambda client: client.models.get(model=self.name))
        if not model.name:
            raise ModelFailed(
                "Gemini answered something else", "Check GOOGLE_GEMINI_BASE_URL.", outcome="invalid"
            )
        if model.supported_actions and "generateContent" not in model.supported_actions:
            raise ModelFailed("it writes no text", REMEDIES["not_found"], outcome="unsupported")
        return "the key works, the model exists"

    def _call_sdk(self, call: Callable[[Client], T]) -> T:
        """The result of a call to the SDK. Its exceptions are translated into ModelFailed."""
        client = self._connection.client()  # first: two threads importing the SDK at once fail
        import httpx2
        from google.genai.errors import APIError

        try:
            return call(client)
        except APIError as error:
            raise self._translate(error) from None
        except httpx2.TimeoutException:
            raise ModelFailed("Gemini timed out", "Try again.", outcome="timeout") from None
        except httpx2.HTTPError as error:
            detail = self._connection.redact(f"Gemini cannot be reached: {error}")
            raise ModelFailed(detail, "Check the network.", outcome="unavailable") from None
        except UNREADABLE as error:  # the body is not JSON, or not in Gemini's format
            detail = self._connection.redact(f"Gemini answered something else: {error}")[:300]
            remedy = "Check GOOGLE_GEMINI_BASE_URL."
            raise ModelFailed(detail, remedy, outcome="unavailable") from None

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

    def _translate(self, error: APIError) -> ModelFailed:
        outcome, remedy = _outcome_of(error), ""
        said = f"{error.code} {error.message or error.status}"
        if error.code and 300 <= error.code < 400:
            said = f"HTTP {error.code}, {describe_redirect(_headers_of(error).get('location'))}"
            remedy = "Set GOOGLE_GEMINI_BASE_URL to the address that answers."
        detail = self._connection.redact(f"Gemini: {said}")
        return ModelFailed(
            detail[:300],
            REMEDIES.get(outcome, remedy),
            outcome=outcome,
            retry_after=_retry_after_of(error),
        )

    def warm(self) -> None:
        """Import the SDK and make the client; wait until the first request is sent, if one is."""
        self._connection.client()
        self._connection.first_request_sent.wait(FIRST_REQUEST_WAIT)

    def close(self) -> None:
        """Close the connection, which all models of the run share."""
        self._connection.close()

    def cost_usd(self, generation: Generation) -> float | None:
        """US dollars; None where the price or the tokens are not known."""
        return generation_cost_usd(self._price, generation)


def _to_generation(
    response: GenerateContentResponse, extract: Callable[[Content], str]
) -> Generation:
    """A response as a generation; `extract` takes the text out of its content."""
    usage = response.usage_metadata
    token_counts = {
        "input_tokens": (usage and usage.prompt_token_count) or 0,
        "output_tokens": ((usage and usage.candidates_token_count) or 0)
        + ((usage and usage.thoughts_token_count) or 0),
    }
    candidates = response.candidates or []
    if not candidates:
        feedback = response.prompt_feedback
        if feedback and feedback.block_reason:
            reason = str(feedback.block_reason.name)
            return Generation(text="", problem=reason, is_blocked=True, **token_counts)
        return Generation(text="", problem="the reply was empty", **token_counts)
    candidate = candidates[0]
    reason = candidate.finish_reason.name if candidate.finish_reason else "STOP"
    if reason in MALFORMED_CALL:
        return Generation(text="", problem="the call of a tool was malformed", **token_counts)
    if reason in BLOCKED:
        return Generation(text="", problem=reason, is_blocked=True, **token_counts)
    if reason not in USABLE:
        problem = RECITED if reason == "RECITATION" else f"the reply ended early ({reason})"
        return Generation(text="", problem=problem, **token_counts)
    text = extract(candidate.content) if candidate.content and candidate.content.parts else ""
    is_cut_off = reason == "MAX_TOKENS"
    problem = describe_problem(text, is_cut_off)
    return Generation(text=text, problem=problem, is_cut_off=is_cut_off, **token_counts)


def _outcome_of(error: APIError) -> Outcome:
    if error.code == 400 and "API_KEY_INVALID" in str(error.details):
        return "bad_key"
    if error.code == 400 and _IS_TOO_LONG.search(error.message or ""):
        return "too_long"
    if error.code == 429:
        said = str(error.details)
        # the quota of one model is no other model's: the next one is asked, at once
        return "no_credit" if "PerDay" in said and "PerModel" not in said else "rate_limited"
    if error.code in (408, 504):
        return "timeout"
    if error.code and error.code >= 500:
        return "unavailable"
    return OUTCOME_BY_STATUS.get(error.code or 0, "rejected")


def _headers_of(error: APIError) -> Mapping[str, str]:
    return getattr(error.response, "headers", None) or {}


def _retry_after_of(error: APIError) -> float | None:
    """Seconds to wait, from `Retry-After` (seconds or a date), else from google.rpc.RetryInfo."""
    if error.code == 429 and "PerDay" in str(error.details):
        return QUOTA_WAIT
    from_header = parse_retry_after(_headers_of(error).get("retry-after"), time.time())
    if from_header is not None:
        return from_header
    return parse_retry_after(
        (_find_retry_delay(error.details) or "").removesuffix("s"), time.time()
    )


def _find_retry_delay(details: Any) -> str | None:
    """The `retryDelay` of an error body, as in `"retryDelay": "30s"`."""
    body = details.get("error", details) if isinstance(details, dict) else {}
    entries = body.get("details") if isinstance(body, dict) else None
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("retryDelay"), str):
            return str(entry["retryDelay"])
    return None
