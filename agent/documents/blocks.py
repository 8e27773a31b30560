"""The blocks of a document: its paragraphs, headings, items and rows, with the links in them.

Nothing here imports pydantic: a worker would take longer to start.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from agent.characters import strip_controls

MAX_LINKS = 20_000  # of a block
CELL = " | "  # between the cells of a row
LINE = "; "  # between the paragraphs of a cell
RAISED = "#^"  # where a link leads that is only set high: it may be the number of a note
_BLANKS = re.compile(r"[^\S\n]+")
_AROUND_BREAK = re.compile(r" ?\n[ \n]*")

BlockKind = Literal["heading", "paragraph", "item", "row"]


class Link(NamedTuple):
    """Words of a block, by their offsets, that lead to an address. `is_note`: they name a note."""

    start: int
    end: int
    url: str
    title: str = ""
    is_note: bool = False


class TextBlock(NamedTuple):
    """A part of a document. `number` is an item's in its list, `level` a heading's."""

    kind: BlockKind
    text: str
    links: tuple[Link, ...] = ()
    number: int | None = None
    level: int = 0

    def join(self, rest: TextBlock, joint: str) -> TextBlock:
        """This block with the rest of it."""
        start = len(self.text) + len(joint)
        links = (x._replace(start=x.start + start, end=x.end + start) for x in rest.links)
        return self._replace(text=self.text + joint + rest.text, links=(*self.links, *links))


class BlockBuilder:
    """The text of one block as it is found, with single blanks, and its links."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._mark = ""  # that precedes what is added next
        self._links: list[Link] = []

    @property
    def length(self) -> int:
        """Where what is added next will stand."""
        return self._length + len(self._mark)

    def add(self, text: str) -> None:
        """Add a piece."""
        if text := self._normalize(text):
            self._put(self._mark)
            self._mark = ""
            self._put(text)

    def separate(self, mark: str) -> None:
        """Part what stands before from what is added next, if there is both."""
        if self._parts and self._parts[-1] != CELL and self._mark != CELL:
            self._mark = mark
            kept = self._parts[-1].rstrip(" ")
            self._length -= len(self._parts[-1]) - len(kept)
            self._parts[-1] = kept

    def link(self, start: int, url: str, title: str = "", *, is_note: bool = False) -> None:
        """The text from `start` on is a link."""
        if url and len(self._links) < MAX_LINKS:
            self._links.append(Link(start, self._length, url, title, is_note))

    def build(self, kind: BlockKind, number: int | None = None, level: int = 0) -> TextBlock | None:
        """The block, and an empty builder; None where there was no text."""
        text = "".join(self._parts).rstrip()
        end = len(text)
        links = [x._replace(start=min(x.start, end), end=min(x.end, end)) for x in self._links]
        block = TextBlock(kind, text, tuple(links), number, level)
        self.__init__()  # type: ignore[misc]
        return block if text.strip() else None

    def _normalize(self, text: str) -> str:
        """A piece with single blanks, and none where a line or a row begins."""
        text = _BLANKS.sub(" ", strip_controls(text))
        if not self._parts or self._mark or self._parts[-1][-1:].isspace():
            text = text.lstrip(" ")
        return _AROUND_BREAK.sub("\n", text)

    def _put(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)
