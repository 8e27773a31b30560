"""The cache on disk: its file, what is believed of it, its limits, and who shares it."""

from __future__ import annotations

import os
import pickle
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any

import pytest

from agent.calls.cache import DiskStore
from tests.support.caches import (
    DAY,
    ROOT,
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


# --- what is believed --------------------------------------------------------------------------


def read_rows(folder: Path) -> list[tuple[str, object]]:
    with closing(sqlite3.connect(folder / "cache.db")) as database:
        return database.execute("SELECT key, value FROM Cache").fetchall()


def tamper(folder: Path, **columns: object) -> None:
    """Change what is kept behind the program's back."""
    names = ", ".join(f"{name} = ?" for name in columns)
    with closing(sqlite3.connect(folder / "cache.db")) as database, database:
        assert database.execute(f"UPDATE Cache SET {names}", [*columns.values()]).rowcount == 1


class Bomb:
    """A pickle that makes a file when it is read."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.file,)


LIES: dict[str, Callable[[Path], dict[str, object]]] = {
    "no JSON": lambda _: {"value": "{"},
    "empty": lambda _: {"value": ""},
    "null": lambda _: {"value": None},
    "bytes": lambda _: {"value": b"\xff\x00"},
    "number": lambda _: {"value": 7},
    "a search": lambda _: {"value": make_results().model_dump_json()},
    "a field more": lambda _: {"value": make_page().model_dump_json()[:-1] + ',"x":1}'},
    "other text": lambda _: {
        "value": make_page(sha256=make_page().sha256, text="lies").model_dump_json()
    },
    "snippet": lambda _: {"value": make_page(via="snippet").model_dump_json()},
    "script": lambda _: {"value": make_page("javascript:alert(1)").model_dump_json()},
    "no time": lambda _: {"value": make_page(retrieved_at="today").model_dump_json()},
    "old": lambda _: {"value": make_page(retrieved_at=utc_text(1e9)).model_dump_json()},
    "pickle": lambda at: {"value": pickle.dumps(Bomb(at / "bang")), "mode": 4},
    "file": lambda at: {"value": None, "mode": 3, "filename": str(at / "page.json")},
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES.keys())
def test_what_is_not_believed_is_silently_replaced(
    folder: Path, tmp_path: Path, lie: Callable[[Path], dict[str, object]]
) -> None:
    (tmp_path / "page.json").write_text(make_page(text="Not from our cache.").model_dump_json())
    web = FakeWeb(make_page())
    new_cache(folder).wrap_read(web)(URL)
    tamper(folder, **lie(tmp_path))
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


# --- its limits --------------------------------------------------------------------------------


def test_what_has_expired_leaves_the_disk(folder: Path) -> None:
    store = DiskStore(folder)
    store.set("old", "text", DAY)
    assert store.get("old") == "text"
    tamper(folder, expire_time=1)  # as if a day had gone by
    assert store.get("old") is None
    store.set("new", "text", 9)
    assert [key for key, _ in read_rows(folder)] == ["new"]


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


# --- many at once ------------------------------------------------------------------------------

WORKER = """
import sys
from pathlib import Path
from tests.support.caches import URL, FakeWeb, make_page, new_cache

cache = new_cache(Path(sys.argv[1]))
web = FakeWeb(lambda url: make_page(url, text="word " * 5000))
read = cache.wrap_read(web)
for n in range(40):
    read(f"{URL}/{n}")
    read(f"{URL}/{sys.argv[2]}/{n}")
sys.exit(cache.problem or 0)
"""


@pytest.mark.slow
def test_processes_share_it(folder: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER, str(folder), str(n)], env=environment)
        for n in range(3)
    ]
    assert [worker.wait(60) for worker in workers] == [0, 0, 0]
    web = FakeWeb(make_page())
    read = new_cache(folder).wrap_read(web)
    for n in range(40):
        for name in ("", "0/", "1/", "2/"):
            assert read(f"{URL}/{name}{n}").url == f"{URL}/{name}{n}"
    assert not web.asked


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
    asked = len(web.asked)
    assert not cache.problem
    work()
    assert len(web.asked) == asked


@pytest.mark.slow
def test_nothing_is_imported_or_made_before_it_is_used(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from agent.calls.cache import Cache, DiskStore\n"
        "Cache(DiskStore(Path(sys.argv[1])), 60)\n"
        "print('diskcache_community' in sys.modules)"
    )
    told = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "web")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout == "False\n" and not list(tmp_path.iterdir())
