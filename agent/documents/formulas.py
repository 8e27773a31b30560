"""Raised and lowered text and formulas as plain text that means the same: `10⁻⁴`, `CO₂`, `(a+b)/c`.

What Unicode has no sign for is written with `^` and `_`. Formulas are MathML (W3C, MathML 3.0) and
Office MathML (ISO/IEC 29500-1, 22.1), whose elements are alike but for their names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from agent.documents.formats.xml import Element, attribute, find_first, local_name

_PLAIN = "0123456789+-=()n"
_RAISED = str.maketrans(_PLAIN + "−–i", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿ⁻⁻ⁱ")
_LOWERED = str.maketrans(_PLAIN + "−–aeox", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₙ₋₋ₐₑₒₓ")
#: Raised letters of abbreviations, which are no exponents: 2ᵉ, Mᵐᵉ, 1st.
_ORDINALS = frozenset("aeo")
_LONGEST = 40  # characters that are raised; more is a passage in small type
_BY_POSITION = {
    **dict.fromkeys(("mfrac", "f"), "/"),
    **dict.fromkeys(("msup", "sSup", "mover", "limUpp"), "^"),
    **dict.fromkeys(("msub", "sSub", "munder", "limLow"), "_"),
    **dict.fromkeys(("msubsup", "sSubSup", "munderover"), "_^"),
}
_JOINTS = {"mtable": "; ", "m": "; ", "eqArr": "; ", "func": " "}
_BLANKS = re.compile(r"\s+")
STRUCK = "~~"  # around what is struck through, as in Markdown


def strike_text(text: str) -> str:
    """A text between the marks of what is struck through, unless it is blank."""
    return f"{STRUCK}{text}{STRUCK}" if text.strip() else text


_UNSEEN = frozenset("annotation annotation-xml".split())


def raise_text(text: str) -> str:
    """A text as it is written above the line."""
    bare = text.strip()
    is_word = bare.isalpha() and (len(bare) > 1 or bare in _ORDINALS)
    if not bare or is_word or len(bare) > _LONGEST:
        return text
    raised = bare.translate(_RAISED)
    return raised if _is_written(bare, _RAISED) else f"^{_enclose(bare)}"


def lower_text(text: str) -> str:
    """A text as it is written below the line."""
    bare = text.strip()
    if not bare or len(bare) > _LONGEST:
        return text
    return bare.translate(_LOWERED) if _is_written(bare, _LOWERED) else f"_{_enclose(bare)}"


def _is_written(text: str, signs: dict[int, int]) -> bool:
    return all(ord(char) in signs for char in text)


def _enclose(text: str) -> str:
    """An operand, in parentheses unless it is one word or one number."""
    return text if text.isalpha() or text.isdecimal() else f"({text})"


def write_formula(formula: Element) -> str:
    """A formula on one line: `x = (-b ± √(b² - 4ac))/(2a)`."""
    name = local_name(formula)
    if name in ("t", "mi", "mn", "mo", "mtext", "ms"):
        return _BLANKS.sub(" ", "".join(formula.itertext()))
    parts = [one for one in formula if local_name(one) and not _is_unseen(one)]
    written = [write_formula(part) for part in parts]
    if name in ("f", "mfrac") and _is_without_bar(formula):
        return f"C({', '.join(written)})"
    if signs := _BY_POSITION.get(name):
        return _write_operation(signs, written)
    if write := _WRITERS.get(name):
        return write(formula, written)
    return _JOINTS.get(name, "").join(written)


def _write_root(formula: Element, written: list[str]) -> str:
    if local_name(formula) == "rad":  # its degree comes first
        written.reverse()
    degree = written[1:] if local_name(formula) != "msqrt" else []
    inner = written[0] if degree and written else "".join(written)
    return f"{raise_text(degree[0]) if degree and degree[0] else ''}√{_enclose(inner)}"


def _write_sum(formula: Element, written: list[str]) -> str:
    sign = _property(formula, "chr", "∫")
    return f"{sign}{_write_scripts(written[:2])} {''.join(written[2:])}"


def _write_fence(formula: Element, written: list[str]) -> str:
    first = _property(formula, "begChr", formula.get("open", "("))
    return first + ", ".join(written) + _property(formula, "endChr", formula.get("close", ")"))


def _write_scripts_around(formula: Element, written: list[str]) -> str:
    names = [local_name(part) for part in formula if local_name(part)]
    end = names.index("mprescripts") if "mprescripts" in names else len(names)
    return _write_scripts(written[end + 1 :]) + _write_scripts(written[1:end], *written[:1])


def _write_accent(formula: Element, written: list[str]) -> str:
    return "".join(written) + _property(formula, "chr", "\u0302")


def _write_bar(formula: Element, written: list[str]) -> str:
    """A line above or below each sign."""
    line = "\u0305" if _property(formula, "pos", "bot") == "top" else "\u0332"
    return "".join(char + line for char in "".join(written))


_WRITERS: dict[str, Callable[[Element, list[str]], str]] = {
    **dict.fromkeys(("msqrt", "mroot", "rad"), _write_root),
    **dict.fromkeys(("d", "mfenced"), _write_fence),
    **dict.fromkeys(("mtr", "mr"), lambda _, written: ", ".join(written)),
    "nary": _write_sum,
    "sPre": lambda _, written: _write_scripts(written[:2]) + "".join(written[2:]),
    "mmultiscripts": _write_scripts_around,
    "acc": _write_accent,
    "bar": _write_bar,
}


def _property(formula: Element, name: str, otherwise: str) -> str:
    """A property of an element of Office MathML, which may be empty."""
    found = formula.find(f"./{{*}}{local_name(formula)}Pr/{{*}}{name}")
    return otherwise if found is None else attribute(found, "val")


def _write_scripts(parts: Sequence[str], base: str = "") -> str:
    """A base with pairs of what is below and above it."""
    return _write_operation("_^" * len(parts), [base, *parts])


def _is_without_bar(fraction: Element) -> bool:
    """Whether a fraction is a binomial coefficient."""
    told = attribute(find_first(fraction, "type"), "val")
    return told == "noBar" or attribute(fraction, "linethickness")[:1] == "0"


def _is_unseen(part: Element) -> bool:
    name = local_name(part)
    return name in _UNSEEN or (name.endswith("Pr") and len(name) > 2)


def _write_operation(signs: str, parts: Sequence[str]) -> str:
    """A fraction, or a base with what is below and above it."""
    base, others = (parts[0] if parts else ""), parts[1:]
    if signs == "/":
        return "/".join(_enclose(part) for part in parts)
    base = base if base.isalnum() or len(base) < 2 else f"({base})"
    scripts = zip(signs, others, strict=False)
    return base + "".join(
        (raise_text if sign == "^" else lower_text)(one) for sign, one in scripts if one
    )
