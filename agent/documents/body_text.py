"""The result of reading a body: title, text, and the place of each part in the document.

Nothing here imports pydantic: a worker would take longer to start.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, NamedTuple

from agent.state.characters import strip_controls

if TYPE_CHECKING:
    from agent.state import Outcome

MAX_TEXT = 1_000_000  # characters of a page of the web
MAX_FILE_TEXT = 5_000_000  # characters of a user's file in a format that has parts
#: Characters of a user's table, whose rows are as many as they are.
MAX_TABLE_TEXT, TABLES = 50_000_000, frozenset(".csv .tsv .tab .xlsx .xlsm".split())
CELL = " | "  # between the cells of a row
MAX_REPORT = 400_000  # characters of a report whose sentences are to be checked
MAX_RAW_TITLE = 10_000  # characters of a title, before blanks are taken out
MAX_PLACE = 120  # characters of the name of a place
MAX_NOTE = 500  # characters of `BodyText.note`
MAX_LOST = 100  # kinds of what is not read of a document that are listed one by one
MAX_MARKS = 20_000  # of a document: behind the last one places are not known
PART_CHARS = 200_000  # after which what is read of a document is handed over

#: The offset from which on a place counts, its name, and the number of the line there, if lines
#: are counted: the lines after it have the next numbers. `(0, "page 3", None)`, `(9, "row", 7)`.
Mark = tuple[int, str, int | None]
#: What was seen of a document and not read, how much of it, and why: in words for the user.
Unread = tuple[str, int, str]
CUT = "only what was read in time is used"
TEXT = "text"  # the rest of the text itself, of which the reason says all


class BodyText(NamedTuple):
    """Title and text of a body; what it does not have is empty.

    `url` and `date` (of the last change, else of publication, as YYYY-MM-DD) are those that it
    gives itself. `marks` are in the order of their offsets. `not_read`: what was seen and not read.
    A report has a form, and its text is Markdown.
    """

    title: str
    text: str
    url: str = ""
    marks: tuple[Mark, ...] = ()
    date: str = ""
    form: str = ""
    not_read: tuple[Unread, ...] = ()

    @property
    def note(self) -> str:
        """What was not read, in words for the user; "" where all was."""
        lost = ((f"{n} " if n > 1 else "", what, why) for what, n, why in self.not_read)
        words = "; ".join(
            why if what == TEXT else f"{number}{what} not read: {why}" for number, what, why in lost
        )
        return words if len(words) <= MAX_NOTE else words[: MAX_NOTE - 1] + "…"


class UnreadablePage(ValueError):
    """A body without readable text; `outcome` says which kind of failure that is."""

    def __init__(self, reason: str, outcome: Outcome) -> None:
        super().__init__(reason)
        self.outcome: Outcome = outcome


#: Gets each part of a body that is ready before the whole: its title, the text since the part
#: before, and the marks of that text.
OnPart = Callable[[str, str, Sequence[Mark]], None]


def ignore_part(title: str, text: str, marks: Sequence[Mark]) -> None:
    """Do nothing with a part of a body."""


class Body(NamedTuple):
    """A body to read. `suffix` is that of a user's file; "" for a page of the web.

    `is_report`: its sentences are to be checked, so its text is wanted as Markdown with its links.
    """

    data: bytes
    content_type: str = ""
    url: str = ""
    suffix: str = ""
    is_report: bool = False
    on_part: OnPart = ignore_part
    depth: int = 0  # of attachments in attachments

    @property
    def max_chars(self) -> int:
        """Characters of text that are read."""
        if self.is_report:
            return MAX_REPORT
        if self.suffix in TABLES:
            return MAX_TABLE_TEXT
        return MAX_FILE_TEXT if self.suffix else MAX_TEXT


class PlacedText:
    """A text that grows by parts, each with its place in words: `page 12`, `slide 3`.

    Each part is normalized, so the text is what `normalize_text` makes of the whole.
    """

    def __init__(self, source: Body, title: str = "", date: str = "") -> None:
        self.title = normalize_title(title)
        self.date = date
        self._lost: Counter[tuple[str, str]] = Counter()  # what is not read, and why
        self._source = source
        self._pieces: list[str] = []
        self._marks: list[Mark] = []
        self._length = 0
        self._next: tuple[str, int | None] = ("", None)  # the place, if no mark is set
        self._handed = (0, 0, 0)  # pieces, characters and marks that were handed over

    @property
    def is_full(self) -> bool:
        """Whether no more text is taken."""
        return self._length >= self._source.max_chars

    def add(self, text: str, place: str = "", *, joint: str = "\n") -> None:
        """Add a part of any number of lines. `joint` is what separates it from the part before."""
        if text := normalize_text(text):
            self._append(text, place, None, joint)

    def add_line(self, line: str, name: str, number: int) -> None:
        """Add a part that is one line, as `row 7` of a table; an empty one is left out."""
        if line := normalize_text(line).replace("\n", " "):
            self._append(line, name, number, "\n")

    def add_read(self, read: BodyText, place: str) -> None:
        """Add a document within this one; its places follow that of the document."""
        inner = ((start, f"{place}, {name}", number) for start, name, number in read.marks)
        marks = [(0, place, None), *inner, (len(read.text), "", None)]
        for (start, name, number), (end, *_) in pairwise(marks):
            lines = read.text[start:end].rstrip("\n").split("\n") if number is not None else ()
            for row, line in enumerate(lines, number or 0):
                self.add_line(line, name, row)
            self.add("" if lines else read.text[start:end], name)
        for what, count, why in read.not_read:
            self.lose(f"{what} in {place}", count, why)

    def lose(self, what: str, count: int, why: str) -> None:
        """Record that so many of something were seen and not read, and why."""
        is_known = (what, why) in self._lost or len(self._lost) < MAX_LOST
        if count > 0:
            self._lost[(what, why) if is_known else ("further parts", "there are many")] += count

    def hand_over(self) -> None:
        """Give what was added since the last time to the one who waits for it."""
        pieces, _, marks = self._handed
        if text := "".join(self._pieces[pieces:]):
            self._source.on_part(self.title, text, self._marks[marks:])
            self._handed = (len(self._pieces), self._length, len(self._marks))

    def finish(self, url: str = "") -> BodyText:
        """The text with its marks. Raises UnreadablePage where there is none."""
        text = "".join(self._pieces)
        most = self._source.max_chars
        if self.is_full:
            text = text[:most].rstrip()
            self.lose(TEXT, 1, f"only its first {most:,} characters were read")
        marks = tuple(mark for mark in self._marks if mark[0] < len(text))
        lost = tuple((what, count, why) for (what, why), count in self._lost.items())
        read = BodyText(self.title, text, url, marks, self.date, not_read=lost)
        if not text:
            note = f": {read.note}" if lost else ""
            raise UnreadablePage(f"it has no text{note}", "empty")
        return read

    def _append(self, text: str, name: str, number: int | None, joint: str) -> None:
        if self.is_full:
            return
        if self._pieces:
            text = joint + text
        name = " ".join(name[: 2 * MAX_PLACE].split())[:MAX_PLACE]
        if (name, number) != self._next and len(self._marks) < MAX_MARKS:
            is_last = len(self._marks) == MAX_MARKS - 1
            offset = self._length + (len(joint) if self._pieces else 0)
            self._marks.append((offset, "", None) if is_last else (offset, name, number))
        self._next = (name, None if number is None else number + 1)
        self._pieces.append(text)
        self._length += len(text)
        if self._length - self._handed[1] > PART_CHARS:
            self.hand_over()


_BLANKS = re.compile(r"[^\S\n]+")
#: What may be combining marks: no letter is one.
_MARKS = re.compile(r"[^\w\s]{31,}")
#: Combining marks in a row: the limit of the Stream-Safe Text Format (Unicode Annex 15).
MAX_COMBINING_MARKS = 30


def normalize_text(text: str) -> str:
    """A text in the form in which it is stored and quoted.

    It is in NFC, has no character that `strip_controls` takes out, single blanks and no blank
    lines.
    """
    text = strip_controls(text)
    if not text.isascii():
        text = unicodedata.normalize("NFC", _MARKS.sub(_limit_combining_marks, text))
    return "\n".join(filter(None, map(str.strip, _BLANKS.sub(" ", text).split("\n"))))


def normalize_title(title: str) -> str:
    """A title in the form of `normalize_text`, on one line of at most 300 characters."""
    return normalize_text(title[:MAX_RAW_TITLE]).replace("\n", " ")[:300]


def _limit_combining_marks(match: re.Match[str]) -> str:
    """Characters with bounded runs of combining marks, which NFC sorts in quadratic time."""
    runs = groupby(match[0], lambda char: bool(unicodedata.combining(char)))
    return "".join("".join(run)[: MAX_COMBINING_MARKS if marks else None] for marks, run in runs)
