"""What the search providers that need an API key have in common."""

from __future__ import annotations

from typing import Self

from pydantic import SecretStr

from agent.outside.http import MAX_BYTES, Endpoint
from agent.search.hits import parse_hit
from agent.search.options import SearchOptions
from agent.settings import Settings
from agent.state import Hit
from agent.state.json_data import Json

#: Of a reply with the text of twenty pages, whose length a service may not bound.
MAX_BYTES_WITH_TEXT = 20_000_000


class KeyedProvider:
    """A search service with an API key. A subclass has a `name` and a `search`.

    The name gives those of its settings (`exa`: `exa_api_key`, `exa_base_url`) and of their
    environment variables (`EXA_API_KEY`, `EXA_BASE_URL`), which error messages mention.
    """

    name: str
    #: Of a row of results: URL, title, snippet, date, and the text of the page, which is only
    #: taken where it was asked for.
    row_names: tuple[str, ...] = ()

    def __init__(
        self, key: str, base_url: str, options: SearchOptions | None = None, timeout: float = 20.0
    ) -> None:
        prefix = self.name.upper()
        self._options = options or SearchOptions()
        self._endpoint = Endpoint(
            base_url,
            f"{prefix}_BASE_URL",
            f"{prefix}_API_KEY",
            key,
            timeout,
            max_bytes=MAX_BYTES_WITH_TEXT if self._options.page_text else MAX_BYTES,
        )

    def parse_rows(self, body: Json) -> tuple[Hit, ...]:
        """The hits of a reply, by the names in its rows."""
        names = self.row_names if self._options.page_text else self.row_names[:-1]
        rows = self._endpoint.get_results(body, "results")
        return tuple(hit for row in rows for hit in parse_hit(*map(row.get, names)))

    @classmethod
    def from_settings(cls, settings: Settings, options: SearchOptions) -> Self:
        """The provider with its key and base URL. Without a key, `search` raises `no_key`."""
        key: SecretStr = getattr(settings, f"{cls.name}_api_key")
        base_url: str = getattr(settings, f"{cls.name}_base_url")
        return cls(key.get_secret_value(), base_url, options, settings.search_timeout)
