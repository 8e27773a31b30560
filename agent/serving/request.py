"""The body of a request to a server: a question and settings, validated as the settings are."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import ConfigDict, Field, StringConstraints, create_model

from agent.documents.reports.reader import read_report
from agent.errors import UsageError
from agent.run.request import MAX_TOPIC_CHARACTERS
from agent.settings import Settings
from agent.state import CitedReport, Frozen

SHORTEST_TOPIC = 3  # characters
RUN_NAME_PATTERN = "[A-Za-z0-9][A-Za-z0-9._-]{0,99}"

#: Settings that a request may set. All others are the server's.
REQUEST_FIELDS = (
    "strategy slots slots_schema depth max_rounds max_words max_seconds max_usd max_tokens "
    "max_calls lang since allow_domains block_domains verify on_unsupported credibility cache"
).split()
#: Those that a request to check a report may set.
CHECK_FIELDS = "max_seconds max_usd max_tokens max_calls lang verify cache".split()
LONGEST_REPORT = 10_000_000  # characters, in base64 if need be
#: A request may lower these caps of the server, not raise them.
CAPPED_FIELDS = ("max_seconds", "max_usd", "max_tokens", "max_calls")
LONGEST_LIST, LONGEST_TEXT = 50, 253  # names; characters: the longest name of a host
#: Makes the settings of a run from those that its request sets.
Configure = Callable[[Mapping[str, Any]], Settings]


def make_configure(load: Callable[..., Settings], options: Mapping[str, Any]) -> Configure:
    """What makes the settings of a request: the request's win over a server's options.

    `load` is `load_settings`, which reads the environment and `.env` anew for each request: a key
    that is added to `.env` counts from the next request on. Raises UsageError as `load` does.
    """
    return lambda request: load(**{**options, **request})


class ResearchRequest(Frozen):
    """A question, and how far to go for it. `Question` adds a field for each setting."""

    model_config = ConfigDict(defer_build=False)  # FastAPI cannot wrap a model that is not built

    question: Annotated[
        str,
        StringConstraints(
            strip_whitespace=True, min_length=SHORTEST_TOPIC, max_length=MAX_TOPIC_CHARACTERS
        ),
    ]
    detach: bool = Field(default=False, description="the run goes on when the client goes away")
    follow: Annotated[str, StringConstraints(pattern=f"^{RUN_NAME_PATTERN}$")] | None = Field(
        default=None, description="the id of a run that this question follows"
    )

    def setting_overrides(self, server: Settings) -> dict[str, Any]:
        """The settings that the request sets; caps are at most those of the server."""
        return _setting_overrides(self, server)


class ReportRequest(Frozen):
    """A report to be checked. `CheckRequest` adds a field for each setting."""

    model_config = ConfigDict(defer_build=False)

    report: str = Field(
        min_length=1, max_length=LONGEST_REPORT, description="its text, or its bytes in base64"
    )
    encoding: Literal["text", "base64"] = "text"
    name: str = Field(
        default="", max_length=200, description="the name of its file, which tells its form"
    )
    search: bool = Field(default=False, description="search for sentences that cite nothing")
    detach: bool = Field(default=False, description="the run goes on when the client goes away")

    def setting_overrides(self, server: Settings) -> dict[str, Any]:
        """The settings that the request sets; caps are at most those of the server."""
        return _setting_overrides(self, server) | {"search_uncited": self.search or None}

    def read_report(self) -> CitedReport:
        """The report, read in a worker. Raises UsageError."""
        if self.encoding == "text":
            return read_report(self.report.encode("utf-8", "replace"), self.name)
        try:
            return read_report(b64decode(self.report, validate=True), self.name)
        except ValueError:
            raise UsageError("The report is not base64.", "Send its bytes in base64.") from None


def _setting_overrides(request: Frozen, server: Settings) -> dict[str, Any]:
    names = set(REQUEST_FIELDS) & Settings.model_fields.keys() & type(request).model_fields.keys()
    fields = request.model_dump(include=names)
    overrides = {name: value for name, value in fields.items() if value is not None}
    for name in set(CAPPED_FIELDS) & overrides.keys():
        cap = getattr(server, name)
        overrides[name] = overrides[name] if cap is None else min(overrides[name], cap)
    return overrides


Text = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_TEXT)
]


def _request_field(name: str) -> Any:
    """A setting as an optional field of the request, with the bounds that it has in `Settings`."""
    field = Settings.model_fields[name]
    annotation: Any = field.annotation
    if annotation == tuple[str, ...]:
        return (tuple[Text, ...] | None, Field(default=None, max_length=LONGEST_LIST))
    longest = LONGEST_TEXT if annotation is str and not field.metadata else None
    bounded = Annotated[(annotation, *field.metadata)] if field.metadata else annotation
    return (bounded | None, Field(default=None, max_length=longest))


def _is_requestable(name: str) -> bool:
    """Whether a request may set it. It may not set a path: it names no file of the server."""
    field = Settings.model_fields.get(name)
    return field is not None and Path not in (field.annotation, *get_args(field.annotation))


if TYPE_CHECKING:
    Question = ResearchRequest
    CheckRequest = ReportRequest
else:
    CheckRequest = create_model(
        "CheckRequest",
        __base__=ReportRequest,
        __doc__="A report, and how far to go to check it.",
        **{name: _request_field(name) for name in CHECK_FIELDS},
    )
    Question = create_model(
        "Question",
        __base__=ResearchRequest,
        __doc__="A question, and how far to go for it.",
        **{name: _request_field(name) for name in REQUEST_FIELDS if _is_requestable(name)},
    )
