"""Markdown of a draft: its sentences, the items of its lists and the rows of its tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from agent.evidence.markers import strip_markers
from agent.evidence.sentences import split_sentences


class Piece(NamedTuple):
    """A sentence, an item without its bullet, or a row; `intro` are the lines above its list."""

    text: str
    form: Literal["sentence", "item", "row"] = "sentence"
    intro: str = ""


_HEADING = re.compile(r"[^\S\n]*#{1,6}\s")
_BULLET = re.compile(r"[^\S\n]*[-*+•‣–]\s+")
_NUMBERED = re.compile(r"[^\S\n]*(\d{1,2})[.)]\s+")
_SEPARATOR = re.compile(r"\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?$")
_STOP = re.compile(r"[.!?。！？][\"'”’»“‘«)\]」』）]*$")


def read_pieces(text: str) -> list[Piece]:
    """The sentences, items and rows of a text in Markdown, in order; without its headings.

    A list of one item without an intro is a sentence. Rows have their head as an intro.
    """
    pieces = list(_Reader(text))
    forms = ["", *(piece.form for piece in pieces), ""]
    return [
        piece._replace(form="sentence") if not piece.intro and "item" not in around else piece
        for piece, around in zip(pieces, zip(forms, forms[2:], strict=False), strict=False)
    ]


class _Reader:
    """Reads the lines of a text. `_sentences` are those of the last paragraph, not yet given."""

    def __init__(self, text: str) -> None:
        self._lines = [line.rstrip() for line in text.split("\n")]
        self._lines = [line for line in self._lines if line.strip() and not _HEADING.match(line)]
        numbers = [found[1] for line in self._lines if (found := _NUMBERED.match(line))]
        self._is_numbered = numbers[:2] == ["1", "2"]
        self._sentences: list[str] = []

    def __iter__(self) -> Iterator[Piece]:
        at, intro, is_in_list = 0, "", False
        while at < len(self._lines):
            line = self._lines[at]
            bullet = _BULLET.match(line) or (self._is_numbered and _NUMBERED.match(line))
            rows = self._count_rows(at)
            if not is_in_list and (bullet or rows):
                intro = self._take_intro()
                yield from self._give_sentences()
            is_in_list = bool(bullet)
            if rows:
                yield from self._read_rows(at, rows, intro)
            elif bullet:
                text, taken = self._read_item(at, bullet.end())
                yield Piece(text, "item", intro)
                at += taken
            else:
                yield from self._give_sentences()
                self._sentences = [line[a:b] for a, b in split_sentences(line)]
            at += max(1, rows)
        yield from self._give_sentences()

    def _give_sentences(self) -> Iterator[Piece]:
        yield from map(Piece, self._sentences)
        self._sentences = []

    def _take_intro(self) -> str:
        """The last sentence before a list, if it leads to it: it ends with a colon or no stop."""
        last = self._sentences[-1] if self._sentences else ""
        bare = strip_markers(last)
        if not bare or _STOP.search(bare) or (bare != last and bare[-1] not in ":："):
            return ""
        return self._sentences.pop()

    def _read_item(self, at: int, start: int) -> tuple[str, int]:
        """An item with the lines that go on with it, and how many these are."""
        more = 0
        while at + more + 1 < len(self._lines) and self._goes_on(at + more + 1):
            more += 1
        lines = (self._lines[at][start:], *self._lines[at + 1 : at + more + 1])
        return " ".join(line.strip() for line in lines), more

    def _goes_on(self, at: int) -> bool:
        line = self._lines[at]
        starts = _BULLET.match(line) or _NUMBERED.match(line) or line.lstrip().startswith("|")
        return line.startswith("  ") and not starts

    def _count_rows(self, at: int) -> int:
        first, second = (*self._lines[at : at + 2], "")[:2]
        if not ("|" in first and "|" in second and _SEPARATOR.match(second.strip())):
            return 0
        count = 2
        while at + count < len(self._lines) and "|" in self._lines[at + count]:
            count += 1
        return count

    def _read_rows(self, at: int, count: int, intro: str) -> Iterator[Piece]:
        head = split_cells(self._lines[at])
        above = [intro] if intro else []
        shown = "\n".join([*above, join_cells(head), join_cells(["---"] * len(head))])
        for line in self._lines[at + 2 : at + count]:
            cells = split_cells(line)
            markers = "".join(cells[len(head) :]) if len(cells) > len(head) else ""
            row = join_cells(cells[: len(head)] + [""] * (len(head) - len(cells)))
            yield Piece(add_to_last_cell(row, markers) if markers else row, "row", shown)


def split_cells(row: str) -> list[str]:
    """The cells of a row of a table."""
    inner = row.strip().removeprefix("|").removesuffix("|")
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", inner)]


def join_cells(cells: list[str]) -> str:
    """A row of a table."""
    return f"| {' | '.join(cells)} |"


def add_to_last_cell(row: str, text: str) -> str:
    """A row with more text at the end of its last cell."""
    *cells, last = split_cells(row)
    return join_cells([*cells, f"{last} {text}".strip()])
