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
from agent.search.search_options import SearchOptions
from agent.search.wikipedia import Wikipedia
from agent.settings import Settings
from agent.state import SearchResults
from tests.support.search_wire import (
    BASE,
    KEY,
    SERVICES,
    STRICT,
    failure,
    json_body,
    only_request,
    parameters,
    search_through_chain,
    service,
    wire,
)

# --- what is asked, exactly --------------------------------------------------------------------


OPERATORS = "q (site:a.org OR site:b.org) -site:c.org"
GOOGLE = {"engine": "google", "api_key": KEY, "output": "json", "source": "python"}
TEXTS = {"highlights": True, "text": {"maxCharacters": 1000}}
DOMAINS = (["a.org", "b.org"], ["c.org"])
#: The provider, the query, and all that it sends.
PLAIN: list[tuple[str, str, dict[str, Any]]] = [
    ("serpapi", "谁赢了", GOOGLE | {"q": "谁赢了", "hl": "zh-cn", "gl": "cn"}),
    ("exa", "who won", {"query": "who won", "numResults": 10, "type": "auto", "contents": TEXTS}),
    ("tavily", "who won", {"query": "who won", "max_results": 10, "search_depth": "basic"}),
    ("serper", "who won", {"q": "who won", "hl": "en", "gl": "us", "num": 10}),
    ("serper", "谁赢了世界杯", {"q": "谁赢了世界杯", "hl": "zh-cn", "gl": "cn", "num": 10}),
    ("wikipedia", "who won", {"action": "query", "list": "search", "format": "json",
                              "srsearch": "who won", "srlimit": "10"}),
    ("searxng", "who won", {"q": "who won", "format": "json", "language": "en"}),
    ("brave", "who won", {"q": "who won", "count": "10"}),
]  # fmt: skip
#: Which have no days of publication, or say them among the words of the query.
NO_DAYS = ("wikipedia", "npm", "github")
#: The provider, and what it sends of `STRICT`.
OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("serpapi", {"q": OPERATORS, "hl": "de", "gl": "de", "tbs": "cdr:1,cd_min:06/10/2026"}),
    ("exa", {"query": "q", "startPublishedDate": "2026-06-10T00:00:00.000Z",
             "includeDomains": DOMAINS[0], "excludeDomains": DOMAINS[1]}),
    ("tavily", {"start_date": "2026-06-10", "include_domains": DOMAINS[0],
                "exclude_domains": DOMAINS[1]}),
    ("serper", {"q": OPERATORS, "tbs": "cdr:1,cd_min:06/10/2026"}),
    ("searxng", {"q": OPERATORS, "time_range": "week", "language": "de"}),
    ("brave", {"q": OPERATORS}),
    ("github", {"q": "q pushed:>=2026-06-10", "per_page": "10"}),
]  # fmt: skip
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


def sent(name: str, query: str, options: SearchOptions) -> dict[str, Any]:
    """All that a provider sends, once; its key where it belongs."""
    with wire(name, json=SERVICES[name].good) as asked:
        service(name, options=options).search(query)
    request = only_request(asked)
    header, value = HEADERS.get(name, ("Accept", ""))
    assert str(request.headers.get(header)).startswith(value)
    return dict(parameters(request)) if request.method == "GET" else json_body(request)


@pytest.mark.parametrize(("name", "query", "all_sent"), PLAIN)
def test_what_a_provider_is_asked(name: str, query: str, all_sent: dict[str, Any]) -> None:
    assert sent(name, query, SearchOptions()) == all_sent


@pytest.mark.parametrize(("name", "more"), OPTIONS)
def test_options_are_passed_on(name: str, more: dict[str, Any]) -> None:
    told = sent(name, "q", STRICT)
    assert told | more == told and (name != "serpapi" or "num" not in told)


