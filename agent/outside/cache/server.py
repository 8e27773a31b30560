"""The store on a server that many machines share: Redis, through `redis-py`."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from agent.outside.cache.store import UnusableStore

if TYPE_CHECKING:
    from redis import Redis

NETWORK_TIMEOUT = 1.0  # seconds to connect to the server, and for each of its replies
KEY_PREFIX = "research-agent:"  # the server may have other users


class RedisStore:
    """Redis. Its size limit and its eviction policy are set on the server."""

    name = "The cache that CACHE_URL names"

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._client: Redis | None = None

    def load(self) -> None:
        try:
            import redis  # noqa: F401  (100 ms)
        except ImportError:
            raise UnusableStore("it needs `pip install 'llm-research-agent[redis]'`") from None

    def get(self, key: str) -> str | bytes | None:
        value = self._open_client().get(KEY_PREFIX + key)
        return value if isinstance(value, (str, bytes)) else None

    def set(self, key: str, text: str, ttl: float) -> None:
        self._open_client().set(KEY_PREFIX + key, text, px=max(1, round(ttl * 1000)))

    def close(self) -> None:
        if self._client:
            self._client.close()

    def _open_client(self) -> Redis:
        with self._lock:
            if self._client is None:
                self._client = _create_client(self._url)
            return self._client


def _create_client(url: str) -> Redis:
    from redis import Redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    if not url.startswith(("redis://", "rediss://")):
        raise UnusableStore("it has to begin with redis:// or rediss://")
    no_retry = Retry(NoBackoff(), 0)  # fetching the page takes a second: faster than a retry
    try:
        return Redis.from_url(
            url,
            socket_connect_timeout=NETWORK_TIMEOUT,
            socket_timeout=NETWORK_TIMEOUT,
            retry=no_retry,
        )
    except ValueError:
        raise UnusableStore("it is no address of a Redis server") from None
