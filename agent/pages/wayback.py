"""Archived copies of pages that cannot be read any more, found by the Wayback Machine."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from agent.calls.http import Endpoint
from agent.errors import ReadFailed
from agent.state import Page, get_path

#: The remedy for a page that cannot be read.
COPY = "There may be an archived copy: --archive reads it."

_DAY = re.compile(r"/web/(\d{4,14})/")


class WebArchive(NamedTuple):
    """Reads the newest copy of a page. Format: https://archive.org/help/wayback_api.php"""

    base_url: str
    read_page: Callable[[str], Page]
    check_public: Callable[[str], None]  # raises ReadFailed for what the archive may not know
    timeout: float = 7.0  # seconds to find the copy

    def read(self, url: str) -> Page:
        """The copy, at the archive's address. Raises ReadFailed."""
        self.check_public(url)
        endpoint = Endpoint(
            self.base_url, "ARCHIVE_BASE_URL", timeout=self.timeout, error_class=ReadFailed
        )
        reply = endpoint.call("/wayback/available", params={"url": url})
        copy = get_path(reply, "archived_snapshots", "closest", "url")
        if not isinstance(copy, str):
            raise endpoint.build_error("not_found", "there is no archived copy")
        try:  # the bytes as they were, without the archive's own words
            page = self.read_page(_DAY.sub(r"/web/\1id_/", copy, count=1))
        except ReadFailed:
            page = self.read_page(copy)
        return page.model_copy(update={"url": copy, "copy_of": url})