@pytest.mark.parametrize(
    ("query", "host"),
    [("who won", "en"), ("谁赢了世界杯", "zh"), ("ワールドカップ", "ja"), ("кто выиграл", "ru")],
)
def test_wikipedia_asks_in_the_language_of_the_query(query: str, host: str) -> None:
    wiki = f"https://{host}.wikipedia.org"
    with responses.RequestsMock() as mock:
        mock.get(f"{wiki}/w/api.php", json={"query": {"search": [{"title": "AC/DC (a b)?"}]}})
        (hit,) = Wikipedia(Settings()).search(query)
    assert hit.url == f"{wiki}/wiki/AC/DC_(a_b)%3F" and hit.title == "AC/DC (a b)?"


@pytest.mark.parametrize("name", [name for name in SERVICES if name not in NO_DAYS])
def test_a_day_in_the_query_is_sent_as_the_option_of_the_service(name: str) -> None:
    told = sent(name, "q after:2026-06-10", SearchOptions())
    assert "q" in (told.get("q"), told.get("query"))
    assert {"cdr:1,cd_min:06/10/2026", "2026-06-10T00:00:00.000Z", "2026-06-10", "week"} & {
        value.partition("to")[0] for value in told.values() if isinstance(value, str)
    }


def test_wikipedia_which_has_no_days_is_asked_without() -> None:
    assert sent("wikipedia", "q after:2026-06-10", SearchOptions())["srsearch"] == "q"


def test_the_chain_leaves_out_older_hits() -> None:
    rows = [{"url": f"https://a.org/{day}", "title": day, "text": "s", "publishedDate": day}
            for day in ("2026-06-09", "2026-06-11")]  # fmt: skip
    with wire("exa", json={"results": rows}):
        found = SearchChain([service("exa")])("q after:2026-06-10")
    assert [hit.title for hit in found.hits] == ["2026-06-11"]


def test_a_slash_at_the_end_of_a_base_url_does_not_count() -> None:
    with wire("exa", json=SERVICES["exa"].good):
        assert service("exa", BASE + "/").search("q")


# --- recorded replies --------------------------------------------------------------------------


@pytest.fixture
def recorded(data: Path) -> Callable[[str], Any]:
    def read(name: str) -> Any:
        text = (data / "search" / name).read_text(encoding="utf-8")
        return yaml.safe_load(text) if name.endswith("yaml") else json.loads(text)

    return read


def test_recorded_serper(recorded: Callable[[str], Any]) -> None:
    with wire("serper", json=recorded("serper_google.json")):
        hits = service("serper").search("q")
    assert len(hits) == 9 and hits[0].date == "Jan 29, 2023"
    assert hits[0].url.startswith("https://pagesix.com/2023/01/29/") and "good terms" in (
        hits[0].snippet
    )


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


@pytest.mark.parametrize("name", ["basic_search", "search_with_include_domains"])
def test_recorded_tavily(recorded: Callable[[str], Any], name: str) -> None:
    (exchange,) = recorded(f"tavily_test_{name}.yaml")["interactions"]
    recorded_body, reply = (exchange[side]["parsed_body"] for side in ("request", "response"))
    options = SearchOptions(allow_domains=tuple(recorded_body.get("include_domains", ())))
    with wire("tavily", json=reply) as asked:
        found = search_through_chain(service("tavily", options=options))
    assert isinstance(found, SearchResults) and len(found.hits) == len(reply["results"])
    assert all(0 < len(hit.snippet) <= 1000 and hit.title for hit in found.hits)
    told = json_body(only_request(asked)) | {"query": recorded_body["query"], "topic": "general"}
    assert told == {**recorded_body, "max_results": 10}


def test_recorded_wikipedia(recorded: Callable[[str], Any]) -> None:
    exchange = recorded("mediawiki_TestVcrWikiSearch.test_default.json")["interactions"][0]
    with wire("wikipedia", body=exchange["response"]["body"]["string"]):
        found = search_through_chain(service("wikipedia"))
    assert isinstance(found, SearchResults) and len(found.hits) == 10
    first = found.hits[0]
    assert first.url == f"{BASE}/wiki/Python_(programming_language)" and first.date is None
    assert first.snippet.startswith("Python is a high-level, general-purpose programming language")


