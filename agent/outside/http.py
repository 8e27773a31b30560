"""A JSON service over HTTP: one bounded request, and what its refusals are called.

Uses `requests`, which honours the proxies of the environment. What a refusal *means* for a run is
decided by the chain.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

from agent.errors import OutsideError, SearchFailed
from agent.outside.threads import within
from agent.state import Outcome
from agent.state.plain import dig, rows, unmarked

if TYPE_CHECKING:
    import requests

MAX_BYTES = 5_000_000  # decompressed; the largest recorded reply has 150 kB
CONNECT = 5.0  # seconds
DETAIL = 200  # characters of a service's own words

#: HTTP status -> outcome; any other 4xx is `rejected`. 432 and 433 are Tavily's limits.
STATUS: dict[int, Outcome] = {
    401: "bad_key",
    402: "no_credit",
    403: "bad_key",
    408: "timeout",
    429: "rate_limited",
    432: "no_credit",
    433: "no_credit",
    504: "timeout",
}
#: Services that say in words what their status does not: SerpAPI 429, Serper 400.
WORDS: tuple[tuple[re.Pattern[str], Outcome], ...] = (
    (re.compile(r"run out of searches|(not enough|insufficient|out of) credit", re.I), "no_credit"),
    (re.compile(r"invalid api.?key|api.?key (is )?(invalid|not valid)", re.I), "bad_key"),
    (re.compile(r"unauthori[sz]ed", re.I), "bad_key"),
)


@dataclass(frozen=True)
class Endpoint:
    """Where a service is, and what its key and its address are called in the environment.

    `timeout` is a hard limit in seconds from the call to the last byte. Redirects are not followed:
    they would carry the key elsewhere.
    """

    base_url: str
    url_name: str
    key_name: str = ""  # empty: the service has no key
    secret: str = field(default="", repr=False)
    timeout: float = 20.0
    failure: type[OutsideError] = SearchFailed

    def call(
        self,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """The JSON object that the service answers: to a POST where there is a body, else to a GET.

        Raises `failure`; no text of it holds the key.
        """
        self.require()
        request = {"url": self.base_url.rstrip("/") + path, "headers": headers, "params": params}
        request |= {"json": body, "method": "GET" if body is None else "POST"}
        try:
            status, fields, data = within(self.timeout, lambda: self._exchange(request))
        except TimeoutError:
            raise self.failed("timeout", f"no answer within {self.timeout:g} s") from None
        if not 200 <= status < 300:
            raise self._refused(status, fields, data)
        return self._object(data)

    def require(self) -> None:
        """Raises `failure` (`no_key`) where the key or the address is not set."""
        address = "" if self.base_url else self.url_name
        if missing := address or (self.key_name if self.key_name and not self.secret else ""):
            remedy = f"Set {missing} in .env."
            raise self.failure(f"{missing} is not set", remedy, outcome="no_key")

    def listed(self, body: object, *keys: str | int) -> list[dict[str, Any]]:
        """The objects of the list of results at a path. Raises `failure` where there is none."""
        if not isinstance(dig(body, *keys), list):
            raise self.failed("invalid", "a JSON object without a list of results")
        return rows(body, *keys)

    def refusal(self, message: object, otherwise: Outcome = "rejected") -> OutsideError:
        """A refusal that came as an ordinary reply, by its words."""
        said = message if isinstance(message, str) else complaint(message)
        return self.failed(_in_words(said) or otherwise, said)

    def failed(
        self, outcome: Outcome, detail: str, retry_after: float | None = None
    ) -> OutsideError:
        """The one way in which this service's failures are told: without the key."""
        remedy = {
            "bad_key": f"Check {self.key_name}.",
            "no_credit": f"Add credit to the account of {self.key_name}, or use another provider.",
            "rate_limited": "Wait a while, or add another provider.",
            "rejected": f"If it persists, check {self.url_name}.",
            "invalid": f"If it persists, check {self.url_name}.",
            "unavailable": f"Check the network, the proxy settings and {self.url_name}.",
        }.get(outcome, "Try again later, or name another provider.")
        clear = self._redacted(unmarked(self._redacted(detail), DETAIL))  # `&amp;` may hide it
        return self.failure(clear, remedy, outcome=outcome, retry_after=retry_after)

    def _exchange(self, request: dict[str, Any]) -> tuple[int, Mapping[str, str], bytes]:
        import requests
        from urllib3.exceptions import HTTPError
        from urllib3.exceptions import TimeoutError as TooSlow

        until, connect = time.monotonic() + self.timeout, min(CONNECT, self.timeout)
        request |= {"timeout": (connect, self.timeout), "auth": _as_is}
        request |= {"stream": True, "allow_redirects": False}
        try:
            with requests.Session() as session, session.request(**request) as reply:
                return reply.status_code, reply.headers, self._body(reply, until)
        except requests.ConnectTimeout:
            raise self.failed("timeout", f"no connection within {connect:g} s") from None
        except (requests.Timeout, TooSlow, TimeoutError):
            raise TimeoutError from None
        except (requests.RequestException, HTTPError, OSError, UnicodeError) as error:
            raise self.failed(*_broken(error)) from None  # its own text holds the URL and the key

    def _body(self, reply: requests.Response, until: float) -> bytes:
        """The body as it comes, bit by bit: a timeout of `requests` is for one read only."""
        data = bytearray()
        while piece := reply.raw.read1(65536, decode_content=True):
            data += piece
            if len(data) > MAX_BYTES:
                raise self.failed("invalid", f"the reply is larger than {MAX_BYTES} bytes")
            if time.monotonic() > until:
                raise TimeoutError
        return bytes(data)

    def _refused(self, status: int, fields: Mapping[str, str], data: bytes) -> OutsideError:
        said = complaint(_parsed(data))
        outcome: Outcome = STATUS.get(status, "unavailable" if status >= 500 else "rejected")
        if 400 <= status < 500:
            outcome = _in_words(said) or outcome
        if outcome == "bad_key" and not self.key_name:
            outcome = "blocked"
        told = f"HTTP {status}" + (", a redirect that is not followed" if status < 400 else "")
        detail = f"{told}: {said}" if said else told
        return self.failed(outcome, detail, retry_after(fields.get("Retry-After"), time.time()))

    def _object(self, data: bytes) -> dict[str, Any]:
        value = _parsed(data)
        if isinstance(value, dict):
            return value
        if value is not None:
            raise self.failed("invalid", f"a JSON {type(value).__name__} instead of an object")
        kind = "HTML" if data.lstrip()[:1] == b"<" else "broken or no JSON"
        raise self.failed("invalid", f"{kind} instead of a JSON object")

    def _redacted(self, text: str) -> str:
        if len(self.secret) < 4:  # no real key; replacing it would only garble the text
            return text
        for form in {self.secret, quote(self.secret, safe=""), quote_plus(self.secret)}:
            text = text.replace(form, "***")
        return text


