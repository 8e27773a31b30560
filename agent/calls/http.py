"""Requests to a JSON service over HTTP: bounded in time and size, with failures as outcomes.

Retries and fallback are in `agent/search/provider_chain.py` and `agent/llm/model_chain.py`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import mktime_tz, parsedate_tz
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict, Unpack
from urllib.parse import quote, quote_plus

from agent.calls.threads import run_with_timeout
from agent.calls.transport import explain_failure, open_session
from agent.errors import ExternalCallError, SearchFailed
from agent.state import Outcome
from agent.state.json_data import InvalidJson, Json, get_objects, get_path, parse_json
from agent.state.sanitizing import strip_markup
from agent.state.urls import find_host

if TYPE_CHECKING:
    import requests

MAX_BYTES = 5_000_000  # of a reply, decompressed; the largest one recorded has 150 kB
MAX_STREAM_BYTES = 20_000_000  # of a streamed reply: about 300 bytes a token
CONNECT_TIMEOUT = 5.0  # seconds
MAX_DETAIL = 300  # characters of an error message of a service
QUOTA_WAIT = 120.0  # seconds; longer than anybody waits: a quota of a day, or of nothing
FIRST_TIME = 1e9  # a larger number is a time, not seconds
MAX_HOST = 100  # characters of a host's name in it

#: HTTP status -> outcome; any other 4xx is `rejected`. 432 and 433 are Tavily's limits.
OUTCOMES_BY_STATUS: dict[int, Outcome] = {
    **dict.fromkeys((401, 403), "bad_key"),
    **dict.fromkeys((402, 432, 433), "no_credit"),
    **dict.fromkeys((408, 504), "timeout"),
    **{413: "too_long", 429: "rate_limited"},
}
#: What services say of a model that they do not know.
UNKNOWN_MODEL = (
    r"(invalid|unknown|no such|not a valid|unable to access) model|model.not.(found|exist)"
    r"|models?[ /]\S+ (is )?(not found|does not exist)|^(HTTP \d+: )?model: \S+$"
)
#: Outcomes by what a service says, with its own names of the error: its status says less.
OUTCOMES_BY_TEXT: dict[str, Outcome] = {
    r"content.?(filter|management|policy)|responsible.?ai|moderation|flagged": "blocked",
    r"run out of searches|(not enough|insufficient|out of).(credit|balance|quota)": "no_credit",
    r"credit balance is too low|your (current quota|specified api usage)": "no_credit",
    r"(invalid|incorrect) api.?key|api.?key (is )?(invalid|not valid)": "bad_key",
    r"unauthori[sz]ed|subscription token is invalid": "bad_key",
    r"context.(length|window|size)|(prompt|input) is too long|too many tokens": "too_long",
    r"input token count|exceeds the maximum number of tokens": "too_long",
    r"request too large|max_(seq|model|input|total)_|reduce (the|your) (length|mes)": "too_long",
    UNKNOWN_MODEL: "not_found",
    r"unexpected endpoint": "not_found",  # LM Studio, with HTTP status 200
    r"rate.?limit": "rate_limited",
}
_WAIT = re.compile(
    r"(?:try again|retry) (?:in|after) (?:(\d{1,4})m)?(\d{1,6}(?:\.\d+)?) ?(ms|s)", re.I
)


class Request(TypedDict, total=False):
    """What is sent to a path: a POST if there is a `body`, else a GET."""

    headers: Mapping[str, str]
    params: Mapping[str, str]
    body: Mapping[str, Any] | None


@dataclass(frozen=True)
class Endpoint:
    """The address and key of a service, and the environment variables that hold them.

    `timeout` is a hard limit in seconds, from the call to the last byte of the reply. With
    `longest` it is that of silence, and `longest` the hard limit. Redirects are not followed, since
    they would send the key to another address.
    """

    base_url: str
    url_name: str
    key_name: str = ""  # empty: the service has no key
    secret: str = field(default="", repr=False)
    timeout: float = 20.0
    error_class: type[ExternalCallError] = SearchFailed
    longest: float | None = None  # seconds for a reply that keeps coming; None: `timeout`
    needs_key: bool = True  # if it has one at all
    model_name: str = ""  # the variable of its model; empty: it has none
    max_bytes: int = MAX_BYTES  # of a reply that is not streamed

    def call(self, path: str, **request: Unpack[Request]) -> Json:
        """Send a request; returns the reply's JSON object.

        Raises `error_class`, whose texts never hold the key.
        """
        return self.parse_object(self.fetch(path, **request))

    def fetch(self, path: str, **request: Unpack[Request]) -> bytes:
        """As `call`, with the reply's body as it came."""
        self.check_configured()
        body = request.pop("body", None)
        sent: dict[str, Any] = {"method": "GET" if body is None else "POST", "json": body}
        sent |= {"url": self.base_url.rstrip("/") + path, **request}
        try:
            send = partial(self._send, sent)
            status, response_headers, data = run_with_timeout(self.longest or self.timeout, send)
        except TimeoutError:
            raise self.build_error("timeout", f"no answer within {self.timeout:g} s") from None
        if not 200 <= status < 300:
            raise self._error_from_response(status, response_headers, data)
        return data

    def check_configured(self) -> None:
        """Raises `error_class` with the outcome `no_key` if the key or the address is not set."""
        address = "" if self.base_url else self.url_name
        if missing := address or (self.key_name if self.needs_key and not self.secret else ""):
            remedy = f"Set {missing} in .env."
            raise self.error_class(f"{missing} is not set", remedy, outcome="no_key")

    def get_results(self, body: object, *keys: str | int) -> list[Json]:
        """The objects in the list at a path of a reply. Raises `error_class` for no list."""
        if not isinstance(get_path(body, *keys), list):
            raise self.build_error("invalid", "a JSON object without a list of results")
        return get_objects(body, *keys)

    def error_from_message(
        self, message: object, otherwise: Outcome = "rejected"
    ) -> ExternalCallError:
        """The error for a refusal with HTTP status 200: a text, or a body. It says the outcome."""
        text = message if isinstance(message, str) else find_error_message(message)
        outcome = self.classify(_find_status(message), text, otherwise)
        return self.build_error(outcome, text, find_wait_in_text(text))

    def classify(self, status: int, text: str, otherwise: Outcome = "rejected") -> Outcome:
        """The outcome of an error, by what the service says of it and then by its status."""
        if self.model_name and status in (404, 405):
            otherwise = "not_found"
        by_class = "unavailable" if status >= 500 else otherwise
        by_status = OUTCOMES_BY_STATUS.get(status, by_class)
        matches = (out for words, out in OUTCOMES_BY_TEXT.items() if re.search(words, text, re.I))
        outcome = next(matches, by_status)
        return "blocked" if outcome == "bad_key" and not self.key_name else outcome

    def build_error(
        self, outcome: Outcome, detail: str, retry_after: float | None = None, remedy: str = ""
    ) -> ExternalCallError:
        """An error of this service, with a remedy that fits the outcome, and without the key."""
        is_quoted = self.secret[:1] in ("'", '"')
        if outcome == "not_found" and self.model_name and re.search(UNKNOWN_MODEL, detail, re.I):
            remedy = f"Check {self.model_name}."
        remedy = remedy or {
            "bad_key": f"{'Take the quotes off' if is_quoted else 'Check'} {self.key_name}.",
            "not_found": f"Check {self.url_name}.",
            "too_long": "Use a model with a longer context.",
            "no_credit": f"Add credit to the account of {self.key_name}, or use another provider.",
            "rate_limited": "Wait a while, or add another provider.",
            "rejected": f"If it persists, check {self.url_name}.",
            "invalid": f"If it persists, check {self.url_name}.",
        }.get(outcome, "Try again later, or name another provider.")
        # before, since a cut key would not be found; after, since `&amp;` in a key is decoded
        message = self._redact(strip_markup(self._redact(detail), MAX_DETAIL))
        return self.error_class(message, remedy, outcome=outcome, retry_after=retry_after)

    def _send(self, request: dict[str, Any]) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and body of the reply. Raises `error_class`, or TimeoutError."""
        import requests
        from urllib3.exceptions import HTTPError
        from urllib3.exceptions import TimeoutError as TooSlow

        deadline = time.monotonic() + (self.longest or self.timeout)
        connect = min(CONNECT_TIMEOUT, self.timeout)
        request |= {"timeout": (connect, self.timeout)}
        request |= {"stream": True, "allow_redirects": False}
        try:
            opened = open_session(request["url"], self.error_class)
            with opened as session, session.request(**request) as reply:
                return reply.status_code, reply.headers, self._read_body(reply, deadline)
        except requests.ConnectTimeout:
            raise self.build_error("timeout", f"no connection within {connect:g} s") from None
        except (requests.Timeout, TooSlow, TimeoutError):
            raise TimeoutError from None
        except (requests.RequestException, HTTPError, OSError, UnicodeError) as error:
            # not the error's own text, which holds the URL and the key
            raise self.describe_failure(error) from None

    def describe_failure(self, error: Exception) -> ExternalCallError:
        """A failed request, by exception types alone: texts may hold the key."""
        if type(error).__name__ in ("InvalidHeader", "UnicodeEncodeError"):
            return self.build_error("bad_key", "the key contains characters that no key has")
        if isinstance(error, ValueError):
            fault = f"the address cannot be used ({type(error).__name__})"
            return self.build_error("rejected", fault)
        detail, remedy = explain_failure(error, self.base_url)
        return self.build_error("unavailable", detail, remedy=f"{remedy} Check {self.url_name}.")

    def _read_body(self, reply: requests.Response, deadline: float) -> bytes:
        """The body, read in pieces, because a timeout of `requests` limits one read only."""
        most = MAX_STREAM_BYTES if self.longest else self.max_bytes
        data = bytearray()
        while piece := reply.raw.read1(65536, decode_content=True):
            data += piece
            if len(data) > most:
                raise self.build_error("invalid", f"the reply is larger than {most} bytes")
            if time.monotonic() > deadline:
                raise TimeoutError
        return bytes(data)

    def _error_from_response(
        self, status: int, headers: Mapping[str, str], data: bytes
    ) -> ExternalCallError:
        body = _parse_json(data)
        message = find_error_message(body)
        outcome = self.classify(_find_status(body) or status, message)
        redirect = f", {describe_redirect(headers.get('Location'))}" if status < 400 else ""
        detail = f"HTTP {status}{redirect}"
        detail += f": {message}" if message else ""
        retry_after = _find_wait(headers, time.time()) or find_wait_in_text(message)
        return self.build_error(outcome, detail, retry_after)

    def parse_object(self, data: bytes) -> Json:
        """The JSON object in a body. Raises `error_class` for anything else."""
        value = _parse_json(data)
        if isinstance(value, dict):
            return value
        if value is not None:
            raise self.build_error("invalid", f"a JSON {type(value).__name__} instead of an object")
        kind = "HTML" if data.lstrip()[:1] == b"<" else "broken JSON or none"
        raise self.build_error("invalid", f"{kind} instead of a JSON object")

    def _redact(self, text: str) -> str:
        if len(self.secret) < 4:  # no real key; replacing it would only garble the text
            return text
        for form in {self.secret, quote(self.secret, safe=""), quote_plus(self.secret)}:
            text = text.replace(form, "***")
        return text


def find_error_message(body: object) -> str:
    """What a service's JSON reply says of an error, at any of the usual paths; "" if nothing.

    After the message come the names of the error and of the refused option, where it has them not.
    """
    paths = "error message detail detail.error error.message error.info error.detail msg"
    listed = get_path(body, "errors", 0) or get_path(body, "detail", 0)
    messages = (
        *(get_path(body, *path.split(".")) for path in paths.split()),
        *(get_path(listed, name) for name in ("message", "detail", "msg")),
    )
    message = next((text for text in messages if isinstance(text, str) and text), "")
    named = ("error", "code"), ("error", "param"), ("code",)
    names = [get_path(listed, "loc", -1), *(get_path(body, *path) for path in named)]
    more = [name for name in names if isinstance(name, str) and name not in message]
    return f"{message} ({', '.join(more)})" if more else message


def _find_status(body: object) -> int:
    codes = (get_path(body, "error", "code"), get_path(body, "code"))
    return next((int(c) for c in codes if re.fullmatch(r"[45]\d\d", str(c))), 0)


def find_wait_in_text(message: str) -> float | None:
    """Seconds to wait, from the text of an error; None if it has none. A limit of 0 is long."""
    if re.search(r"\blimit:? 0\b(?!\.)", message, re.I):
        return QUOTA_WAIT
    if not (wait := _WAIT.search(message)):
        return None
    return int(wait[1] or 0) * 60 + float(wait[2]) / (1000 if wait[3].lower() == "ms" else 1)


def describe_redirect(location: str | None) -> str:
    """A refused redirect in words, with the host of its `Location`: the rest may hold the key."""
    host = find_host(location or "")
    to_host = f" to {host[:MAX_HOST]}" if host else ""
    return f"a redirect{to_host} that is not followed"


def parse_retry_after(value: str | None, now: float) -> float | None:
    """Seconds to wait, from a `Retry-After` header in seconds or as a date (RFC 9110, 10.2.3).

    `now` is in seconds since the epoch. A time in the past is 0. None where the header is missing
    or neither a number nor a date. A date without a time zone is in UTC (RFC 9110, 5.6.7).
    """
    if not value:
        return None
    with suppress(ValueError):
        return max(0.0, float(value))
    with suppress(ValueError, OverflowError):  # of a date that no calendar has
        date = parsedate_tz(value)
        return max(0.0, mktime_tz(date) - now) if date else None
    return None


def _find_wait(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds to wait: `Retry-After`, else until the windows that are used up begin anew.

    `X-RateLimit-Remaining` and `-Reset` have a number for each window: seconds, or a time.
    """
    if "Retry-After" in headers:
        return parse_retry_after(headers["Retry-After"], now)
    left, reset = (headers.get(f"X-RateLimit-{name}", "") for name in ("Remaining", "Reset"))
    windows = zip(left.split(","), reset.split(","), strict=False)
    used_up = [at for count, at in windows if count.strip() == "0"]
    waits = [float(at) for at in used_up if at.strip().isdecimal()]
    return max((max(0.0, at - now) if at > FIRST_TIME else at for at in waits), default=None)


def _parse_json(data: bytes) -> object:
    try:
        return parse_json(data)
    except InvalidJson:
        return None
