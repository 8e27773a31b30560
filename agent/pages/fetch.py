"""Reads one page: downloads it safely, detects its format, and extracts its text."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from agent.calls import run_with_timeout
from agent.documents import sniff
from agent.documents.body_reader import BodyReader
from agent.documents.body_text import TEXT, Body, BodyText, UnreadablePage
from agent.errors import ReadFailed
from agent.pages.address_guard import AddressGuard
from agent.pages.download import Downloader, DownloadLimits, FetchedBody
from agent.pages.package_registries import find_form
from agent.pages.renderer import BrowserUse, Renderer
from agent.pages.robots import ROBOTS_MAX_BYTES, ROBOTS_TIMEOUT, RobotsRules
from agent.state import Page, format_utc, host_of, to_places
from agent.version import USER_AGENT

PLAIN_TEXT = "text/plain; charset=utf-8"


class PageReader:
    """Reads pages until it is closed. Can be used from many threads at once.

    Only public IP addresses are connected to (`address_guard.py`) unless `allow_private_network`.
    With `through_proxy` the proxy of the environment resolves host names, so it must refuse those
    of private networks; schemes, ports, names of this machine and IP addresses are checked here.
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
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        guard: AddressGuard | None = None,
        browser: BrowserUse = "never",
        browser_path: Path | None = None,
    ) -> None:
        """`timeout`: seconds for a page as a whole, and again for a browser that renders it.

        `max_bytes`: of a page, decompressed. `guard`: replaces the one that `allow_private_network`
        selects. `browser`: `auto` renders pages that show nothing without scripts.
        """
        self._limits = DownloadLimits(timeout, max_bytes)
        self._now = now
        self._guard = guard or AddressGuard(allow_private=allow_private_network)
        self._downloader = Downloader(self._guard, user_agent, now, through_proxy=through_proxy)
        fetch_rules = self._fetch_robots_txt if respect_robots else None
        self._rules = RobotsRules(fetch_rules, user_agent.split("/")[0])
        self._bodies = BodyReader()
        self._renderer = Renderer(
            browser, browser_path, user_agent, self._guard, through_proxy=through_proxy
        )
        self.is_rendering = self._renderer.is_rendering

    def __call__(self, url: str) -> Page:
        """The page that `load` reads. Raises ReadFailed."""
        return self._build_page(*self.load(url))

    def load(self, url: str) -> tuple[str, str, BodyText]:
        """Read a page: follow redirects, extract its title and text; where it was found.

        Raises ReadFailed with an outcome: `forbidden` where the guard refuses, `blocked` by
        robots.txt, a captcha or another wall, `not_found`, `rate_limited` (with `retry_after`
        where the server names it), `timeout`, `unavailable`, `empty`, `unsupported`, `invalid`,
        `rejected`.
        """
        if form := self._load_form(url.strip()):
            return form
        body = self._downloader.get(url.strip(), self._limits, self._rules)
        if self._renderer.is_first(body):
            body = self._render(body.url)
        try:
            read = self._extract_text(body)
        except ReadFailed as error:
            if not self._renderer.is_needed(error, body):
                raise
            body = self._render(body.url)
            read = self._extract_text(body)
        return body.url, read.title or host_of(body.url), read

    def _load_form(self, url: str) -> tuple[str, str, BodyText] | None:
        """What a site gives to programs instead of a page; None where it gives nothing."""
        with suppress(ReadFailed, UnreadablePage):
            if form := find_form(url):  # robots.txt is about pages, not about forms for programs
                fetched = self._downloader.get(form.url, self._limits, RobotsRules())
                read = self._bodies.read(form.to_body(fetched))
                return url.partition("#")[0], read.title or host_of(url), read
        return None

    def _render(self, url: str) -> FetchedBody:
        """What a browser shows of a page, where its scripts left it. Raises ReadFailed."""
        shown = self._renderer.render(url, self._limits)
        self.check(shown.url)
        return shown._replace(url=shown.url.partition("#")[0])

    def check(self, url: str) -> None:
        """Raise ReadFailed for an address that may not be read, by the guard or by robots.txt."""
        self._downloader.find_target(url, self._limits.timeout, lambda _: False)
        self._rules.check_before_use(url, ROBOTS_TIMEOUT)

    def check_public(self, url: str) -> None:
        """Raise ReadFailed for an address that may not be disclosed to others: not a public one."""
        try:
            run_with_timeout(self._limits.timeout, lambda: self._guard.check_public(url))
        except TimeoutError:
            raise ReadFailed(f"{host_of(url)}: no answer from DNS.", outcome="timeout") from None

    def build(self, url: str, title: str, data: bytes, content_type: str) -> Page:
        """A page of bytes that came from elsewhere than its address. Raises ReadFailed."""
        read = self.extract(data, content_type)
        return self._build_page(url, title or read.title or host_of(url), read)

    def extract(self, data: bytes, content_type: str) -> BodyText:
        """The text of bytes that came from elsewhere than from an address. Raises ReadFailed."""
        # without the URL: what its end says of the format is not true of this text
        return self._extract_text(FetchedBody("", content_type, data, is_truncated=False))

    def _build_page(self, url: str, title: str, read: BodyText) -> Page:
        return Page.from_text(
            url,
            title,
            read.text,
            format_utc(self._now()),
            places=to_places(read.marks),
            date=read.date,
            partial_text=read.note,
        )

    def _extract_text(self, body: FetchedBody) -> BodyText:
        """Title and text of a body, by a worker. Raises ReadFailed."""
        host = host_of(body.url)
        if body.is_truncated and sniff.detect_kind(body.data, body.content_type) == "pdf":
            raise ReadFailed(
                f"{host}: the PDF is larger than {len(body.data):,} bytes.",
                "Raise RESEARCH_AGENT_PAGE_MAX_BYTES to read it.",
                outcome="unsupported",
            )
        try:
            read = self._bodies.read(Body(body.data, body.content_type, body.url))
        except UnreadablePage as error:
            raise ReadFailed(f"{host}: {error}.", outcome=error.outcome) from None
        if body.is_truncated and not read.not_read:
            cut = (TEXT, 1, f"only its first {len(body.data):,} bytes were read")
            return read._replace(not_read=(cut,))
        return read

    def warm(self) -> None:
        """Start the process that reads, and make what connecting needs, before the first page."""
        self._bodies.warm()
        import protego  # noqa: F401

        self._downloader.open_transport()

    def close(self) -> None:
        """Abort every connection; reads under way raise ReadFailed. Can be called twice."""
        self._downloader.close()
        self._bodies.close()
        self._renderer.close()

    def _fetch_robots_txt(self, origin: str) -> bytes:
        limits = DownloadLimits(ROBOTS_TIMEOUT, ROBOTS_MAX_BYTES)
        return self._downloader.get(f"{origin}/robots.txt", limits).data
