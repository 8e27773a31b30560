"""The comparison of a result with the one that replaying its journal gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel

from agent import __version__
from agent.answer import Answer
from agent.errors import JournalError
from agent.outside.budget import round_dollars, sum_usage
from agent.outside.recording import read_journal
from agent.run import research
from agent.settings import Settings
from agent.state.json_data import Json


class Replay(NamedTuple):
    """The result of replaying a journal."""

    result: Json
    max_usage: Json  # of all calls in it, those that were under way when the run ended too


def replay_journal(
    result: Json, journal: Path | None, build: Callable[[Answer], BaseModel] = lambda answer: answer
) -> Replay | None:
    """Replay the journal of a result; None where it cannot give this one again.

    That is so if another version wrote it, if it does not hold all calls of the run, or if the run
    went on after this result was given. `build`: the result from an answer.
    """
    if journal is None:
        return None
    recording = read_journal(journal)
    is_cut_short = result["status"] in ("partial", "insufficient")
    is_outdated = recording.resumed_after_halt and is_cut_short
    if is_outdated or recording.header.get("version") != __version__:
        return None
    replayed = research("", Settings(replay=journal)).answer()
    if replayed.error and replayed.error.kind == JournalError.kind:
        return None
    max_usage = round_dollars(sum_usage(recording.calls.values()))
    return Replay(build(replayed).model_dump(mode="json"), max_usage.model_dump(mode="json"))


def find_replay_differences(
    answer: Json, replay: Replay, known: set[str]
) -> Iterator[tuple[str, str]]:
    """Where an answer is not what the replay gives, and how, except at the `known` paths.

    Seconds and the path of the journal may differ. Warnings may be more than the replay gives, for
    example of a full disk. Usage may be anything from that of the replay to `max_usage`.
    """
    again, max_usage = replay.result, replay.max_usage
    for warning in again["warnings"]:
        if warning not in answer["warnings"]:
            yield "warnings", f"the journal gives this one too: {warning}"
    ignored = {"run.journal", *(f"usage.{name}" for name in max_usage), *known}
    for path in _find_differences(answer, again | {"warnings": answer["warnings"]}):
        is_usage = path in ignored or path.startswith("usage.by_model.")
        if not is_usage and not path.endswith(".seconds"):
            yield path, "it is not what replaying the journal gives"
    for name, most in max_usage.items():
        least = again["usage"].get(name, 0)
        if not _is_between(least, answer["usage"].get(name, least), most):
            yield f"usage.{name}", "it is not what the calls in the journal took"


def _is_between(least: Any, amount: Any, most: Any) -> bool:
    """Whether an amount is in a range, or all of an object's are; anything else is one of the ends.

    An amount is None if the price of a model is not known. A model that the replay did not ask may
    have been asked.
    """
    if all(isinstance(one, dict) for one in (least, amount, most)):
        within = least.keys() <= amount.keys() <= most.keys()
        return within and all(_is_between(least.get(k, v), v, most[k]) for k, v in amount.items())
    if all(isinstance(one, int | float) for one in (least, amount, most)):
        return bool(least <= amount <= most)
    return amount in (least, most)


def _find_differences(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """The paths at which two JSON values differ in value or type."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in dict.fromkeys((*one, *other)):
            inner = f"{path}.{key}" if path else key
            yield from _find_differences(one.get(key, ...), other.get(key, ...), inner)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for i, pair in enumerate(zip(one, other, strict=True)):
            yield from _find_differences(*pair, f"{path}[{i}]")
    elif type(one) is not type(other) or one != other:
        yield path
