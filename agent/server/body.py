"""The bodies of HTTP responses, as OpenAPI publishes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, create_model

from agent.answer.schema import Answer, SlotAnswer, Usage
from agent.server.activity import Activity
from agent.server.live_run import RunSummary
from agent.server.outcome import Outcome
from agent.state import Frozen

if TYPE_CHECKING:
    Result = Answer
else:
    Result = create_model(
        "Result",
        __base__=Answer,
        __doc__="The answer object, the same as Markdown, and the question.",
        report=(str, ...),
        question=(str, ...),
    )


class RunDetail(RunSummary):
    """A run, with its answer once there is one. `frames` is the number of its last frame.

    `step` is the type of that frame, or the task that a model has done. `usage`, `slots` and
    `activity` are those so far. `max_usd` is what it may spend. `html` is the
    answer as a part of a page, each id with the run's before it.
    """

    frames: int
    step: str
    usage: Usage
    slots: dict[str, SlotAnswer]
    max_usd: float | None = None
    is_check: bool = False
    activity: Activity = Activity()
    answer: Result | None = None
    outcome: Outcome | None = None
    html: str = ""


class Health(Frozen):
    """The server answers."""

    status: Literal["ok"] = "ok"


class Status(Frozen):
    """Whether a question could be researched, by which model and search, and what is missing.

    `search` names the services that can be asked, and `corpus` for the user's own documents.
    `documents`: whether `POST /api/documents` takes files.
    """

    ready: bool
    provider: str | None = None
    model: str | None = None
    error: str | None = None
    search: tuple[str, ...] = ()
    documents: bool = False


class FieldFault(Frozen):
    """A fault in a body or a parameter, and its place."""

    loc: tuple[str | int, ...]
    msg: str
    type: str


class Fault(Frozen):
    """Why a request was refused, and what to do."""

    detail: str | tuple[FieldFault, ...]
    remedy: str = ""


class Failure(BaseModel):
    """Why there is no answer; beside `detail` the fields of an answer object, with its `error`."""

    model_config = ConfigDict(extra="allow")

    detail: str


class OpenAIFault(Frozen):
    """Why a request of OpenAI's API was refused."""

    message: str
    type: str
    param: str | None
    code: str | None


class OpenAIError(Frozen):
    """An error object of OpenAI's API."""

    error: OpenAIFault
