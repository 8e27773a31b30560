"""Services that a table describes: the form of its request and of its reply in JSON."""

from __future__ import annotations

import textwrap
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

from agent.calls.rate_limits import RateLimit, RateLimiter, RateLimits, SharedRateLimits
from agent.errors import UsageError
from agent.evidence.words import stop_words
from agent.search.service import Service
from agent.settings import user_folder
from agent.state import Hit, Json, get_path

MAX_WORDS = 20  # of a query whose words are sent singly,
MAX_TOGETHER = 6  # and of one whose words must all be in a text,
MAX_CHARS = 64  # with its length: the search of npm takes no more


@cache
def _load_tables() -> dict[str, dict[str, Any]]:
    return tomllib.loads(files("agent.search").joinpath("services.toml").read_text("utf-8"))


class TableService(Service):
    """A service with its `name` in `services.toml`, and `build`.

    Between two requests of all runs that use one cache folder are `seconds_apart`.
    """

    path: str
    asked: str  # parameters; those that are empty are not sent
    since = ""  # how a day of publication is asked for
    prefix = ""  # of a word in a query whose words are sent singly
    signs = "-"  # that may be in a word of a query
    rows: str  # where the list of results is in a reply: see `read_fields`
    fields: str
    seconds_apart: float = 0.0

    def __init_subclass__(cls) -> None:
        for name, value in _load_tables().get(getattr(cls, "name", ""), {}).items():
            setattr(cls, name, value)

    @cached_property
    def _turns(self) -> RateLimits:
        folder = (self.settings.cache_dir or user_folder("cache")) / "limits"
        limits = {self.name: RateLimit(1)} if self.seconds_apart else {}
        return SharedRateLimits(limits, folder, self.seconds_apart or 1.0)

    def search(self, query: str) -> tuple[Hit, ...]:
        """What it finds, best first. Raises SearchFailed."""
        query, options = self.options.for_query(query)
        terms = telling_words(query, self.signs)
        words = {"q": query, "mail": self.settings.scholar_contact, "key": self.key}
        words["or"] = " OR ".join(f"{self.prefix}{word}" for word in terms[:MAX_WORDS])
        words["all"] = textwrap.shorten(" ".join(terms[:MAX_TOGETHER]), MAX_CHARS, placeholder="")
        words["count"] = str(options.max_results)
        words["since"] = self.since.format(day=options.since) if options.since else ""
        pairs = (pair.partition("=") for pair in self.asked.split("&"))
        parameters = {name: text for name, _, form in pairs if (text := form.format_map(words))}
        with suppress(OSError, UsageError):  # a folder that cannot be written
            RateLimiter(self._turns).acquire(self.name)
        data = self.endpoint.fetch(self.path, headers=self.headers, params=parameters)
        return tuple(hit for one in self.read(data) for hit in self.build(one))

    def read(self, data: bytes) -> Iterator[Json]:
        """The records of a reply, in the names of `build`. Raises SearchFailed."""
        body = self.endpoint.parse_object(data)
        for row in self.endpoint.get_results(body, *self.rows.split(".")):
            yield read_fields(row, self.fields) | self.complete(row)

    def complete(self, row: Json) -> Json:
        """What of a row is not at one place."""
        return {}

    def build(self, record: Json) -> Iterator[Hit]:
        """The hits of a record."""
        raise NotImplementedError


def read_fields(row: object, fields: str) -> Json:
    """The values at the paths of a row: `name=path.to.it`, `a|b` the first that is, `a+b` both."""
    return {
        name: read_path(row, path) for name, _, path in (f.partition("=") for f in fields.split())
    }


def read_path(row: object, path: str) -> Any:
    """The value at one path, as `read_fields` has it."""
    if "+" in path:
        texts = (as_text(read_path(row, one)) for one in path.split("+"))
        return "-".join(dict.fromkeys(filter(None, texts)))
    steps = (one.split(".") for one in path.split("|"))
    return next((value for keys in steps if (value := get_path(row, *keys))), None)


def as_text(value: object) -> str:
    """A text or a number as text, or the first of a list of them; "" for anything else."""
    if isinstance(value, list):
        value = next(iter(value), "")
    return str(value) if isinstance(value, str | int) else ""


def telling_words(query: str, signs: str = "-") -> list[str]:
    """The telling words of a query, without signs that mean something to a service.

    For services that ask for all words else: few texts have all words of a question.
    """
    plain = "".join(char if char.isalnum() or char in signs else " " for char in query)
    words = [
        word
        for one in plain.split()
        if (word := one.strip("-_./").casefold()) not in ("or", "and", "not", "")
    ]
    return [word for word in words if word not in stop_words("en")] or words
