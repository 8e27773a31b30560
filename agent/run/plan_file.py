"""A plan as a file that its user edits: JSON, or an outline in Markdown; read with its lines.

The outline has the topic as its heading, lines of settings, and for each section a heading, its
questions as items, and lines that say what they are: `Of:` the things that it compares, with `;`
between them, `After:` a section that it waits for, `Search:` a query. Lines with `>` are remarks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agent.errors import UsageError
from agent.outside.input_file import read_text
from agent.run.plan import PlanOffer
from agent.state import Plan
from agent.state.json_data import InvalidJson, Json, parse_json
from agent.state.sanitizing import sanitize_line

MAX_BYTES = 200_000
REMEDY = "Correct that line, or print a plan anew with --plan and edit it."
#: The lines of an outline: of the plan, and of a section.
PLAN_LINES = {"Kind": "question_type", "Depth": "depth", "Strategy": "search_strategy"}
PLAN_LINES |= {"Scholarly": "is_research"}  # yes or no
PLAN_LISTS = {"Unclear": "unclear", "Ask": "ask"}
SECTION_LISTS = {"Of": "things", "After": "after"}
_LINE = re.compile(r"([A-Z][a-z]+):[ \t]*(\S.*)")
_ITEM = re.compile(r"[-*+] +(\S.*)")
_HEADING = re.compile(r"(#{1,2}) +(\S.*)")


def read_plan(path: Path) -> Plan:
    """The plan of a file. Raises UsageError that names the line which cannot be read."""
    return parse_plan(read_text(path, MAX_BYTES), str(path))


def parse_plan(text: str, name: str) -> Plan:
    """The plan of a text, JSON if it begins like an object. Raises UsageError as `read_plan`."""
    if text.lstrip()[:1] == "{":
        return _parse_json(text, name)
    fields, lines = _parse_outline(text, name)
    return _validate(fields, name, lambda place: _nearest(place, lines))


def _refuse(name: str, line: int, fault: str) -> UsageError:
    return UsageError(f"{name}, line {line}: {fault}.", REMEDY)


def _validate(fields: Json, name: str, find_line: Any) -> Plan:
    try:
        return Plan.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        place, fault = first["loc"], first["msg"].removeprefix("Value error, ")
        if found := re.match(r"(sections[.\w]*): ", fault):  # of the order of sections
            keys = found[1].split(".")
            place = tuple(int(key) if key.isdigit() else key for key in keys)
            fault = fault[found.end() :]
        what = ".".join(str(key) for key in place if not isinstance(key, int))
        raise _refuse(name, find_line(place), f"{what}: {fault}".rstrip(".")) from None


# --- JSON ----------------------------------------------------------------------------------------


def _parse_json(text: str, name: str) -> Plan:
    try:
        value = parse_json(text)
    except InvalidJson as error:
        at = re.search(r"line (\d+)", str(error))
        raise _refuse(name, int(at[1]) if at else 1, f"it is not JSON: {error}") from None
    return _validate(value, name, lambda place: _line_of(text, place))


def _line_of(text: str, place: Sequence[str | int]) -> int:
    """The line on which a value of a JSON text stands; that of what has it, if it is not there."""
    at, decoder = _skip(text, 0), json.JSONDecoder()
    for wanted in place:
        is_object, key, at = text[at] == "{", 0, at + 1
        while (at := _skip(text, at)) < len(text) and text[at] not in "]}":
            found: Any = key
            if is_object:
                found, at = decoder.raw_decode(text, at)
                at = _skip(text, at)
            if found == wanted:
                break
            at, key = _skip(text, decoder.raw_decode(text, at)[1]), key + 1
        else:
            break
    return text.count("\n", 0, at) + 1


def _skip(text: str, at: int) -> int:
    """The offset behind blanks, commas and colons."""
    found = re.compile(r"[\s,:]*").match(text, at)
    return found.end() if found else at


# --- an outline ----------------------------------------------------------------------------------

Lines = dict[tuple[str | int, ...], int]


def _parse_outline(text: str, name: str) -> tuple[Json, Lines]:
    """The fields of a plan, and the line of each; that of a section is its heading's."""
    fields: Json = {"sections": []}
    lines: Lines = {}
    for n, line in enumerate(text.splitlines(), 1):
        line = sanitize_line(line, 10_000)
        if line and not line.startswith(">"):
            for place, value in _read_line(
                line, fields, lambda fault, n=n: _refuse(name, n, fault)
            ):
                lines[place] = n
                _put(fields, place, value)
    return fields, lines


