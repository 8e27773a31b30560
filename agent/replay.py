"""An answer beside the one that its journal gives again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agent import __version__
from agent.errors import JournalError
from agent.journal import read
from agent.run import research
from agent.settings import Settings

Json = dict[str, Any]


def replayed(journal: Path | None) -> Json | None:
    """The answer that a journal gives; None where another version, or half a run, wrote it."""
    if journal is None or read(journal).header.get("version") != __version__:
        return None
    answer = research("", Settings(replay=journal)).answer()
    if answer.error and answer.error.kind == JournalError.kind:
        return None
    return answer.model_dump(mode="json")


def unlike(answer: Json, again: Json, known: set[str]) -> Iterator[tuple[str, str]]:
    """Every place where an answer is not what its journal gives, but for those already known.

    How long it took and where the journal lay are no part of it; nor is a warning that is more
    than it gives, as of a full disk.
    """
    lost = [warning for warning in again["warnings"] if warning not in answer["warnings"]]
    yield from (("warnings", f"the journal gives this one too: {warning}") for warning in lost)
    for where in _differences(answer, again | {"warnings": answer["warnings"]}):
        if where not in known and where != "run.journal" and not where.endswith(".seconds"):
            yield where, "it is not what replaying the journal gives"


def _differences(one: Any, other: Any, path: str = "") -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict):
        for key in dict.fromkeys((*one, *other)):
            below = f"{path}.{key}" if path else key
            yield from _differences(one.get(key, ...), other.get(key, ...), below)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for at, pair in enumerate(zip(one, other, strict=True)):
            yield from _differences(*pair, f"{path}[{at}]")
    elif type(one) is not type(other) or one != other:
        yield path
