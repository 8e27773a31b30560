"""The cache across runs: what is kept, what is believed, and that its failures cost nothing."""

from __future__ import annotations

import hashlib
import os
import pickle
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any

import pytest
from pydantic import SecretStr

from agent.answer import Answer
from agent.cli import run_cli
from agent.errors import ReadFailed, SearchFailed
from agent.run import Run, research
from agent.settings import Settings, load
from agent.sources.cache import Cache, open_cache
from agent.sources.cache.disk import OnDisk
from agent.sources.cache.server import Remote
from agent.state import Attempt, Found, Hit, Page, Searched, Warned
from tests.services import Services
from tests.thinker import Fact, Thinker

ROOT = Path(__file__).parents[1]
DAY = 86_400.0
URL = "https://example.org/page"


def stamp(at: float | None = None) -> str:
    return datetime.fromtimestamp(at or time.time(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def page(url: str = URL, text: str = "Lego was founded in 1932.", **other: Any) -> Page:
    sha256 = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    known = {"title": "Lego", "sha256": sha256, "retrieved_at": stamp()}
    return Page.model_validate({"url": url, "text": text, **known, **other})


def found(query: str = "lego", url: str = URL, **other: Any) -> Found:
    tried = (Attempt(what="search", provider="exa", outcome="no_key"),)
    known = {"hits": (Hit(url=url, title="Lego"),), "provider": "wikipedia", "attempts": tried}
    return Found.model_validate({"query": query, "at": stamp(), **known, **other})


class Web:
    """Answers every request with what it was given, or made of the request, and counts."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[str] = []

    def __call__(self, request: str) -> Any:
        self.asked.append(request)
        answer = self.answer(request) if callable(self.answer) else self.answer
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Those of all tests, with a cache."""
    return settings.model_copy(update={"cache_ttl": 86_400.0})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "web"


@pytest.fixture
def new(folder: Path) -> Callable[[], Cache]:
    """The cache as another run would open it."""
    return lambda: open_cache("", folder, DAY)


# --- what is kept ------------------------------------------------------------------------------


def test_a_page_is_read_once_by_all_runs(new: Callable[[], Cache]) -> None:
    web = Web(page(retrieved_at=stamp(time.time() - 60), text="Zero \0, \u2028 and \U0001f600."))
    first, cache = new().read(web)(URL), new()
    assert cache.read(web)(URL) == first == web.answer
    assert web.asked == [URL] and not cache.problem


def test_a_search_is_made_once_and_tells_when(new: Callable[[], Cache]) -> None:
    web = Web(found())
    assert new().search(web)("lego").attempts == web.answer.attempts
    again = new().search(web)(" lego\n")
    assert web.asked == ["lego"]
    told = Attempt(
        what="search",
        provider="wikipedia",
        outcome="ok",
        detail=f"from the cache, {web.answer.at}",
    )
    assert again == web.answer.model_copy(update={"attempts": (told,)})


NOT_KEPT = {
    "no results": found(hits=()),
    "no time": found(at=""),
    "a link that is no page": found(url="javascript:alert(1)"),
    "an address that is none": found(url="http://[1"),
    "failed search": SearchFailed("No search provider answered."),
    "snippet": page(via="snippet"),
    "cut text": page(sha256="0" * 64),
    "half a surrogate pair": page(text="\ud800"),
    "a file": page("file:///etc/passwd"),
    "failed page": ReadFailed("403", outcome="blocked"),
}


@pytest.mark.parametrize("answer", NOT_KEPT.values(), ids=NOT_KEPT.keys())
def test_only_successes_are_kept(new: Callable[[], Cache], answer: Any) -> None:
    web, cache = Web(answer), new()
    call = cache.search(web) if isinstance(answer, Found | SearchFailed) else cache.read(web)
    for _ in range(2):
        try:
            assert call(URL) is answer
        except (SearchFailed, ReadFailed) as error:
            assert error is answer
    assert len(web.asked) == 2 and not cache.problem


def test_what_changes_the_answer_is_part_of_the_key(new: Callable[[], Cache]) -> None:
    web = Web(lambda query: found(query))
    for also in ({}, {"lang": "de"}, {"lang": "fr"}, {"lang": "de", "search": ("exa",)}, {}):
        new().search(web, **also)("lego")
    new().search(web)("Lego")
    assert len(web.asked) == 5  # the second time without anything else was kept


def test_two_spellings_of_an_address_share_a_page(new: Callable[[], Cache]) -> None:
    web = Web(page())
    new().read(web)("http://www.example.org/page/?utm_source=x#top")
    assert new().read(web, private=True)(URL) and new().read(web)(URL)
    assert len(web.asked) == 2  # one for each permission


def test_a_search_is_no_page(new: Callable[[], Cache]) -> None:
    new().search(Web(found(URL)))(URL)
    assert new().read(Web(page()))(URL) == page()


# --- time --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("later", "ttl", "asked"),
    [(DAY - 2, DAY, 1), (DAY + 2, DAY, 2), (120, 60, 2), (-3600, DAY, 2), (-60, DAY, 1)],
    ids=["fresh", "old", "a shorter time to live", "from the future", "clocks differ"],
)
def test_time_to_live(folder: Path, later: float, ttl: float, asked: int) -> None:
    began = time.time()
    web = Web(lambda _: page(retrieved_at=stamp(began)))
    Cache(OnDisk(folder), DAY).read(web)(URL)
    Cache(OnDisk(folder), ttl, lambda: began + later).read(web)(URL)
    assert len(web.asked) == asked


def test_what_has_expired_leaves_the_disk(folder: Path) -> None:
    store = OnDisk(folder)
    store.set("old", "text", 0.05)
    assert store.get("old") == "text"
    time.sleep(0.1)
    assert store.get("old") is None
    store.set("new", "text", 9)
    assert [key for key, _ in rows(folder)] == ["new"]


# --- what is believed --------------------------------------------------------------------------


def rows(folder: Path) -> list[tuple[str, object]]:
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
    "a search": lambda _: {"value": found().model_dump_json()},
    "a field more": lambda _: {"value": page().model_dump_json()[:-1] + ',"x":1}'},
    "other text": lambda _: {"value": page(sha256=page().sha256, text="lies").model_dump_json()},
    "snippet": lambda _: {"value": page(via="snippet").model_dump_json()},
    "script": lambda _: {"value": page("javascript:alert(1)").model_dump_json()},
    "no time": lambda _: {"value": page(retrieved_at="today").model_dump_json()},
    "old": lambda _: {"value": page(retrieved_at=stamp(1e9)).model_dump_json()},
    "pickle": lambda at: {"value": pickle.dumps(Bomb(at / "bang")), "mode": 4},
    "file": lambda at: {"value": None, "mode": 3, "filename": str(at / "page.json")},
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES.keys())
def test_what_is_not_believed_is_silently_replaced(
    new: Callable[[], Cache], folder: Path, tmp_path: Path, lie: Callable[[Path], dict[str, object]]
) -> None:
    (tmp_path / "page.json").write_text(page(text="Not from our cache.").model_dump_json())
    web = Web(page())
    new().read(web)(URL)
    tamper(folder, **lie(tmp_path))
    cache = new()
    assert cache.read(web)(URL) == web.answer and len(web.asked) == 2
    assert new().read(web)(URL) == web.answer and len(web.asked) == 2
    assert not cache.problem
    assert not (tmp_path / "bang").exists() and (tmp_path / "page.json").exists()


