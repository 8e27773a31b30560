"""How a spreadsheet shows a number: format codes of ISO/IEC 29500-1, 18.8.30 and 18.8.31.

Days are written as in ISO 8601, which is the same in all languages; all else as it is shown.
"""

from __future__ import annotations

import operator as op
import re
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

#: Formats that are built in, by their numbers.
BUILT_IN = {
    **dict(enumerate("General 0 0.00 #,##0 #,##0.00".split())),
    **dict.fromkeys((5, 6), "$#,##0;-$#,##0"),
    **dict.fromkeys((7, 8), "$#,##0.00;-$#,##0.00"),
    **dict(
        enumerate(("0%", "0.00%", "0.00E+00", "# ?/?", "# ??/??", "y-m-d", "y-m-d", "y-m-d"), 9)
    ),
    **dict(enumerate(("y-m", "h:mm AM/PM", "h:mm:ss AM/PM", "h:mm", "h:mm:ss", "y-m-d h:mm"), 17)),
    **dict.fromkeys((37, 38), "#,##0;(#,##0)"),
    **dict.fromkeys((39, 40), "#,##0.00;(#,##0.00)"),
    **dict(enumerate(("#,##0", "$#,##0", "#,##0.00", "$#,##0.00", "mm:ss", "[h]:mm:ss"), 41)),
    **{47: "mm:ss.0", 48: "##0.0E+0"},
}
#: The days from which a workbook counts, and the one that old programs for the Macintosh made.
EPOCHS = (datetime(1899, 12, 30), datetime(1904, 1, 1))
MAX_CODE, MAX_DECIMALS = 255, 15  # characters of a code; digits behind the point
GENERAL_DIGITS = 10
_TOKEN = re.compile(r'"[^"]*"?|\\.|_.|\*.|\[[^\]]*\]|General|AM/PM|A/P|.', re.I | re.S)
_ELAPSED = re.compile(r"\[[hms]+\]", re.I)
_SECONDS = re.compile(r"s\]?\.(0+)")
_CURRENCY = re.compile(r"\[\$([^\]-]*)")
_PATTERN = re.compile(r"[0#?][0#?,]*(?:\.[0#?]*)?,*|\.[0#?]+")
_FRACTION = re.compile(r"([0#?]*)\s*[0#?]+\s*/\s*([0#?]+|[1-9]\d*)")
_CONDITION = re.compile(r"(<=|>=|<>|=|<|>)(-?\d+(?:\.\d+)?)")
_COMPARE = {"<": op.lt, "<=": op.le, "=": op.eq, "<>": op.ne, ">=": op.ge, ">": op.gt}
_POWER = re.compile(r"E[+-]0+", re.I)


class NumberFormat(NamedTuple):
    """A section of a code: what it shows without its literals, and with them."""

    code: str  # quoted literals are taken out, and stand as characters of a private range
    literals: tuple[str, ...] = ()
    condition: str = ""  # of the numbers that it is for: `>=100`

    @property
    def is_date(self) -> bool:
        """Whether it shows days or times."""
        return bool(re.search(r"[ymdhs]", self.code.casefold().replace("general", "")))

    def write(self, shown: str) -> str:
        """What is shown with its literals."""
        for n, literal in enumerate(self.literals):
            shown = shown.replace(chr(0xE000 + n), literal)
        return " ".join(shown.split())

    def holds(self, number: Decimal) -> bool:
        """Whether a number meets the condition."""
        found = _CONDITION.fullmatch(self.condition)
        return found is None or _COMPARE[found[1]](number, Decimal(found[2]))


def show_number(value: str, code: str, epoch: datetime) -> str:
    """A number as its format shows it; as it is written, where it is none."""
    try:
        number = Decimal(value)
        sections = parse_code(code[:MAX_CODE])[:3]
        is_signed = number < 0 and len(sections) > 1
        chosen = sections[1 if is_signed else 2 if not number and len(sections) > 2 else 0]
        if any(one.condition for one in sections):
            chosen = next((one for one in sections if one.holds(number)), sections[-1])
        if not chosen.code and len(sections) > 1:
            return ""
        if chosen.is_date:
            return _show_moment(number, chosen.code, epoch) or value
        shown = _show(abs(number), chosen)
        return f"-{shown}" if number < 0 and not is_signed and re.search("[1-9]", shown) else shown
    except (InvalidOperation, OverflowError, ValueError, ZeroDivisionError):
        return value


def show_text(text: str, code: str) -> str:
    """A text as the format of its cell shows it."""
    last = parse_code(code[:MAX_CODE])[-1]
    is_for_text = "@" in last.code or code.count(";") == 3
    return last.write(last.code.replace("@", text)) if is_for_text and last.code != "@" else text


@lru_cache(maxsize=1024)
def parse_code(code: str) -> tuple[NumberFormat, ...]:
    """The sections of a code: of positive numbers, of negative ones, of zero, of texts."""
    sections: list[NumberFormat] = []
    shown, literals, condition = "", list[str](), ""
    for token in [*_TOKEN.findall(code), ";"]:
        if token == ";":
            sections.append(NumberFormat(shown, tuple(literals), condition))
            shown, literals, condition = "", [], ""
        elif token[0] in '"\\' or (token[0] == "[" and _CURRENCY.match(token)):
            found = _CURRENCY.match(token)
            literals.append(
                found[1] if found else token.strip('"') if token[0] == '"' else token[1:]
            )
            shown += chr(0xE000 + len(literals) - 1)
        elif token[0] in "_*" or (token[0] == "[" and not _ELAPSED.fullmatch(token)):
            shown += " " * (token[0] == "_")
            condition = token[1:-1] if _CONDITION.fullmatch(token[1:-1]) else condition
        else:
            shown += token
    return tuple(sections[:4])


