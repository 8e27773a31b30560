"""The store on a server that many machines share: Redis, through `redis-py`."""

from __future__ import annotations

from functools import cached_property
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

    def load(self) -> None:
        """Import the library (100 ms) and make the client, which connects at its first use."""
        _ = self._client

    def get(self, key: str) -> str | bytes | None:
        value = self._client.get(KEY_PREFIX + key)
        return value if isinstance(value, (str, bytes)) else None

    def set(self, key: str, text: str, ttl: float) -> None:
        self._client.set(KEY_PREFIX + key, text, px=max(1, round(ttl * 1000)))

    def close(self) -> None:
        if "_client" in vars(self):
            self._client.close()

    @cached_property
    def _client(self) -> Redis:
        try:
            from redis import Redis
            from redis.backoff import NoBackoff
            from redis.retry import Retry
        except ImportError:
            raise UnusableStore("it needs `pip install 'llm-research-agent[redis]'`") from None
        if not self._url.startswith(("redis://", "rediss://")):
            raise UnusableStore("it has to begin with redis:// or rediss://")
        try:
            return Redis.from_url(
                self._url,
                socket_connect_timeout=NETWORK_TIMEOUT,
                socket_timeout=NETWORK_TIMEOUT,
                retry=Retry(NoBackoff(), 0),  # fetching the page takes a second: as fast
            )
        except ValueError:
            raise UnusableStore("it is no address of a Redis server") from None
