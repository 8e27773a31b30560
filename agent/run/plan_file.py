"""A plan as a file that its user edits: JSON, or an outline in Markdown; read with its lines.

The outline has the topic as its heading, lines of settings, and for each section a heading, its
questions as items, and lines that say what they are: `Of:` the things that it compares, with `;`
between them, `After:` a section that it waits for, `Search:` a query. Lines with `>` are remarks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agent.calls.input_file import read_text
from agent.errors import UsageError
from agent.run.plan import PlanOffer
from agent.state import InvalidJson, Json, Plan, parse_json, sanitize_line

MAX_BYTES = 200_000
REMEDY = "Correct that line, or print a new plan with --plan and edit it."
#: What a line of an outline is, by its label: of the plan, and of a section; `-` is an item.
PLAN_LINES = {"Kind": "question_type", "Depth": "depth", "Strategy": "search_strategy"}
PLAN_LINES |= {"Scholarly": "is_research"}  # yes or no
PLAN_LISTS = {"Unclear": "unclear", "Ask": "ask"}
SECTION_LISTS = {"-": "questions", "Of": "things", "After": "after", "Search": "searches"}
_LINE = re.compile(r"([A-Z][a-z]+):[ \t]*(\S.*)")
_ITEM = re.compile(r"([-*+]) +(\S.*)")
_HEADING = re.compile(r"(#{1,2}) +(\S.*)")


def read_plan(path: Path) -> Plan:
    """The plan of a file. Raises UsageError that names the line which cannot be read."""
    return parse_plan(read_text(path, MAX_BYTES), str(path))


def parse_plan(text: str, name: str) -> Plan:
    """The plan of a text, JSON if it begins like an object. Raises UsageError as `read_plan`."""
    if text.lstrip()[:1] == "{":
        return _parse_json(text, name)
    outline = _Outline()
    for n, raw in enumerate(text.splitlines(), 1):
        line = sanitize_line(raw, 10_000)
        if line and not line.startswith(">") and (fault := outline.take(line, n)):
            raise _refuse(name, n, fault)
    return _validate(outline.fields, name, outline.nearest)


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
    """The line on which a value of a JSON text is; that of what has it, if it is not there."""
    import yaml  # JSON is YAML, and its nodes know their lines

    try:
        node = yaml.compose(text.expandtabs(1), yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError):  # an escape that YAML does not know
        return 1
    for wanted in place:
        children: dict[Any, Any] = dict(enumerate(node.value))
        if isinstance(node, yaml.MappingNode):
            children = {key.value: value for key, value in node.value}
        if wanted not in children:
            break
        node = children[wanted]
    return int(node.start_mark.line) + 1


# --- an outline ----------------------------------------------------------------------------------

Place = tuple[str | int, ...]


class _Outline:
    """The fields of a plan, and the line of each; that of a section is its heading's."""

    def __init__(self) -> None:
        self.fields: Json = {"sections": []}
        self.lines: dict[Place, int] = {}

    def take(self, line: str, n: int) -> str:
        """Take a line in; returns why it cannot be read, or ""."""
        sections = self.fields["sections"]
        if found := _HEADING.fullmatch(line):
            if len(found[1]) == 2:
                self._append(self.fields, (), "sections", {"heading": found[2]}, n)
            elif "topic" in self.fields:
                return "a second topic; a section begins with ##"
            else:
                self._set("topic", found[2], n)
        elif not (found := _ITEM.fullmatch(line) or _LINE.fullmatch(line)):
            return "it is no heading, no item and no line like `Search: ...`"
        elif sections:
            return self._take_of_section("-" if found[1] in "-*+" else found[1], found[2], n)
        elif found[1] in PLAN_LINES:
            self._set(PLAN_LINES[found[1]], found[2], n)
        elif found[1] in PLAN_LISTS:
            self._append(self.fields, (), PLAN_LISTS[found[1]], found[2], n)
        elif found[1] in "-*+":
            return "a question before the first section"
        else:
            return _describe_unknown(found[1], (*PLAN_LINES, *PLAN_LISTS))
        return ""

    def _take_of_section(self, label: str, text: str, n: int) -> str:
        if label not in SECTION_LISTS:
            return _describe_unknown(label, SECTION_LISTS)
        place = ("sections", len(self.fields["sections"]) - 1)
        for part in text.split(";") if label == "Of" else [text]:
            if part := part.strip():
                value = {"query": part} if label == "Search" else part
                section = self.fields["sections"][-1]
                self._append(section, place, SECTION_LISTS[label], value, n)
        return ""

    def _set(self, name: str, value: str, n: int) -> None:
        self.fields[name], self.lines[(name,)] = value, n

    def _append(self, owner: Json, place: Place, name: str, value: Any, n: int) -> None:
        values = owner.setdefault(name, [])
        self.lines[(*place, name, len(values))] = n
        values.append(value)

    def nearest(self, place: Place) -> int:
        """The line of a place, or of what it is in; the first for what is missing."""
        starts = (place[:n] for n in range(len(place), 0, -1))
        return next((self.lines[start] for start in starts if start in self.lines), 1)


def _describe_unknown(label: str, known: Iterable[str]) -> str:
    names = ", ".join(name for name in known if name != "-")
    return f"there is no `{label}:` here; there are {names}"


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
        yield from (f"Of: {name}" for name in section.things)
        yield from (f"After: {name}" for name in section.after)
        yield from (f"Search: {search.query}" for search in section.searches)
