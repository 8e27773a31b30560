"""Values by type: a text converted to the integer, date or option of its slot, or to None."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from agent.evidence import content_words, fold
from agent.evidence.quantities import (
    iso_dates,
    missing_quantities,
    number_values,
    number_words,
    read_numbers,
    read_quantities,
    scales,
)
from agent.state import Form, Scalar, Slot

LONGEST = 1000  # characters of a value
#: The share of a value's words in lower case that its quote must hold. A paraphrase such as "4-2 in
#: a penalty shoot-out" for "4-2 in the shoot-out" passes, a value from memory does not.
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
    text = _to_text(value)
    made = _convert(text, slot) if 0 < len(text) <= LONGEST else None
    return made if made is None or _keeps_limits(made, slot.form) else None


def _convert(text: str, slot: Slot) -> Scalar | None:
    form = slot.form
    if form.options:
        wanted = fold(text).strip(" .")
        return next((o for o in form.options if fold(_to_text(o)) == wanted), None)
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
    own = {*content_words(f"{_space_words(slot.name)} {slot.description}"), "minut", "min"}
    around = (content_words(part) for part in rest.split() if not _BESIDE.match(part))
    if not all(words and own.issuperset(words) for words in around):
        return None
    return None if slot.form.type == "integer" and number != int(number) else number


def _space_words(name: str) -> str:
    return re.sub(r"[_.\[\]]+|(?<=[a-z])(?=[A-Z])", " ", name)


def slot_words(slot: Slot | str) -> str:
    """A slot's name as words: `goals[0].firstName` is `goals first Name`."""
    name = slot if isinstance(slot, str) else slot.name
    return " ".join(_space_words(re.sub(r"\[\d*\]", " ", name)).split())


def _keeps_limits(value: Scalar, form: Form) -> bool:
    if not form.limits:
        return True
    from agent.slots.user_patterns import validator_class

    return bool(validator_class()(form.limits).is_valid(value))


def is_echo(value: Scalar, slot: Slot) -> bool:
    """Whether a text only repeats what its slot is called, or how it is described."""
    if not isinstance(value, str) or slot.form.type not in ("text", "string") or slot.form.options:
        return False
    words = set(content_words(value))
    named, described = set(content_words(slot_words(slot))), set(content_words(slot.description))
    most = any(2 * len(words & own) > len(own) for own in (named, described) if own)
    return most and words <= named | described


# --- what a text holds -------------------------------------------------------------------------


def holds_value(text: str, value: Scalar, title: str = "") -> bool:
    """Whether a text has a value, in whatever notation.

    Of a date, the year may be in the title of the page instead. No text has a boolean, so
    it is always accepted.
    """
    if isinstance(value, bool):
        return True
    if isinstance(value, int | float):
        return _has_number(value, text)
    if moment := _MOMENT.fullmatch(value):
        return _has_date(moment[1], text, title) and (not moment[2] or _has_time(moment, text))
    if missing_quantities(value, (text,), derived=False):
        return False
    return _has_words(value, text)


def _has_number(value: float, text: str) -> bool:
    if value in number_values(text):
        return True
    written = f"{value:f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
    return not missing_quantities(written, (text,), derived=False)


def _has_date(day: str, text: str, title: str) -> bool:
    year = int(day[:4]) if day[:4] in title else None
    read = set(iso_dates(text, any_order=True, year=year))
    return day in read or (not read and not missing_quantities(day, (text,), derived=False))


def _has_time(moment: re.Match[str], text: str) -> bool:
    hours = {int(moment[2]), int(moment[2]) % 12 or 12}
    return any(int(h) in hours and int(m or 0) == int(moment[3]) for h, m in _CLOCK.findall(text))


def _has_words(value: str, text: str) -> bool:
    """Whether a text has all words of a value that begin with a capital, and most of the others.

    Numbers in it are compared as quantities, not as words.
    """
    phrase = fold(value).strip(" .")
    if phrase and re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", fold(text)):
        return True  # it is there as written
    there = {*content_words(text), *fold(text).split()}
    words = re.findall(r"\w+", value)
    names = set(content_words(" ".join(word for word in words if word[0].isupper())))
    counted = number_words().keys() | scales().keys()
    parts = content_words(" ".join(w for w in words if not (w.isdigit() or fold(w) in counted)))
    if not parts:
        return bool(read_quantities(value))  # which are there
    return names <= there and sum(part in there for part in parts) >= HELD * len(parts)
