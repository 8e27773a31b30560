"""Results of checks: ok, warn (the program can do without) or fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from agent.errors import AgentError, ExternalCallError

Status = Literal["ok", "warn", "fail"]


class Result(NamedTuple):
    """What a check has found, and what to do about it."""

    status: Status
    detail: str
    remedy: str = ""


class Check(NamedTuple):
    """A row of the report: a result with the name of its check and the seconds that it took."""

    name: str
    status: Status
    detail: str
    remedy: str
    seconds: float


Job = Callable[[], Result]


def make_error_result(error: AgentError) -> Result:
    """The result of a check that raised an error.

    For a refused key the service's own message is not shown, since services echo parts of the key.
    """
    outcome = error.outcome if isinstance(error, ExternalCallError) else ""
    if outcome == "bad_key":
        return Result("fail", "the key is refused", error.remedy)
    return Result("warn" if outcome == "no_key" else "fail", error.message, error.remedy)