def complaint(body: object) -> str:
    """The words in which services say what is wrong, wherever they put them."""
    paths = ("error",), ("message",), ("detail",), ("detail", "error"), ("error", "message")
    said = (dig(body, *path) for path in (*paths, ("error", "info"), ("errors", 0, "message")))
    return next((text for text in said if isinstance(text, str) and text), "")


def retry_after(value: str | None, now: float) -> float | None:
    """Seconds to wait, from a `Retry-After` in seconds or as a date (RFC 9110, 10.2.3)."""
    if not value:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def _in_words(said: str) -> Outcome | None:
    return next((outcome for words, outcome in WORDS if words.search(said)), None)


def _parsed(data: bytes) -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _broken(error: Exception) -> tuple[Outcome, str]:
    """What became of the connection, from the types alone: the texts may hold the key."""
    root: BaseException = error
    while root.__context__ is not None:
        root = root.__context__
    if type(error).__name__ in ("InvalidHeader", "UnicodeEncodeError"):
        return "bad_key", "the key holds characters that no key has"
    if isinstance(error, ValueError):
        return "rejected", f"the address cannot be used ({type(error).__name__})"
    return "unavailable", f"the connection failed ({type(root).__name__})"


def _as_is(request: requests.PreparedRequest) -> requests.PreparedRequest:
    """No authentication: without this, `requests` would put one of ~/.netrc over our header."""
    return request
