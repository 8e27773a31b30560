"""What a check finds: a row, ok, warn (it can do without) or fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from agent.errors import AgentError, OutsideError

Status = Literal["ok", "warn", "fail"]


class Result(NamedTuple):
    """What a check found, and what to do about it."""

    status: Status
    detail: str
    remedy: str = ""


class Check(NamedTuple):
    """A row of the report. `seconds` is how long the check took."""

    name: str
    status: Status
    detail: str
    remedy: str
    seconds: float


Job = Callable[[], Result]


def refused(error: AgentError) -> Result:
    """A refusal in words; where a key is refused, in ours: services echo parts of it."""
    outcome = error.outcome if isinstance(error, OutsideError) else ""
    if outcome == "bad_key":
        return Result("fail", "the key is refused", error.remedy)
    return Result("warn" if outcome == "no_key" else "fail", error.message, error.remedy)
