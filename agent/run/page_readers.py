"""How a run reads pages: the web reader, with what is added to it and what comes before it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import TYPE_CHECKING, Protocol

from agent.calls.plugins import load_plugins
from agent.errors import ReadFailed
from agent.settings import Settings
from agent.state import Page, sanitize_line, utc_now
from agent.state.characters import strip_controls
from agent.version import USER_AGENT

if TYPE_CHECKING:
    from agent.pages.fetch import PageReader

MAX_TITLE = 300  # characters

Read = Callable[[str], Page]


class AddedReader(Protocol):
    """A reader that another package adds."""

    def takes(self, url: str) -> bool:
        """Whether it reads this address."""

    def read(self, url: str) -> tuple[str, str]:
        """Title and text. Raises ReadFailed."""


def open_page_reader(settings: Settings) -> PageReader:
    """The reader of web pages. Close it."""
    from agent.pages.fetch import PageReader

    return PageReader(
        timeout=settings.page_timeout,
        max_bytes=settings.page_max_bytes,
        allow_private_network=settings.allow_private_network,
        through_proxy=settings.fetch_through_proxy,
        respect_robots=settings.respect_robots,
        user_agent=settings.user_agent or USER_AGENT,
        browser=settings.page_browser,
        browser_path=settings.page_browser_path,
    )


def compose_reader(settings: Settings, reader: PageReader) -> Read:
    """The reader of pages with what wraps it, the innermost first."""
    read = _plugin_or_web(settings, reader)
    read = _with_archive(settings, reader, read)
    read = _refuse_older(read, settings.since)
    return _with_registries(settings, read)


def _plugin_or_web(settings: Settings, reader: Read) -> Read:
    """Reads an address with the first added reader that takes it, else as a web page."""
    added: list[AddedReader] = [make(settings) for make in load_plugins("readers")]

    def read(url: str) -> Page:
        own = next((one for one in added if one.takes(url)), None)
        if own is None:
            return reader(url)
        title, text = own.read(url)
        clean = strip_controls(text)[: settings.page_max_bytes]
        return Page.from_text(url, sanitize_line(title, MAX_TITLE), clean, utc_now())

    return read if added else reader


def _with_archive(settings: Settings, reader: PageReader, web: Read) -> Read:
    """The same reader, with archived copies of pages that cannot be read, if the user allows it."""
    from agent.pages.fallbacks import LOST, Fallback, FallbackReader
    from agent.pages.wayback import WebArchive

    if not settings.archive:
        return web
    archive = WebArchive(settings.base_url("archive"), web, reader.check_public)
    return FallbackReader(web, (Fallback("archive", archive.read, LOST),))


def _with_registries(settings: Settings, web: Read) -> Read:
    """The same reader, which also reads what registries say of a DOI."""
    from agent.evidence.doi import SCHEME
    from agent.search import retractions

    notices = retractions.Retractions(settings.base_url("crossref"), settings.base_url("europepmc"))

    def read(url: str) -> Page:
        if not url.startswith(SCHEME):
            return web(url)
        notice = notices.find_notice(url.removeprefix(SCHEME))
        return Page.from_text(url, notice, notice, utc_now())

    return read


def _refuse_older(read: Read, since: date | None) -> Read:
    """The same reader, without the pages that are older than `since` by their own date."""
    if since is None:
        return read
    from agent.state import host_of

    def read_recent(url: str) -> Page:
        page = read(url)
        if page.date and page.date < since.isoformat():
            fault = f"{host_of(page.url)}: it is dated {page.date}, before {since}."
            raise ReadFailed(fault, "Name an earlier day with --since.", outcome="skipped")
        return page

    return read_recent


def read_first(first: Read, second: Read) -> Read:
    """A reader of what the first has, and of all else by the second."""

    def read(url: str) -> Page:
        try:
            return first(url)
        except ReadFailed:
            return second(url)

    return read
