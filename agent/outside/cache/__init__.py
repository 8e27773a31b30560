"""The cache of searches and pages, shared by all runs."""

from agent.outside.cache.cache import Cache, open_cache

__all__ = [
    "Cache",
    "open_cache",
]
