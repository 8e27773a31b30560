"""Reading of a journal file (`journal_lines.py` has its format): an index of its calls."""

from __future__ import annotations

import os
import weakref
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

from pydantic import ValidationError

from agent.calls.input_file import open_regular, read_at, read_lines
from agent.calls.journal_lines import VERSION, AnswerLine, CallLine, HaltLine, JournalHeader
from agent.errors import NON_RETRYABLE, JournalDamaged, JournalError
from agent.state import Json, get_path, parse_json

ANSWER_START = b'{"answer": '  # of an answer's line, which is found without parsing the others
MAX_CALLS = 500_000  # in one file; the index of so many takes 200 MB
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
    refused = get_path(line.error, "outcome") in tuple(NON_RETRYABLE)
    has_failed = "error" in line.model_fields_set
    return LineSpan(start, size, has_failed, refused, line.late, line.began + line.seconds)
