"""What is fuzzed: a function that reads bytes, and what it may be given and may raise."""

from __future__ import annotations

import importlib
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

INPUTS = Path(__file__).with_name("inputs.toml")
_BY_MODULE = {
    "evals.fuzz.pages": "html css pdf feed charset markdown plain robots",
    "evals.fuzz.texts": "urls addresses text markers draft claims values "
    "retry_after sanitizing replies",
    "evals.fuzz.files": "journal trace answer schema pattern variables topics table questions rows",
}
#: Name -> where its target is. Each is loaded in a process of its own.
TARGETS = {
    name: f"{module}:{name}" for module, names in _BY_MODULE.items() for name in names.split()
}


class Target(NamedTuple):
    """A parser. It passes where `read` returns or raises one of `refusals`."""

    read: Callable[[bytes], object]
    refusals: tuple[type[BaseException], ...] = ()
    longest: int = 20_000  # bytes of an input
    seeds: tuple[bytes, ...] = ()  # beside those of `inputs.toml`
    words: tuple[bytes, ...] = ()  # that a format knows, to put into inputs


def load_target(place: str) -> Target:
    """The target at a place, as `evals.fuzz.pages:html`, with its part of `inputs.toml`."""
    module, _, name = place.partition(":")
    target: Target = getattr(importlib.import_module(module), name)
    inputs = tomllib.loads(INPUTS.read_text("utf-8"))
    own = inputs.get(name, {})
    words = [word for group in own.get("with", ()) for word in inputs["groups"][group]]
    return target._replace(
        seeds=(*target.seeds, *map(_encode, own.get("seeds", ()))),
        words=tuple(map(_encode, [*words, *own.get("words", ())])),
    )


def _encode(given: Any) -> bytes:
    return given.encode() if isinstance(given, str) else bytes.fromhex(given["hex"])
