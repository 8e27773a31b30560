"""Parsers for the topics of a batch: JSON Lines, CSV, TSV, or one topic per line of plain text."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from agent.calls.input_file import decode_lines
from agent.errors import UsageError
from agent.state import InvalidJson, parse_json


class Topic(NamedTuple):
    """One topic of the input file."""

    id: str | int  # the id in the file, or else the number of the line
    text: str
    fault: str = ""  # why the line is not a valid topic; empty: it is valid


COLUMNS = ("topic", "question")  # that may hold what is asked
MAX_ID_CHARS = 200
MAX_LINE_CHARS = 1_000_000  # of a line of JSON; a longer line is not a topic
DELIMITERS = {".csv": ",", ".tsv": "\t"}
JSON_LINES_SUFFIXES = (".jsonl", ".ndjson", ".json")


def read_topics(path: Path) -> list[Topic]:
    """Read the topics of a file, in their order.

    The suffix tells the format: .jsonl, .ndjson or .json (JSON Lines), .csv, .tsv. A file with any
    other suffix is JSON Lines if its first line is an object, else plain text.
    A line of JSON is `{"id", "topic"}` or a string. CSV and TSV have a header with `topic` and
    optionally `id`. A topic without an id gets the number of its line. Empty lines are skipped.
    An invalid line becomes a topic with a `fault`, so that it costs only itself.
    Raises UsageError if the file cannot be read, has no valid topic, or has an id twice.
    """
    lines = decode_lines(path)
    try:
        topics = list(_parse_lines(lines, path.suffix.lower()))
    except csv.Error as error:
        raise UsageError(f"{path} cannot be read: {error}.", "Write it as UTF-8 text.") from None
    if all(topic.fault for topic in topics):
        reason = f" {topics[0].fault}" if topics else ""
        raise UsageError(f"{path} holds no topic.{reason}", "Write one on each line.")
    _check_unique_ids(topics, path)
    return topics


def _parse_lines(lines: Iterable[str], suffix: str) -> Iterator[Topic]:
    if suffix in DELIMITERS:
        yield from _parse_csv(lines, DELIMITERS[suffix])
        return
    parse = _parse_json_line if suffix in JSON_LINES_SUFFIXES else None
    for n, line in enumerate(map(str.strip, lines), 1):
        if line:
            parse = parse or (_parse_json_line if line.startswith("{") else _parse_plain_line)
            yield parse(line, n)


def _parse_plain_line(line: str, n: int) -> Topic:
    return Topic(n, line)


def _parse_json_line(line: str, n: int) -> Topic:
    try:
        value = parse_json(line) if len(line) <= MAX_LINE_CHARS else None
    except InvalidJson:
        value = None
    if isinstance(value, str):
        return Topic(n, value)
    fields = value if isinstance(value, dict) else {}
    topic = next((fields[name] for name in COLUMNS if isinstance(fields.get(name), str)), None)
    if topic is None:
        return Topic(n, "", f'Line {n} is not {{"id": ..., "topic": "..."}}.')
    return _make_topic(fields.get("id"), topic, n)


def _parse_csv(lines: Iterable[str], delimiter: str) -> Iterator[Topic]:
    rows = csv.DictReader(lines, delimiter=delimiter)
    name = next((name for name in COLUMNS if name in (rows.fieldnames or ())), None)
    if name is None:
        fault = "The file has no column `topic`."
        raise UsageError(fault, f"Its first line names the columns: id{delimiter}topic.")
    for row in rows:
        yield _make_topic(row.get("id") or None, row[name] or "", rows.line_num)


def _make_topic(topic_id: object, text: str, n: int) -> Topic:
    if topic_id is None:
        return Topic(n, text)
    if isinstance(topic_id, bool) or not isinstance(topic_id, str | int):
        return Topic(n, text, f"Line {n}: an id is text or a whole number.")
    if not 1 <= len(str(topic_id)) <= MAX_ID_CHARS:
        return Topic(n, text, f"Line {n}: an id has 1 to {MAX_ID_CHARS} characters.")
    return Topic(topic_id, text)


def _check_unique_ids(topics: Iterable[Topic], path: Path) -> None:
    """Raise UsageError if an id occurs twice. `7` and `"7"` are one id, since a reader that joins
    the output by id may not distinguish numbers from text."""
    seen: set[str] = set()
    for topic in topics:
        if str(topic.id) in seen:
            fault = f"{path} has the id {str(topic.id)[:50]!r} twice."
            raise UsageError(fault, "Give each topic an id of its own; without ids, lines count.")
        seen.add(str(topic.id))
