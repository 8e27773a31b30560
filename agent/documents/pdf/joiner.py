"""The lines of a page of a PDF, in the order of PDFium, joined to paragraphs."""

from __future__ import annotations

import ctypes
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any
from unicodedata import east_asian_width, name

from agent.documents.formulas import lower_text, raise_text

HYPHEN = "\ufffe"  # what PDFium writes for a hyphen at which a word was divided
FULL = 0.8  # of the length of most lines of a page: behind a line that long no word fitted
MAX_SAMPLED = 200  # characters of a page from which its rotation is detected
#: Of the type of the character before: the size of a raised or lowered digit, and by how much.
MAX_SMALL, MIN_RAISED, MIN_LOWERED = 0.85, 0.2, 0.05
#: Control characters that TeX's bitmap fonts use for these, in Cork encoding (T1).
_CORK = str.maketrans(
    dict(zip("\x10\x11\x12\x13\x14\x15\x16", "“”„«»–—", strict=True))
    | dict(zip("\x1b\x1c\x1d\x1e\x1f", "ff fi fl ffi ffl".split(), strict=True))
)
_DIVIDED = re.compile(rf"[\x02\xad{HYPHEN}]\n?|(?<=[^\W\d_])-\n(?=[^\W\d_])")
_END = re.compile(r"[.!?:。！？：][\"”’»)\]]*$")
_ITEM = re.compile(r"(?:[-–—•●▪◦‣*·]|\(?\d{1,2}[.)]|\(?[a-z][.)]|\[\d{1,3}\])\s")
_NUMBER = re.compile(r"(?<=\S)[-+−–]?\d+")
_LIGATURE = re.compile("[\u0622\u0623\u0625\u0627]\u0644")  # alef and lam
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufefc]")


def read_text(page: Any, *, is_report: bool = False) -> str:
    """The text of a page, which is turned so that most of its characters are upright.

    Raised and lowered digits are written as such, but for a report, where they may be marks.
    """
    found = page.get_textpage()
    rotation = _find_rotation(found)
    if found.count_chars() and rotation != page.get_rotation():
        page.set_rotation(rotation)
        found = page.get_textpage()
    text = str(found.get_text_range())
    if len(text) == found.count_chars():  # PDFium counts units of UTF-16
        text = _mend_ligatures(found, text)
        text = text if is_report else _shift_digits(found, text)
    return text.translate(_CORK)


def _find_rotation(page: Any) -> int:
    """The rotation in degrees with which most characters of a text page are upright."""
    from pypdfium2 import raw

    sampled = range(0, page.count_chars(), max(1, page.count_chars() // MAX_SAMPLED))
    angles = (raw.FPDFText_GetCharAngle(page, n) / (math.pi / 2) for n in sampled)
    quarters = Counter(-round(angle) % 4 for angle in angles if angle >= 0)
    return 90 * max(quarters, key=lambda one: quarters[one], default=0)


def _mend_ligatures(page: Any, text: str) -> str:
    """Put the letters of an Arabic ligature in order: PDFium reverses its one glyph as two."""

    def write(match: re.Match[str]) -> str:
        boxes = [page.get_charbox(match.start() + n) for n in (0, 1)]
        is_one = all(abs(a - b) < 0.01 for a, b in zip(*boxes, strict=True))
        return match[0][::-1] if is_one else match[0]

    return _LIGATURE.sub(write, text)


def _shift_digits(page: Any, text: str) -> str:
    """Write as raised or lowered the digits in small type above or below what they follow."""

    def write(match: re.Match[str]) -> str:
        first, own = match.end() - 1, _type_at(page, match.end() - 1)
        while first > match.start() and _type_at(page, first - 1) == own:
            first -= 1
        base, size = _type_at(page, first - 1)
        rise = (own[0] - base) / size
        if own[1] > MAX_SMALL * size or -MIN_LOWERED < rise < MIN_RAISED or abs(rise) > 1:
            return match[0]
        digits = text[first : match.end()]
        return text[match.start() : first] + (raise_text if rise > 0 else lower_text)(digits)

    return _NUMBER.sub(write, text)


def _type_at(page: Any, index: int) -> tuple[float, float]:
    """The baseline of a character and the size of its type, in points."""
    from pypdfium2 import raw

    matrix, x, y = raw.FS_MATRIX(), ctypes.c_double(), ctypes.c_double()
    raw.FPDFText_GetCharOrigin(page, index, ctypes.byref(x), ctypes.byref(y))
    raw.FPDFText_GetMatrix(page, index, ctypes.byref(matrix))
    size = raw.FPDFText_GetFontSize(page, index) * math.hypot(matrix.b, matrix.d)
    return y.value, size if math.isfinite(size) and size > 0 else 1.0


def split_lines(text: str) -> list[str]:
    """The lines that are not empty; one that ends within a word ends with `HYPHEN`."""
    text = _DIVIDED.sub(f"{HYPHEN}\n", text.replace("\r", ""))
    return [" ".join(line.split()) for line in text.split("\n") if line.strip()]


def join_lines(lines: Sequence[str]) -> Iterator[str]:
    """The paragraphs of a page: each goes on behind a line that is full, or within a word."""
    lengths = sorted(map(len, lines)) or [0]
    full = FULL * lengths[len(lengths) * 3 // 4]
    block = lines[0] if lines else ""
    for last, line in pairwise(lines):
        is_full = len(last) >= full and not _END.search(last)
        if goes_on(last, line) or (is_full and not _begins(line)):
            block = join(block, line)
        else:
            yield block
            block = line
    if block:
        yield block


def goes_on(last: str, line: str) -> bool:
    """Whether a line is the rest of another wherever they are: of its word, or in lower case."""
    is_rest = line[:1].islower() or line.startswith(("(", ",", ";"))
    return last.endswith(HYPHEN) or (
        is_rest and not _END.search(last) and not _begins(line) and not is_row(last)
    )


def _begins(line: str) -> bool:
    return bool(_ITEM.match(line)) or is_row(line)


def is_row(line: str) -> bool:
    """Whether half of the words, or the last two, are numbers, as in a row of a table."""
    numbers = [
        any(map(str.isdigit, word)) and not any(map(str.isalpha, word)) for word in line.split()
    ]
    return 2 * sum(numbers) >= max(1, len(numbers)) or numbers[-2:] == [True, True]


def join(block: str, line: str) -> str:
    """A text with the line that goes on with it."""
    return f"{block.removesuffix(HYPHEN)}{find_joint(block, line)}{line}"


def find_joint(block: str, line: str) -> str:
    """What is between a text and its rest: a hyphen that is part of a word stays."""
    if block.endswith(HYPHEN):
        return "" if block[-2:-1].islower() and line[:1].islower() else "-"
    is_solid = all(
        east_asian_width(char) in "WF" and not name(char, "").startswith("HANGUL")
        for char in (block[-1:] or " ", line[:1] or " ")
    )
    return "" if is_solid else " "


def count_reversed(lines: Sequence[str]) -> int:
    """The lines that are written from the right, of which PDFium's order is not sure."""
    return sum(len(_RIGHT_TO_LEFT.findall(line)) > len(line) / 3 for line in lines)
