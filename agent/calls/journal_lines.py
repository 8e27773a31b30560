"""The lines of a journal file: their formats, and how an error is written.

The file has JSON lines. The first is the header: the version of the format, the topic and the
settings of the run, and the time. Every other line is a finished call, `{"halt": reason}` where
gathering ended early (an empty reason: the run went on after that), or `{"answer": {...}}`, the
last line of a run that ended. If a run went on after its end, the newest answer counts.

A journal is untrusted: a line is validated here, and the response of a call when it is recalled.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from agent.errors import ExternalCallError, ModelFailed, ReadFailed, SearchFailed, Spent
from agent.state import Attempt, EarlierAnswer, Frozen, ModelCost, Outcome
from agent.state.claims import MAX_EARLIER
from agent.state.json_data import Json
from agent.state.values import MAX_TOKENS

VERSION = 2  # of the format: since 2 a run that ended has an answer line
_Seconds = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]


class _Line(Frozen):
    """A line of a journal. Fields that this version does not know are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True, defer_build=True)


class ParentRun(_Line):
    """The run that a run follows: its name, where its journal lay, and what was asked before.

    `earlier` has the question of that run last, before it those that led to it.
    """

    run: str
    journal: str = ""  # an absolute path
    earlier: list[EarlierAnswer] = Field(min_length=1, max_length=MAX_EARLIER)


class JournalHeader(_Line):
    """The first line: the version of the format, and the run. A journal of a judge has no run."""

    journal: int = Field(ge=1, le=VERSION)
    run: str = ""
    version: str = ""  # of the program
    prompts: str = ""  # a hash of its prompts
    topic: str = ""
    strategy: str = ""
    reason: str = ""  # why this strategy was chosen
    search: list[str] = Field(default_factory=list)  # who is asked before those of the settings
    at: str = Field(default="", pattern=r"^([0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9:.]{2,20}Z?)?)?$")
    request: str = ""  # the name of a server's request
    warnings: list[str] = Field(default_factory=list)  # about sources that were not used
    settings: dict[str, Any] = Field(default_factory=dict)
    parent: ParentRun | None = None


def parent_of(header: Json) -> ParentRun | None:
    """The run that a run follows, from the header of its journal; None if it follows none."""
    return ParentRun.model_validate(header["parent"]) if header.get("parent") else None


class CallLine(_Line):
    """A finished call. Times are seconds of the run; journals of older versions have no `began`."""

    call: str
    key: str
    request: dict[str, Any] = Field(default_factory=dict)
    began: _Seconds = 0.0
    seconds: _Seconds = 0.0
    late: bool = False
    response: Any = None
    error: Any = None


class HaltLine(_Line):
    """Gathering ended early, for this reason; an empty one says that the run went on."""

    halt: str


class AnswerLine(_Line):
    """The answer object with which the run ended."""

    answer: dict[str, Any]


#: What a failed call of each kind raises.
ERROR_CLASSES: dict[str, type[ExternalCallError]] = {
    "ask": ModelFailed,
    "search": SearchFailed,
    "read": ReadFailed,
}


class RecordedError(Frozen):
    """How a failed call is written in a journal."""

    outcome: Outcome
    message: str
    remedy: str
    attempts: tuple[Attempt, ...]
    #: Of replies that could not be used; not written where there were none.
    input_tokens: int = Field(default=0, ge=0, le=MAX_TOKENS)
    output_tokens: int = Field(default=0, ge=0, le=MAX_TOKENS)
    usd: float | None = Field(default=0.0, ge=0, allow_inf_nan=False)
    costs: tuple[ModelCost, ...] = ()


def encode_error(error: ExternalCallError) -> Json:
    """An error as it is written."""
    values = {name: getattr(error, name) for name in ("outcome", "message", "remedy", "attempts")}
    recorded = RecordedError(**values, **error.spent._asdict(), costs=error.costs)
    unpaid = set() if any(error.spent) else {*Spent._fields, "costs"}
    return recorded.model_dump(mode="json", exclude=unpaid)


def decode_error(kind: str, written: Json) -> ExternalCallError:
    """The error of a call that a journal holds. Raises ValueError."""
    values = dict(RecordedError.model_validate(written))
    spent = Spent(*(values.pop(name) for name in Spent._fields))
    return ERROR_CLASSES[kind](values.pop("message"), **values, spent=spent)


def is_of_parent(line: Json) -> bool:
    """Whether a call asked the journal of an earlier run: it cost nothing."""
    return "run" in line.get("request", {})
