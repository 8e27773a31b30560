"""The body of a request to a server: a question and settings, validated as the settings are."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    AliasChoices,
    ConfigDict,
    Field,
    StringConstraints,
    create_model,
    model_validator,
)

from agent.documents.reports.reader import read_report
from agent.errors import UsageError
from agent.run.run_library import RUN_NAME_PATTERN
from agent.run.validate_request import MAX_TOPIC_CHARACTERS
from agent.settings import Settings, make_request
from agent.state import CitedReport, Frozen, ReportForm, RunRequest

SHORTEST_TOPIC = 3  # characters

#: Settings that a request may set; none is a path, which would name a file of the server. All
#: others are the server's.
REQUEST_FIELDS = (
    "strategy slots slots_schema depth max_rounds max_words max_seconds max_usd max_tokens "
    "max_calls plan reader max_citations lang since allow_domains block_domains verify "
    "on_unsupported credibility cache"
).split()
#: What else it may say of its run.
OWN_FIELDS = ("clarified", "earlier")
#: The settings that a request to check a report may set.
CHECK_FIELDS = "max_seconds max_usd max_tokens max_calls lang verify cache archive".split()
REQUESTED_FIELDS = {*REQUEST_FIELDS, *CHECK_FIELDS}
LONGEST_REPORT = 10_000_000  # characters, in base64 if need be
MAX_DOCUMENTS = 8  # that a question may name
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


RunId = Annotated[str, StringConstraints(pattern=f"^{RUN_NAME_PATTERN}$")]
DocumentId = Annotated[str, StringConstraints(pattern="^[A-Za-z0-9_-]{10,100}$")]


class RequestBody(Frozen):
    """What asks for a run, and how far it is to go: see `Question` and `CheckRequest`."""

    model_config = ConfigDict(defer_build=False)  # FastAPI cannot wrap a model that is not built

    detach: bool = Field(default=False, description="the run continues when the client disconnects")

    @model_validator(mode="before")
    @classmethod
    def _refuse_flags_as_numbers(cls, body: Any) -> Any:
        """Raise ValueError for `true` where a number is wanted: pydantic would take it as 1."""
        flags = (
            [n for n, value in body.items() if isinstance(value, bool)]
            if isinstance(body, dict)
            else []
        )
        for name in cls.model_fields.keys() & flags:
            if "bool" not in str(cls.model_fields[name].annotation):
                raise ValueError(f"{name} is not a flag")
        return body

    def setting_overrides(self, server: Settings) -> dict[str, Any]:
        """The settings that the request sets; caps are at most those of the server."""
        names = REQUESTED_FIELDS & type(self).model_fields.keys()
        fields = self.model_dump(include=names, exclude_none=True)
        for name in set(CAPPED_FIELDS) & fields.keys():
            cap = getattr(server, name)
            fields[name] = fields[name] if cap is None else min(fields[name], cap)
        return fields

    def run_request(self, request_id: str = "") -> RunRequest:
        """What the request says of its run alone. Raises UsageError."""
        fields = self.model_dump(include=set(OWN_FIELDS))
        return make_request({**fields, "request_id": request_id})


class ResearchRequest(RequestBody):
    """A question, and how far to go for it. `Question` adds a field for each setting."""

    question: Annotated[
        str,
        StringConstraints(
            strip_whitespace=True, min_length=SHORTEST_TOPIC, max_length=MAX_TOPIC_CHARACTERS
        ),
    ] = Field(validation_alias=AliasChoices("question", "topic"))
    follow: RunId | None = Field(
        default=None, description="the id of a run that this question follows"
    )
    documents: tuple[DocumentId, ...] | None = Field(
        default=None,
        min_length=1,
        max_length=MAX_DOCUMENTS,
        description="ids of documents: they are then what is searched",
    )


class ReportRequest(RequestBody):
    """A report to be checked. `CheckRequest` adds a field for each setting."""

    report: str = Field(
        min_length=1, max_length=LONGEST_REPORT, description="its text, or its bytes in base64"
    )
    encoding: Literal["text", "base64"] = "text"
    name: str = Field(
        default="", max_length=200, description="the name of its file, which tells its form"
    )
    form: ReportForm | None = Field(
        default=None, description="what the report is; null: found out by its name and content"
    )
    search: bool = Field(default=False, description="search for sentences that cite nothing")

    def run_request(self, request_id: str = "") -> RunRequest:
        """The check of the report, which is read here. Raises UsageError."""
        fields = {"report": self.read_report(), "search_uncited": self.search}
        return RunRequest(request_id=request_id, **fields)

    def read_report(self) -> CitedReport:
        """The report, read in a worker. Raises UsageError."""
        body = self.report.encode("utf-8", "replace")
        try:
            if self.encoding == "base64":
                body = b64decode(body, validate=True)
        except ValueError:
            raise UsageError("The report is not base64.", "Send its bytes in base64.") from None
        return read_report(body, self.name, self.form or "")


Text = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_TEXT)
]


def _request_field(name: str) -> Any:
    """A setting as an optional field of the request, with the bounds that it has in `Settings`."""
    field = {**RunRequest.model_fields, **Settings.model_fields}[name]
    annotation: Any = field.annotation
    if annotation == tuple[str, ...]:
        return (tuple[Text, ...] | None, Field(default=None, max_length=LONGEST_LIST))
    longest = LONGEST_TEXT if annotation is str and not field.metadata else None
    bounded = Annotated[(annotation, *field.metadata)] if field.metadata else annotation
    return (bounded | None, Field(default=None, max_length=longest))


def _add_settings(base: type[RequestBody], fields: Iterable[str], name: str, doc: str) -> Any:
    """A kind of request that has these settings too."""
    own = {field: _request_field(field) for field in fields}
    return create_model(name, __base__=base, __doc__=doc, **own)


if TYPE_CHECKING:
    Question = ResearchRequest
    CheckRequest = ReportRequest
else:
    CheckRequest = _add_settings(
        ReportRequest, CHECK_FIELDS, "CheckRequest", "A report, and how far to go to check it."
    )
    Question = _add_settings(
        ResearchRequest,
        (*REQUEST_FIELDS, *OWN_FIELDS),
        "Question",
        "A question, and how far to go for it.",
    )
