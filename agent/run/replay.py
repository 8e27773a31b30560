"""An answer beside the one that its journal gives again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from agent import __version__
from agent.errors import JournalError
from agent.outside.budget import spent
from agent.outside.journal import read
from agent.run import research
from agent.settings import Settings

Json = dict[str, Any]


class Replay(NamedTuple):
    """What a journal gives."""

    answer: Json
    most: Json  # what all calls in it took: also those that were under way when the run ended


def replayed(answer: Json, journal: Path | None) -> Replay | None:
    """What the journal of an answer gives; None where another version or half a run wrote it, or a
    run that went on after this answer was given."""
    if journal is None:
        return None
    recording = read(journal)
    left = recording.went_on and answer["status"] == "partial"
    if left or recording.header.get("version") != __version__:
        return None
    again = research("", Settings(replay=journal)).answer()
    if again.error and again.error.kind == JournalError.kind:
        return None
    most = spent(recording.calls.values())
    return Replay(again.model_dump(mode="json"), most.model_dump(mode="json"))


def unlike(answer: Json, replay: Replay, known: set[str]) -> Iterator[tuple[str, str]]:
    """Every place where an answer is not what its journal gives, but for those already known.

    How long it took and where the journal lay are no part of it; nor is a warning that is more
    than it gives, as of a full disk.
    """
    again = replay.answer
    lost = [warning for warning in again["warnings"] if warning not in answer["warnings"]]
    yield from (("warnings", f"the journal gives this one too: {warning}") for warning in lost)
    counted = {f"usage.{name}" for name in replay.most}
    same = {"run.journal", *counted, *known}
    for where in _differences(answer, again | {"warnings": answer["warnings"]}):
        if where not in same and not where.endswith(".seconds"):
            yield where, "it is not what replaying the journal gives"
    for name, most in replay.most.items():
        if not _between(again["usage"][name], answer["usage"][name], most):
            yield f"usage.{name}", "it is not what the calls in the journal took"


def _between(least: float | None, told: float | None, most: float | None) -> bool:
    """Whether a sum can be; an unknown price makes it unknown."""
    if least is None or told is None or most is None:
        return told in (least, most)
    return least <= told <= most


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
