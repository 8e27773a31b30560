"""The cache on a Redis server, and that its failures cost a run nothing but the cache."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.outside.cache import Cache, RedisStore
from agent.settings import parse_settings
from tests.support.caches import (
    DAY,
    ROOT,
    URL,
    FakeWeb,
    RedisServer,
    check_failing_cache,
    make_page,
    make_results,
    open_server_cache,
    run_redis,
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    with run_redis(tmp_path) as running:
        yield running


def test_redis_keeps_for_its_time(server: RedisServer) -> None:
    import redis

    pages, searches = FakeWeb(make_page()), FakeWeb(make_results())
    for _ in range(2):
        with open_server_cache(server.url) as cache:
            assert cache.wrap_read(pages)(URL) == pages.answer
            assert cache.wrap_search(searches)("lego").hits == searches.answer.hits
            assert not cache.problem
    assert len(pages.asked) == len(searches.asked) == 1
    with redis.Redis.from_url(server.url) as client:
        keys = client.keys()
        assert len(keys) == 2 and all(key.startswith(b"research-agent:") for key in keys)
        assert all(0 < client.ttl(key) <= DAY for key in keys)


@pytest.mark.parametrize("lie", [b"\xff\xfe", b"{}", b"\x80\x04."])
def test_redis_is_not_believed_either(server: RedisServer, lie: bytes) -> None:
    import redis

    web = FakeWeb(make_page())
    with open_server_cache(server.url) as cache, redis.Redis.from_url(server.url) as client:
        cache.wrap_read(web)(URL)
        client.set(client.keys()[0], lie)
        assert [cache.wrap_read(web)(URL) for _ in range(2)] == [web.answer] * 2
        assert len(web.asked) == 2 and not cache.problem


def test_a_redis_value_of_another_type(server: RedisServer) -> None:
    import redis

    web = FakeWeb(make_page())
    with open_server_cache(server.url) as cache, redis.Redis.from_url(server.url) as client:
        cache.wrap_read(web)(URL)
        key = client.keys()[0]
        client.delete(key)
        client.lpush(key, "x")
        assert cache.wrap_read(web)(URL) == web.answer and cache.problem


def test_redis_that_dies(server: RedisServer) -> None:
    web = FakeWeb(make_page())
    with open_server_cache(server.url) as cache:
        cache.wrap_read(web)(URL)
        server.stop()
        assert cache.wrap_read(web)(URL) == web.answer
        assert check_failing_cache(cache) == (
            "The cache that CACHE_URL names is not used in this run: it cannot be reached."
        )


@pytest.mark.slow
def test_redis_that_hangs(server: RedisServer) -> None:
    with open_server_cache(server.url) as cache:
        cache.wrap_read(FakeWeb(make_page()))(URL)
        server.process.send_signal(signal.SIGSTOP)
        try:
            assert check_failing_cache(cache).endswith("it did not answer in time.")
        finally:
            server.process.send_signal(signal.SIGCONT)


def test_redis_that_is_full(tmp_path: Path) -> None:
    with run_redis(tmp_path, "--maxmemory", "1") as server, open_server_cache(server.url) as cache:
        assert check_failing_cache(cache).endswith("it is full.")


def test_redis_with_a_password(tmp_path: Path) -> None:
    with run_redis(tmp_path, "--requirepass", "s3cret-one") as server:
        address = f"127.0.0.1:{server.port}/0"
        with open_server_cache(f"redis://:s3cret-two@{address}") as cache:
            problem = check_failing_cache(cache)
            assert problem.endswith("it refuses the password.") and "s3cret" not in problem
        with open_server_cache(f"redis://:s3cret-one@{address}") as cache:
            cache.wrap_read(FakeWeb(make_page()))(URL)
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
    with open_server_cache(url) as cache:
        problem = check_failing_cache(cache)
    assert "s3" not in problem and "cret" not in problem


@pytest.mark.slow
def test_without_the_package(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['redis'] = None\n"
        "from tests.support.caches import check_failing_cache, open_server_cache\n"
        "with open_server_cache('redis://127.0.0.1:1') as cache:\n"
        "    print(check_failing_cache(cache))"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "pip install 'llm-research-agent[redis]'" in told.stdout


def test_the_address_of_the_cache_is_a_secret(tmp_path: Path) -> None:
    settings = parse_settings({"CACHE_URL": "redis://:s3cret@127.0.0.1:1/0"})
    assert "s3cret" not in repr(settings) and "s3cret" not in settings.model_dump_json()
    assert isinstance(Cache(RedisStore("redis://x"), 1), Cache)
