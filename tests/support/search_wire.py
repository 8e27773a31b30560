"""Search services as they are on the wire, for the tests of the providers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
import responses

from agent.errors import SearchFailed
from agent.search.brave import Brave
from agent.search.code import CODE
from agent.search.duckduckgo import DuckDuckGo
from agent.search.exa import Exa
from agent.search.provider_chain import Provider, SearchChain
from agent.search.search_options import SearchOptions
from agent.search.searxng import SearXNG
from agent.search.serpapi import SerpApi
from agent.search.serper import Serper
from agent.search.service import Service as Provided
from agent.search.tavily import Tavily
from agent.search.wikipedia import Wikipedia
from agent.settings import Settings
from agent.state import SearchResults

KEY = "s3cret/key+42"
BASE = "https://gate.example/prefix"
TODAY = date(2026, 6, 15)
STRICT = SearchOptions(
    language="de",
    since=date(2026, 6, 10),
    allow_domains=("a.org", "b.org"),
    block_domains=("c.org",),
)
LINKED = {"link": "https://a.org/1", "title": "T", "snippet": "S"}
NOTHING = "Google hasn't returned any results for this query."


class DatedSearXNG(SearXNG):
    """SearXNG, which knows what day it is."""

    today = staticmethod(lambda: TODAY)


class Service(NamedTuple):
    """A provider: its class, how it is asked, a reply with one hit, and one with none."""

    make: type[Provided]
    method: str
    path: str
    good: dict[str, Any]
    empty: dict[str, Any]


SERVICES = {
    "serpapi": Service(
        SerpApi,
        "GET",
        "/search",
        {"organic_results": [LINKED]},
        {"search_metadata": {}, "error": NOTHING},
    ),
    "exa": Service(
        Exa,
        "POST",
        "/search",
        {"results": [{"url": "https://a.org/1", "title": "T", "text": "S"}]},
        {"results": []},
    ),
    "tavily": Service(
        Tavily,
        "POST",
        "/search",
        {"results": [{"url": "https://a.org/1", "title": "T", "content": "S"}]},
        {"results": []},
    ),
    "serper": Service(
        Serper, "POST", "/search", {"organic": [LINKED]}, {"searchParameters": {"q": "x"}}
    ),
    "brave": Service(
        Brave,
        "GET",
        "/res/v1/web/search",
        {"web": {"results": [{"url": "https://a.org/1", "title": "T", "description": "S"}]}},
        {"type": "search", "query": {}},
    ),
    "wikipedia": Service(
        Wikipedia,
        "GET",
        "/w/api.php",
        {"query": {"search": [{"title": "T", "snippet": "S"}]}},
        {"query": {"search": []}},
    ),
    "searxng": Service(
        DatedSearXNG,
        "GET",
        "/search",
        {"results": [{"url": "https://a.org/1", "title": "T", "content": "S"}]},
        {"results": []},
    ),
    "github": Service(
        CODE["github_repositories"],
        "GET",
        "/search/repositories",
        {"items": [{"html_url": "https://a.org/1", "full_name": "T", "description": "S"}]},
        {"total_count": 0, "items": []},
    ),
    "npm": Service(
        CODE["npm"],
        "GET",
        "/-/v1/search",
        {"objects": [{"package": {"name": "T", "version": "1", "description": "S"}}]},
        {"objects": []},
    ),
}
KEYED = ("serpapi", "exa", "tavily", "serper", "brave", "github")


def service(
    name: str,
    base: str = BASE,
    options: SearchOptions | None = None,
    timeout: float = 20.0,
    key: str = KEY,
) -> Provider:
    """A provider that asks at `base`."""
    make = SERVICES[name].make
    account = make.account or make.name
    keys = {account: key} if make.needs_key else {}
    known = {"base_urls": {account: base}, "keys": keys, "search_timeout": timeout}
    return make(Settings.model_validate(known), options)


@contextmanager
def wire(name: str, **reply: Any) -> Iterator[list[Any]]:
    """One reply of a service at its own address, asked with its own method: what was sent."""
    asked: list[Any] = []
    with responses.RequestsMock() as mock:
        mock.add(SERVICES[name].method, BASE + SERVICES[name].path, **reply)
        try:
            yield asked
        finally:
            asked.extend(call.request for call in mock.calls)


def only_request(asked: list[Any]) -> requests.PreparedRequest:
    """The one request that went out."""
    (request,) = asked
    assert isinstance(request, requests.PreparedRequest)
    return request


def parameters(request: requests.PreparedRequest) -> dict[str, str]:
    """The query string."""
    return {name: value[0] for name, value in parse_qs(urlsplit(str(request.url)).query).items()}


def json_body(request: requests.PreparedRequest) -> dict[str, Any]:
    """The JSON body."""
    found: dict[str, Any] = json.loads(request.body or "")
    return found


def failure(provider: Provider, query: str = "q") -> SearchFailed:
    """How a provider fails."""
    with pytest.raises(SearchFailed) as caught:
        provider.search(query)
    return caught.value


def search_through_chain(provider: Provider) -> SearchResults | SearchFailed:
    """What the chain makes of one provider."""
    try:
        return SearchChain([provider], pause=lambda seconds: None)("q")
    except SearchFailed as error:
        return error


class RatelimitException(Exception):
    """By name the one of ddgs."""


class TimeoutException(Exception):
    """By name the one of ddgs."""


class DDGSException(Exception):
    """By name the one of ddgs."""


class FakeDDGS:
    """DDGS as its class: called with `timeout`, then asked with `text(**asked)`."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, Any]] = []

    def __call__(self, proxy: str | None, timeout: int, verify: bool | str) -> FakeDDGS:
        assert timeout >= 1
        return self

    def text(self, **asked: Any) -> Any:
        self.asked.append(asked)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def fake_duckduckgo(
    fake: FakeDDGS, options: SearchOptions | None = None, timeout: float = 20.0
) -> DuckDuckGo:
    """The provider with a fake of the class of ddgs, whose requests cannot be intercepted."""
    return DuckDuckGo(options, timeout, fake, pause=lambda seconds: None, today=lambda: TODAY)