@pytest.mark.parametrize("start", [0, 100, 4096], ids=["no database", "no tables", "inside"])
def test_a_damaged_file_is_begun_anew(new: Callable[[], Cache], folder: Path, start: int) -> None:
    web = Web(lambda url: page(url, text="word " * 5000))
    for n in range(20):
        new().read(web)(f"{URL}/{n}")
    with (folder / "cache.db").open("r+b") as file:
        file.seek(start)
        file.write(Random(1).randbytes(300_000))
    cache = new()
    for n in range(20):
        assert cache.read(web)(f"{URL}/{n}").url == f"{URL}/{n}"
    assert not cache.problem
    before = len(web.asked)
    new().read(web)(f"{URL}/19")
    assert len(web.asked) == before
    assert [path.name for path in folder.parent.iterdir()] == ["web"]


# --- a disk that fails -------------------------------------------------------------------------


def costs_nothing(cache: Cache) -> str:
    """The problem of a cache that fails: it is told once, and the web answers all the same."""
    web = Web(lambda url: page(url))
    read = cache.read(web)
    for n in range(5):
        assert read(f"{URL}/{n}").url == f"{URL}/{n}"
    assert len(web.asked) == 5
    cache.close()
    assert cache.problem.endswith(".")
    return cache.problem


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "web"
    problem = costs_nothing(open_cache("", folder, DAY))
    assert problem == f"The cache in {folder} is not used in this run: not a directory."


