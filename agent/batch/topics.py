"""The topics of a batch, as a file tells them: JSON lines, CSV, TSV, or a topic a line."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from agent.errors import UsageError

LONGEST_ID = 200  # characters
LONGEST_LINE = 1_000_000  # characters; a longer one is no topic
SEPARATED = {".csv": ",", ".tsv": "\t"}
JSON_LINES = (".jsonl", ".ndjson", ".json")


class Topic(NamedTuple):
    """A line of the file: what is asked, and by which id; `fault` says why it cannot be."""

    id: str | int  # as it is given; where none is, the number of the line
    text: str
    fault: str = ""


def read(path: Path) -> list[Topic]:
    """The topics of a file, in its order, by its suffix: .jsonl, .csv, .tsv, any other plain lines,
    or JSON lines where the first is an object.

    JSON lines are `{"id", "topic"}` or strings; CSV has a header with `topic` and perhaps `id`.
    Without an id the number of the line is it; empty lines are none. A line that is no topic is a
    topic with a `fault`. Raises UsageError for a file that cannot be read or has no line that is a
    topic, and for an id that is there twice.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            topics = list(_topics(file, path.suffix.lower()))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", "Check the path.") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{path} cannot be read: {error}.", "Write it as UTF-8 text.") from None
    if all(topic.fault for topic in topics):
        said = f" {topics[0].fault}" if topics else ""
        raise UsageError(f"{path} holds no topic.{said}", "Write one on each line.")
    _unique(topics, path)
    return topics


def _topics(lines: Iterable[str], suffix: str) -> Iterator[Topic]:
    if suffix in SEPARATED:
        yield from _of_csv(lines, SEPARATED[suffix])
        return
    make = _of_json if suffix in JSON_LINES else None
    for n, line in enumerate(map(str.strip, lines), 1):
        if line:
            make = make or (_of_json if line.startswith("{") else _of_line)
            yield make(line, n)


def _of_line(line: str, n: int) -> Topic:
    return Topic(n, line)


def _of_json(line: str, n: int) -> Topic:
    try:
        value = json.loads(line) if len(line) <= LONGEST_LINE else None
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, str):
        return Topic(n, value)
    if not isinstance(value, dict) or not isinstance(value.get("topic"), str):
        return Topic(n, "", f'Line {n} is not {{"id": ..., "topic": "..."}}.')
    return _named(value.get("id"), value["topic"], n)


def _of_csv(lines: Iterable[str], separator: str) -> Iterator[Topic]:
    rows = csv.DictReader(lines, delimiter=separator)
    if "topic" not in (rows.fieldnames or ()):
        fault = "The file has no column `topic`."
        raise UsageError(fault, f"Its first line names the columns: id{separator}topic.")
    for row in rows:
        n = rows.line_num
        text = row["topic"] or ""
        yield _named(row.get("id") or None, text, n)


def _named(given: object, text: str, n: int) -> Topic:
    if given is None:
        return Topic(n, text)
    if isinstance(given, bool) or not isinstance(given, str | int):
        return Topic(n, text, f"Line {n}: an id is text or a whole number.")
    if not 1 <= len(str(given)) <= LONGEST_ID:
        return Topic(n, text, f"Line {n}: an id has 1 to {LONGEST_ID} characters.")
    return Topic(given, text)


def _unique(topics: Iterable[Topic], path: Path) -> None:
    """`7` and `"7"` are one id: a reader that joins by it may not tell them apart."""
    seen: set[str] = set()
    for topic in topics:
        if str(topic.id) in seen:
            fault = f"{path} has the id {str(topic.id)[:50]!r} twice."
            raise UsageError(fault, "Give each topic an id of its own; without ids, lines count.")
        seen.add(str(topic.id))
