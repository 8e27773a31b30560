"""The cache on a server that many machines share: Redis, by `redis-py`."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from agent.sources.cache.store import Unusable

if TYPE_CHECKING:
    from redis import Redis

NETWORK = 1.0  # seconds to connect to a server, and for each of its answers


class Remote:
    """Redis. How much it keeps, and what goes first when it is full, is set on the server."""

    name = "The cache that CACHE_URL names"

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._redis: Redis | None = None

    def load(self) -> None:
        try:
            import redis  # noqa: F401  (100 ms)
        except ImportError:
            raise Unusable("it needs `pip install 'llm-research-agent[redis]'`") from None

    def get(self, key: str) -> str | bytes | None:
        found = self._client().get(PREFIX + key)
        return found if isinstance(found, (str, bytes)) else None

    def set(self, key: str, text: str, seconds: float) -> None:
        self._client().set(PREFIX + key, text, px=max(1, round(seconds * 1000)))

    def close(self) -> None:
        if self._redis:
            self._redis.close()

    def _client(self) -> Redis:
        with self._lock:
            if self._redis is None:
                self._redis = _redis(self._url)
            return self._redis


PREFIX = "research-agent:"  # a server may serve others too


def _redis(url: str) -> Redis:
    from redis import Redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    if not url.startswith(("redis://", "rediss://")):
        raise Unusable("it has to begin with redis:// or rediss://")
    once = Retry(NoBackoff(), 0)  # the page is a second away: asking the web beats asking again
    try:
        client = Redis.from_url(
            url, socket_connect_timeout=NETWORK, socket_timeout=NETWORK, retry=once
        )
    except ValueError:
        raise Unusable("it is no address of a Redis server") from None
    return client