@contextmanager
def nobody() -> Iterator[None]:
    """Root may write anywhere: be someone else for a while."""
    if os.getuid():
        yield
        return
    os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


def test_a_folder_that_cannot_be_written() -> None:
    top = Path(tempfile.mkdtemp())  # not tmp_path, into which only its owner can look
    folder, web = top / "web", Web(page())
    try:
        open_cache("", folder, DAY).read(web)(URL)
        for path, mode in ((top, 0o755), (folder, 0o555), (folder / "cache.db", 0o444)):
            path.chmod(mode)
        with nobody():
            cache = open_cache("", folder, DAY)
            assert cache.read(web)(URL) == web.answer and len(web.asked) == 1
            assert costs_nothing(cache).endswith("it cannot be written.")
    finally:
        folder.chmod(0o755)
        shutil.rmtree(top)


def test_a_full_disk(new: Callable[[], Cache]) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    small = Web(page())
    new().read(small)(URL)
    big = Web(page(f"{URL}/big", text="word " * 100_000))
    cache = new()
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    try:
        assert cache.read(big)(f"{URL}/big") == big.answer
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert cache.problem
    assert new().read(small)(URL) and len(small.asked) == 1


def test_a_write_that_another_process_never_ends(new: Callable[[], Cache], folder: Path) -> None:
    web = Web(page())
    new().read(web)(URL)
    with closing(sqlite3.connect(folder / "cache.db")) as other:
        other.execute("BEGIN EXCLUSIVE")
        cache = new()
        assert cache.read(web)(URL) == web.answer and len(web.asked) == 1  # reading goes on
        assert costs_nothing(cache).endswith("it is locked.")


def test_a_file_that_another_process_never_lets_go(new: Callable[[], Cache], folder: Path) -> None:
    """The library alone would wait for a minute."""
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "cache.db")) as other:
        other.execute("CREATE TABLE mine (x)")
        other.execute("BEGIN EXCLUSIVE")
        assert costs_nothing(new()).endswith("it did not answer in time.")


def test_its_size_is_bounded_and_the_oldest_go(folder: Path) -> None:
    store, random = OnDisk(folder, size=1_000_000), Random(1)
    for n in range(100):
        store.set(f"{n}", random.randbytes(20_000).hex(), DAY)
    assert (folder / "cache.db").stat().st_size < 1_200_000
    kept = [n for n in range(100) if store.get(f"{n}")]
    assert kept == list(range(kept[0], 100)) and len(kept) > 15


def test_only_its_owner_can_look_into_it(new: Callable[[], Cache], folder: Path) -> None:
    new().read(Web(page()))(URL)
    assert [path.stat().st_mode & 0o777 for path in (folder.parent, folder)] == [0o700, 0o700]