def _show(number: Decimal, form: NumberFormat) -> str:
    code, percents = form.code, form.code.count("%")
    number *= 100**percents
    if "general" in code.casefold() or not re.search(r"[0#?]", code):
        told = show_general(number)
        code = re.sub("general|@", lambda _: told, code, flags=re.I) if code.strip() else told
    elif "/" in code and (found := _FRACTION.search(code)):
        code = code[: found.start()] + _show_fraction(number, found) + code[found.end() :]
    elif found := _PATTERN.search(code):
        power = _POWER.match(code, found.end())
        told = _show_digits(number, found[0], has_power=bool(power))
        rest = code[(power or found).end() :]
        is_parted = re.search(r"[0#?]", rest)
        code = _part_digits(number, code) if is_parted else code[: found.start()] + told + rest
    return form.write(code)


def show_general(number: Decimal) -> str:
    """A number without a format."""
    if number == number.to_integral_value():
        return f"{number:f}".partition(".")[0] if abs(number) < 10**15 else f"{number:.15g}"
    return f"{float(number):.{GENERAL_DIGITS}g}"


def _show_digits(number: Decimal, pattern: str, *, has_power: bool) -> str:
    whole, _, rest = pattern.rstrip(",").partition(".")
    most = min(len(rest), MAX_DECIMALS)
    if has_power:
        return f"{number:.{most}E}".replace("E+", "E+0").replace("E+00", "E+0")
    scale = len(pattern) - len(pattern.rstrip(","))
    number = (number / 1000**scale).quantize(Decimal(1).scaleb(-most), ROUND_HALF_UP)
    shown = f"{number:{',' if ',' in whole else ''}f}"
    digits, _, decimals = shown.partition(".")
    least = len(rest.rstrip("#"))
    decimals = decimals[:least] + decimals[least:].rstrip("0")
    digits = digits if whole.strip("?,") or digits != "0" else ""  # room for digits alone
    return digits.zfill(whole.count("0")) + ("." + decimals if decimals else "")


def _part_digits(number: Decimal, code: str) -> str:
    """A whole number with signs between its digits: `(555) 123-4567`, `12,34,567`."""
    digits = list(f"{number.quantize(Decimal(1), ROUND_HALF_UP):f}")
    first = min(code.find(one) for one in "0#?" if one in code)
    shown = [
        (digits.pop() if digits else "0" * (char == "0")) if char in "0#?" else char
        for char in reversed(code[first:])
    ]
    return code[:first] + "".join([*digits, *reversed(shown)])


def _show_fraction(number: Decimal, form: re.Match[str]) -> str:
    """A number as `1 1/2`."""
    below = form[2]
    if below.isdecimal() and below.strip("0"):
        part = Fraction(round(Fraction(number) * int(below)), int(below))
    else:
        part = Fraction(number).limit_denominator(10 ** min(len(below), 4) - 1)
    whole, rest = divmod(part, 1) if form[1] else (0, part)
    told = f"{rest.numerator}/{rest.denominator}" if rest else ""
    return " ".join(filter(None, (str(whole) if whole or not told else "", told)))


def _show_moment(number: Decimal, code: str, epoch: datetime) -> str:
    """A day, a time or both; "" for a number that is no date."""
    plain = code.casefold()
    found = _SECONDS.search(plain)
    places = Decimal(1).scaleb(-len(found[1])) if found else Decimal(1)
    exact = (number * 86400).quantize(places, ROUND_HALF_UP)
    seconds, rest = int(exact), f"{exact % 1}"[1:]
    if found := _ELAPSED.search(plain):
        return _show_elapsed(seconds, found[0][1], plain[found.end() :]) + rest
    try:
        moment = epoch + timedelta(seconds=seconds)
    except OverflowError:
        return ""
    has_time = bool(re.search("[hs]", plain))
    has_month = bool(re.search(r"m", re.sub(r"h+\W*m+|m+\W*s|am/pm", "", plain)))
    day = "%Y-%m-%d" if "d" in plain else "%Y-%m" if has_month and "y" in plain else "%Y"
    has_day = bool("y" in plain or "d" in plain or has_month)
    time = ("%I:%M" if "am/pm" in plain or "a/p" in plain else "%H:%M") + f":%S{rest}" * (
        "s" in plain
    )
    time += " %p" * time.startswith("%I")
    shown = moment.strftime(time).removeprefix("0" * time.startswith("%I"))
    shown = shown if "h" in plain else moment.strftime(f"%M:%S{rest}")
    return " ".join([moment.strftime(day)] * has_day + [shown] * has_time)


def _show_elapsed(seconds: int, unit: str, rest: str) -> str:
    """So many hours, minutes or seconds, then the smaller units that the format names."""
    minutes, second = divmod(seconds, 60)
    first = {"h": minutes // 60, "m": minutes, "s": seconds}[unit]
    others = ((unit == "h" and "m" in rest, minutes % 60), (unit != "s" and "s" in rest, second))
    return ":".join([str(first), *(f"{value:02}" for is_shown, value in others if is_shown)])
