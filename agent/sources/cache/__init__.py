"""What searches found and pages said, kept across runs for a while."""

from agent.sources.cache.cache import Cache, open_cache

__all__ = [
    "Cache",
    "open_cache",
]
