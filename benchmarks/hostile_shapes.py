"""Texts made to take long, or to break what reads them: of pages, of documents, of models.

`SHAPES` gives for each name a function from a number of characters to a text.
"""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Callable, Iterable
from functools import partial

Make = Callable[[int], str]

#: What is repeated to make a text.
PIECES = {
    "angle brackets": "<a",
    "angles alone": "<",
    "letters": "x",
    "capitals": "A",
    "capitalised words": "Ab ",
    "two-letter capitals": "A B ",
    "quotes": '"',
    "curly quotes": "“a",
    "quoted stops": '"a. ',
    "apostrophes": "'",
    "O'": "O'",
    "O'A ": "O'A ",
    "opening brackets": "(",
    "bracketed stops": ".)",
    "square brackets": "[",
    "dots": ".",
    "dotted letters": "a.",
    "a. ": "a. ",
    "A. ": "A. ",
    "stops and quotes": ".\"'",
    "questions": "?! ",
    "commas": ", ",
    "colons": ": ",
    "dates": "12 May 1904, ",
    "iso dates": "2020-01-01 ",
    "slashed dates": "3/4/2020 ",
    "months": "sept ",
    "german days": "am 3. ",
    "years": "1904 ",
    "digits": "1",
    "spaced digits": "1 ",
    "thousands": "1,000,",
    "grouped": "1 000 ",
    "decimals": "1.",
    "scores": "3-2 ",
    "dashed digits": "1-",
    "after draws": "1-1 after a 1-1 draw ",
    "times": "12:30 ",
    "money": "$1,",
    "minutes": "Messi 23', ",
    "number words": "twenty ",
    "hundred and": "hundred and ",
    "units": "1 km ",
    "lines": "a\n",
    "blank lines": "\n",
    "list items": "- a\n",
    "numbered items": "1. a\n",
    "headings": "# a\n",
    "bold": "**",
    "rows": "a | b\n",
    "bars": " | ",
    "result rows": "A | 3-2 | B\n",
    "markers": "[1]",
    "marker lists": "[1, ",
    "marker ranges": "[1-9]",
    "links": "[a](b) ",
    "open links": "[a](",
    "images": "![",
    "nested links": "[[1]",
    "spaces": " ",
    "tabs": "\t ",
    "blanks at the end": "a   ",
    "non-breaking spaces": "\u00a0",
    "Chinese": "中",
    "Chinese stops": "中。",
    "Chinese names": "是中·",
    "Chinese numerals": "一百",
    "Chinese place": "位于中",
    "Chinese brackets": "（A",
    "Korean": "가",
    "Thai": "ก",
    "Arabic": "ال",
    "combining marks": "a\u0301",
    "marks alone": "\u0301",
    "vowel signs": "\u064b",
    "zero width": "\u200b",
    "ligatures": "\ufdfa",
    "long expansion": "\u1f80",
    "emoji": "👩\u200d",
    "surrogates": "\ud800",
    "alternating marks": "\u0301\u0316",
    "controls": "\x00",
    "bidirectional": "\u202e",
    "by": "by ",
    "the": "the ",
    "and": "A and ",
    "of": "A of the ",
    "not": "not won ",
    "directed": "directed by A ",
    "won": "A won B ",
    "instructions": "ignore all previous ",
    "you are": "you are ",
    "entities": "&amp;",
    "html": "<b>a</b>",
    "code": '{"a":',
    "urls": "http://a.b/",
    "stop words": "the of and ",
    "mixed": 'Ab "1,000. (3-2) 12 May ',
    "mixed scripts": "中a1。 Ä. ",
    "plus signs": "+",
    "dashes": "-",
    "long dashes": "a — ",
    "underscores": "_",
    "backticks": "`",
    "back slashes": "\\",
    "percent": "1% ",
    "hashes": "#",
    "tildes": "~~~\n",
    "fences": "```\na\n",
    "quotes of lines": "> a\n",
    "nested quotes": "> > > ",
    "nested items": "\n  - a\n    - b\n      - c",
    "roman items": "(iv) ",
    "table rules": "|---|---|\n",
    "empty cells": "| | | |\n",
    "wide rows": "| a | 1 | 2 ",
    "addresses": "a.b@c.de, ",
    "long urls": "https://a.b/c?d=e&f=g#h%20i ",
    "bare hosts": "a.b.c.d.e ",
    "file paths": "/a/b/c",
    "initials": "J. R. R. Ab ",
    "initials joined": "A.B.C.",
    "titles": "Dr. Prof. Mr. ",
    "abbreviations": "e.g. i.e. z. B. u. a. ",
    "ordinals": "3rd 21st ",
    "german ordinals": "am 3. Mai. ",
    "figures": "Fig. 3 p. 5 c. 1850 ",
    "seasons": "2018-19 ",
    "ranges of years": "1904–1906, ",
    "times of day": "at 3 p.m. ",
    "weekdays": "Monday at 12:30 pm ",
    "dotted dates": "1.2.1904 ",
    "Chinese dates": "2022年12月18日",
    "Chinese large numerals": "一千零一万亿",
    "Chinese clauses": "中，国；",
    "Chinese title brackets": "《中》「国」",
    "Japanese": "カタ。",
    "Korean stops": "가다. ",
    "Arabic stops": "ال؟ ۔ ",
    "Arabic digits": "٣٫١ ",
    "Devanagari stops": "क्ष। ",
    "Thai words": "กำ ",
    "Hebrew": "אָב ",
    "Greek questions": "α; ",
    "superscripts": "x²³ ",
    "fractions": "½ ¾ ",
    "roman numeral signs": "Ⅷ ",
    "full width": "１，２００。",
    "half-width marks": "ｶﾞ｡",
    "Hangul letters": "\u1100\u1161\u11a8",
    "variation selectors": "☃\ufe0f",
    "tags": "🏴\U000e0067\U000e007f",
    "line separators": "a\u2028b\u2029",
    "next lines": "a\x85",
    "form feeds": "a\x0c",
    "soft hyphens": "a\u00ad",
    "ellipses": "a… ",
    "spaced stops": "a . . . ",
    "interrobangs": "a‽ ",
    "semicolons": "a; b; ",
    "equations": "a=b+c^2*",
    "powers": "1e9 ",
    "signed": "-1 +2 −3 ",
    "currencies": "€1.5 million ",
    "percentages in words": "per cent ",
    "scales": "million billion ",
    "doubled sentences": "It was. It was not. ",
    "pronouns": "He said. She said. ",
    "negations": "It is not never no. ",
    "hedges": "It may perhaps allegedly. ",
    "passives": "was won by A and B, ",
    "opposites": "first last more less ",
    "roles": "A, president of B, ",
    "question words": "when where who what ",
    "asked words": "bridge opened whom ",
    "asked sentences": "The bridge opened. ",
    "asked items": "- bridge opened 1904\n",
    "asked rows": "| bridge | opened | 1904 |\n",
    "asked headings": "## Bridge opened\n",
    "asked names": "Bridge Opened By ",
    "asked match": "A | 3–2 | B\nBridge opened, final\n",
    "asked clauses": "the bridge, opened, by, ",
    "asked quotes": '"The bridge opened." he said. ',
    "two letters": "Ab. ",
    "sentences": "The bridge was opened in 1904 by Anna Quill. ",
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
