"""Downloads the body at a URL: follows redirects, bounds size and time, translates errors."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from agent.calls.http import parse_retry_after
from agent.calls.transport import explain_failure
from agent.documents import sniff
from agent.errors import ReadFailed
from agent.pages.address_guard import AddressGuard
from agent.pages.wayback import COPY
from agent.state import Outcome, host_of

if TYPE_CHECKING:
    import httpx2

    from agent.pages.network import PageTransport
    from agent.pages.robots import RobotsRules

MAX_REDIRECTS = 5
MAX_PAGES_PER_HOST = 2  # at once: polite, and enough for the three pages that a query reads
MAX_REFRESH = 5.0  # seconds after which a page sends its reader elsewhere
REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})
ACCEPT = "text/html,application/xhtml+xml,application/pdf;q=0.9,text/*;q=0.8,*/*;q=0.5"

STATUS_OUTCOMES: dict[int, Outcome] = {
    401: "blocked",
    402: "blocked",
    403: "blocked",
    404: "not_found",
    408: "timeout",
    410: "not_found",
    429: "rate_limited",
    451: "blocked",
}


class DownloadLimits(NamedTuple):
    """The limits of one download."""

    timeout: float  # seconds, for the page as a whole
    max_bytes: int  # decompressed


class FetchedBody(NamedTuple):
    """The body of a successful response."""

    url: str  # after redirects, without a fragment
    content_type: str
    data: bytes  # decompressed
    is_truncated: bool  # `data` is the beginning of a longer body


class Downloader:
    """Downloads pages until it is closed. Can be used from many threads at once."""

    def __init__(
        self,
        guard: AddressGuard,
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
        self._semaphores: dict[str, threading.BoundedSemaphore] = {}  # by host
        self._transport: PageTransport | None = None
        self._is_closed = False

    def get(
        self, url: str, limits: DownloadLimits, rules: RobotsRules | None = None
    ) -> FetchedBody:
        """The body at a URL, after at most five redirects, those of pages too. Raises ReadFailed.

        With `rules` the number of pages at once per host is limited too. A robots.txt is
        fetched without any.
        """
        self._guard.check_url(url)
        import httpx2

        transport = self.open_transport()
        transport.deadline.start(limits.timeout)
        cookies = httpx2.Cookies()  # of this read only: some sites redirect until one is sent back
        first_host = host_of(url)
        for _ in range(MAX_REDIRECTS + 1):
            with _translate_errors(host_of(url)), self._limit_host(url, rules, transport):
                result = self._request(url, cookies, limits, rules)
            target = find_refresh(result) if isinstance(result, FetchedBody) and rules else None
            if isinstance(result, FetchedBody) and not target:
                return result
            url = target or str(result)
            self._guard.check_url(url)
        message = f"{first_host}: more than {MAX_REDIRECTS} redirects, perhaps in a circle."
        raise ReadFailed(message, outcome="invalid")

    def find_target(self, url: str, seconds: float, is_redirector: Callable[[str], bool]) -> str:
        """Where the redirects of a service lead, which is not asked itself. Raises ReadFailed.

        The guard checks every address on the way, and the last one with its IP addresses.
        """
        transport = self.open_transport()
        transport.deadline.start(seconds)
        for _ in range(MAX_REDIRECTS + 1):
            self._guard.check_url(url)
            with _translate_errors(host_of(url)):
                if not is_redirector(url):
                    transport.check_host(url)
                    return url
                url = self._follow(transport, url)
        message = f"{host_of(url)}: more than {MAX_REDIRECTS} redirects, perhaps in a circle."
        raise ReadFailed(message, outcome="invalid")

    def post(self, url: str, data: bytes, headers: Mapping[str, str], seconds: float) -> int:
        """Post a body; returns the status. No redirect is followed. Raises ReadFailed."""
        self._guard.check_url(url)
        import httpx2

        transport = self.open_transport()
        transport.deadline.start(seconds)
        timeout = {"timeout": httpx2.Timeout(seconds).as_dict()}
        with _translate_errors(host_of(url)):
            request = httpx2.Request("POST", url, content=data, headers=headers, extensions=timeout)
            response = transport.handle_request(request)
            response.close()
        return response.status_code

    def _follow(self, transport: PageTransport, url: str) -> str:
        """The address that a URL redirects to. Raises ReadFailed for a URL that does not."""
        import httpx2

        response = _send_request(transport, url, self._headers, httpx2.Cookies())
        try:
            if response.status_code in REDIRECT_STATUSES and "location" in response.headers:
                return _join_location(response)
        finally:
            response.close()
        raise ReadFailed(f"{host_of(url)}: it leads to no page.", outcome="invalid")

    def open_transport(self) -> PageTransport:
        """The transport, made when it is first needed. Raises ReadFailed once closed."""
        with self._lock:
            if self._is_closed:
                raise ReadFailed("The reader of pages is closed.", outcome="unavailable")
            if self._transport is None:
                from agent.pages.network import PageTransport

                self._transport = PageTransport(self._guard, through_proxy=self._through_proxy)
            return self._transport

    def close(self) -> None:
        """Abort every connection; downloads under way raise ReadFailed. Can be called twice."""
        with self._lock:
            self._is_closed = True
            transport, self._transport = self._transport, None
        if transport is not None:
            transport.close()

    @contextmanager
    def _limit_host(
        self, url: str, rules: RobotsRules | None, transport: PageTransport
    ) -> Iterator[None]:
        """Wait until fewer than MAX_PAGES_PER_HOST pages of the host are being downloaded."""
        if rules is None:
            yield
            return
        host = host_of(url)
        with self._lock:
            semaphore = self._semaphores.setdefault(
                host, threading.BoundedSemaphore(MAX_PAGES_PER_HOST)
            )
        if not semaphore.acquire(timeout=transport.deadline.remaining()):
            raise ReadFailed(f"{host}: no time was left after its other pages.", outcome="timeout")
        try:
            yield
        finally:
            semaphore.release()

    def _request(
        self, url: str, cookies: httpx2.Cookies, limits: DownloadLimits, rules: RobotsRules | None
    ) -> FetchedBody | str:
        """Make one request: the body at a URL, or the URL that it redirects to."""
        if rules is not None:
            rules.check_before_request(url)
        transport = self.open_transport()
        response = _send_request(transport, url, self._headers, cookies)
        try:
            if rules is not None:
                rules.check_before_use(url, transport.deadline.remaining())
            if response.status_code in REDIRECT_STATUSES and "location" in response.headers:
                return _join_location(response)
            self._check_status(response)
            return _read_body(response, limits.max_bytes)
        finally:
            response.close()

    def _check_status(self, response: httpx2.Response) -> None:
        """Raises ReadFailed unless a response is successful and has a body."""
        status, host = response.status_code, response.request.url.host
        if 200 <= status < 300 and status not in (204, 205):
            return
        if response.headers.get("cf-mitigated") == "challenge":
            raise ReadFailed(f"{host}: it shows a captcha instead.", outcome="blocked")
        outcome = _outcome_of(status)
        retry_after = response.headers.get("retry-after")
        raise ReadFailed(
            f"{host}: {_EXPLANATIONS.get(outcome, 'it refused')} (HTTP {status}).",
            COPY if outcome in COPIED else "",
            outcome=outcome,
            retry_after=parse_retry_after(retry_after, self._now().timestamp()),
        )


COPIED: frozenset[Outcome] = frozenset({"not_found", "blocked", "unavailable"})
_EXPLANATIONS: dict[Outcome, str] = {
    "blocked": "it does not let programs read this page",
    "not_found": "there is no such page",
    "rate_limited": "it had too many requests",
    "timeout": "it did not answer in time",
    "unavailable": "the server failed",
    "empty": "the page is empty",
    "invalid": "its reply is not a page",
}


def _outcome_of(status: int) -> Outcome:
    if status in STATUS_OUTCOMES:
        return STATUS_OUTCOMES[status]
    if status >= 500:
        return "unavailable"
    if status < 400:
        return "empty" if status in (204, 205) else "invalid"
    return "rejected"


def _send_request(
    transport: PageTransport, url: str, headers: dict[str, str], cookies: httpx2.Cookies
) -> httpx2.Response:
    """Send a GET request, with one retry on a broken connection; keeps the cookies it sets."""
    import httpx2

    timeout = httpx2.Timeout(transport.deadline.remaining()).as_dict()
    request = httpx2.Request("GET", url, headers=headers, extensions={"timeout": timeout})
    with suppress(UnicodeEncodeError):  # a cookie that no header can carry: none is sent
        cookies.set_cookie_header(request)
    try:
        response = transport.handle_request(request)
    except (httpx2.ReadError, httpx2.WriteError, httpx2.RemoteProtocolError):
        # a server may close a kept-alive connection at the moment when it is used again
        transport.deadline.remaining()  # raises after the deadline
        response = transport.handle_request(request)
    response.request = request
    cookies.extract_cookies(response)
    return response


def _join_location(response: httpx2.Response) -> str:
    """The URL that a response redirects to. Raises InvalidURL."""
    import httpx2

    try:
        return str(response.request.url.join(response.headers["location"]))
    except ValueError as error:  # `https:////a]`
        raise httpx2.InvalidURL(str(error)) from None


def find_refresh(body: FetchedBody) -> str | None:
    """Where a page sends its reader at once (`<meta http-equiv=refresh>`); None: nowhere else."""
    from w3lib.html import get_meta_refresh

    if sniff.detect_kind(body.data, body.content_type) != "html":
        return None
    head = body.data[: sniff.SNIFFED_BYTES].decode("utf-8", "replace")
    try:
        seconds, url = get_meta_refresh(head, body.url)
    except ValueError:
        return None
    is_now = seconds is not None and seconds <= MAX_REFRESH
    return url if url and is_now and url.partition("#")[0] != body.url else None


def _read_body(response: httpx2.Response, max_bytes: int) -> FetchedBody:
    """Read a body up to `max_bytes`; of a binary format only the beginning is read."""
    data = bytearray()
    is_truncated = False
    for chunk in response.iter_bytes():
        can_sniff_now = len(data) < sniff.SNIFFED_BYTES <= len(data) + len(chunk)
        data += chunk
        is_truncated = len(data) > max_bytes
        if is_truncated or (can_sniff_now and sniff.detect_kind(bytes(data)) == "binary"):
            break
    return FetchedBody(
        url=str(response.request.url.copy_with(fragment=None)),
        content_type=response.headers.get("content-type", ""),
        data=bytes(data[:max_bytes]),
        is_truncated=is_truncated,
    )


@contextmanager
def _translate_errors(host: str) -> Iterator[None]:
    import httpcore2
    import httpx2

    try:
        yield
    except (httpx2.TimeoutException, httpcore2.TimeoutException):
        raise ReadFailed(f"{host}: no complete reply in time.", outcome="timeout") from None
    except httpx2.InvalidURL:
        raise ReadFailed(f"{host}: refused, not a valid address.", outcome="forbidden") from None
    except httpx2.DecodingError:
        raise ReadFailed(f"{host}: its compression is broken.", outcome="invalid") from None
    except httpx2.ProxyError as error:
        raise ReadFailed(f"{host}: the proxy refused: {error}.", outcome="unavailable") from None
    except httpx2.NetworkError as error:
        fault, remedy = explain_failure(error, f"//{host}")
        raise ReadFailed(f"{fault}.", remedy, outcome="unavailable") from None
    except httpx2.TransportError as error:
        if "closed" in str(error) or "disconnected" in str(error):
            message = f"{host}: it closed the connection."
            raise ReadFailed(message, outcome="unavailable") from None
        message = f"{host}: invalid HTTP: {str(error)[:100]}."
        raise ReadFailed(message, outcome="invalid") from None
