"""The cache: what is stored, under which key and for how long; damage, limits and a full disk."""

from __future__ import annotations

import pickle
import resource
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any

import pytest

from agent.calls.cache import Cache, DiskStore
from agent.errors import ReadFailed, SearchFailed
from agent.state import Attempt, SearchResults
from tests.support.caches import (
    DAY,
    URL,
    FakeWeb,
    check_failing_cache,
    make_page,
    make_results,
    new_cache,
    utc_text,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "web"


def test_a_page_is_read_once_by_all_runs(folder: Path) -> None:
    web = FakeWeb(
        make_page(retrieved_at=utc_text(time.time() - 60), text="Zero \0, \u2028 and \U0001f600.")
    )
    first, cache = new_cache(folder).wrap_read(web)(URL), new_cache(folder)
    assert cache.wrap_read(web)(URL) == first == web.answer
    assert web.asked == [URL] and not cache.problem


def test_a_search_is_made_once_and_has_its_time(folder: Path) -> None:
    web = FakeWeb(make_results())
    assert new_cache(folder).wrap_search(web)("lego").attempts == web.answer.attempts
    again = new_cache(folder).wrap_search(web)(" lego\n")
    assert web.asked == ["lego"]
    detail = f"from the cache, {web.answer.at}"
    attempt = Attempt(what="search", provider="wikipedia", outcome="ok", detail=detail)
    assert again == web.answer.model_copy(update={"attempts": (attempt,)})


NOT_STORED = {
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


@pytest.mark.parametrize("answer", NOT_STORED.values(), ids=NOT_STORED.keys())
def test_only_successes_are_stored(folder: Path, answer: Any) -> None:
    web, cache = FakeWeb(answer), new_cache(folder)
    searched = isinstance(answer, SearchResults | SearchFailed)
    call = cache.wrap_search(web) if searched else cache.wrap_read(web)
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
    cache = new_cache(folder)
    cache.wrap_read(web)("http://www.example.org/page/?utm_source=x#top")
    assert cache.wrap_read(web, private=True)(URL) and cache.wrap_read(web)(URL)
    assert len(web.asked) == 2  # one for each permission


@pytest.mark.parametrize(
    ("later", "ttl", "requests"),
    [(DAY - 2, DAY, 1), (DAY + 2, DAY, 2), (120, 60, 2), (-3600, DAY, 2), (-60, DAY, 1)],
    ids=["fresh", "old", "a shorter time to live", "from the future", "clocks differ"],
)
def test_time_to_live(folder: Path, later: float, ttl: float, requests: int) -> None:
    began = time.time()
    web = FakeWeb(lambda _: make_page(retrieved_at=utc_text(began)))
    Cache(DiskStore(folder), DAY).wrap_read(web)(URL)
    Cache(DiskStore(folder), ttl, lambda: began + later).wrap_read(web)(URL)
    assert len(web.asked) == requests


def tamper(folder: Path, **columns: object) -> None:
    """Change what is stored without the program."""
    names = ", ".join(f"{name} = ?" for name in columns)
    with closing(sqlite3.connect(folder / "cache.db")) as database, database:
        assert database.execute(f"UPDATE Cache SET {names}", [*columns.values()]).rowcount == 1


class Bomb:
    """A pickle that makes a file when it is read."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.file,)


TAMPERED: dict[str, Callable[[Path], dict[str, object]]] = {
    "no JSON": lambda _: {"value": "{"},
    "null": lambda _: {"value": None},
    "a search": lambda _: {"value": make_results().model_dump_json()},
    "other text": lambda _: {
        "value": make_page(sha256=make_page().sha256, text="false").model_dump_json()
    },
    "old": lambda _: {"value": make_page(retrieved_at=utc_text(1e9)).model_dump_json()},
    "pickle": lambda at: {"value": pickle.dumps(Bomb(at / "bang")), "mode": 4},
    "file": lambda at: {"value": None, "mode": 3, "filename": str(at / "page.json")},
}


@pytest.mark.parametrize("tampered", TAMPERED.values(), ids=TAMPERED.keys())
def test_what_was_tampered_with_is_silently_replaced(
    folder: Path, tmp_path: Path, tampered: Callable[[Path], dict[str, object]]
) -> None:
    (tmp_path / "page.json").write_text(make_page(text="Not from our cache.").model_dump_json())
    web = FakeWeb(make_page())
    new_cache(folder).wrap_read(web)(URL)
    tamper(folder, **tampered(tmp_path))
    cache = new_cache(folder)
    assert cache.wrap_read(web)(URL) == web.answer and len(web.asked) == 2
    assert new_cache(folder).wrap_read(web)(URL) == web.answer and len(web.asked) == 2
    assert not cache.problem
    assert not (tmp_path / "bang").exists() and (tmp_path / "page.json").exists()


@pytest.mark.parametrize("start", [0, 100, 4096], ids=["no database", "no tables", "inside"])
def test_a_damaged_file_is_begun_anew(folder: Path, start: int) -> None:
    web = FakeWeb(lambda url: make_page(url, text="word " * 5000))
    for n in range(20):
        new_cache(folder).wrap_read(web)(f"{URL}/{n}")
    with (folder / "cache.db").open("r+b") as file:
        file.seek(start)
        file.write(Random(1).randbytes(300_000))
    cache = new_cache(folder)
    for n in range(20):
        assert cache.wrap_read(web)(f"{URL}/{n}").url == f"{URL}/{n}"
    assert not cache.problem
    before = len(web.asked)
    new_cache(folder).wrap_read(web)(f"{URL}/19")
    assert len(web.asked) == before
    assert [path.name for path in folder.parent.iterdir()] == ["web"]


def test_its_size_is_bounded_and_the_oldest_go(folder: Path) -> None:
    store, random = DiskStore(folder, max_bytes=1_000_000), Random(1)
    for n in range(100):
        store.set(f"{n}", random.randbytes(20_000).hex(), DAY)
    assert (folder / "cache.db").stat().st_size < 1_200_000
    kept = [n for n in range(100) if store.get(f"{n}")]
    assert kept == list(range(kept[0], 100)) and len(kept) > 15


def test_only_its_owner_can_look_into_it(folder: Path) -> None:
    new_cache(folder).wrap_read(FakeWeb(make_page()))(URL)
    assert [path.stat().st_mode & 0o777 for path in (folder.parent, folder)] == [0o700, 0o700]


def test_threads_share_it(folder: Path) -> None:
    cache, web = new_cache(folder), FakeWeb(lambda url: make_page(url))
    read = cache.wrap_read(web)

    def work() -> None:
        for n in range(10):
            read(f"{URL}/{n}")

    threads = [Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    requests = len(web.asked)
    assert not cache.problem
    work()
    assert len(web.asked) == requests


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "web"
    problem = check_failing_cache(new_cache(folder))
    assert problem == f"The cache in {folder} is not used in this run: not a directory."


def test_a_full_disk(folder: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    small = FakeWeb(make_page())
    new_cache(folder).wrap_read(small)(URL)
    big = FakeWeb(make_page(f"{URL}/big", text="word " * 100_000))
    cache = new_cache(folder)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    try:
        assert cache.wrap_read(big)(f"{URL}/big") == big.answer
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert cache.problem
    assert new_cache(folder).wrap_read(small)(URL) and len(small.asked) == 1


@pytest.mark.slow
def test_a_write_that_another_process_never_ends(folder: Path) -> None:
    web = FakeWeb(make_page())
    new_cache(folder).wrap_read(web)(URL)
    with closing(sqlite3.connect(folder / "cache.db")) as other:
        other.execute("BEGIN EXCLUSIVE")
        cache = new_cache(folder)
        assert cache.wrap_read(web)(URL) == web.answer and len(web.asked) == 1  # reading goes on
        assert check_failing_cache(cache).endswith("it is locked.")


@pytest.mark.slow
def test_a_file_that_another_process_never_lets_go(folder: Path) -> None:
    """The library alone would wait for a minute."""
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "cache.db")) as other:
        other.execute("CREATE TABLE mine (x)")
        other.execute("BEGIN EXCLUSIVE")
        assert check_failing_cache(new_cache(folder)).endswith("it did not answer in time.")
