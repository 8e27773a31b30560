"""The connection to Gemini through the SDK google-genai: for its models, and for its search.

The SDK has no total deadline, and its retries ignore `Retry-After`. So the callers' chains do both,
and the SDK's own retries are off.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from agent.calls.http import (
    QUOTA_WAIT,
    Endpoint,
    describe_redirect,
    find_wait_in_text,
    parse_retry_after,
)
from agent.calls.transport import find_proxy, load_tls_context
from agent.errors import ExternalCallError, ModelFailed
from agent.state import get_objects

if TYPE_CHECKING:
    from google.genai import Client
    from google.genai.errors import APIError
    from google.genai.types import GenerateContentResponse, HttpOptions

T = TypeVar("T")
GOOGLE = "https://generativelanguage.googleapis.com"

#: What the SDK raises for a body of another shape: it does not check one before it reads it.
UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
#: Finish reasons with which a reply may be used.
USABLE_REASONS = {"STOP", "MAX_TOKENS", "FINISH_REASON_UNSPECIFIED"}


@dataclass(frozen=True)
class GeminiAccount:
    """How Gemini is reached: with a key, or as a project of Google Cloud through Vertex AI."""

    key: str = field(default="", repr=False)
    base_url: str = ""  # empty: Google's own
    api_version: str = ""  # empty: the SDK's default
    project: str = ""  # of Google Cloud; empty: not through Vertex AI
    location: str = ""  # of that project

    @property
    def is_usable(self) -> bool:
        """Whether there is anything to authenticate with."""
        return bool(self.key or self.project)


class GeminiConnection:
    """One client, made at the first call: the import of the SDK takes half a second.

    Only the arguments decide where the key is sent. The Google variables of the environment must
    not redirect it. The proxies of the environment are honoured.
    """

    #: Of all connections: the SDK fails if two threads import it at once.
    _lock = threading.Lock()

    def __init__(
        self,
        account: GeminiAccount,
        timeout: float,
        error_class: type[ExternalCallError] = ModelFailed,
    ) -> None:
        """`timeout`: seconds for one read. `error_class`: of what `call` raises."""
        self._account = account
        self._timeout = timeout
        self._error_class = error_class
        self._endpoint = Endpoint(
            account.base_url or GOOGLE,
            "GOOGLE_GEMINI_BASE_URL",
            "GEMINI_API_KEY",
            model_name="GEMINI_MODEL",
            secret=account.key,
            error_class=error_class,
        )
        self._client: Client | None = None

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
        from google.genai import Client
        from google.genai.client import DebugConfig

        account = self._account
        if account.project:
            access: dict[str, Any] = {"vertexai": True, "project": account.project}
            access["location"] = account.location
        else:
            access = {"vertexai": False, "api_key": account.key}
        no_replay = DebugConfig(client_mode=None, replays_directory=None, replay_id=None)
        return Client(**access, http_options=self._http_options(), debug_config=no_replay)

    def _http_options(self) -> HttpOptions:
        from google.genai import types

        # the SDK would make a TLS context for each of its clients; a redirect would get the key
        context = load_tls_context(self._error_class)
        shared = {"verify": context, "follow_redirects": False, "trust_env": False}
        shared["proxy"] = find_proxy(self._endpoint.base_url, self._error_class)
        version = self._account.api_version
        return types.HttpOptions(
            base_url=self._account.base_url or None,
            api_version={"beta": "v1beta"}.get(version, version) or None,
            timeout=int(self._timeout * 1000),
            retry_options=types.HttpRetryOptions(attempts=1),
            client_args=shared,
            async_client_args={**shared, "ssl": context},
        )

    def call(self, use: Callable[[Client], T]) -> T:
        """The result of a use of the client. Raises `error_class` for the SDK's exceptions."""
        client = self.client()  # first: it imports the SDK
        import httpx2
        from google.auth.exceptions import GoogleAuthError
        from google.genai.errors import APIError

        try:
            return use(client)
        except APIError as error:
            raise self._translate(error) from None
        except httpx2.TimeoutException:
            raise self._endpoint.build_error("timeout", "Gemini timed out") from None
        except httpx2.HTTPError as error:
            raise self._endpoint.describe_failure(error) from None
        except GoogleAuthError as error:
            detail = f"Google Cloud gives no access ({type(error).__name__})"
            remedy = "Run `gcloud auth application-default login`, or unset "
            remedy += "GOOGLE_GENAI_USE_VERTEXAI."
            raise self._endpoint.build_error("bad_key", detail, remedy=remedy) from None
        except UNREADABLE as error:  # the body is not JSON, or not in Gemini's format
            detail = f"Gemini answered something else: {error}"
            raise self._endpoint.build_error("unavailable", detail) from None

    def probe(self, name: str) -> int | None:
        """The window of a model in tokens, None if unknown; costs nothing.

        Asks `models.get` of the Gemini API. Raises `error_class` where the key does not work or the
        model does not exist.
        """
        model = self.call(lambda client: client.models.get(model=name))
        if not model.name:
            raise self._endpoint.build_error("invalid", "Gemini answered something else")
        if model.supported_actions and "generateContent" not in model.supported_actions:
            raise self._endpoint.build_error("not_found", "not a valid model: it writes no text")
        return model.input_token_limit

    def _translate(self, error: APIError) -> ExternalCallError:
        detail, remedy = f"{error.code} {error.message or error.status}", ""
        if error.code and 300 <= error.code < 400:
            detail = f"HTTP {error.code}, {describe_redirect(_headers_of(error).get('location'))}"
            remedy = "Set GOOGLE_GEMINI_BASE_URL to the address that answers."
        outcome = self._endpoint.classify(error.code or 0, f"{error.status} {error.message}")
        if error.code == 429:  # the quota of one model is no other model's: the next one is asked
            quota = str(error.details)
            is_spent = "PerDay" in quota and "PerModel" not in quota
            outcome = "no_credit" if is_spent else "rate_limited"
        wait = _retry_after_of(error)
        return self._endpoint.build_error(outcome, f"Gemini: {detail}", wait, remedy)


def count_tokens(response: GenerateContentResponse) -> dict[str, int]:
    """The tokens of a response by the fields of `Generation`. Thoughts count as output."""
    usage = response.usage_metadata
    thoughts = (usage and usage.thoughts_token_count) or 0
    return {
        "input_tokens": (usage and usage.prompt_token_count) or 0,
        "output_tokens": ((usage and usage.candidates_token_count) or 0) + thoughts,
        "cache_read_tokens": (usage and usage.cached_content_token_count) or 0,
    }


def _headers_of(error: APIError) -> Mapping[str, str]:
    return getattr(error.response, "headers", None) or {}


def _retry_after_of(error: APIError) -> float | None:
    """Seconds to wait, from `Retry-After` (seconds or a date), else from google.rpc.RetryInfo."""
    wait = find_wait_in_text(error.message or "")
    if error.code == 429 and ("PerDay" in str(error.details) or wait == QUOTA_WAIT):
        return QUOTA_WAIT
    from_header = parse_retry_after(_headers_of(error).get("retry-after"), time.time())
    if from_header is not None:
        return from_header
    # as in `"retryDelay": "30s"`
    rows = get_objects(error.details, "error", "details") or get_objects(error.details, "details")
    delays = (row["retryDelay"] for row in rows if isinstance(row.get("retryDelay"), str))
    from_details = parse_retry_after(next(delays, "").removesuffix("s"), time.time())
    return wait if from_details is None else from_details
