"""Raised and lowered text and formulas as plain text that means the same: `10⁻⁴`, `CO₂`, `(a+b)/c`.

What Unicode has no sign for is written with `^` and `_`. Formulas are MathML (W3C, MathML 3.0).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.documents.formats.xml import Element, attribute, local_name

_PLAIN = "0123456789+-=()n"
_RAISED = str.maketrans(_PLAIN + "−–i", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿ⁻⁻ⁱ")
_LOWERED = str.maketrans(_PLAIN + "−–aeox", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₙ₋₋ₐₑₒₓ")
#: Raised letters of abbreviations, which are no exponents: 2ᵉ, Mᵐᵉ, 1st.
_ORDINALS = frozenset("aeo")
_LONGEST = 40  # characters that are raised; more is a passage in small type
_BY_POSITION = {
    "mfrac": "/",
    **dict.fromkeys(("msup", "mover"), "^"),
    **dict.fromkeys(("msub", "munder"), "_"),
    **dict.fromkeys(("msubsup", "munderover"), "_^"),
}
_JOINTS = {"mtable": "; ", "mtr": ", "}
_BLANKS = re.compile(r"\s+")
STRUCK = "~~"  # around what is struck through, as in Markdown


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
    if name in ("mi", "mn", "mo", "mtext", "ms"):
        return _BLANKS.sub(" ", "".join(formula.itertext()))
    parts = [one for one in formula if local_name(one) and local_name(one) not in _UNSEEN]
    written = [write_formula(part) for part in parts]
    if name == "mfrac" and attribute(formula, "linethickness")[:1] == "0":
        return f"C({', '.join(written)})"
    if signs := _BY_POSITION.get(name):
        return _write_operation(signs, written)
    if name in ("msqrt", "mroot"):
        degree = written[1:] if name == "mroot" else []
        inner = written[0] if degree else "".join(written)
        return f"{raise_text(degree[0]) if degree and degree[0] else ''}√{_enclose(inner)}"
    if name == "mfenced":
        return f"{formula.get('open', '(')}{', '.join(written)}{formula.get('close', ')')}"
    if name == "mmultiscripts":
        names = [local_name(part) for part in parts]
        end = names.index("mprescripts") if "mprescripts" in names else len(names)
        before, after = written[end + 1 :], written[:end]
        return _write_scripts(["", *before]) + _write_scripts(after)
    return _JOINTS.get(name, "").join(written)


def _write_scripts(parts: Sequence[str]) -> str:
    return _write_operation("_^" * len(parts), parts)


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
