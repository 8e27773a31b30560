"""What the cache stores, under which key, and for how long."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from agent.calls.cache import Cache, DiskStore
from agent.errors import ReadFailed, SearchFailed
from agent.state import Attempt, SearchResults
from tests.support.caches import (
    DAY,
    URL,
    FakeWeb,
    make_page,
    make_results,
    new_cache,
    utc_text,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "web"


# --- what is kept ------------------------------------------------------------------------------


def test_a_page_is_read_once_by_all_runs(folder: Path) -> None:
    web = FakeWeb(
        make_page(retrieved_at=utc_text(time.time() - 60), text="Zero \0, \u2028 and \U0001f600.")
    )
    first, cache = new_cache(folder).wrap_read(web)(URL), new_cache(folder)
    assert cache.wrap_read(web)(URL) == first == web.answer
    assert web.asked == [URL] and not cache.problem


def test_a_search_is_made_once_and_tells_when(folder: Path) -> None:
    web = FakeWeb(make_results())
    assert new_cache(folder).wrap_search(web)("lego").attempts == web.answer.attempts
    again = new_cache(folder).wrap_search(web)(" lego\n")
    assert web.asked == ["lego"]
    told = Attempt(
        what="search",
        provider="wikipedia",
        outcome="ok",
        detail=f"from the cache, {web.answer.at}",
    )
    assert again == web.answer.model_copy(update={"attempts": (told,)})


NOT_KEPT = {
    "no results": make_results(hits=()),
    "no time": make_results(at=""),
    "a link that is no page": make_results(url="javascript:alert(1)"),
    "an address that is none": make_results(url="http://[1"),
    "failed search": SearchFailed("No search provider answered."),
    "snippet": make_page(via="snippet"),
    "cut text": make_page(sha256="0" * 64),
    "half a surrogate pair": make_page(text="\ud800"),
    "a file": make_page("file:///etc/passwd"),
    "failed page": ReadFailed("403", outcome="blocked"),
}


@pytest.mark.parametrize("answer", NOT_KEPT.values(), ids=NOT_KEPT.keys())
def test_only_successes_are_kept(folder: Path, answer: Any) -> None:
    web, cache = FakeWeb(answer), new_cache(folder)
    call = (
        cache.wrap_search(web)
        if isinstance(answer, SearchResults | SearchFailed)
        else cache.wrap_read(web)
    )
    for _ in range(2):
        try:
            assert call(URL) is answer
        except (SearchFailed, ReadFailed) as error:
            assert error is answer
    assert len(web.asked) == 2 and not cache.problem


def test_what_changes_the_answer_is_part_of_the_key(folder: Path) -> None:
    web = FakeWeb(lambda query: make_results(query))
    for also in ({}, {"lang": "de"}, {"lang": "fr"}, {"lang": "de", "search": ("exa",)}, {}):
        new_cache(folder).wrap_search(web, **also)("lego")
    new_cache(folder).wrap_search(web)("Lego")
    assert len(web.asked) == 5  # the second time without anything else was kept


def test_two_spellings_of_an_address_share_a_page(folder: Path) -> None:
    web = FakeWeb(make_page())
    new_cache(folder).wrap_read(web)("http://www.example.org/page/?utm_source=x#top")
    assert new_cache(folder).wrap_read(web, private=True)(URL) and new_cache(folder).wrap_read(web)(
        URL
    )
    assert len(web.asked) == 2  # one for each permission


def test_a_search_is_no_page(folder: Path) -> None:
    new_cache(folder).wrap_search(FakeWeb(make_results(URL)))(URL)
    page = make_page()
    assert new_cache(folder).wrap_read(FakeWeb(page))(URL) == page


# --- time --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("later", "ttl", "asked"),
    [(DAY - 2, DAY, 1), (DAY + 2, DAY, 2), (120, 60, 2), (-3600, DAY, 2), (-60, DAY, 1)],
    ids=["fresh", "old", "a shorter time to live", "from the future", "clocks differ"],
)
def test_time_to_live(folder: Path, later: float, ttl: float, asked: int) -> None:
    began = time.time()
    web = FakeWeb(lambda _: make_page(retrieved_at=utc_text(began)))
    Cache(DiskStore(folder), DAY).wrap_read(web)(URL)
    Cache(DiskStore(folder), ttl, lambda: began + later).wrap_read(web)(URL)
    assert len(web.asked) == asked
