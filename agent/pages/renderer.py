"""Shows pages in a browser where their text needs scripts, or always, as the user chose."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Literal

from agent.documents import sniff
from agent.documents.html.paywall_detection import WALLS
from agent.errors import ReadFailed
from agent.pages.address_guard import AddressGuard
from agent.pages.browser import REMEDY, Browser, find_browser
from agent.pages.download import DownloadLimits, FetchedBody
from agent.pages.relay import GuardedRelay

BrowserUse = Literal["auto", "always", "never"]
HTML = "text/html; charset=utf-8"


class Renderer:
    """Renders pages until it is closed. Without an installed browser it renders none."""

    def __init__(
        self,
        use: BrowserUse,
        path: Path | None,
        user_agent: str,
        guard: AddressGuard,
        *,
        through_proxy: bool,
    ) -> None:
        self._use = use
        program = find_browser(path) if use != "never" else None
        self._browser = Browser(program, user_agent) if program else None
        self._make_relay = partial(GuardedRelay, guard, through_proxy=through_proxy)

    def is_first(self, body: FetchedBody) -> bool:
        """Whether a page is rendered before its text is extracted."""
        return self._use == "always" and self._browser is not None and _is_html(body)

    def is_needed(self, error: ReadFailed, body: FetchedBody) -> bool:
        """Whether a page that failed is rendered. Raises ReadFailed where no browser is there."""
        if self._use == "never" or not _needs_scripts(error, body):
            return False
        if self._browser is None:
            raise ReadFailed(error.message, REMEDY, outcome=error.outcome) from None
        return True

    def render(self, url: str, limits: DownloadLimits) -> FetchedBody:
        """What a browser shows of a page, at the address that served it. Raises ReadFailed."""
        assert self._browser
        shown = self._browser.render(url, limits.timeout, self._make_relay)
        html = shown.html.encode("utf-8", "replace")[: limits.max_bytes]
        return FetchedBody(shown.url, HTML, html, is_truncated=False)

    def is_rendering(self) -> bool:
        """Whether a browser renders a page now."""
        return self._browser is not None and self._browser.is_busy

    def close(self) -> None:
        """End all browsers."""
        if self._browser:
            self._browser.close()


def _is_html(body: FetchedBody) -> bool:
    return sniff.detect_kind(body.data, body.content_type) == "html"


def _needs_scripts(error: ReadFailed, body: FetchedBody) -> bool:
    """Whether a page that could not be read may show something once its scripts have run."""
    if WALLS["javascript"].reason in error.message:
        return True
    return error.outcome == "empty" and _is_html(body) and b"<script" in body.data.lower()
