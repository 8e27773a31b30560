"""What is fuzzed: a function that reads bytes, and what it may be given and may raise."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import NamedTuple


class Target(NamedTuple):
    """A parser. It passes where `read` returns or raises one of `refusals`."""

    read: Callable[[bytes], object]
    seeds: tuple[bytes, ...]
    refusals: tuple[type[BaseException], ...] = ()
    words: tuple[bytes, ...] = ()  # that a format knows, to put into inputs
    longest: int = 20_000  # bytes of an input


#: What JSON is made of, and values that its readers have failed on.
JSON_WORDS = (
    *b'{|}|[|]|"|:|,|null|true|-1|1e400|0.1|\\u0000|\\ud800|NaN|"":|[[[[|{"a":|""'.split(b"|"),
    b"9" * 400,
)


def load_target(place: str) -> Target:
    """The target at a place, as `fuzz.pages:html`."""
    module, _, name = place.partition(":")
    target: Target = getattr(importlib.import_module(module), name)
    return target
