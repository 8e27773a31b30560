"""What an answer says of several times: numbers for a chart, and sentences for a timeline.

Only what is proved counts, and only where it says one time: of two, nobody knows which is meant.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pydantic import Field

from agent.answer.phrases import read_cells
from agent.evidence.language import language_of
from agent.evidence.quantities import Day, Number, read_quantities
from agent.evidence.words import content_words
from agent.slots.versions import is_time
from agent.state import Claim, Frozen, Scalar

if TYPE_CHECKING:  # at run time, the schema imports this module
    from agent.answer.schema import SlotAnswer

LEAST_POINTS = 3  # of a chart
LEAST_DATED = 4  # sentences of a timeline,
MOSTLY = 0.75  # and their share of a section. Set by hand, as are the others


class Point(Frozen):
    """A number, as it is said, and its time in ISO 8601 as exact as it is known: `2022-12`."""

    at: str
    value: float
    said: str
    citations: tuple[int, ...]


class Series(Frozen):
    """Proved numbers of one kind of one thing, in order of time."""

    name: str
    points: tuple[Point, ...] = Field(min_length=LEAST_POINTS)


class DatedSentence(Frozen):
    """A sentence of a section, and its time as in a point."""

    at: str
    text: str
    citations: tuple[int, ...]


def read_time(text: str) -> str:
    """The one time that a text names; "" where it names none or several."""
    times = {time for one in read_quantities(text) if (time := _time_of(one, text))}
    return times.pop() if len(times) == 1 else ""


def _time_of(one: object, text: str) -> str:
    if isinstance(one, Day) and one.year:
        return "-".join(f"{part:02}" for part in (one.year, *_month_and_day(one)))
    if isinstance(one, Number) and one.is_year and not _counts(one.text, text):
        return one.text
    return ""


def _month_and_day(day: Day) -> Sequence[int]:
    """The parts of a date that are known for sure."""
    month, number = day.months[0]
    return () if len(set(day.months)) > 1 else (month, number) if number else (month,)


def _counts(year: str, text: str) -> bool:
    """Whether what looks like a year counts what follows it: `1200 seats`."""
    after = re.search(rf"\b{year}\s+(\w+)", text)
    return bool(after and content_words(after[1], language_of(text).tag))


# --- charts --------------------------------------------------------------------------------------


def find_series(claims: Iterable[Claim], slots: Mapping[str, SlotAnswer]) -> Iterator[Series]:
    """The series of an answer: of the rows of its tables, of its sentences, and of its slots."""
    tables: dict[str, list[Claim]] = {}
    for claim in (told := list(claims)):
        if claim.form == "row":
            tables.setdefault(claim.intro, []).append(claim)
    for intro, rows in tables.items():
        yield from series_of_rows(intro, rows)
    yield from series_of_sentences(told)
    yield from series_of_slots(slots)


def series_of_rows(intro: str, rows: Sequence[Claim]) -> Iterator[Series]:
    """The series of a table whose rows are times: one for each column of numbers."""
    proved = [(read_cells(row.text), row) for row in rows if row.verdict == "supported"]
    head = next((read_cells(line) for line in intro.splitlines() if line.startswith("|")), [""])
    for n in range(1, min((len(cells) for cells, _ in proved), default=0)):
        times = Counter(cells[0] for cells, _ in proved)  # of one that is disputed nobody knows
        told = [(cells[0], cells[n], row.citations) for cells, row in proved if times[cells[0]] < 2]
        yield from _make_series((head[n:] or [""])[0] or head[0], told)


def series_of_sentences(claims: Iterable[Claim]) -> Iterator[Series]:
    """The series of sentences that are the same but for one number and one time."""
    alike: dict[str, dict[str, tuple[str, Scalar, tuple[int, ...]]]] = {}
    for claim in claims:
        at, said = read_time(claim.text), read_quantities(claim.text)
        numbers = [one for one in said if isinstance(one, Number) and one.text != at]
        if claim.verdict == "supported" and claim.form == "sentence" and at and len(numbers) == 1:
            name = claim.text.rstrip(".")
            for one in said:
                name = name.replace(one.text, "…")
            alike.setdefault(name, {})[claim.text] = (at, numbers[0].text, claim.citations)
    for name, told in alike.items():
        yield from _make_series(name, told.values())


def series_of_slots(slots: Mapping[str, SlotAnswer]) -> Iterator[Series]:
    """The series of slots of one name but for its time, and of a slot with values of several."""
    named: dict[str, list[tuple[str, Scalar, tuple[int, ...]]]] = {}
    for name, slot in slots.items():
        if slot.status != "filled" or slot.verdict != "supported" or slot.value is None:
            continue
        if is_time(slot.of):
            named[name] = [(one.of, one.value, one.citations) for one in slot.alternatives]
            named[name].append((slot.of, slot.value, slot.citations))
        elif not slot.alternatives and (year := re.search(r"(?<!\d)\d{4}(?!\d)", name)):
            bare = re.sub(r"\W+$", "", name.replace(year[0], "").strip(" _"))
            named.setdefault(bare, []).append((year[0], slot.value, slot.citations))
    for name, told in named.items():
        yield from _make_series(name, told)


def _make_series(
    name: str, told: Iterable[tuple[str, Scalar, tuple[int, ...]]]
) -> Iterator[Series]:
    """The series of these times and values, if all are numbers of one kind."""
    points, kinds, years = dict[str, Point](), set[object](), set[bool]()
    for time, value, citations in told:
        numbers = [one for one in read_quantities(str(value)) if isinstance(one, Number)]
        at = read_time(time)
        if not at or at in points or len(numbers) != 1 or len(set(numbers[0].values)) > 1:
            return  # `1.234` may be read in two ways
        number = numbers[0]
        kinds.add((number.unit, str(value).replace(number.text, "").strip()))
        years.add(number.is_year)
        points[at] = Point(at=at, value=number.values[0], said=str(value), citations=citations)
    values = {point.value for point in points.values()}
    if len(points) >= LEAST_POINTS and len(kinds) == 1 and len(values) > 1 and False in years:
        yield Series(name=name, points=tuple(points[at] for at in sorted(points)))


# --- timelines -----------------------------------------------------------------------------------


def find_timeline(sentences: Iterable[Claim]) -> tuple[DatedSentence, ...]:
    """The sentences of a section in order of time, if most of them are dated and proved."""
    prose = [one for one in sentences if one.form != "row"]
    dated = [
        DatedSentence(at=at, text=one.text, citations=one.citations)
        for one in prose
        if one.verdict == "supported" and (at := read_time(one.text))
    ]
    if len({one.at for one in dated}) < LEAST_DATED or len(dated) < MOSTLY * len(prose):
        return ()
    return tuple(sorted(dated, key=lambda one: one.at))