def _read_line(line: str, fields: Json, refuse: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """The values of a line, each with its place. Raises UsageError."""
    sections = fields["sections"]
    here = ("sections", len(sections) - 1)
    if found := _HEADING.fullmatch(line):
        if len(found[1]) == 2:
            yield ("sections", len(sections)), {"heading": found[2]}
        elif "topic" in fields:
            raise refuse("a second topic; a section begins with ##")
        else:
            yield ("topic",), found[2]
    elif found := _ITEM.fullmatch(line):
        if not sections:
            raise refuse("a question before the first section")
        yield (*here, "questions", len(sections[-1].get("questions", ()))), found[1]
    elif found := _LINE.fullmatch(line):
        yield from _read_named(found[1], found[2], fields, here, refuse)
    else:
        raise refuse("it is no heading, no item and no line like `Search: ...`")


def _read_named(key: str, text: str, fields: Json, here: Any, refuse: Any) -> Iterator[Any]:
    """The values of a line that says what it is."""
    section = fields["sections"][-1] if fields["sections"] else None
    if section is None and key in PLAN_LINES:
        yield (PLAN_LINES[key],), text
    elif section is None and key in PLAN_LISTS:
        yield (PLAN_LISTS[key], len(fields.get(PLAN_LISTS[key], ()))), text
    elif section is not None and key == "Search":
        yield (*here, "searches", len(section.get("searches", ()))), {"query": text}
    elif section is not None and key in SECTION_LISTS:
        name = SECTION_LISTS[key]
        first = len(section.get(name, ()))
        parts = text.split(";") if key == "Of" else [text]
        parts = [part.strip() for part in parts if part.strip()]
        yield from (((*here, name, first + n), part) for n, part in enumerate(parts))
    else:
        known = [*PLAN_LINES, *PLAN_LISTS] if section is None else [*SECTION_LISTS, "Search"]
        raise refuse(f"there is no `{key}:` here; there are {', '.join(known)}")


def _put(fields: Json, place: tuple[str | int, ...], value: Any) -> None:
    """Put a value where it belongs; lists grow by one."""
    inner: Any = fields
    keys: Sequence[Any] = place
    for key, following in zip(keys, (*keys[1:], None), strict=True):
        if following is None:
            inner.append(value) if isinstance(inner, list) else inner.__setitem__(key, value)
        else:
            inner = inner[key] if isinstance(inner, list) else inner.setdefault(key, [])


def _nearest(place: Sequence[str | int], lines: Lines) -> int:
    """The line of a place, or of what it is in; the first for what is missing."""
    starts = (tuple(islice(place, n)) for n in range(len(place), 0, -1))
    return next((lines[start] for start in starts if start in lines), 1)


def write_outline(plan: Plan, remarks: Sequence[str] = ()) -> str:
    """The plan as an outline that `parse_plan` reads."""
    return "\n".join(_outline_lines(plan, remarks)) + "\n"


def write_offer(offer: PlanOffer, *remarks: str) -> str:
    """The plan as an outline, with what its report would take."""
    taken, usd = offer.estimate, offer.estimate.usd
    price = f"{usd.likely:g} US dollars" if usd else "a price that is not known"
    most = f", and {usd.max:g} dollars" if usd else ""
    cost = (
        f"It would take about {taken.seconds.likely:.0f} seconds, {taken.tokens.likely:,.0f} "
        f"tokens and {price}; at most {taken.seconds.max:.0f} seconds{most}."
    )
    return write_outline(offer, (*offer.warnings, cost, *remarks))


def _outline_lines(plan: Plan, remarks: Sequence[str]) -> Iterator[str]:
    yield from (f"# {plan.topic}", "")
    yield from (f"> {remark}" for remark in remarks)
    for label, field in PLAN_LINES.items():
        if value := getattr(plan, field):
            yield f"{label}: {'yes' if value is True else value}"
    for label, field in PLAN_LISTS.items():
        yield from (f"{label}: {one}" for one in getattr(plan, field))
    for section in plan.sections:
        yield from ("", f"## {section.heading}", "")
        yield from (f"- {question}" for question in section.questions)
        for label, field in SECTION_LISTS.items():
            yield from (f"{label}: {name}" for name in getattr(section, field))
        yield from (f"Search: {search.query}" for search in section.searches)
