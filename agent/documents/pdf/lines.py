"""The lines of a page of a PDF with their places: columns one after the other, cells parted."""

from __future__ import annotations

import ctypes
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from agent.documents.formulas import lower_text, raise_text

CELL_BREAK = "\x1f"
HYPHEN = "\ufffe"  # what PDFium writes for a hyphen at which a word was divided, without a break
MAX_UNEVEN = 0.02  # heights of a letter by which the gaps between letters of a word differ
MIN_GAP = 0.8  # heights of a letter: a blank has 0.4 at most, in type of one width 0.7
#: Of a line that is stretched to its margins: heights of a letter that a blank has at most, the
#: ratio of its widest blank to its narrowest, the share of letters.
MAX_JUSTIFIED, MAX_STRETCH, MIN_LETTERS = 4.0, 1.6, 0.5
MIN_OVERLAP = 0.4  # of the heights of two letters on one line: one of them may be raised
MAX_SAMPLED = 200  # letters of a page that tell how it is turned
#: In sizes of the type of a line: that of what is raised or lowered, and by how much.
MAX_SMALL, MIN_RAISED, MIN_LOWERED = 0.85, 0.2, 0.05
MAX_SIZE = 10_000  # of type; what a broken file says beyond that, or nothing, is not believed
ALEFS = "\u0627\u0622\u0623\u0625"
LAM = "\u0644"
#: What control characters stand for: a divided word, and in TeX's fonts of bitmaps, which have no
#: table of Unicode, what is in their place in Cork encoding (T1).
_READ_AS = dict(zip("\x10\x11\x12\x13\x14\x15\x16", "“”„«»–—", strict=True)) | {
    "\x02": HYPHEN,
    **dict(zip("\x1b\x1c\x1d\x1e\x1f", "ff fi fl ffi ffl".split(), strict=True)),
}
LIST_ITEM = re.compile(r"(?:[-–—•●▪◦‣*·]|\(?\d{1,2}[.)]|\(?[a-z][.)]|\[\d{1,3}\])\s")
_DIVIDED = re.compile(rf"[\x02{HYPHEN}]\n?|(?<=[^\W\d_])-\n(?=[^\W\d_])")
_NUMBER = re.compile(r"[-+−–]?\d+")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufefc]")


class PageLine(NamedTuple):
    """A line with its place on the page, mirrored where the page is written from the right.

    `baseline` grows upwards; `first` is the width of the first word; `has_blank` says whether a
    blank stands at the end, which tells in Korean that no word is divided there. `cells`: where
    each of its cells begins and ends. `stretched`: the text and the cells that it has if what looks
    like words between margins is a row of a table. `is_head`: it begins a table.
    """

    text: str
    left: float
    right: float
    baseline: float
    size: float
    first: float
    has_blank: bool = False
    cells: tuple[tuple[float, float], ...] = ()
    stretched: tuple[str, tuple[tuple[float, float], ...]] = ("", ())
    is_head: bool = False

    @property
    def is_row(self) -> bool:
        """Whether it has cells of a table."""
        return CELL_BREAK in self.text


class ShownPage:
    """A text page of PDFium whose places are those of a page on which its letters are upright."""

    def __init__(self, page: Any) -> None:
        self._page = page
        self._as_parameter_ = page._as_parameter_  # for functions of PDFium
        self._x, self._y = ((1, 0), (0, 1), (-1, 0), (0, -1))[_count_quarters(page)]

    def turn(self, x: float, y: float) -> tuple[float, float]:
        """Where a point of the page is then."""
        return self._x * x + self._y * y, self._x * y - self._y * x

    def get_charbox(self, index: int, loose: bool = False) -> tuple[float, float, float, float]:
        """Left, bottom, right and top of a character. Raises PdfiumError, IndexError."""
        left, bottom, right, top = self._page.get_charbox(index, loose)
        (x, y), (other_x, other_y) = self.turn(left, bottom), self.turn(right, top)
        return min(x, other_x), min(y, other_y), max(x, other_x), max(y, other_y)


