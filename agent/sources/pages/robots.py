"""What a site's robots.txt lets us read (RFC 9309)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Late

from agent.errors import ReadFailed
from agent.outside import spawn

TIMEOUT = 3.0  # seconds for a robots.txt, beside the page itself
MAX_BYTES = 512_000  # RFC 9309 asks for at least 500 KiB

#: An origin's robots.txt. Raises ReadFailed where there is none, or where it cannot be had.
Get = Callable[[str], bytes]


class Robots:
    """Knows which pages may be read, from each origin's robots.txt, asked for once.

    A robots.txt that cannot be had (5xx, time-out, cut connection) allows: RFC 9309 tells crawlers
    to stay away then, but this reads a page or three that a person asked about, and a server
    that is down fails the page itself. Crawl-delay is not waited for, for the same reason.
    """

    def __init__(self, get: Get, agent: str) -> None:
        self._get = get
        self._agent = agent
        self._rules: dict[str, Future[Callable[[str], bool]]] = {}
        self._lock = threading.Lock()

    def start(self, origin: str) -> Future[Callable[[str], bool]]:
        """Ask for an origin's rules without waiting."""
        with self._lock:
            if origin not in self._rules:
                self._rules[origin] = spawn(lambda: self._load(origin))
            return self._rules[origin]

    def allows(self, origin: str, url: str, seconds: float) -> bool:
        """Whether a page may be read; waits at most `seconds`, and a little over the time-out."""
        try:
            return self.start(origin).result(timeout=min(seconds, TIMEOUT + 0.5))(url)
        except Late:
            return True

    def _load(self, origin: str) -> Callable[[str], bool]:
        from protego import Protego

        try:
            rules = Protego.parse(self._get(origin).decode("utf-8", "replace"))
        except ReadFailed:
            return lambda url: True
        return lambda url: bool(rules.can_fetch(url, self._agent))