# --- many at once ------------------------------------------------------------------------------

WORKER = """
import sys
from pathlib import Path
from agent.sources.cache import open_cache
from tests.test_cache import DAY, URL, Web, page

cache = open_cache("", Path(sys.argv[1]), DAY)
web = Web(lambda url: page(url, text="word " * 5000))
read = cache.read(web)
for n in range(40):
    read(f"{URL}/{n}")
    read(f"{URL}/{sys.argv[2]}/{n}")
cache.close()
sys.exit(cache.problem or 0)
"""


def test_processes_share_it(new: Callable[[], Cache], folder: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER, str(folder), str(n)], env=environment)
        for n in range(3)
    ]
    assert [worker.wait(60) for worker in workers] == [0, 0, 0]
    web = Web(page())
    read = new().read(web)
    for n in range(40):
        for name in ("", "0/", "1/", "2/"):
            assert read(f"{URL}/{name}{n}").url == f"{URL}/{name}{n}"
    assert not web.asked


def test_threads_share_it(new: Callable[[], Cache]) -> None:
    cache, web = new(), Web(lambda url: page(url))
    read = cache.read(web)

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


# --- Redis -------------------------------------------------------------------------------------


class Server:
    """A Redis server of the test's own."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        with closing(socket.create_server(("127.0.0.1", 0))) as free:
            self.port = free.getsockname()[1]
        command = ["redis-server", "--bind", "127.0.0.1", "--port", str(self.port)]
        command += ["--save", "", "--appendonly", "no", "--dir", str(folder), *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._wait()

    def _wait(self) -> None:
        for _ in range(200):
            try:
                return socket.create_connection(("127.0.0.1", self.port), 1).close()
            except OSError:
                time.sleep(0.05)
        raise AssertionError("redis-server does not answer")

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[Server]:
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed: apt-get install redis-server")
    server = Server(folder, *arguments)
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path) as running:
        yield running


@contextmanager
def opened(url: str) -> Iterator[Cache]:
    cache = open_cache(url, Path("unused"), DAY)
    try:
        yield cache
    finally:
        cache.close()


def test_redis_keeps_for_its_time(server: Server) -> None:
    import redis

    pages, searches = Web(page()), Web(found())
    for _ in range(2):
        with opened(server.url) as cache:
            assert cache.read(pages)(URL) == pages.answer
            assert cache.search(searches)("lego").hits == searches.answer.hits
            assert not cache.problem
    assert len(pages.asked) == len(searches.asked) == 1
    with redis.Redis.from_url(server.url) as client:
        keys = client.keys()
        assert len(keys) == 2 and all(key.startswith(b"research-agent:") for key in keys)
        assert all(0 < client.ttl(key) <= DAY for key in keys)


@pytest.mark.parametrize("lie", [b"\xff\xfe", b"{}", b"\x80\x04."])
def test_redis_is_not_believed_either(server: Server, lie: bytes) -> None:
    import redis

    web = Web(page())
    with opened(server.url) as cache, redis.Redis.from_url(server.url) as client:
        cache.read(web)(URL)
        client.set(client.keys()[0], lie)
        assert [cache.read(web)(URL) for _ in range(2)] == [web.answer] * 2
        assert len(web.asked) == 2 and not cache.problem


def test_a_redis_value_of_another_type(server: Server) -> None:
    import redis

    web = Web(page())
    with opened(server.url) as cache, redis.Redis.from_url(server.url) as client:
        cache.read(web)(URL)
        key = client.keys()[0]
        client.delete(key)
        client.lpush(key, "x")
        assert cache.read(web)(URL) == web.answer and cache.problem


def test_redis_that_dies(server: Server) -> None:
    web = Web(page())
    with opened(server.url) as cache:
        cache.read(web)(URL)
        server.stop()
        assert cache.read(web)(URL) == web.answer
        assert costs_nothing(cache) == (
            "The cache that CACHE_URL names is not used in this run: it cannot be reached."
        )


def test_redis_that_hangs(server: Server) -> None:
    with opened(server.url) as cache:
        cache.read(Web(page()))(URL)
        server.process.send_signal(signal.SIGSTOP)
        try:
            assert costs_nothing(cache).endswith("it did not answer in time.")
        finally:
            server.process.send_signal(signal.SIGCONT)


def test_redis_that_is_full(tmp_path: Path) -> None:
    with serving(tmp_path, "--maxmemory", "1") as server, opened(server.url) as cache:
        assert costs_nothing(cache).endswith("it is full.")


def test_redis_with_a_password(tmp_path: Path) -> None:
    with serving(tmp_path, "--requirepass", "s3cret-one") as server:
        address = f"127.0.0.1:{server.port}/0"
        with opened(f"redis://:s3cret-two@{address}") as cache:
            problem = costs_nothing(cache)
            assert problem.endswith("it refuses the password.") and "s3cret" not in problem
        with opened(f"redis://:s3cret-one@{address}") as cache:
            cache.read(Web(page()))(URL)
            assert not cache.problem


@pytest.mark.parametrize(
    "url",
    [
        "redis://:s3cret@127.0.0.1:1/0",
        "redis://:s3#cret/s3cret@127.0.0.1:1/0",
        "redis://127.0.0.1:s3cret",
        "redis://:s3cret@[::1",
        "memcached://:s3cret@127.0.0.1",
        "s3cret",
        "redis://127.0.0.1:1?password=s3cret&db=x&socket_timeout=s3cret",
        "redis://127.0.0.1:1?s3cret=1",
    ],
)
def test_no_server_and_no_secret_told(url: str) -> None:
    with opened(url) as cache:
        problem = costs_nothing(cache)
    assert "s3" not in problem and "cret" not in problem


def test_without_the_package(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['redis'] = None\n"
        "from tests.test_cache import *\n"
        "print(costs_nothing(open_cache('redis://127.0.0.1:1', Path('unused'), DAY)))"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "pip install 'llm-research-agent[redis]'" in told.stdout


def test_nothing_is_imported_or_made_before_it_is_used(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from agent.sources.cache import open_cache\n"
        "open_cache('', Path(sys.argv[1]), 60), open_cache('redis://127.0.0.1:1', Path('x'), 60)\n"
        "print([name for name in ('redis', 'diskcache_community') if name in sys.modules])"
    )
    told = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "web")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout == "[]\n" and not list(tmp_path.iterdir())


# --- in a run ----------------------------------------------------------------------------------

TOPIC = "Who won the 2022 FIFA World Cup?"


@pytest.fixture
def world(services: Services) -> Services:
    services.pages = {
        "final": "The final was played in Lusail. Argentina won the cup. The score was 4-2.",
        "other": "Cats sleep most of the day.",
    }
    services.hits = {TOPIC: ["final", "other"], "final score": ["final"]}
    services.think = Thinker(
        [Fact("winner", "Argentina", "Argentina won"), Fact("score", "4-2", "The score was")],
        ["final score"],
    )
    return services


def ended(settings: Settings) -> tuple[Run, Answer]:
    run = research(TOPIC, settings)
    for _ in run:
        pass
    return run, run.answer()


def test_a_second_run_asks_only_the_model(world: Services, settings: Settings) -> None:
    _, first = ended(settings)
    wire = len(world.searched), len(world.read)
    run, second = ended(settings)
    assert (len(world.searched), len(world.read)) == wire == (2, 2)
    assert first.status == second.status == "complete" and first.answer == second.answer
    assert first.citations == second.citations  # the time of reading too
    assert not second.warnings and not second.degraded
    assert world.tasks() == ["generate_queries", "reflect", "synthesize"] * 2
    told = [attempt.detail for attempt in second.attempts if attempt.what == "search"]
    assert told and all(detail.startswith("from the cache, 20") for detail in told)
    assert {found.provider for found in searches(run)} == {"serpapi"}
    journal = Path(second.run.journal or "").read_text("utf-8") if second.run else ""
    assert "Argentina won the cup" in journal  # the run can be replayed without the cache


def searches(run: Run) -> list[Found]:
    return [event.found for event in run.research.of(Searched)]


@pytest.mark.parametrize("change", [{"cache": False}, {"cache_ttl": 0.0}])
def test_without_a_cache_everything_is_asked_again(
    world: Services, settings: Settings, change: dict[str, Any]
) -> None:
    ended(settings)
    _, again = ended(settings.model_copy(update=change))
    assert len(world.searched) == len(world.read) == 4
    assert again.status == "complete" and "cache" not in str(again.attempts)


def test_no_cache_on_the_command_line(
    world: Services, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    for name, value in world.environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    counts = []
    for flags in (["--no-cache"], [], [], ["--no-cache"]):
        assert run_cli(["--topic", TOPIC, *flags]) == 0
        counts.append(len(world.searched))
    assert counts == [2, 4, 4, 6]


@pytest.mark.parametrize(
    ("change", "searches"),
    [
        ({"lang": "de"}, 4),
        ({"search": ("exa", "serpapi")}, 4),
        ({"exa_api_key": SecretStr("new"), "max_words": 40}, 2),
        ({"search": ("exa", "serpapi"), "exa_api_key": SecretStr("new")}, 4),
    ],
    ids=["language", "order of providers", "the key of none of them", "a key of one"],
)
def test_a_search_that_would_be_answered_otherwise_is_made(
    world: Services, settings: Settings, change: dict[str, Any], searches: int
) -> None:
    ended(settings)
    _, again = ended(settings.model_copy(update={**change, "exa_base_url": f"{world.base}/exa"}))
    assert len(world.searched) == searches and again.citations


def test_a_page_is_not_shown_to_a_run_that_may_not_read_it(
    world: Services, settings: Settings
) -> None:
    ended(settings)
    run, _ = ended(settings.model_copy(update={"allow_private_network": False}))
    assert len(set(world.searched)) == len(world.searched)  # no search was made twice
    assert all(source.page.via == "snippet" for source in run.research.sources)


def test_a_corpus_is_not_cached(settings: Settings, tmp_path: Path) -> None:
    _, answer = ended(settings.model_copy(update={"offline": True}))
    assert answer.status == "complete" and not list(tmp_path.rglob("cache.db"))


def test_redis_that_dies_in_the_middle_of_a_run(
    world: Services, settings: Settings, tmp_path: Path
) -> None:
    world.pages["messi"] = "Messi was born in Rosario."
    world.hits = {TOPIC: ["final"], "where was Messi born": ["messi"]}
    world.think = Thinker(
        [Fact("winner", "Argentina", "Argentina won"), Fact("birthplace", "Rosario", "born in")],
        ["final score"],
        {"birthplace": "where was Messi born"},
    )
    with serving(tmp_path) as server:
        remote = settings.model_copy(update={"cache_url": SecretStr(server.url)})
        ended(remote)
        run = research(TOPIC, remote)
        for event in run:
            if isinstance(event, Searched):
                server.stop()
    answer = run.answer()
    assert answer.status == "complete" and not answer.degraded
    assert world.searched.count(TOPIC) == 1 and world.searched.count("where was Messi born") == 2
    told = [event.message for event in run.research.of(Warned)]
    assert told == ["The cache that CACHE_URL names is not used in this run: it cannot be reached."]


def test_the_address_of_the_cache_is_a_secret(tmp_path: Path) -> None:
    settings = load({"CACHE_URL": "redis://:s3cret@127.0.0.1:1/0"})
    assert "s3cret" not in repr(settings) and "s3cret" not in settings.model_dump_json()
    assert isinstance(Cache(Remote("redis://x"), 1), Cache)