@pytest.mark.parametrize("name", list(SERVICES))
@pytest.mark.parametrize(
    "page", ["google_search_captcha.html", "google_search_soft_block.html",
             "duckduckgo_search_results.html"],
)  # fmt: skip
def test_recorded_html_instead_of_json(data: Path, name: str, page: str) -> None:
    with wire(name, body=(data / "search" / page).read_bytes()):
        error = failure(service(name))
    assert (error.outcome, error.message) == ("invalid", "HTML instead of a JSON object")


# --- what a result page itself answers ---------------------------------------------------------


def page_answers(name: str, **more: Any) -> list[tuple[str, str, str]]:
    with wire(name, json={**SERVICES[name].good, **more}):
        hits = service(name).search("q")
    assert hits[-1].url == "https://a.org/1"
    return [(hit.url, hit.title, hit.snippet) for hit in hits[:-1]]


def test_answer_boxes() -> None:
    box = {"title": "T", "link": "https://b.org/", "snippet": "S.", "list": ["x", "y"]}
    assert page_answers("serpapi", answer_box=box) == [("https://b.org/", "T", "S. x. y")]
    assert page_answers("serper", answerBox={**box, "answer": "42", "list": None}) == [
        ("https://b.org/", "T", "42. S"),
    ]
    assert page_answers("serpapi", answer_box={"type": "calculator_result", "result": "4"}) == []
    search = {"answer": "4", "link": "https://www.google.com/search?q=4"}
    assert page_answers("serper", answerBox=search) == []


def test_knowledge_graphs() -> None:
    source = {"source": {"name": "Wikipedia", "link": "https://w.org/"}}
    graph = {"title": "T", "description": "D"}
    assert page_answers("serpapi", knowledge_graph={**graph, **source}) == [
        ("https://w.org/", "T", "D")
    ]
    assert page_answers(
        "serper", knowledgeGraph={**graph, "descriptionLink": "https://w.org/"}
    ) == [("https://w.org/", "T", "D")]
    assert page_answers("serper", knowledgeGraph=graph) == []


def test_the_website_of_a_knowledge_graph_helps_to_choose_and_is_no_source() -> None:
    graph = {"title": "T", "type": "Firm", "description": "D.", "website": "https://t.example/"}
    replies = {"serpapi": {"knowledge_graph": graph}, "serper": {"knowledgeGraph": graph}}
    for name, more in replies.items():
        with wire(name, json=SERVICES[name].good | more):
            first, site = service(name).search("q")
        assert first.url == "https://a.org/1" and not first.generated
        assert (site.url, site.title, site.snippet) == ("https://t.example/", "T", "Firm. D")
        assert site.generated
        for wrong in (None, 7, "https://www.google.com/search?q=t", ["https://t.example/"]):
            with wire(
                name, json=SERVICES[name].good | {next(iter(more)): graph | {"website": wrong}}
            ):
                assert len(service(name).search("q")) == 1


def test_searxng_answers_and_infoboxes() -> None:
    infobox = {"infobox": "I", "content": "C", "urls": [{"title": "t", "url": "https://i.org/"}]}
    answered = ["no source", {"answer": "42", "url": "https://x.org/"}, {"answer": "none"}]
    assert page_answers("searxng", answers=answered, infoboxes=[infobox]) == [
        ("https://x.org/", "", "42"),
        ("https://i.org/", "I", "C"),
    ]


def test_exa_prefers_highlights() -> None:
    row = {"url": "https://a.org/", "title": None, "text": "t", "publishedDate": "2026-01-01T0"}
    with wire("exa", json={"results": [row | {"highlights": ["one", "two"]}, row]}):
        first, second = service("exa").search("q")
    assert (first.snippet, second.snippet) == ("one … two", "t")
    assert first.title == "" and first.date == "2026-01-01T0"


def test_the_answer_of_tavily_has_no_source_and_is_no_hit() -> None:
    assert page_answers("tavily", answer="An answer without a source.") == []