def read_upright(page: Any) -> Any:
    """The text page of a page, which is turned so that most of its letters are upright.

    Only so does PDFium give lines, and the cells of one, in the order of reading.
    """
    found = page.get_textpage()
    rotation = 90 * _count_quarters(found)
    if not found.count_chars() or rotation == page.get_rotation():
        return found
    page.set_rotation(rotation)
    return page.get_textpage()


def _count_quarters(page: Any) -> int:
    """By how many quarters most letters of a text page are turned, against the clock."""
    import pypdfium2.raw as raw

    sampled = range(0, page.count_chars(), max(1, page.count_chars() // MAX_SAMPLED))
    angles = (raw.FPDFText_GetCharAngle(page, n) / (math.pi / 2) for n in sampled)
    quarters = Counter(-round(angle) % 4 for angle in angles if angle >= 0)  # it goes clockwise
    return max(quarters, key=lambda one: quarters[one], default=0)


def read_lines(page: Any, *, is_report: bool = False) -> list[PageLine]:
    """The lines of a text page of PDFium in reading order. Raised numbers of a report stay marks.

    PDFium reverses right-to-left text character by character. That also reverses the two letters
    of the ligature of lam and alef, which is one glyph and very frequent in Arabic.
    """
    import pypdfium2

    text = str(page.get_text_range())
    count = page.count_chars()
    chars = list(text)
    if len(chars) != count:  # it counts units of UTF-16
        units = memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")
        chars = [chr(unit) for unit in units]
    if len(chars) != count:
        return lines_of_text(text)
    try:
        return _place_lines(ShownPage(page), chars, is_report=is_report)
    except pypdfium2.PdfiumError:  # a character has no place
        return lines_of_text(text)


def _place_lines(page: ShownPage, units: Sequence[str], *, is_report: bool) -> list[PageLine]:
    chars = [_READ_AS.get(unit, unit) for unit in units]
    is_mirrored = len(_RIGHT_TO_LEFT.findall("".join(chars))) > len(chars) / 3
    for i in range(len(chars) - 1):
        if chars[i] == " ":
            gap = _gap_between(page, i - 1, i + 1) if i else 0.0
            gap = -1.0 if not is_mirrored and gap == 0 and _goes_back(page, i) else gap
            chars[i] = "\n" if gap < 0 else CELL_BREAK if gap > MIN_GAP else " "
            if 0 < gap <= MIN_GAP and i > 1 and _is_in_word(page, chars, i, gap):
                chars[i] = ""
        elif chars[i] in ALEFS and chars[i + 1] == LAM and is_one_glyph(page, i):
            chars[i : i + 2] = LAM, chars[i]
    if not is_report:
        _shift_numbers(page, chars)
    return [_line_at(page, chars, span, is_mirrored) for span in _spans(chars)]


def lines_of_text(text: str) -> list[PageLine]:
    """The lines of a text whose places are not known: all characters are equally wide.

    They are not, so a line counts as full if an eighth of the longest is left beside a word.
    """
    text = _DIVIDED.sub(HYPHEN + "\n", text.replace("\r", ""))
    lines = [" ".join(line.split(" ")).strip() for line in text.split("\n")]
    space = max(map(len, lines)) / 8
    return [
        PageLine(line, 0, len(line), -float(n), 1, len(line.split(" ", 1)[0]) + space)
        for n, line in enumerate(lines)
        if line
    ]


def _gap_between(page: ShownPage, index: int, other_index: int) -> float:
    """How far two letters are apart, in heights of one; below 0 if they are of two lines."""
    if not (boxes := _find_boxes(page, index, other_index)):
        return 0.0
    (_, bottom, end, top), (start, other_bottom, _, other_top) = boxes
    height, other = top - bottom, other_top - other_bottom
    if height <= 0 or other <= 0:
        return 0.0
    if min(top, other_top) - max(bottom, other_bottom) < MIN_OVERLAP * min(height, other):
        return -1.0
    return float(max(0.0, (start - end) / max(height, other)))


def _is_in_word(page: ShownPage, chars: Sequence[str], index: int, gap: float) -> bool:
    """Whether a blank is PDFium's own between letters that are as near as the two before it.

    It parts the last letter of each word where letters are spaced, as in the text of some scans.
    """
    import pypdfium2.raw as raw

    if not all(chars[n].isalnum() for n in (index - 2, index - 1, index + 1)):
        return False
    is_own = raw.FPDFText_IsGenerated(page, index) == 1
    return is_own and gap <= _gap_between(page, index - 2, index - 1) + MAX_UNEVEN


def _goes_back(page: ShownPage, index: int) -> bool:
    """Whether what is behind a blank stands left of what is before it: a cell of another line."""
    boxes = _find_boxes(page, index - 1, index + 1)
    return bool(boxes and boxes[1][2] < boxes[0][0] - (boxes[0][3] - boxes[0][1]))


def _find_boxes(page: ShownPage, *indexes: int) -> list[tuple[float, float, float, float]]:
    """Where letters are; nothing at the end, or beside what has no place."""
    import pypdfium2

    try:
        return [page.get_charbox(index, True) for index in indexes]
    except (pypdfium2.PdfiumError, IndexError):
        return []


def is_one_glyph(page: ShownPage, index: int) -> bool:
    """Whether a character and the next one have the same bounding box."""
    first, second = page.get_charbox(index), page.get_charbox(index + 1)
    return all(abs(a - b) < 0.01 for a, b in zip(first, second, strict=True))


def _spans(chars: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The beginning and the end of each line, without blanks around it."""
    start = 0
    for i, char in enumerate([*chars, "\n"]):
        if char not in ("\n", "\r", HYPHEN):
            continue
        end = min(i + (char == HYPHEN), len(chars))
        while start < end and chars[start] in (" ", CELL_BREAK):
            start += 1
        while start < end and chars[end - 1] in (" ", CELL_BREAK):
            end -= 1
        if start < end:
            yield start, end
        start = i + 1


def _line_at(
    page: ShownPage, chars: Sequence[str], span: tuple[int, int], is_mirrored: bool
) -> PageLine:
    start, end = span
    word_end = next((i for i in range(start, end) if chars[i] in (" ", CELL_BREAK)), end)
    boxes = (page.get_charbox(i, loose=True) for i in (start, word_end - 1, end - 1))
    first, word, last = ((left, right) for left, _, right, _ in boxes)
    text = "".join(chars[start:end])
    if not text.isascii():
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    stretched: tuple[str, tuple[tuple[float, float], ...]] = ("", ())
    if CELL_BREAK in text:  # wide blanks between words or behind the sign of an item part no cells
        is_item = bool(LIST_ITEM.match(text.replace(CELL_BREAK, " ")))
        is_justified = _is_justified(page, chars, span)
        if is_justified and not is_item:
            stretched = _cells_at(page, chars, span, is_mirrored)
        text = text.replace(CELL_BREAK, " ", -1 if is_justified else is_item)
    left, right = min(first[0], last[0]), max(first[1], last[1])
    width = max(first[1], word[1]) - min(first[0], word[0])
    if is_mirrored:
        left, right = -right, -left
    has_blank = end < len(chars) and chars[end] == " "
    (baseline, size), (other, other_size) = _type_at(page, start), _type_at(page, end - 1)
    # a sign of a list or of a note is small, and may be raised
    baseline, size = min(baseline, other), max(size, other_size)
    cells: tuple[tuple[float, float], ...] = ((left, right),)
    if CELL_BREAK in text:
        text, cells = _cells_at(page, chars, span, is_mirrored)
    return PageLine(text, left, right, baseline, size, width, has_blank, cells, stretched)


def _shift_numbers(page: ShownPage, chars: list[str]) -> None:
    """Write as raised or lowered the digits in small type above or below what they follow."""
    text = "".join(char[:1] or " " for char in chars)
    lines: dict[int, int] = {}  # what is raised or lowered, by what it follows on the line
    for match in _NUMBER.finditer(text):
        start, end = match.span()
        before = start - bool(text[max(0, start - 1) : start].strip(CELL_BREAK + "\r\n "))
        before = lines.get(before, before)
        if end - before < 2 or text[before] in "/⁄":
            continue
        shift = _find_shift(page, before, end - 1)
        own = _type_at(page, end - 1)
        while shift and end > start and _type_at(page, end - 1) == own:
            end -= 1
        if shift and 0 <= _gap_between(page, end - 1, end) < MIN_GAP:
            written = shift(text[end : match.end()])
            chars[end : match.end()] = written
            lines |= dict.fromkeys(range(end, match.end()), before)
            if text[match.end() : match.end() + 1] in ("/", "⁄") and text[before].isdigit():
                chars[end] = f" {written[0]}"  # a fraction: 5 ¹/2


def _find_shift(page: ShownPage, before: int, index: int) -> Callable[[str], str] | None:
    """How a character is written that is smaller and above or below the line of another."""
    (line, size), (baseline, small) = _type_at(page, before), _type_at(page, index)
    if small > MAX_SMALL * size or -MIN_LOWERED < (baseline - line) / size < MIN_RAISED:
        return None
    return raise_text if baseline > line else lower_text


def _cells_at(
    page: ShownPage, chars: Sequence[str], span: tuple[int, int], is_mirrored: bool
) -> tuple[str, tuple[tuple[float, float], ...]]:
    """The text of a row, with marks between its cells, and where these are."""
    spans = list(_split_cells(page, chars, span))
    text = CELL_BREAK.join("".join(chars[a:b]).replace(CELL_BREAK, " ") for a, b in spans)
    edges = [page.get_charbox(i, loose=True)[::2] for a, b in spans for i in (a, b - 1)]
    sides = [(min(a + b), max(a + b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]
    return text, tuple((-b, -a) if is_mirrored else (a, b) for a, b in sides)


def _split_cells(
    page: ShownPage, chars: Sequence[str], span: tuple[int, int]
) -> Iterator[tuple[int, int]]:
    """The beginning and the end of each cell of a line. No blank need stand between two."""
    start, end = span
    for i in range(start + 1, end):
        if chars[i] == CELL_BREAK:
            yield start, i
            start = i + 1
        elif (
            start < i and " " not in chars[i - 1 : i + 1] and _gap_between(page, i - 1, i) > MIN_GAP
        ):
            yield start, i
            start = i
    yield start, end


def _type_at(page: ShownPage, index: int) -> tuple[float, float]:
    """The baseline of a character and the size of its type, as they are on the page."""
    import pypdfium2.raw as raw

    matrix, x, y = raw.FS_MATRIX(), ctypes.c_double(), ctypes.c_double()
    raw.FPDFText_GetCharOrigin(page, index, ctypes.byref(x), ctypes.byref(y))
    raw.FPDFText_GetMatrix(page, index, ctypes.byref(matrix))
    size = raw.FPDFText_GetFontSize(page, index) * (matrix.b**2 + matrix.d**2) ** 0.5
    return page.turn(x.value, y.value)[1], size if 0 < size < MAX_SIZE else 1.0


def _is_justified(page: ShownPage, chars: Sequence[str], span: tuple[int, int]) -> bool:
    """Whether the blanks of a line of words are equally wide: then it is stretched, not cells."""
    inside = range(span[0] + 1, span[1] - 1)
    if sum(chars[i].isalpha() for i in inside) < MIN_LETTERS * len(inside):
        return False
    blanks = [i for i in inside if chars[i] in (" ", CELL_BREAK)]
    gaps = {i: _gap_between(page, i - 1, i + 1) for i in blanks}
    stretched = [gap / (2 if chars[i - 1] in ".,;:!?" else 1) for i, gap in gaps.items()]
    most = min(MAX_JUSTIFIED, MAX_STRETCH * min(gaps.values(), default=0))
    return len(gaps) > 1 and max(stretched) <= most
