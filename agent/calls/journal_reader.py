"""Reading of a journal file: an index of the calls that it holds.

The file has JSON lines. The first is the header: the version of the format, what the run was asked,
and when. Every other line is a finished call, `{"halt": reason}` where gathering ended early (an
empty reason says that the run went on after that), or `{"answer": {...}}`, which is the last one of
a run that ended. Where a run went on after its end, the newest answer counts.

A journal may be anybody's. `JournalHeader`, `CallLine`, `HaltLine` and `AnswerLine` say what a line
may be; what a call returned is validated when it is recalled.
"""

from __future__ import annotations

import os
import weakref
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal, NamedTuple

from pydantic import ConfigDict, Field, ValidationError

from agent.calls.input_file import open_regular, read_at, read_lines
from agent.errors import (
    NON_RETRYABLE,
    ExternalCallError,
    JournalDamaged,
    JournalError,
    ModelFailed,
    ReadFailed,
    SearchFailed,
    Spent,
)
from agent.state import Attempt, EarlierAnswer, Frozen, ModelCost, Outcome
from agent.state.claims import MAX_EARLIER
from agent.state.json_data import Json, get_path, parse_json
from agent.state.values import MAX_TOKENS

VERSION = 2  # of the format: since 2 a run that ended has an answer line
ANSWER_START = b'{"answer": '  # of an answer's line, which is found without parsing the others
MAX_CALLS = 500_000  # in one file; the index of so many takes 200 MB
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


#: What code raises that meets a recorded value of another shape than it takes.
DAMAGE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)


@contextmanager
def translate_damage(path: Path) -> Iterator[None]:
    """Raises JournalDamaged where a journal holds values of another shape than code takes."""
    try:
        yield
    except DAMAGE as error:
        fault = f"{path} contains entries of unknown origin ({type(error).__name__})."
        raise JournalDamaged(fault, "Name another file.") from None


class LineSpan(NamedTuple):
    """Where in the file a call's line is, in bytes, and what must be known without reading it."""

    start: int
    size: int
    failed: bool
    refused: bool  # failed for want of a key or of credit, which the user may have added since
    late: bool  # ended after gathering had ended early, and the run has not gone on since
    ended_at: float  # in seconds of the run


def is_of_parent(line: Json) -> bool:
    """Whether a call asked the journal of an earlier run: it cost nothing."""
    return "run" in line.get("request", {})


class CallIndex(Mapping[str, Json]):
    """The calls of a journal file by key. Each is read from the file when it is asked for.

    Ten thousand calls can be 100 MB of text and four times that as objects; the index takes 4 MB.
    It keeps the file open for as long as it is used, so the file may be renamed or deleted.
    """

    def __init__(self, file: int, spans: dict[str, LineSpan]) -> None:
        self._file = os.dup(file)
        self.spans = spans
        weakref.finalize(self, os.close, self._file)

    def __getitem__(self, key: str) -> Json:
        span = self.spans[key]
        try:
            line: Json = parse_json(read_at(self._file, span.size, span.start))
            return line
        except (OSError, ValueError):
            fault = "The journal was changed while it was being read."
            raise JournalDamaged(fault, "Read it again when nobody writes it.") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.spans)

    def __len__(self) -> int:
        return len(self.spans)


class Recording(NamedTuple):
    """What a journal file holds."""

    header: Json
    calls: CallIndex
    halt: str  # why gathering last ended early; empty: it did not, or the run has gone on since
    end: int  # where the last complete line ends, in bytes
    is_answered: bool  # its last line is an answer

    @property
    def ended_at(self) -> float:
        """When the last call ended, in seconds of the run."""
        return max((span.ended_at for span in self.calls.spans.values()), default=0.0)

    def forget(self, *flags: Literal["failed", "refused", "late"]) -> None:
        """Drop the calls that have one of these flags from the index."""
        spans = self.calls.spans
        for key, span in list(spans.items()):
            if any(getattr(span, flag) for flag in flags):
                del spans[key]


def has_header(path: Path) -> bool:
    """Whether a file has a complete first line."""
    try:
        with open_regular(path) as file:
            return next(read_lines(file), b"").endswith(b"\n")
    except OSError:
        return False


def read_header(path: Path) -> JournalHeader:
    """Read the first line of a journal alone. Raises JournalError."""
    with _translate_faults(path), open_regular(path) as file:
        return JournalHeader.model_validate(_parse_header(next(read_lines(file), b""), path))


def find_journals(
    run: str, recorded: str, folder: Path, named: Path | None = None
) -> Iterator[Path]:
    """Where the journal of a run is: as the user names it, as recorded, or in a folder."""
    for path in (named, Path(recorded) if recorded else None, folder / Path(recorded or run).name):
        with suppress(JournalError):
            if path and read_header(path).run == run:
                yield path


