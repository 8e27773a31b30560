"""The answer object, its JSON Schema, and the validator of that."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent.answer.check_result import ReportCheck
from agent.answer.report import ReportAnswer
from agent.answer.states import State, Status
from agent.calls.budget import CallUsage, round_dollars
from agent.calls.journal_lines import parent_of
from agent.evidence.credibility import Credibility
from agent.state import Alternative, Attempt, Claim, Frozen, Hit, Json, Scalar, Verdict, seldom

SCHEMA_URL = "https://json-schema.org/draft/2020-12/schema"


class Citation(Frozen):
    """A quote on its page. `id` is the source's number; a source quoted twice has two citations.

    Sources are numbered from 1 in the order in which the answer first uses them.
    """

    id: int
    title: str
    url: str
    quote: str
    start: int = Field(description="offset of the quote in the stored page text, in characters")
    end: int
    place: str = seldom(
        "",
        "where in the document the quote is, such as `page 12`; absent for pages "
        "that have no such places",
    )
    match: Literal["exact", "normalized", "none"]
    link: str = Field(description="opens the page at the quote")
    page_sha256: str
    retrieved_at: str
    via: Literal["page", "snippet"]
    text_from: str = seldom(
        "",
        "the search service that gave the text of the page; absent where the page itself was read",
    )
    partial_text: str = seldom(
        "", "why only a part of the page was read, in words; absent where all of it was"
    )
    copy_of: str = seldom(
        "",
        "the address of the page, of which `url` is an archived copy; absent where the "
        "page itself was read",
    )
    date: str = seldom(
        "",
        "when the page was published or last changed, as the search service has it, "
        "else as YYYY-MM-DD by the page's own word; absent where neither says",
    )
    credibility: Credibility
    work: Json | None = seldom(
        None,
        "the scholarly work that was quoted, as an item of CSL-JSON; `status` is "
        "`retracted` where it was: it weighs nothing then; absent for other pages",
    )


class SlotAnswer(Frozen):
    """The value of a slot. `citations` are the numbers of all sources that state a value of it.

    Sources that are not cited for an alternative state `value`.
    """

    value: Scalar | None
    status: Literal["filled", "missing", "conflict"]
    citations: tuple[int, ...] = ()
    confidence: float = Field(ge=0, le=1, description="a scale to sort by, not a probability")
    verdict: Verdict = Field(
        default="unchecked", description="on `value` as what the slot asks for"
    )
    by: str = Field(default="", description="the model that judged; empty while unchecked")
    weight: float = Field(
        default=0.0, description="credibility of the independent witnesses, summed"
    )
    alternatives: tuple[Alternative, ...] = Field(
        default=(), description="what is said against it, or of another thing of its name"
    )
    of: str = seldom("", "what `value` is of, where sources tell of several things of one name")
    unasked: bool = seldom(False, "neither the caller nor the plan needs it")


class SourceCounts(Frozen):
    """How many pages were found, and what became of them."""

    found: int = 0
    read: int = 0
    blocked: int = 0
    failed: int = 0


class Usage(CallUsage):
    """What the run spent."""

    rounds: int = 0
    seconds: float = 0.0


class Followed(Frozen):
    """The run that this one follows: its name, and its question in full.

    `understood` is the topic of this run in full, as it was researched.
    """

    run: str
    question: str
    understood: str


class RunInfo(Frozen):
    """Which run this was. `journal` is null where no file could be written.

    `reason`: of older answers, whose strategy the program chose.
    """

    id: str
    strategy: str
    reason: str = ""
    models: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    started_at: str
    journal: str | None = None
    follows: Followed | None = seldom(None, "only where the run follows another")


class Error(Frozen):
    """Why there is no answer, and what the user can do."""

    kind: str
    message: str
    remedy: str


class Answer(Frozen):
    """The answer object of a run, however the run ended."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        json_schema_extra={"$schema": SCHEMA_URL, "title": "Answer"},
        json_schema_serialization_defaults_required=True,
    )

    schema_version: Literal["3"] = "3"
    topic: str
    status: Status
    state: State | None = seldom(
        None, "how the run ended in words for people, and what is open; older answers lack it"
    )
    confidence: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="how often answers with such a value were right, with and without the page "
        "that answers among what could be found; null where a model wrote the answer",
    )
    degraded: bool = False
    answer: str = ""
    citations: tuple[Citation, ...] = ()
    closest: tuple[Citation, ...] = seldom(
        (), "where the status is insufficient: what came nearest to an answer, and is none"
    )
    claims: tuple[Claim, ...] = ()
    slots: dict[str, SlotAnswer] = Field(default_factory=dict)
    report: ReportAnswer | None = seldom(
        None, "with the strategy report only: `claims` are its executive summary"
    )
    data: dict[str, Any] | None = Field(
        default=None,
        exclude_if=lambda data: data is None,
        description="with a schema of slots only: their values as one plain object in that schema, "
        "null where not found",
    )
    check: ReportCheck | None = seldom(
        None, "of a run that checked somebody's report only: there is no answer then"
    )
    sources: SourceCounts = SourceCounts()
    attempts: tuple[Attempt, ...] = ()
    warnings: tuple[str, ...] = ()
    usage: Usage = Usage()
    run: RunInfo | None = None
    error: Error | None = None


