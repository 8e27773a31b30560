"""Values by their form: a text as the integer, date or option that it is, or as nothing at all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

from agent.evidence import fold, words
from agent.state import Form, Scalar, Slot

LONGEST = 1000  # characters of a value
#: Share of a value's words that its quote, or else its source, must hold. A paraphrase such as
#: "4-2 on penalties" for "4-2 in the shoot-out" passes, a value from memory does not.
HELD = 0.6

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_GERMAN = {"mär": "mar", "mai": "may", "okt": "oct", "dez": "dec"}
_MONTH = (
    r"(jan(?:uary?|uar)?|feb(?:ruary?|ruar)?|mar(?:ch)?|märz|apr(?:il)?|ma[yi]|jun[ei]?|jul[yi]?"
    r"|aug(?:ust)?|sept?(?:ember)?|o[ck]t(?:ober)?|nov(?:ember)?|de[cz](?:ember)?)\.?"
)
_NAMES_MONTH = re.compile(rf"(?<!\w){_MONTH}(?!\w)", re.I)
_DATES = (  # with the places of year, month and day among their groups
    (re.compile(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)"), (1, 2, 3)),
    (re.compile(r"(?<!\d)(\d{4})年(\d{1,2})月(\d{1,2})日"), (1, 2, 3)),
    (re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th|\.)?\s(?:of\s)?{_MONTH},?\s(\d{{4}})\b"), (3, 2, 1)),
    (re.compile(rf"\b{_MONTH}\s(\d{{1,2}})(?:st|nd|rd|th)?,?\s(\d{{4}})\b"), (3, 1, 2)),
)
_SLASHED = re.compile(r"(?<!\d)(\d{1,2})([./])(\d{1,2})[./](\d{4})(?!\d)")
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d):(\d\d).*)?")
_CLOCK = re.compile(
    r"(?<![\d.])(\d{1,2})(?:[:.h时時点點](\d{2})(?!\d)|(?=\s?(?:[ap]\.?m\b|uhr\b|o'clock|[时時点點])))",
    re.I,
)
_NUMBER = re.compile(
    r"(?<![\w.,+])([-−]?)(\d{1,3}(?:[,\u00a0\u202f ]\d{3})+(?!\d)|\d+)(\.\d+)?"
    r"(?:\s?(hundred|thousand|million|billion|trillion)\b)?"
)
_SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_SPELLED = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
        "fifteen sixteen seventeen eighteen nineteen twenty".split()
    )
}
_BESIDE = re.compile(r"^(?:st|nd|rd|th|'|′|’|minutes?|min\.?|th minute|\.)+$")
#: What models write for no value.
_NOTHING = frozenset(
    "null|none|nil|n/a|na|nan|-|?|unknown|not found|not available|not specified|not stated|"
    "not mentioned|not provided|not given|unbekannt|未知|不详|不詳|无|無|غير معروف".split("|")
)
_TRUTH = {"true": True, "yes": True, "false": False, "no": False}


def typed(value: Any, slot: Slot) -> Scalar | None:
    """A value in the form of a slot; None where it is not unmistakably of that form."""
    form = slot.form
    made = _made(value, slot)
    if made is None or not _within(made, form):
        return None
    return made


def _made(value: Any, slot: Slot) -> Scalar | None:
    text = _text(value)
    if not text or len(text) > LONGEST:
        return None
    form = slot.form
    if form.options:
        return _option(text, form)
    if form.type in ("text", "string"):
        return None if fold(text)[0].strip(" .") in _NOTHING else text
    if form.type == "boolean":
        return _TRUTH.get(text.casefold())
    if form.type == "date":
        found = set(dates(text))
        return found.pop() if len(found) == 1 else None
    if form.type == "date-time":
        return _moment(text)
    return _number(text, slot)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value).strip() if isinstance(value, str | int | float) else ""


def _option(text: str, form: Form) -> Scalar | None:
    wanted = fold(text)[0].strip(" .")
    return next((o for o in form.options if fold(_text(o))[0] == wanted), None)


def _moment(text: str) -> str | None:
    """RFC 3339: a time without its zone is none."""
    try:
        return text if datetime.fromisoformat(text).tzinfo else None
    except ValueError:
        return None


def _number(text: str, slot: Slot) -> int | float | None:
    """The one number of a text that says nothing else than the slot itself and its unit."""
    found = list(_numbers(text.casefold()))
    if len(found) != 1:
        return None
    number, (start, end) = found[0]
    rest = f"{text[:start]} {text[end:]}".casefold()
    own = {*words(_spaced(slot.name)), *words(slot.description), "minut", "min"}
    beside = [part for part in rest.split() if not _BESIDE.match(part)]
    if any(set(words(part)) - own or not words(part) for part in beside):
        return None
    if slot.form.type == "integer":
        return int(number) if number == int(number) else None
    return number


def _spaced(name: str) -> str:
    return re.sub(r"[_.\[\]]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name))


def spoken(slot: Slot | str) -> str:
    """A slot's name as words: `goals[0].firstName` is `goals first Name`."""
    name = slot if isinstance(slot, str) else slot.name
    return " ".join(_spaced(re.sub(r"\[\d*\]", " ", name)).split())