def read_journal(path: Path, header: Json | None = None) -> Recording:
    """Read a journal file. An incomplete last line is ignored.

    `header` is used where not even the first line is complete. Raises JournalError if the file
    cannot be read, is no journal, or is of a newer version; it names the line.
    """
    with _translate_faults(path), open_regular(path) as file:
        return _parse_lines(file, header, path)


@contextmanager
def _translate_faults(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise JournalError(f"{path} cannot be read: {error.strerror}.", "Check the path.") from None


def _parse_lines(file: BinaryIO, default_header: Json | None, path: Path) -> Recording:
    """Parse line by line, so that at most one line is in memory."""
    spans: dict[str, LineSpan] = {}
    header: Json | None = None
    halt, end, line = "", 0, None
    for n, raw in enumerate(read_lines(file), 1):
        if not raw.endswith(b"\n"):
            break
        if header is None:
            header = _parse_header(raw, path)
        elif isinstance(line := _parse_line(raw, path, n), CallLine):
            spans[line.key] = _span_of(line, end, len(raw))
            if len(spans) > MAX_CALLS:
                raise _line_error(path, n, f"it has more than {MAX_CALLS:,} calls")
        elif isinstance(line, HaltLine) and not (halt := line.halt):
            # the run went on: its late calls count from now on
            spans = {key: span._replace(late=False) for key, span in spans.items()}
        end += len(raw)
    header = default_header if header is None else header
    if header is None:
        raise _line_error(path, 1, "it is empty")
    return Recording(
        header, CallIndex(file.fileno(), spans), halt, end, isinstance(line, AnswerLine)
    )


def read_stored_answers(path: Path) -> Iterator[Json]:
    """The answer objects that a journal holds, the newest last. Raises JournalError."""
    for n, raw in _answer_lines(path):
        if isinstance(line := _parse_line(raw, path, n), AnswerLine):
            yield line.answer


def read_newest_answer(path: Path) -> Json | None:
    """The answer object that counts; None where a journal holds none. Raises JournalError."""
    newest = deque(_answer_lines(path), maxlen=1)
    lines = [_parse_line(raw, path, n) for n, raw in newest]
    return next((line.answer for line in lines if isinstance(line, AnswerLine)), None)


def _answer_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The complete lines of answers, with their numbers; the others are not parsed."""
    with _translate_faults(path), open_regular(path) as file:
        for n, raw in enumerate(read_lines(file), 1):
            if raw.startswith(ANSWER_START) and raw.endswith(b"\n"):
                yield n, raw


def _parse_header(raw: bytes, path: Path) -> Json:
    """The first line, valid, with all its fields. Raises JournalError."""
    try:
        header = parse_json(raw)
        if _is_newer(header):
            fault = f"{path} was written by a newer version of this program."
            raise JournalError(fault, "Update this program.")
        JournalHeader.model_validate(header)
    except ValueError as error:
        raise _line_error(path, 1, _describe_fault(error)) from None
    return dict(header)


def _is_newer(header: object) -> bool:
    version = get_path(header, "journal")
    return type(version) is int and version > VERSION


def _parse_line(raw: bytes, path: Path, n: int) -> CallLine | HaltLine | AnswerLine | None:
    """Any other line, valid; None for one that older versions wrote and this one does not read.

    Raises JournalError that names it.
    """
    try:
        line = parse_json(raw)
        names = line if isinstance(line, dict) else ()
        if "say" in names:
            return None
        kind = HaltLine if "halt" in names else AnswerLine if "answer" in names else CallLine
        return kind.model_validate(line)
    except ValueError as error:
        raise _line_error(path, n, _describe_fault(error)) from None


def _describe_fault(error: ValueError) -> str:
    """What is wrong with a line, without its content."""
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_input=False, include_url=False)[0]
    return f"{'.'.join(map(str, first['loc']))[:60]}: {first['msg']}".lstrip(": ")


def _line_error(path: Path, n: int, fault: str) -> JournalError:
    remedy = "Name another file." if n == 1 else "Remove that line, or name another file."
    return JournalError(f"{path} is not a journal of a run (line {n}: {fault}).", remedy)


def _span_of(line: CallLine, start: int, size: int) -> LineSpan:
    """The span of a call's line, of `size` bytes from `start`."""
    refused = get_path(line.error, "outcome") in tuple(NON_RETRYABLE)
    has_failed = "error" in line.model_fields_set
    return LineSpan(start, size, has_failed, refused, line.late, line.began + line.seconds)