#: Fields that earlier versions wrote, as paths; lists on the way are gone through.
GONE_FIELDS = ("series", "report.sections.timeline", "run.edits", "run.said", "usage.reused")
NEXT_VERSION = {"2": "3", "check-1": "check-2"}
#: The fields with claims, of an answer and of a checked report.
CLAIMS = ("claims", "report.sections.sentences", "report.conflicts", "check.claims")


def upgrade_answer(answer: Json) -> Json:
    """A stored answer or check, perhaps of an earlier version, in the form of this one.

    Earlier versions called `supported` what is `quoted` now: word for word on a page.
    """
    for path in GONE_FIELDS:
        answer = _drop_field(answer, path)
    if (newer := NEXT_VERSION.get(str(answer.get("schema_version")))) is None:
        return answer
    for path in CLAIMS:
        answer = _drop_field(answer, f"{path}.differences")
    return {**_name_quoted(answer), "schema_version": newer}


def _name_quoted(value: Any) -> Any:
    if isinstance(value, list):
        return [_name_quoted(item) for item in value]
    if not isinstance(value, dict):
        return value
    renamed = {key: _name_quoted(item) for key, item in value.items()}
    is_own = (value.get("verdict"), value.get("by")) == ("supported", "rule")
    return renamed | {"verdict": "quoted"} if is_own else renamed


def _drop_field(value: Any, path: str) -> Any:
    if isinstance(value, list):
        return [_drop_field(item, path) if isinstance(item, dict) else item for item in value]
    name, _, rest = path.partition(".")
    if not isinstance(value, dict) or name not in value:
        return value
    if rest:
        return value | {name: _drop_field(value[name], rest)}
    return {key: item for key, item in value.items() if key != name}


def answer_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of the answer object."""
    return Answer.model_json_schema(mode="serialization")


@cache
def answer_validator() -> Any:
    """The validator of answer objects: a jsonschema.Draft202012Validator.

    The first call takes a tenth of a second, so a run makes it while it waits for a model.
    """
    from jsonschema import Draft202012Validator

    return Draft202012Validator(answer_schema())


# --- data as an instance of the caller's own pydantic class --------------------------------------


def build_run_info(header: Mapping[str, Any], journal: Path | None) -> RunInfo:
    """Which run an answer is of, from the header of its journal and the journal's path."""
    parent = parent_of(dict(header))
    return RunInfo(
        id=header["run"],
        strategy=header["strategy"],
        started_at=header["at"],
        journal=str(journal) if journal else None,
        follows=parent
        and Followed(run=parent.run, question=parent.earlier[-1].question, understood=""),
    )


def build_usage(calls: CallUsage, rounds: int, seconds: float) -> Usage:
    """What a run used: its calls, rounds and seconds, to 1 ms and to a millionth of a dollar."""
    fields = round_dollars(calls).model_dump()
    return Usage(**fields, rounds=rounds, seconds=round(seconds, 3))


def warm_validators() -> None:
    """Build and load what the first answer needs, while the run waits for something else.

    These are the validator of answers, the tables of the rules and of credibility, and pydantic's
    validators, which are otherwise built at first use.
    """
    from agent.evidence.credibility import rate_credibility
    from agent.verification.judge_view import QuotePlace
    from agent.verification.rules import decide_verdict

    answer_validator()
    decide_verdict("a claim", (QuotePlace("something else", "", 0, 14),))
    rate_credibility("", Hit(url="https://example.org/"), 2000)
    _rebuild_models(Frozen)


def _rebuild_models(base: type[Frozen]) -> None:
    for model in base.__subclasses__():
        model.model_rebuild()
        _rebuild_models(model)


DataT = TypeVar("DataT", bound=BaseModel)


class TypedAnswer(Answer, Generic[DataT]):
    """An answer whose `data` is an instance of a pydantic class; None where it does not fit."""

    data: DataT | None = Field(default=None, exclude_if=lambda data: data is None)  # type: ignore[assignment]


def with_typed_data(answer: Answer, model: type[DataT]) -> TypedAnswer[DataT]:
    """The answer with its data as an instance of `model`.

    What was not found is null, or the field's default. Where a field allows neither, there is no
    data, and a warning says so: the slots still have what was found.
    """
    fields = {name: getattr(answer, name) for name in Answer.model_fields}
    fields["data"] = None
    try:
        if answer.data is not None:
            fields["data"] = model.model_validate(_without_nulls(answer.data))
    except ValidationError as error:
        faults = (f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
        warning = f"There is no data of the class {model.__name__}: {'; '.join(faults)}."
        fields["warnings"] = (*answer.warnings, warning)
    return TypedAnswer[model].model_construct(**fields)  # type: ignore[valid-type]


def _without_nulls(value: Any) -> Any:
    """Plain data without its nulls, so that the defaults of a class count."""
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return value
