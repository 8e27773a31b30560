"""The interface of the stores of the cache."""

from __future__ import annotations

from typing import Protocol


class CacheStore(Protocol):
    """Texts under keys, with a time to live. Thread-safe. Any method may raise any exception."""

    name: str  # in words for the user

    def load(self) -> None:
        """Import the library."""

    def get(self, key: str) -> str | bytes | None:
        """The text under a key; None if there is none, or it has expired."""

    def set(self, key: str, text: str, ttl: float) -> None:
        """Store a text for `ttl` seconds."""

    def close(self) -> None:
        """Close the connections."""


class UnusableStore(Exception):
    """The store cannot be used with these settings. Its text is for the user."""
