"""Reads one page: gets it safely, recognises it for what it is, and takes its text out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from urllib.parse import urlsplit

from agent import USER_AGENT
from agent.errors import ReadFailed
from agent.sources.pages.download import Body, Downloader, Limits, host_of
from agent.sources.pages.guard import Guard
from agent.sources.pages.robots import MAX_BYTES, TIMEOUT, Robots
from agent.state import Page


def utc_now() -> datetime:
    """The time of reading."""
    return datetime.now(UTC)


class PageReader:
    """Reads pages, from many threads at once, until it is closed.

    Only public addresses are connected to (`guard.py`) unless `allow_private_network`. With
    `through_proxy` the proxy of the environment is used where there is one: it resolves the names,
    so it must itself keep readers out of private networks. Schemes, ports and spellings are still
    checked here, addresses are not.
    """

    def __init__(
        self,
        timeout: float = 15.0,
        max_bytes: int = 5_000_000,
        *,
        allow_private_network: bool = False,
        through_proxy: bool = False,
        respect_robots: bool = True,
        user_agent: str = USER_AGENT,
        now: Callable[[], datetime] = utc_now,
        guard: Guard | None = None,
    ) -> None:
        """`timeout` in seconds for a page as a whole, `max_bytes` of it once decompressed.

        A `guard` of the caller's own decides in place of `allow_private_network`.
        """
        self._limits = Limits(timeout, max_bytes)
        self._now = now
        guard = guard or Guard(allow_private=allow_private_network)
        self._downloader = Downloader(guard, user_agent, now, through_proxy=through_proxy)
        self._permit = _Permit(
            Robots(self._robots_txt, user_agent.split("/")[0]) if respect_robots else None
        )

    def __call__(self, url: str) -> Page:
        """Read a page: follow redirects, take its title and text out.

        Raises ReadFailed: `forbidden` for an address that is not reached, `blocked` for robots.txt,
        captchas and the like, `not_found`, `rate_limited` (with `retry_after` where given),
        `timeout`, `unavailable`, `empty`, `unsupported`, `invalid`, `rejected`.
        """
        body = self._downloader.get(url.strip(), self._limits, self._permit)
        title, text = _text(body)
        return Page(
            url=body.url,
            title=title or host_of(body.url),
            text=text,
            sha256=hashlib.sha256(text.encode()).hexdigest(),
            retrieved_at=self._now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        )

    def warm(self) -> None:
        """Import what reading needs and make the TLS context (0.3 s), before the first page."""
        import protego  # noqa: F401

        from agent.sources.pages import extract

        self._downloader.transport()
        extract.warm()

    def close(self) -> None:
        """Cut every connection; reads under way end with ReadFailed. Can be called twice."""
        self._downloader.close()

    def _robots_txt(self, origin: str) -> bytes:
        return self._downloader.get(f"{origin}/robots.txt", Limits(TIMEOUT, MAX_BYTES)).data


class _Permit:
    """Asks robots.txt while the page is on its way, so that asking costs no time of its own."""

    def __init__(self, robots: Robots | None) -> None:
        self._robots = robots

    def before(self, url: str) -> None:
        """Start asking; refuse at once, without any request, what is known to be disallowed."""
        if self._robots is not None and self._robots.start(_origin(url)).done():
            self.after(url, 0)

    def after(self, url: str, seconds: float) -> None:
        """Refuse what robots.txt disallows."""
        if self._robots is not None and not self._robots.allows(_origin(url), url, seconds):
            raise ReadFailed(
                f"{host_of(url)}: its robots.txt disallows this page.",
                "Open it yourself, or set RESPECT_ROBOTS=0 if you have the site's consent.",
                outcome="blocked",
            )


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _text(body: Body) -> tuple[str, str]:
    """Title and text of a body. Raises ReadFailed."""
    from agent.sources.pages import extract, sniff, walls

    host = host_of(body.url)
    kind = sniff.kind(body.data, body.content_type)
    if kind == "pdf" and body.cut:
        raise ReadFailed(
            f"{host}: the PDF is larger than {len(body.data):,} bytes.",
            "Raise PAGE_MAX_BYTES to read it.",
            outcome="unsupported",
        )
    try:
        title, text = extract.extract(body.data, body.content_type, body.url)
        error = None
    except extract.Unreadable as unreadable:
        title, text, error = "", "", unreadable
    if kind == "html" and (found := walls.wall(body.data, title, text)):
        raise ReadFailed(f"{host}: it shows {found} instead of a page.", outcome="blocked")
    if error is not None:
        raise ReadFailed(f"{host}: {error}.", outcome=error.outcome)
    return title, text
