"""What search services over HTTP have in common: their address, their key, how rows become hits."""

from __future__ import annotations

from agent.calls.http import Endpoint
from agent.search.hits import parse_hit
from agent.search.search_options import SearchOptions
from agent.settings import KEY_VARIABLES, Settings, url_variable
from agent.state import Hit, Json
from agent.version import USER_AGENT


class Service:
    """A service with a `name` and a `search`.

    Its address and key in the settings are those of `account`, which several share, or of its name.
    One that `needs_key` fails without it (`no_key`); another one without its key `is_scarce`.
    """

    name: str
    account = ""
    needs_key = False
    row_names: tuple[str, ...] = ()  # of URL, title, snippet and date in a row of results

    def __init__(self, settings: Settings, options: SearchOptions | None = None) -> None:
        account = self.account or self.name
        key_variable = KEY_VARIABLES.get(account, "")
        self.settings, self.options = settings, options or SearchOptions()
        self.key = settings.key(account)
        self.is_scarce = bool(key_variable) and not (self.key or self.needs_key)
        self.endpoint = Endpoint(
            settings.base_url(account),
            url_variable(account),
            key_variable if self.key or self.needs_key else "",
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
