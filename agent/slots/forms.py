"""Values by their form: a text as the integer, date or option that it is, or as nothing at all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

from agent.evidence import fold, words
from agent.research import Form, Scalar, Slot

LONGEST = 1000  # characters of a value
#: Share of a value's words that its quote, or else its source, must hold. A paraphrase such as
#: "4-2 on penalties" for "4-2 in the shoot-out" passes, a value from memory does not.
HELD = 0.6

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH = (
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DATES = (  # with the places of year, month and day among their groups
    (re.compile(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)"), (1, 2, 3)),
    (re.compile(r"(?<!\d)(\d{4})年(\d{1,2})月(\d{1,2})日"), (1, 2, 3)),
    (re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?{_MONTH},?\s(\d{{4}})\b"), (3, 2, 1)),
    (re.compile(rf"\b{_MONTH}\s(\d{{1,2}})(?:st|nd|rd|th)?,?\s(\d{{4}})\b"), (3, 1, 2)),
)
_SLASHED = re.compile(r"(?<!\d)(\d{1,2})[./](\d{1,2})[./](\d{4})(?!\d)")
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
        return text
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
    folded = text.casefold()
    for form, (year, month, day) in _DATES:
        for match in form.finditer(folded):
            yield from _day(match[year], match[month], match[day])
    for match in _SLASHED.finditer(folded):
        first, second = int(match[1]), int(match[2])
        if first == second or max(first, second) > 12:
            month, day = sorted((first, second))
            yield from _day(match[3], str(month), str(day))


def _day(year: str, month: str, day: str) -> Iterator[str]:
    number = month if month.isdigit() else str(_MONTHS.index(month[:3]) + 1)
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
    elsewhere on the page, and a text as a whole too; a number may not, since pages are full of
    numbers.
    """
    if isinstance(value, bool):
        return True
    if isinstance(value, int | float):
        return value in numbers(text)
    if re.fullmatch(r"\d{4}-\d\d-\d\d(?:T.*)?", value):
        return value[:10] in dates(text) or _dated(value, text, around) or _written(value, text)
    return _written(value, text) or bool(around and _written(value, around))


def _dated(value: str, text: str, around: str) -> bool:
    """Whether day and month stand in a text and the year on its page."""
    year, month, day = value[:10].split("-")
    completed = re.sub(rf"(\d{{1,2}}\s{_MONTH}|{_MONTH}\s\d{{1,2}})(?!,?\s\d{{4}}|\d)",
                       rf"\1 {year}", text.casefold())  # fmt: skip
    return year in around and value[:10] in dates(completed)


def _written(value: str, text: str) -> bool:
    parts = words(value) or fold(value)[0].split()
    there = set(words(text)) | set(fold(text)[0].split())
    return bool(parts) and sum(part in there for part in parts) >= HELD * len(parts)
