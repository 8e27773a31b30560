"""Gets what stands at an address: redirects followed, size and time bounded, failures in words."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import urlsplit

from agent.errors import ReadFailed
from agent.sources.pages import sniff
from agent.sources.pages.guard import Guard
from agent.state import Outcome

if TYPE_CHECKING:
    import httpx2

    from agent.sources.pages.network import Transport

REDIRECTS = 5
PER_HOST = 2  # pages at once of one host: polite, and enough for the three that a query reads
REDIRECTING = frozenset({301, 302, 303, 307, 308})
ACCEPT = "text/html,application/xhtml+xml,application/pdf;q=0.9,text/*;q=0.8,*/*;q=0.5"

OUTCOMES: dict[int, Outcome] = {
    401: "blocked",
    402: "blocked",
    403: "blocked",
    404: "not_found",
    408: "timeout",
    410: "not_found",
    429: "rate_limited",
    451: "blocked",
}


class Limits(NamedTuple):
    """How long a page may take, in seconds, and how large it may be, in bytes, decompressed."""

    timeout: float
    max_bytes: int


class Body(NamedTuple):
    """What a server answered, its redirects followed."""

    url: str
    content_type: str
    data: bytes
    cut: bool  # longer than the limit: this is its beginning


class Permit(Protocol):
    """Says whether an address may be read, once before it is asked for and once before it is used.

    Both raise ReadFailed. The first does not wait.
    """

    def before(self, url: str) -> None: ...

    def after(self, url: str, seconds: float) -> None: ...


class Downloader:
    """Gets pages, from many threads at once, until it is closed."""

    def __init__(
        self,
        guard: Guard,
        user_agent: str,
        now: Callable[[], datetime],
        *,
        through_proxy: bool = False,
    ) -> None:
        self._guard = guard
        self._headers = {"User-Agent": user_agent, "Accept": ACCEPT}
        self._now = now
        self._through_proxy = through_proxy
        self._lock = threading.Lock()
        self._slots: dict[str, threading.BoundedSemaphore] = {}
        self._made: Transport | None = None
        self._closed = False

    def get(self, url: str, limits: Limits, permit: Permit | None = None) -> Body:
        """What stands at an address, at most five redirects away. Raises ReadFailed.

        With a permit the host's slots are respected too; robots.txt is asked for without either.
        """
        self._guard.check(url)
        import httpx2

        transport = self.transport()
        transport.deadline.set(limits.timeout)
        cookies = httpx2.Cookies()  # of this read only: some sites redirect until they come back
        start = host_of(url)
        for _ in range(REDIRECTS + 1):
            with _translated(host_of(url)), self._slot(url, permit, transport):
                answer = self._hop(url, cookies, limits, permit)
            if isinstance(answer, Body):
                return answer
            url = answer
            self._guard.check(url)
        raise ReadFailed(
            f"{start}: more than {REDIRECTS} redirects, perhaps in a circle.", outcome="invalid"
        )

    def transport(self) -> Transport:
        """The connections, made when they are first needed. Raises ReadFailed once closed."""
        with self._lock:
            if self._closed:
                raise ReadFailed("The reader of pages is closed.", outcome="unavailable")
            if self._made is None:
                from agent.sources.pages.network import Transport

                self._made = Transport(self._guard, through_proxy=self._through_proxy)
            return self._made

    def close(self) -> None:
        """Cut every connection; what is under way ends with ReadFailed. Can be called twice."""
        with self._lock:
            self._closed = True
            made, self._made = self._made, None
        if made is not None:
            made.close()

    @contextmanager
    def _slot(self, url: str, permit: Permit | None, transport: Transport) -> Iterator[None]:
        if permit is None:
            yield
            return
        host = host_of(url)
        with self._lock:
            slot = self._slots.setdefault(host, threading.BoundedSemaphore(PER_HOST))
        if not slot.acquire(timeout=transport.deadline.left()):
            raise ReadFailed(f"{host}: no time was left after its other pages.", outcome="timeout")
        try:
            yield
        finally:
            slot.release()

    def _hop(
        self, url: str, cookies: httpx2.Cookies, limits: Limits, permit: Permit | None
    ) -> Body | str:
        """The body at an address, or the address that it redirects to."""
        if permit is not None:
            permit.before(url)
        transport = self.transport()
        response = _send(transport, url, self._headers, cookies)
        try:
            if permit is not None:
                permit.after(url, transport.deadline.left())
            if response.status_code in REDIRECTING and "location" in response.headers:
                return str(response.request.url.join(response.headers["location"]))
            self._check_status(response)
            return _body(response, limits.max_bytes)
        finally:
            response.close()

    def _check_status(self, response: httpx2.Response) -> None:
        status, host = response.status_code, response.request.url.host
        if 200 <= status < 300 and status not in (204, 205):
            return
        if response.headers.get("cf-mitigated") == "challenge":
            raise ReadFailed(f"{host}: it shows a captcha instead.", outcome="blocked")
        outcome = _outcome(status)
        raise ReadFailed(
            f"{host}: {_WORDS.get(outcome, 'it refused')} (HTTP {status}).",
            outcome=outcome,
            retry_after=retry_after(response.headers.get("retry-after"), self._now()),
        )


_WORDS: dict[Outcome, str] = {
    "blocked": "it does not let programs read this page",
    "not_found": "there is no such page",
    "rate_limited": "it was asked too often",
    "timeout": "it did not answer in time",
    "unavailable": "the server has a fault",
    "empty": "the page is empty",
    "invalid": "it answered with something that is no page",
}


def _outcome(status: int) -> Outcome:
    if status in OUTCOMES:
        return OUTCOMES[status]
    if status >= 500:
        return "unavailable"
    if status < 400:
        return "empty" if status in (204, 205) else "invalid"
    return "rejected"


def _send(
    transport: Transport, url: str, headers: dict[str, str], cookies: httpx2.Cookies
) -> httpx2.Response:
    import httpx2

    timeout = httpx2.Timeout(transport.deadline.left()).as_dict()
    request = httpx2.Request("GET", url, headers=headers, extensions={"timeout": timeout})
    cookies.set_cookie_header(request)
    try:
        response = transport.handle_request(request)
    except (httpx2.ReadError, httpx2.WriteError, httpx2.RemoteProtocolError):
        # once more: a server may close a connection just when it is used again
        transport.deadline.left()
        response = transport.handle_request(request)
    response.request = request
    cookies.extract_cookies(response)
    return response


def _body(response: httpx2.Response, limit: int) -> Body:
    data = bytearray()
    cut = False
    for chunk in response.iter_bytes():
        begun = len(data) < sniff.HEAD <= len(data) + len(chunk)
        data += chunk
        cut = len(data) > limit
        if cut or (begun and sniff.kind(bytes(data)) == "binary"):
            break  # nothing of a video is wanted, and a page is readable from its beginning
    url = str(response.request.url.copy_with(fragment=None))
    return Body(url, response.headers.get("content-type", ""), bytes(data[:limit]), cut)


def retry_after(text: str | None, now: datetime) -> float | None:
    """Seconds to wait by a Retry-After header, in seconds or as a date (RFC 9110, 10.2.3)."""
    if not text:
        return None
    if text.strip().isdigit():
        return float(text)
    try:
        return max(0.0, (parsedate_to_datetime(text) - now).total_seconds())
    except (ValueError, TypeError):  # no date, or one without a time zone
        return None


@contextmanager
def _translated(host: str) -> Iterator[None]:
    """Failures of the network, of TLS and of HTTP as ReadFailed."""
    import httpcore2
    import httpx2

    try:
        yield
    except (httpx2.TimeoutException, httpcore2.TimeoutException):
        raise ReadFailed(f"{host}: no full answer in time.", outcome="timeout") from None
    except httpx2.InvalidURL:
        raise ReadFailed(f"{host}: refused, not a valid address.", outcome="forbidden") from None
    except httpx2.DecodingError:
        raise ReadFailed(f"{host}: its compression is broken.", outcome="invalid") from None
    except httpx2.ProxyError as error:
        raise ReadFailed(f"{host}: the proxy refused: {error}.", outcome="unavailable") from None
    except httpx2.NetworkError as error:
        raise _unreachable(host, error) from None
    except httpx2.TransportError as error:
        cut = "closed" in str(error) or "disconnected" in str(error)
        outcome: Outcome = "unavailable" if cut else "invalid"
        words = "it cut the connection" if cut else f"no valid HTTP: {str(error)[:100]}"
        raise ReadFailed(f"{host}: {words}.", outcome=outcome) from None


def _unreachable(host: str, error: httpx2.NetworkError) -> ReadFailed:
    if "CERTIFICATE" in str(error):
        remedy = "Check the site; behind a company's proxy set SSL_CERT_FILE."
        return ReadFailed(f"{host}: its certificate is not valid.", remedy, outcome="unavailable")
    words = {"ConnectError": "no connection", "ReadError": "it cut the connection"}
    said = words.get(type(error).__name__, "the connection failed")
    return ReadFailed(f"{host}: {said} ({str(error)[:80]}).", outcome="unavailable")


def host_of(url: str) -> str:
    """The host of an address for messages; the address itself where it has none."""
    try:
        return urlsplit(url).hostname or url[:100]
    except ValueError:
        return url[:100]
