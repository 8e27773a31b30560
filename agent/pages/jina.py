"""Jina Reader: pages that refuse this program, as Jina's browsers see them."""

from __future__ import annotations

from agent.errors import ReadFailed
from agent.outside.http import Endpoint
from agent.pages.fetch import HTML, PageReader
from agent.settings import Settings
from agent.state import Page


class JinaReader:
    """Format: https://github.com/jina-ai/reader, `x-respond-with: html`. It sees each address.

    Only public addresses are sent, and none that robots.txt forbids.
    """

    name = "jina"

    def __init__(self, settings: Settings, reader: PageReader) -> None:
        """`reader` checks addresses, and takes the text out of bytes."""
        self._reader = reader
        key = settings.jina_api_key.get_secret_value()
        self._headers = {"X-Respond-With": "html", "Accept": "text/html"}
        self._headers |= {"Authorization": f"Bearer {key}"} if key else {}
        self._endpoint = Endpoint(
            settings.jina_reader_base_url,
            "JINA_READER_BASE_URL",
            "JINA_API_KEY",
            key,
            settings.page_timeout,
            needs_key=False,
            error_class=ReadFailed,
            max_bytes=settings.page_max_bytes,
        )

    def read(self, url: str) -> Page:
        """The page by the text that Jina gives. Raises ReadFailed."""
        self._reader.check_public(url)
        self._reader.check(url)
        data = self._fetch(url)
        return self._reader.build(url, "", data, HTML).model_copy(update={"text_from": self.name})

    def probe(self) -> str:
        """That it answers, and how much it may be asked. Raises ReadFailed."""
        self._fetch("https://example.com/")
        few = "" if self._endpoint.secret else ", 20 a minute: JINA_API_KEY is not set"
        return f"answers: it reads pages that refuse{few}"

    def _fetch(self, url: str) -> bytes:
        return self._endpoint.fetch("/", headers=self._headers, body={"url": url})
