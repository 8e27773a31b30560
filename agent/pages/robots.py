"""Which pages a site's robots.txt allows a program to read (RFC 9309)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from urllib.parse import urlsplit

from agent.calls import spawn
from agent.errors import ReadFailed
from agent.state import host_of

ROBOTS_TIMEOUT = 3.0  # seconds; robots.txt is fetched while the page is
ROBOTS_MAX_BYTES = 512_000  # RFC 9309 asks for at least 500 KiB
#: Lines times lines that name a program. Each rule is stored for each program of its group: a
#: hostile file of 512 kB would take minutes and gigabytes. Honest ones have less than 300,000.
MAX_RULES = 2_000_000

#: From an origin to the bytes of its robots.txt. Raises ReadFailed where it cannot be fetched.
FetchRobots = Callable[[str], bytes]
#: Whether a URL is allowed by one origin's robots.txt.
UrlFilter = Callable[[str], bool]


class RobotsRules:
    """The rules of each origin's robots.txt, fetched once, while a page of it is.

    A robots.txt that cannot be fetched (5xx, time-out, broken connection), or is hostile, allows
    every page, unlike in RFC 9309: this program is no crawler, and where a server is down the page
    fails too. `Crawl-delay` is ignored. Without `fetch` everything is allowed.
    """

    def __init__(self, fetch: FetchRobots | None = None, user_agent: str = "") -> None:
        self._fetch = fetch
        self._user_agent = user_agent
        self._filters: dict[str, Future[UrlFilter]] = {}
        self._lock = threading.Lock()

    def check_before_request(self, url: str) -> None:
        """Start to fetch the rules. Raises ReadFailed if they are known and disallow the page."""
        if self._fetch and self._prefetch(_origin_of(url), self._fetch).done():
            self.check_before_use(url, 0)

    def check_before_use(self, url: str, seconds: float) -> None:
        """Raise ReadFailed if robots.txt disallows a page.

        Waits for the rules at most `seconds`, and at most half a second over the time-out. A page
        is allowed if they have not arrived by then.
        """
        if self._fetch is None:
            return
        try:
            rules = self._prefetch(_origin_of(url), self._fetch)
            is_allowed = rules.result(min(seconds, ROBOTS_TIMEOUT + 0.5))(url)
        except TimeoutError:
            return
        if not is_allowed:
            raise ReadFailed(
                f"{host_of(url)}: its robots.txt disallows this page.",
                "Open it yourself, or set RESEARCH_AGENT_RESPECT_ROBOTS=0 with the site's consent.",
                outcome="blocked",
            )

    def _prefetch(self, origin: str, fetch: FetchRobots) -> Future[UrlFilter]:
        with self._lock:
            if origin not in self._filters:
                self._filters[origin] = spawn(lambda: self._load_filter(origin, fetch))
            return self._filters[origin]

    def _load_filter(self, origin: str, fetch: FetchRobots) -> UrlFilter:
        from protego import Protego

        try:
            text = fetch(origin).decode("utf-8", "replace")
        except ReadFailed:
            text = ""
        rules = Protego.parse(text if _count_rules(text) <= MAX_RULES else "")
        return lambda url: bool(rules.can_fetch(url, self._user_agent))


def _origin_of(url: str) -> str:
    """Scheme, host and port of a URL, without credentials."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _count_rules(text: str) -> int:
    """How many rules a robots.txt may have at most, counting one for each program it is for."""
    lines = text.splitlines()
    return len(lines) * sum(line.lstrip().lower().startswith("user") for line in lines)