def _within(value: Scalar, form: Form) -> bool:
    """Whether a value keeps the limits that the schema sets."""
    if not form.limits:
        return True
    from jsonschema import Draft202012Validator

    return bool(Draft202012Validator(form.limits).is_valid(value))


# --- what a text holds -------------------------------------------------------------------------


def dates(text: str) -> Iterator[str]:
    """The full dates in a text, as ISO 8601; one whose order of day and month is open is none."""
    return _dates(text, any_order=False)


def _dates(text: str, *, any_order: bool) -> Iterator[str]:
    folded = text.casefold()
    for form, (year, month, day) in _DATES:
        for match in form.finditer(folded):
            yield from _day(match[year], match[month], match[day])
    for match in _SLASHED.finditer(folded):
        first, second = match[1], match[3]
        if any_order or match[2] == "." or first == second or int(first) > 12:
            yield from _day(match[4], second, first)
        if match[2] == "/" and (any_order or int(second) > 12):
            yield from _day(match[4], first, second)


def _day(year: str, month: str, day: str) -> Iterator[str]:
    named = _GERMAN.get(month[:3], month[:3])
    number = month if month.isdigit() else str(_MONTHS.index(named) + 1)
    try:
        yield date(int(year), int(number), int(day)).isoformat()
    except ValueError:  # 31 February
        return


def _numbers(text: str) -> Iterator[tuple[int | float, tuple[int, int]]]:
    for match in _NUMBER.finditer(text):
        if not re.match(r"[.,]?\d|\+\d", text[match.end() :]):
            digits = re.sub(r"\D", "", match[2])
            number = float(digits + (match[3] or "")) * _SCALES.get(match[4] or "", 1)
            number = -number if match[1] else number
            yield int(number) if number == int(number) else number, match.span()


def numbers(text: str) -> set[int | float]:
    """The numbers in a text, those up to twenty in words too."""
    folded = text.casefold()
    found = {number for number, _ in _numbers(folded)}
    return found | {_SPELLED[word] for word in re.findall(r"[a-z]+", folded) if word in _SPELLED}


def holds(text: str, value: Scalar, around: str = "") -> bool:
    """Whether a value stands in a text; `around` is its page, for what a quote leaves out.

    A truth value stands nowhere: it is as good as its quote. The year of a date may stand
    elsewhere on the page, and the words of a text too; a number may not, since pages are full of
    numbers.
    """
    if isinstance(value, bool):
        return True
    if isinstance(value, int | float):
        return value in numbers(text)
    if moment := _MOMENT.fullmatch(value):
        return _is_dated(moment[1], text, around) and (not moment[2] or _is_timed(moment, text))
    if not _digits(value) <= _counts(text) | {n for n in _counts(around) if n in _YEARS}:
        return False
    return _written(value, text) or bool(around and _written(value, around))


_YEARS = range(1000, 2200)


def _digits(text: str) -> set[int]:
    """The digits of a text as whole numbers."""
    whole = re.sub(r"(?<=\d)[,\u00a0\u202f ](?=\d{3}(?!\d))", "", text)
    return {int(digits) for digits in re.findall(r"\d{1,20}", whole)}


def _counts(text: str) -> set[int]:
    """What a text counts, in digits or in words."""
    apart = {int(digits) for digits in re.findall(r"\d{1,20}", text)}
    return _digits(text) | apart | {int(n) for n in numbers(text) if n == int(n)}


def _is_dated(day: str, text: str, around: str) -> bool:
    """Whether a text has a date; where it names a month in a language unknown here, day and year.

    The year may stand elsewhere on the page, and days may come after months or before.
    """
    year, _, number = day.split("-")
    completed = re.sub(rf"(\d{{1,2}}\.?\s{_MONTH}|{_MONTH}\s\d{{1,2}})(?!,?\s\d{{4}}|\d)",
                       rf"\1 {year}", text.casefold()) if year in around else ""  # fmt: skip
    read = {*_dates(text, any_order=True), *dates(completed)}
    if read or _NAMES_MONTH.search(text):
        return day in read
    return {int(year), int(number)} <= _counts(text)


def _is_timed(moment: re.Match[str], text: str) -> bool:
    """Whether a text has the time of day, of 24 hours or of 12."""
    hours = {int(moment[2]), int(moment[2]) % 12 or 12}
    clocks = _CLOCK.findall(text)
    return any(int(h) in hours and int(m or 0) == int(moment[3]) for h, m in clocks)


def _written(value: str, text: str) -> bool:
    parts = words(value) or fold(value)[0].split()
    there = set(words(text)) | set(fold(text)[0].split())
    return bool(parts) and sum(part in there for part in parts) >= HELD * len(parts)
