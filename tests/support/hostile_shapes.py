"""Texts made to take long, or to break what reads them: of pages, of documents, of models.

`SHAPES` gives for each name a function from a number of characters to a text.
"""

from __future__ import annotations

import random
import tomllib
import unicodedata
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

Make = Callable[[int], str]

#: What is repeated to make a text. TOML holds no halves of surrogate pairs.
PIECES: dict[str, str] = {
    **tomllib.loads(Path(__file__).with_name("hostile_pieces.toml").read_text("utf-8")),
    "surrogates": "\ud800",
}
#: Texts that are no repetition.
_SIGNS = " \n.,;:!?()[]{}<>\"'-–|#*_/\\0aA中"
_PARAGRAPH = "The bridge was opened in 1904 by Anna Quill, who had designed it for ten years."
MOST_OF_CATEGORY = 40
WHOLE: dict[str, Make] = {
    "deep brackets": lambda size: "(" * (size // 2) + ")" * (size // 2),
    "one quotation": lambda size: '"' + "a. " * (size // 3) + '"',
    "distinct words": lambda size: " ".join(f"w{i}" for i in range(size // 8))[:size],
    "distinct lines": lambda size: "\n".join(f"Line {i} is here." for i in range(size // 20)),
    "distinct numbers": lambda size: " ".join(str(i) for i in range(size // 7))[:size],
    "no stop until the end": lambda size: "a " * (size // 2) + ".",
    "stops, then letters": lambda size: "." * (size // 2) + "a" * (size // 2),
    "blanks, then a letter": lambda size: " " * (size - 1) + "a",
    "digits, then a letter": lambda size: "1" * (size - 1) + "a",
    "a word, then marks": lambda size: "a" + "\u0301" * (size - 1),
    "one letter words": lambda size: " ".join(random.Random(1).choices("abcdefgh", k=size // 2)),
    "random letters": lambda size: "".join(random.Random(2).choices("abc de. ", k=size)),
    "random signs": lambda size: "".join(random.Random(3).choices(_SIGNS, k=size)),
    "random Chinese": lambda size: "".join(
        random.Random(4).choices("中国大桥年一二。，、", k=size)
    ),
    "growing lines": lambda size: _fill(("a" * n for n in range(size)), size),
    "growing words": lambda size: _fill(("Ab" * n + " " for n in range(size)), size),
    "near copies": lambda size: _fill((f"{_PARAGRAPH} Part {n}." for n in range(size)), size),
    "one line again and again": lambda size: _fill((_PARAGRAPH for _ in range(size)), size),
    "distinct names": lambda size: _fill((f"Ab{n:x} Cd{n:x}, " for n in range(size)), size),
    "distinct asked lines": lambda size: _fill(
        (f"The bridge {n} was opened by {n:x}." for n in range(size)), size
    ),
    "distinct rows": lambda size: _fill((f"| A{n} | {n} |" for n in range(size)), size),
    "distinct headings": lambda size: _fill((f"## Bridge {n}\nOpened." for n in range(size)), size),
    "distinct letters": lambda size: "".join(chr(0x4E00 + n % 20_000) for n in range(size)),
    "one sentence": lambda size: _fill((f"bridge {n} and" for n in range(size)), size, " ") + ".",
    "one number of digits": lambda size: "The bridge is 1" + "0" * (size - 20) + " m.",
    "grouped number": lambda size: "1" + ",000" * (size // 4),
    "numbers beyond floats": lambda size: f"{'9' * 400} metres. " * (size // 409),
}


def _fill(lines: Iterable[str], size: int, between: str = "\n") -> str:
    """Lines joined until there are `size` characters."""
    taken, length = [], 0
    for line in lines:
        taken.append(line)
        length += len(line) + len(between)
        if length >= size:
            break
    return between.join(taken)[:size]


def _categories() -> dict[str, str]:
    """A few characters of each of Unicode's categories, by its name."""
    found: dict[str, list[str]] = {}
    for code in range(0x20000):  # the first two planes have some of each
        some = found.setdefault(unicodedata.category(chr(code)), [])
        if len(some) < MOST_OF_CATEGORY:
            some.append(chr(code))
    return {name: "".join(some) for name, some in sorted(found.items())}


def _repeat(piece: str, size: int) -> str:
    return (piece * (size // len(piece) + 1))[:size]


_CATEGORIES = _categories()
SHAPES: dict[str, Make] = {
    **{f"category {name}": partial(_repeat, some) for name, some in _CATEGORIES.items()},
    **{f"only {name}": partial(_repeat, some[-1]) for name, some in _CATEGORIES.items()},
    **{name: partial(_repeat, piece) for name, piece in PIECES.items()},
    **WHOLE,
}
