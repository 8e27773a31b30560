"""Arithmetic in words of a model: parsed here within bounds, and computed with decimals.

Its terms are numbers, dates and quoted words; `+ - * /`, parentheses and comparisons are between
them, or the functions `min max sum count days years`. `count` counts the comparisons that hold, and
all else that it is given. Python's parser makes the tree, of names for the terms, and
nothing is ever run.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import date
from decimal import Decimal, DecimalException
from functools import cache
from typing import NamedTuple

LONGEST = 500  # characters of an expression
MOST_NODES = 400  # of its tree
DEEPEST = 20  # brackets
MOST_DIGITS = 15  # of a number
FUNCTIONS = frozenset("min max sum count days years".split())
_OPERATIONS: dict[type[ast.AST], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
_OPERATIONS |= {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_SIGNS = str.maketrans({**dict.fromkeys("×·∙", "*"), "÷": "/", "−": "-", "–": "-"})
_SIGNS |= str.maketrans({"≤": "<=", "≥": ">=", **dict.fromkeys("“”„«»", '"'), ";": ","})


class Term(NamedTuple):
    """A number, a date or quoted words, as the expression has them."""

    text: str
    kind: str = "number"  # or `date`, or `words`


class Operation(NamedTuple):
    """An operation, or a function, and what it is done to."""

    name: str
    args: tuple[Term | Operation, ...]


class Measure(NamedTuple):
    """A value, and to which power it has the unit of its operands; or a date, with its year."""

    value: Decimal
    power: int = 0
    day: date | None = None


Node = Term | Operation


class Unreadable(ValueError):
    """An expression that is none, that is too long, or that cannot be computed."""


# --- parsing --------------------------------------------------------------------------------------


def parse_arithmetic(text: str, *, groups: bool = True) -> Node:
    """The tree of an expression; with `groups` a comma between digits is a part of the number.

    What follows an equals sign is left out. Raises Unreadable.
    """
    terms: dict[str, Term] = {}

    def name(match: re.Match[str]) -> str:
        key = f"t{len(terms)}"
        terms[key] = Term(match[match.lastgroup or 0].strip(), match.lastgroup or "")
        return f" {key} "

    plain = _term_pattern(groups).sub(name, text[: LONGEST + 1].translate(_SIGNS))
    plain = re.split("(?<![<>])=", plain)[0].strip()
    digits = (sum(map(str.isdigit, one.text)) for one in terms.values())
    if (
        len(text) <= LONGEST
        and plain.count("(") <= DEEPEST
        and max(digits, default=0) <= MOST_DIGITS
    ):
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            tree = ast.parse(plain, mode="eval").body
            if sum(1 for _ in ast.walk(tree)) <= MOST_NODES:
                return _convert(tree, terms)
    raise Unreadable("it cannot be read")


@cache
def _term_pattern(groups: bool) -> re.Pattern[str]:
    joint = r"(?:[.,']\d+|[ \u00a0\u202f]\d{3}(?!\d))" if groups else r"(?:\.\d+)"
    return re.compile(
        rf"(?P<date>\d{{4}}-\d\d-\d\d)(?!\d)|(?P<number>(?<!\w)(?:[$€£¥₹]\s?)?\d++{joint}*+"
        r"(?:\s?[%°²³]|\s?[^\W\d_]++(?:/[^\W\d_]++)?[.²³]?)*+)|\"(?P<words>[^\"]+)\""
    )


def _convert(node: ast.AST, terms: dict[str, Term]) -> Node:
    match node:
        case ast.Name(id=name) if name in terms:
            return terms[name]
        case ast.UnaryOp(op=ast.USub(), operand=one):
            return Operation("-", (_convert(one, terms),))
        case ast.BinOp(left=one, op=op, right=other) if type(op) in _OPERATIONS:
            return Operation(_OPERATIONS[type(op)], (_convert(one, terms), _convert(other, terms)))
        case ast.Compare(left=one, ops=[op], comparators=[other]) if type(op) in _OPERATIONS:
            return Operation(_OPERATIONS[type(op)], (_convert(one, terms), _convert(other, terms)))
        case ast.Call(func=ast.Name(id=name), args=[_, *_] as args) if name in FUNCTIONS:
            return Operation(name, tuple(_convert(arg, terms) for arg in args))
    raise Unreadable("it cannot be read")


def list_terms(node: Node, within: str = "") -> Iterator[tuple[Term, str]]:
    """The terms of an expression from left to right, each with the operation that it is in."""
    if isinstance(node, Term):
        yield node, within
    else:
        for arg in node.args:
            yield from list_terms(arg, node.name)


# --- computing ------------------------------------------------------------------------------------


def compute_arithmetic(node: Node, read: Callable[[Term], Measure]) -> Measure:
    """What an expression gives, where `read` says what its terms are. Raises Unreadable."""
    if isinstance(node, Term):
        return read(node)
    args = [compute_arithmetic(arg, read) for arg in node.args if not _is_counted(arg, node.name)]
    try:
        return _apply(node.name, args, len(node.args) - len(args))
    except (DecimalException, ValueError, IndexError):
        raise Unreadable("it cannot be computed") from None


def _is_counted(node: Node, within: str) -> bool:
    return within == "count" and not (isinstance(node, Operation) and node.name[0] in "<>")


def _apply(name: str, args: Sequence[Measure], counted: int) -> Measure:
    values, power = [arg.value for arg in args], max((arg.power for arg in args), default=0)
    match name:
        case "+" | "sum":
            return Measure(sum(values, Decimal()), power)
        case "count":
            return Measure(sum(values, Decimal(counted)))
        case "-":
            return Measure(values[0] - values[1] if len(args) > 1 else -values[0], power)
        case "*":
            return Measure(values[0] * values[1], args[0].power + args[1].power)
        case "/":
            return Measure(values[0] / values[1], args[0].power - args[1].power)
        case "min" | "max":
            return Measure((min if name == "min" else max)(values), power)
        case "days" | "years":
            return Measure(_between(name, args[0], args[1]))
    is_below = name[0] == "<" and values[0] < values[1]
    is_above = name[0] == ">" and values[0] > values[1]
    return Measure(Decimal(is_below or is_above or ("=" in name and values[0] == values[1])))


def _between(name: str, one: Measure, other: Measure) -> Decimal:
    """The days between two dates, or the years that are over; of years alone, their difference."""
    if one.day is None or other.day is None:
        if name == "days":
            raise ValueError
        return abs(one.value - other.value)
    begin, end = sorted((one.day, other.day))
    if name == "days":
        return Decimal((end - begin).days)
    return Decimal(end.year - begin.year - ((end.month, end.day) < (begin.month, begin.day)))
