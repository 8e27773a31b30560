"""A report as its parser sees it: blocks of text with their links. A worker has no pydantic."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

MAX_TEXT = 400_000  # characters of a report; the rest is not read
MAX_LINKS = 20_000
_BLANKS = re.compile(r"[^\S\n]+")


class ReportLink(NamedTuple):
    """Words of a block, by their offsets, that lead to an address. `is_note`: they name a note."""

    start: int
    end: int
    url: str
    title: str = ""
    is_note: bool = False


class ReportBlock(NamedTuple):
    """A heading, a paragraph, an item or a row. `number` is an item's in its list.

    `origin`: pairs of an offset in the block and the offset in the report's text that it is of.
    """

    kind: Literal["heading", "paragraph", "item", "row", "reference"]
    text: str
    links: tuple[ReportLink, ...] = ()
    origin: tuple[tuple[int, int], ...] = ()
    number: int | None = None
    level: int = 0


class CitedSpan(NamedTuple):
    """A part of the report's text that cites an address, as services say it in their answers."""

    start: int
    end: int
    url: str
    title: str = ""


class ParsedReport(NamedTuple):
    """What a parser makes of a report. `listed`: sources by the label that markers have for them.

    Without `text`, the blocks are the text, a line each.
    """

    form: str
    title: str
    blocks: tuple[ReportBlock, ...]
    text: str = ""
    listed: tuple[tuple[str, str, str], ...] = ()  # label, URL, title
    spans: tuple[CitedSpan, ...] = ()

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> ParsedReport:
        """The report that `_asdict` and JSON made lists of."""
        blocks = tuple(
            ReportBlock(
                kind,
                text,
                tuple(ReportLink(*link) for link in links),
                tuple((a, b) for a, b in origin),
                number,
                level,
            )
            for kind, text, links, origin, number, level in value["blocks"]
        )
        listed = tuple((label, url, title) for label, url, title in value["listed"])
        spans = tuple(CitedSpan(*span) for span in value["spans"])
        return cls(value["form"], value["title"], blocks, value["text"], listed, spans)


class BlockBuilder:
    """The text of one block as it is found, with single blanks, and its links."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self.length = 0
        self._links: list[ReportLink] = []
        self._origin: list[tuple[int, int]] = []

    def add(self, text: str, at: int | None = None) -> None:
        """Add a piece; `at` is its offset in the report's text."""
        text = _BLANKS.sub(" ", text) if at is None else text
        if at is None and (not self._parts or self._parts[-1][-1:].isspace()):
            text = text.lstrip(" ")
        if text:
            if at is not None:
                self._origin.append((self.length, at))
            self._parts.append(text)
            self.length += len(text)

    def link(self, start: int, url: str, title: str = "", *, is_note: bool = False) -> None:
        """The text from `start` on is a link."""
        if url and len(self._links) < MAX_LINKS:
            self._links.append(ReportLink(start, self.length, url, title, is_note))

    def build(
        self,
        kind: Literal["heading", "paragraph", "item", "row", "reference"],
        number: int | None = None,
        level: int = 0,
    ) -> ReportBlock | None:
        """The block, and an empty builder; None where there was no text."""
        text = "".join(self._parts).rstrip()
        links = (
            link._replace(start=min(link.start, len(text)), end=min(link.end, len(text)))
            for link in self._links
        )
        block = ReportBlock(kind, text, tuple(links), tuple(self._origin), number, level)
        self.__init__()  # type: ignore[misc]
        return block if text.strip() else None


def cut_blocks(blocks: Iterable[ReportBlock | None]) -> tuple[ReportBlock, ...]:
    """The blocks that are there, of at most `MAX_TEXT` characters together."""
    kept: list[ReportBlock] = []
    total = 0
    for block in blocks:
        if block is None:
            continue
        total += len(block.text) + 1
        if total > MAX_TEXT:
            break
        kept.append(block)
    return tuple(kept)
