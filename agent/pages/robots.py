"""Which pages a site's robots.txt allows a program to read (RFC 9309)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future

from agent.errors import ReadFailed
from agent.outside import spawn

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
    """The rules of each origin's robots.txt, fetched once for each origin.

    A robots.txt that cannot be fetched (5xx, time-out, broken connection), or is hostile, allows
    every page. RFC 9309 tells crawlers to stay away in that case, but this program reads one to
    three pages on a person's request, and where a server is down the page itself fails.
    `Crawl-delay` is ignored for the same reason.
    """

    def __init__(self, fetch: FetchRobots, user_agent: str) -> None:
        self._fetch = fetch
        self._user_agent = user_agent
        self._filters: dict[str, Future[UrlFilter]] = {}
        self._lock = threading.Lock()

    def prefetch(self, origin: str) -> Future[UrlFilter]:
        """Start to fetch an origin's rules, without waiting for them."""
        with self._lock:
            if origin not in self._filters:
                self._filters[origin] = spawn(lambda: self._load_filter(origin))
            return self._filters[origin]

    def is_allowed(self, origin: str, url: str, seconds: float) -> bool:
        """Whether a page may be read.

        Waits for the rules at most `seconds`, and at most half a second over the time-out. A page
        is allowed if they have not arrived by then.
        """
        try:
            is_url_allowed = self.prefetch(origin).result(min(seconds, ROBOTS_TIMEOUT + 0.5))
        except TimeoutError:
            return True
        return is_url_allowed(url)

    def _load_filter(self, origin: str) -> UrlFilter:
        from protego import Protego

        try:
            text = self._fetch(origin).decode("utf-8", "replace")
        except ReadFailed:
            text = ""
        rules = Protego.parse(text if _count_rules(text) <= MAX_RULES else "")
        return lambda url: bool(rules.can_fetch(url, self._user_agent))


def _count_rules(text: str) -> int:
    """How many rules a robots.txt may have at most, counting one for each program it is for."""
    lines = text.splitlines()
    return len(lines) * sum(line.lstrip().lower().startswith("user") for line in lines)
