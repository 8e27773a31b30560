"""Each provider on the wire: what it is asked, and what it is taken to say."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import responses
import yaml

from agent.search.provider_chain import SearchChain
from agent.search.wikipedia import Wikipedia
from agent.settings import Settings
from agent.state import SearchResults
from agent.state.clock import utc_today
from tests.support.search_wire import (
    KEY,
    SERVICES,
    STRICT,
    json_body,
    only_request,
    parameters,
    search_through_chain,
    service,
    wire,
)

# --- what is asked, exactly --------------------------------------------------------------------


OPERATORS = "q (site:a.org OR site:b.org) -site:c.org"
DOMAINS = (["a.org", "b.org"], ["c.org"])
#: All that a provider sends for the query `q` with the options `STRICT`.
SENT: dict[str, dict[str, Any]] = {
    "serpapi": {"engine": "google", "api_key": KEY, "output": "json", "source": "python",
                "q": OPERATORS, "hl": "de", "gl": "de", "tbs": "cdr:1,cd_min:06/10/2026"},
    "exa": {"query": "q", "numResults": 10, "type": "auto",
            "contents": {"highlights": True, "text": {"maxCharacters": 1000}},
            "startPublishedDate": "2026-06-10T00:00:00.000Z",
            "includeDomains": DOMAINS[0], "excludeDomains": DOMAINS[1]},
    "tavily": {"query": "q", "max_results": 10, "search_depth": "basic", "start_date": "2026-06-10",
               "include_domains": DOMAINS[0], "exclude_domains": DOMAINS[1]},
    "serper": {"q": OPERATORS, "hl": "de", "gl": "de", "num": 10,
               "tbs": "cdr:1,cd_min:06/10/2026"},
    "wikipedia": {"action": "query", "list": "search", "format": "json", "srsearch": "q",
                  "srlimit": "10"},
    "searxng": {"q": OPERATORS, "format": "json", "language": "de", "time_range": "week"},
    "brave": {"q": OPERATORS, "count": "10", "freshness": f"2026-06-10to{utc_today()}"},
    "github": {"q": "q pushed:>=2026-06-10", "per_page": "10"},
    "npm": {"text": "q", "size": "10"},
}  # fmt: skip
#: Where a key is sent, and how a request without one says who asks.
HEADERS = {
    "exa": ("x-api-key", KEY),
    "tavily": ("Authorization", f"Bearer {KEY}"),
    "serper": ("X-API-KEY", KEY),
    "brave": ("X-Subscription-Token", KEY),
    "github": ("Authorization", f"Bearer {KEY}"),
    "npm": ("User-Agent", "llm-research-agent/"),
    "wikipedia": ("User-Agent", "llm-research-agent/"),
}


@pytest.mark.parametrize("name", SENT)
def test_what_a_provider_is_asked(name: str) -> None:
    """Once, with its options; its key is where it belongs."""
    with wire(name, json=SERVICES[name].good) as asked:
        service(name, options=STRICT).search("q")
    request = only_request(asked)
    header, value = HEADERS.get(name, ("Accept", ""))
    assert str(request.headers.get(header)).startswith(value)
    found = parameters(request) if request.method == "GET" else json_body(request)
    assert found == SENT[name]


@pytest.mark.parametrize(("query", "host"), [("who won", "en"), ("谁赢了世界杯", "zh")])
def test_wikipedia_asks_in_the_language_of_the_query(query: str, host: str) -> None:
    wiki = f"https://{host}.wikipedia.org"
    with responses.RequestsMock() as mock:
        mock.get(f"{wiki}/w/api.php", json={"query": {"search": [{"title": "AC/DC (a b)?"}]}})
        (hit,) = Wikipedia(Settings()).search(query)
    assert hit.url == f"{wiki}/wiki/AC/DC_(a_b)%3F" and hit.title == "AC/DC (a b)?"


def test_the_chain_leaves_out_older_hits() -> None:
    rows = [{"url": f"https://a.org/{day}", "title": day, "text": "s", "publishedDate": day}
            for day in ("2026-06-09", "2026-06-11")]  # fmt: skip
    with wire("exa", json={"results": rows}):
        found = SearchChain([service("exa")])("q after:2026-06-10")
    assert [hit.title for hit in found.hits] == ["2026-06-11"]


# --- recorded replies --------------------------------------------------------------------------


@pytest.fixture
def recorded(data: Path) -> Callable[[str], Any]:
    def read(name: str) -> Any:
        text = (data / "search" / name).read_text(encoding="utf-8")
        return yaml.safe_load(text) if name.endswith("yaml") else json.loads(text)

    return read


def test_recorded_google_page_with_its_own_answers(recorded: Callable[[str], Any]) -> None:
    with wire("serpapi", json=recorded("searchapi_google.json")):
        found = search_through_chain(service("serpapi"))
    assert isinstance(found, SearchResults) and len(found.hits) == 10
    box, graph, first = found.hits[:3]
    assert box.url.startswith("https://fortune.com/2023/11/21/")  # not the link to a search
    assert box.snippet.startswith("Satya Nadella. Microsoft CEO Satya Nadella speaks")
    assert graph.url == "https://en.wikipedia.org/wiki/Satya_Nadella"
    assert "Indian-American business executive" in graph.snippet
    assert first.url == "https://news.microsoft.com/exec/satya-nadella/"


# --- what a result page itself answers ---------------------------------------------------------


def test_exa_prefers_highlights() -> None:
    row = {"url": "https://a.org/", "title": None, "text": "t", "publishedDate": "2026-01-01T0"}
    with wire("exa", json={"results": [row | {"highlights": ["one", "two"]}, row]}):
        first, second = service("exa").search("q")
    assert (first.snippet, second.snippet) == ("one … two", "t")
    assert first.title == "" and first.date == "2026-01-01T0"
