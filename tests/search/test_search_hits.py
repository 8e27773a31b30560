"""Queries and hits: cleaned, bounded, each page once, and only what is wanted."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from datetime import date
from urllib.parse import quote

import pytest

from agent.errors import SearchFailed
from agent.search.provider_chain import SearchChain
from agent.search.search_options import SearchOptions
from agent.state import Hit, SearchResults

HIT = Hit(url="https://example.org/a", title="A", snippet="about a")


class Engine:
    """A provider that always gives the same hits."""

    name = "engine"

    def __init__(self, hits: tuple[Hit, ...], local: bool = False) -> None:
        self.hits = hits
        self.local = local
        self.asked: list[str] = []

    def search(self, query: str) -> tuple[Hit, ...]:
        self.asked.append(query)
        return self.hits


def search_hits(*hits: Hit, options: SearchOptions | None = None) -> SearchResults:
    return SearchChain([Engine(hits)], options)("q")


@pytest.mark.parametrize(
    ("query", "sent"),
    [
        ("  who \x00won\n\tthe\u2028cup?\x7f ", "who won the cup?"),
        ("x" * 480 + " " + "y" * 100, "x" * 480),
        ("足" * 600, "足" * 500),
        ("\ud800broken", "broken"),
    ],
)
def test_queries_are_cleaned_and_cut_at_a_word(query: str, sent: str) -> None:
    engine = Engine((HIT,))
    assert SearchChain([engine])(query).query == sent
    assert engine.asked == [sent] and len(sent) <= 500


def test_an_empty_query_is_refused_without_asking() -> None:
    engine = Engine((HIT,))
    with pytest.raises(SearchFailed) as caught:
        SearchChain([engine])(" \x00\n\t")
    assert caught.value.outcome == "rejected" and not engine.asked


def test_hits_are_bounded_and_cleaned() -> None:
    dirty = Hit(
        url="https://example.org/x",
        title="<b>Bold</b> &amp; plain\x00 " + "t" * 400,
        snippet="<!-- c --><span class='m'>1 &lt; 2</span>\n" + "word " * 500,
    )
    (hit,) = search_hits(dirty).hits
    assert hit.title.startswith("Bold & plain") and len(hit.title) <= 300
    assert hit.snippet.startswith("1 < 2 word") and len(hit.snippet) <= 1000
    assert hit.snippet.endswith("word")


@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "file:///etc/passwd", "example.org", "http://[::1", "https://user@/x",
     "https://example.org/" + "x" * 3000, "https://exa mple.org/", "https://example.org:port/"],
)  # fmt: skip
def test_only_web_addresses_are_hits(url: str) -> None:
    none = search_hits(HIT.model_copy(update={"url": url}))
    assert none.hits == () and none.attempts[0].outcome == "empty"
    assert none.attempts[0].detail == "results, but none usable and permitted"


def test_a_page_is_a_hit_once() -> None:
    spellings = "http://www.example.org/a/ https://example.org/a?utm_source=x https://example.org/b"
    hits = search_hits(*(Hit(url=url) for url in spellings.split())).hits
    assert [hit.url for hit in hits] == [spellings.split()[0], "https://example.org/b"]


def test_domains_are_enforced_by_suffix() -> None:
    urls = [
        "https://example.org/1", "https://en.example.org/2", "https://badexample.org/3",
        "https://example.org.evil.com/4", "https://EXAMPLE.org./5",
    ]  # fmt: skip

    def kept(**domains: tuple[str, ...]) -> str:
        hits = search_hits(*(Hit(url=url) for url in urls), options=SearchOptions(**domains)).hits
        return "".join(hit.url[-1] for hit in hits)

    assert kept(allow_domains=("https://www.Example.org/",)) == "125"
    assert kept(block_domains=("example.org",)) == "34"
    assert kept(allow_domains=("example.org",), block_domains=("en.example.org",)) == "15"


def test_dates_are_enforced_where_they_are_known() -> None:
    days = ["2023-01-28T10:00:00Z", "2023-01-29", "Jan 28, 2023", "Feb 3, 2023", "2 days ago", None]
    hits = [Hit(url=f"https://example.org/{i}", date=day) for i, day in enumerate(days)]
    kept = search_hits(*hits, options=SearchOptions(since=date(2023, 1, 29))).hits
    assert "".join(hit.url[-1] for hit in kept) == "1345"


def test_local_documents_are_taken_as_they_are() -> None:
    hit = Hit(url="file:///notes/a.md", title="<T>", snippet="a\nb")
    assert SearchChain([Engine((hit,), local=True)])("q").hits == (hit,)


@pytest.mark.parametrize(
    "url",
    [
        "https://www.google.com/url?sa=t&q={0}&usg=x",
        "https://duckduckgo.com/l/?uddg={0}&rut=1",
        "https://www.bing.com/ck/a?!&&p=7&u=a1{1}&ntb=1",
        "https://r.search.yahoo.com/_ylt=A/RV=2/RE=1/RO=10/RU={0}/RK=2/RS=b-",
    ],
)
def test_a_redirector_of_a_search_engine_is_unwrapped(url: str) -> None:
    target = quote("https://example.org/a b?x=1&y=ü", safe=":/?=&")
    in_base64 = urlsafe_b64encode(target.encode()).decode().rstrip("=")
    hit = HIT.model_copy(update={"url": url.format(quote(target, safe=""), in_base64)})
    assert [one.url for one in search_hits(hit).hits] == [target]
    blocked = SearchOptions(block_domains=("example.org",))
    assert not search_hits(hit, options=blocked).hits


@pytest.mark.parametrize(
    "url",
    [
        "https://www.google.com/url?q=javascript:alert(1)",
        "https://google.com.evil.example/url?q=https://a.example/",
    ],
)
def test_what_is_no_redirector_stays(url: str) -> None:
    assert [one.url for one in search_hits(HIT.model_copy(update={"url": url})).hits] == [url]
