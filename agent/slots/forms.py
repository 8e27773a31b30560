"""Values by type: a text converted to the integer, date or option of its slot, or to None."""

from __future__ import annotations

import re
from datetime import datetime
from functools import lru_cache
from typing import Any

from agent.evidence import content_words, fold
from agent.evidence.dates import complete_dates, iso_dates, names_month
from agent.evidence.numbers import number_values, read_numbers
from agent.evidence.words import spaced_words
from agent.state import Form, Scalar, Slot

LONGEST = 1000  # characters of a value
#: The share of a value's words that its quote, or else its page, must hold. A paraphrase such as
#: "4-2 on penalties" for "4-2 in the shoot-out" passes, a value from memory does not.
HELD = 0.6

_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d):(\d\d).*)?")
_CLOCK = re.compile(
    r"(?<![\d.])(\d{1,2})(?:[:.h时時点點](\d{2})(?!\d)|(?=\s?(?:[ap]\.?m\b|uhr\b|o'clock|[时時点點])))",
    re.I,
)
_BESIDE = re.compile(r"^(?:st|nd|rd|th|'|′|’|minutes?|min\.?|th minute|\.)+$")
#: What models write where they have no value.
_NOTHING = frozenset(
    "null|none|nil|n/a|na|nan|-|?|unknown|not found|not available|not specified|not stated|"
    "not mentioned|not provided|not given|unbekannt|未知|不详|不詳|无|無|غير معروف".split("|")
)
_TRUTH = {"true": True, "yes": True, "false": False, "no": False}


def to_typed(value: Any, slot: Slot) -> Scalar | None:
    """A value converted to the type of a slot; None if it is not unmistakably of that type."""
    form = slot.form
    made = _convert(value, slot)
    if made is None or not _keeps_limits(made, form):
        return None
    return made


def _convert(value: Any, slot: Slot) -> Scalar | None:
    text = _to_text(value)
    if not text or len(text) > LONGEST:
        return None
    form = slot.form
    if form.options:
        return _match_option(text, form)
    if form.type in ("text", "string"):
        return None if fold(text).strip(" .") in _NOTHING else text
    if form.type == "boolean":
        return _TRUTH.get(text.casefold())
    if form.type == "date":
        found = set(iso_dates(text))
        return found.pop() if len(found) == 1 else None
    if form.type == "date-time":
        return _parse_date_time(text)
    return _parse_number(text, slot)


def _to_text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value).strip() if isinstance(value, str | int | float) else ""


def _match_option(text: str, form: Form) -> Scalar | None:
    wanted = fold(text).strip(" .")
    return next((o for o in form.options if fold(_to_text(o)) == wanted), None)


def _parse_date_time(text: str) -> str | None:
    """RFC 3339: a time without its zone is none."""
    try:
        return text if datetime.fromisoformat(text).tzinfo else None
    except ValueError:
        return None


def _parse_number(text: str, slot: Slot) -> int | float | None:
    """The one number of a text that says nothing else than the slot itself and its unit."""
    found = list(read_numbers(text.casefold()))
    if len(found) != 1:
        return None
    number, (start, end) = found[0]
    rest = f"{text[:start]} {text[end:]}".casefold()
    own = {
        *content_words(_space_words(slot.name)),
        *content_words(slot.description),
        "minut",
        "min",
    }
    beside = [part for part in rest.split() if not _BESIDE.match(part)]
    if any(set(content_words(part)) - own or not content_words(part) for part in beside):
        return None
    if slot.form.type == "integer":
        return int(number) if number == int(number) else None
    return number


def _space_words(name: str) -> str:
    return re.sub(r"[_.\[\]]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name))


def slot_words(slot: Slot | str) -> str:
    """A slot's name as words: `goals[0].firstName` is `goals first Name`."""
    name = slot if isinstance(slot, str) else slot.name
    return " ".join(_space_words(re.sub(r"\[\d*\]", " ", name)).split())


def _keeps_limits(value: Scalar, form: Form) -> bool:
    """Whether a value keeps the limits that the schema sets."""
    if not form.limits:
        return True
    from agent.slots.patterns import validator_class

    return bool(validator_class()(form.limits).is_valid(value))


# --- what a text holds -------------------------------------------------------------------------


def holds_value(text: str, value: Scalar, around: str = "") -> bool:
    """Whether a value stands in a text; `around` is the text of its whole page.

    The year of a date, and the words of a text, may stand elsewhere on the page. A number may not:
    pages are full of numbers. A boolean stands in no text, so it is always accepted.
    """
    if isinstance(value, bool):
        return True
    if isinstance(value, int | float):
        return value in number_values(text)
    if moment := _MOMENT.fullmatch(value):
        return _has_date(moment[1], text, around) and (not moment[2] or _has_time(moment, text))
    if not _digit_groups(value) <= _counted_numbers(text) | _years_on(around):
        return False
    return _has_words(value, text) or bool(around and _has_words(value, around))


@lru_cache(maxsize=32)
def _years_on(page: str) -> frozenset[int]:
    """The numbers of a page that may be years; kept, since many values are of one page."""
    return frozenset(n for n in _digit_groups(page) | _digit_runs(page) if 1000 <= n < 2200)


def _digit_groups(text: str) -> set[int]:
    """The integers written in digits, thousands separators removed."""
    whole = re.sub(r"(?<=\d)[,\u00a0\u202f ](?=\d{3}(?!\d))", "", text)
    return _digit_runs(whole)


def _digit_runs(text: str) -> set[int]:
    return {int(digits) for digits in set(re.findall(r"\d{1,20}", text))}


def _counted_numbers(text: str) -> set[int]:
    """The integers of a text, in digits or in words."""
    whole = {int(n) for n in number_values(text) if n == int(n)}
    return _digit_groups(text) | _digit_runs(text) | whole


def _has_date(day: str, text: str, around: str) -> bool:
    """Whether a text has a date, with day and month in any order.

    The year may stand elsewhere on the page. If the text names no month that is known here (another
    language), day and year suffice.
    """
    year, _, number = day.split("-")
    completed = complete_dates(text, year) if year in around else ""
    read = {*iso_dates(text, any_order=True), *iso_dates(completed)}
    if read or names_month(text):
        return day in read
    return {int(year), int(number)} <= _counted_numbers(text)


def _has_time(moment: re.Match[str], text: str) -> bool:
    """Whether a text has the time of day, of 24 hours or of 12."""
    hours = {int(moment[2]), int(moment[2]) % 12 or 12}
    clocks = _CLOCK.findall(text)
    return any(int(h) in hours and int(m or 0) == int(moment[3]) for h, m in clocks)


def _has_words(value: str, text: str) -> bool:
    parts = content_words(value) or fold(value).split()
    there = f"{spaced_words(text)} {fold(text)} "
    return bool(parts) and sum(f" {part} " in there for part in parts) >= HELD * len(parts)
