"""Reading of a journal file: an index of the calls that it holds.

The file has JSON lines. The first is the header: the version of the format, what the run was asked,
and when. Every other line is a finished call, or `{"halt": reason}` where gathering ended early; an
empty reason says that the run went on after that.
"""

from __future__ import annotations

import json
import os
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

from agent.errors import NON_RETRYABLE, JournalError
from agent.state.json_data import Json

VERSION = 1  # of the format


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
        line: Json = json.loads(os.pread(self._file, span.size, span.start))
        return line

    def __iter__(self) -> Iterator[str]:
        return iter(self.spans)

    def __len__(self) -> int:
        return len(self.spans)


class Recording(NamedTuple):
    """What a journal file holds."""

    header: Json
    calls: CallIndex
    halt: str  # why gathering last ended early; empty: it did not, or the run has gone on since
    resumed_after_halt: bool  # gathering ended early once, and the run went on
    end: int  # where the last complete line ends, in bytes

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
        with path.open("rb") as file:
            return file.readline().endswith(b"\n")
    except OSError:
        return False


def read_journal(path: Path, header: Json | None = None) -> Recording:
    """Read a journal file. An incomplete last line is ignored.

    `header` is used where not even the first line is complete. Raises JournalError if the file
    cannot be read, is no journal, or is of a newer version.
    """
    try:
        with path.open("rb") as file:
            recording = _parse_lines(file, header)
            version = recording.header["journal"]
            is_newer = version > VERSION
    except OSError as error:
        raise JournalError(f"{path} cannot be read: {error.strerror}.", "Check the path.") from None
    except (ValueError, TypeError, KeyError):
        raise JournalError(f"{path} is not a journal of a run.", "Name another file.") from None
    if is_newer:
        fault = f"{path} was written by a newer version of this program (format {version})."
        raise JournalError(fault, "Update this program.")
    return recording


def _parse_lines(file: BinaryIO, default_header: Json | None) -> Recording:
    """Parse line by line, so that at most one line is in memory."""
    spans: dict[str, LineSpan] = {}
    header: Json | None = None
    halt, resumed, end = "", False, 0
    for raw in file:
        if not raw.endswith(b"\n"):
            break
        line = json.loads(raw)
        if header is None:
            header = line
        elif "halt" not in line:
            spans[line["key"]] = _span_of(line, end, len(raw))
        elif not (halt := line["halt"]):  # the run went on: its late calls count from now on
            resumed = True
            spans = {key: span._replace(late=False) for key, span in spans.items()}
        end += len(raw)
    header = default_header if header is None else header
    if header is None:
        raise ValueError("an empty file")
    return Recording(header, CallIndex(file.fileno(), spans), halt, resumed, end)


def _span_of(line: Json, start: int, size: int) -> LineSpan:
    """The span of a call's line, of `size` bytes from `start`."""
    ended_at = float(line.get("began", 0.0)) + float(line.get("seconds", 0.0))
    error = line.get("error")
    refused = isinstance(error, dict) and error.get("outcome") in NON_RETRYABLE
    return LineSpan(start, size, "error" in line, refused, bool(line.get("late")), ended_at)
