"""Gemini through google-genai: native structured output, validated by us.

The SDK has no total deadline and its retries ignore `Retry-After`, so both are ours (`Models`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from agent.errors import ModelFailed
from agent.llm.chain import Generated
from agent.llm.gemini_turns import contents, form, text_of, turn_of
from agent.llm.prices import Price
from agent.outside import Task
from agent.outside.http import retry_after
from agent.state import Outcome

if TYPE_CHECKING:
    from google.genai import Client
    from google.genai.errors import APIError
    from google.genai.types import Content, GenerateContentResponse

T = TypeVar("T")

OUTCOMES: dict[int, Outcome] = {401: "bad_key", 402: "no_credit", 403: "bad_key", 404: "not_found"}
REMEDIES: dict[Outcome, str] = {
    "bad_key": "Check GEMINI_API_KEY.",
    "no_credit": "Check the quota and billing of the Gemini account, or choose another model.",
    "rate_limited": "Wait, or choose another model with GEMINI_MODEL.",
    "not_found": "Check GEMINI_MODEL.",
    "unavailable": "Try again later.",
}
FIRST_CALL = 0.3  # seconds: the SDK builds its validators at the first call, for some 40 ms
MISCALLED = {"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"}
SAFE = {"STOP", "MAX_TOKENS", "FINISH_REASON_UNSPECIFIED"}


class Connection:
    """One client for all models of a run, made at the first call: the import takes half a second.

    Only what is given here decides where the key goes: other Google variables of the shell (Vertex,
    replay mode) must not redirect it. The proxies of the environment are honoured.
    """

    def __init__(self, key: str, base_url: str, api_version: str, timeout: float) -> None:
        self._key = key
        self._base_url = base_url
        self._api_version = {"beta": "v1beta"}.get(api_version, api_version)
        self._timeout = timeout
        self._lock = threading.Lock()
        self._client: Client | None = None
        self.sent = threading.Event()  # the first request is on its way

    def client(self) -> Client:
        """The client, which is safe to share between threads."""
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

        trust = httpx2.create_ssl_context()  # one for all of the SDK's clients: 20 ms each
        options = types.HttpOptions(
            base_url=self._base_url or None,
            api_version=self._api_version or None,
            timeout=int(self._timeout * 1000),
            retry_options=types.HttpRetryOptions(attempts=1),
            client_args={"verify": trust, "event_hooks": {"request": [self._note]}},
            async_client_args={"verify": trust},
        )
        live = DebugConfig(client_mode=None, replays_directory=None, replay_id=None)
        return Client(api_key=self._key, vertexai=False, http_options=options, debug_config=live)

    def _note(self, _: object) -> None:
        self.sent.set()

    def redact(self, text: str) -> str:
        """A text without the key."""
        return text.replace(self._key, "[key]") if self._key else text


class Gemini:
    """One Gemini model."""

    provider = "gemini"

    def __init__(self, name: str, connection: Connection, price: Price | None) -> None:
        self.name = name
        self._connection = connection
        self._price = price

    def generate(self, task: Task[Any], correction: str) -> Generated:
        """Answer a task. Raises ModelFailed with the outcome of this one try."""
        read = turn_of if task.tools else text_of
        return self._told(lambda client: _generated(self._send(client, task, correction), read))

    def probe(self) -> str:
        """Whether the key works and the model exists, in words; costs nothing. Raises ModelFailed.

        Asks `models.get` of the Gemini API.
        """
        found = self._told(lambda client: client.models.get(model=self.name))
        if not found.name:
            raise ModelFailed(
                "Gemini answered something else", "Check GOOGLE_GEMINI_BASE_URL.", outcome="invalid"
            )
        if found.supported_actions and "generateContent" not in found.supported_actions:
            raise ModelFailed("it writes no text", REMEDIES["not_found"], outcome="unsupported")
        return "the key works, the model exists"

    def _told(self, call: Callable[[Client], T]) -> T:
        """What a call to the SDK gives, with its failures as ours."""
        client = self._connection.client()  # first: two threads importing the SDK at once fail
        import httpx2
        from google.genai.errors import APIError

        try:
            return call(client)
        except APIError as error:
            raise self._refusal(error) from None
        except httpx2.TimeoutException:
            raise ModelFailed("Gemini timed out", "Try again.", outcome="timeout") from None
        except httpx2.HTTPError as error:
            detail = self._connection.redact(f"Gemini cannot be reached: {error}")
            raise ModelFailed(detail, "Check the network.", outcome="unavailable") from None
        except ValueError as error:  # a body that is not JSON, or not Gemini's
            detail = self._connection.redact(f"Gemini answered something else: {error}")[:300]
            remedy = "Check GOOGLE_GEMINI_BASE_URL."
            raise ModelFailed(detail, remedy, outcome="unavailable") from None

    def _send(self, client: Client, task: Task[Any], correction: str) -> GenerateContentResponse:
        from google.genai import types

        config = types.GenerateContentConfig(
            system_instruction=task.system(),
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
            **form(task),
        )
        said = contents(task, self.name, correction)
        return client.models.generate_content(model=self.name, contents=said, config=config)

    def _refusal(self, error: APIError) -> ModelFailed:
        outcome = _outcome(error)
        detail = self._connection.redact(f"Gemini: {error.code} {error.message or error.status}")
        return ModelFailed(
            detail[:300], REMEDIES.get(outcome, ""), outcome=outcome, retry_after=_delay(error)
        )

    def warm(self) -> None:
        """Import the SDK, make the client, and see the first request off, if one is made now."""
        self._connection.client()
        self._connection.sent.wait(FIRST_CALL)

    def close(self) -> None:
        """Close the connection that all models of the run share."""
        self._connection.close()

    def price(self, generated: Generated) -> float | None:
        """US dollars; None where the price or the tokens are not known."""
        if self._price is None or not generated.input_tokens:
            return None
        return self._price.usd(generated.input_tokens, generated.output_tokens)


def _generated(response: GenerateContentResponse, read: Callable[[Content], str]) -> Generated:
    usage = response.usage_metadata
    spent = {
        "input_tokens": (usage and usage.prompt_token_count) or 0,
        "output_tokens": ((usage and usage.candidates_token_count) or 0)
        + ((usage and usage.thoughts_token_count) or 0),
    }
    candidates = response.candidates or []
    if not candidates:
        feedback = response.prompt_feedback
        if feedback and feedback.block_reason:
            raise _blocked(str(feedback.block_reason.name))
        return Generated(text="", problem="the reply was empty", **spent)
    candidate = candidates[0]
    reason = candidate.finish_reason.name if candidate.finish_reason else "STOP"
    if reason in MISCALLED:
        return Generated(text="", problem="the call of a tool was malformed", **spent)
    if reason not in SAFE:
        raise _blocked(reason)
    text = read(candidate.content) if candidate.content and candidate.content.parts else ""
    problem = "" if text.strip() else "the reply was empty"
    if reason == "MAX_TOKENS":
        problem = "the reply was cut off at the output limit; be shorter"
    return Generated(text=text, problem=problem, **spent)


def _blocked(reason: str) -> ModelFailed:
    return ModelFailed(
        f"Gemini blocked the reply ({reason})",
        "Rephrase the question, or try another model with --llm.",
        outcome="blocked",
    )


def _outcome(error: APIError) -> Outcome:
    if error.code == 400 and "API_KEY_INVALID" in str(error.details):
        return "bad_key"
    if error.code == 429:
        return "no_credit" if "PerDay" in str(error.details) else "rate_limited"
    if error.code in (408, 504):
        return "timeout"
    if error.code and error.code >= 500:
        return "unavailable"
    return OUTCOMES.get(error.code or 0, "rejected")


def _delay(error: APIError) -> float | None:
    """Seconds to wait by `Retry-After` (seconds or a date) or google.rpc.RetryInfo."""
    headers = getattr(error.response, "headers", None) or {}
    told = retry_after(headers.get("retry-after"), time.time())
    info = (_retry_info(error.details) or "").removesuffix("s")
    return told if told is not None else retry_after(info, time.time())


def _retry_info(details: Any) -> str | None:
    body = details.get("error", details) if isinstance(details, dict) else {}
    rows = body.get("details") if isinstance(body, dict) else None
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and isinstance(row.get("retryDelay"), str):
            return str(row["retryDelay"])
    return None
