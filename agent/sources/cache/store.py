"""What a store of the cache has to do."""

from __future__ import annotations

from typing import Protocol


class Store(Protocol):
    """Texts under keys, for a time. Any call may raise anything, and come from any thread."""

    name: str

    def load(self) -> None:
        """Import what it needs."""
        ...

    def get(self, key: str) -> str | bytes | None:
        """What is kept under a key, if it has not expired."""
        ...

    def set(self, key: str, text: str, seconds: float) -> None:
        """Keep a text, for so long."""
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...


class Unusable(Exception):
    """A store that cannot be used as it is set, in words for the user."""
