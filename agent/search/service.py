"""What search services over HTTP have in common: their address, their key, how rows become hits."""

from __future__ import annotations

from agent import USER_AGENT
from agent.outside.http import Endpoint
from agent.search.hits import parse_hit
from agent.search.options import SearchOptions
from agent.settings import Settings, key_field
from agent.state import Hit
from agent.state.json_data import Json


class Service:
    """A service. A subclass has a `name` and a `search`.

    The name, or that of the `account` which several share, gives those of its settings (`exa`:
    `exa_base_url`, and with a key `exa_api_key`) and of their environment variables, which error
    messages mention. One that `needs_key` fails without it, with the outcome `no_key`; another one
    whose key is not set `is_scarce`.
    """

    name: str
    account = ""
    url_field = "{}_base_url"
    needs_key = False
    row_names: tuple[str, ...] = ()  # of URL, title, snippet and date in a row of results

    def __init__(self, settings: Settings, options: SearchOptions | None = None) -> None:
        account = self.account or self.name
        url_name, key_name = self.url_field.format(account), key_field(account)
        key = getattr(settings, key_name, None)
        self.settings, self.options = settings, options or SearchOptions()
        self.key: str = key.get_secret_value() if key else ""
        self.is_scarce = not (key is None or self.key or self.needs_key)
        self.endpoint = Endpoint(
            getattr(settings, url_name),
            url_name.upper(),
            key_name.upper() if self.key or self.needs_key else "",
            self.key,
            settings.search_timeout,
        )

    @property
    def headers(self) -> dict[str, str]:
        """What a request says of who asks."""
        return {"User-Agent": self.settings.user_agent or USER_AGENT}

    def search(self, query: str) -> tuple[Hit, ...]:
        """What it finds, best first. Raises SearchFailed."""
        raise NotImplementedError

    def parse_rows(self, body: Json, *path: str) -> tuple[Hit, ...]:
        """The hits of a reply, by the names in its rows. Raises SearchFailed."""
        rows = self.endpoint.get_results(body, *(path or ("results",)))
        return tuple(hit for row in rows for hit in parse_hit(*map(row.get, self.row_names)))
