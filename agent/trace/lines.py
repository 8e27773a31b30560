"""A tree as lines for a terminal."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterator

from agent.state.plain import printable
from agent.trace.tree import Node


def lines(node: Node, width: int | None) -> Iterator[tuple[str, Node]]:
    """The tree as lines without control characters, each with its node.

    With a `width`, in columns, lines are cut to it; the answer alone is broken instead.
    """
    yield from _lines(node, "", "", width)


def _lines(node: Node, first: str, rest: str, width: int | None) -> Iterator[tuple[str, Node]]:
    figures = " · ".join(printable(figure) for figure in node.figures if figure)
    between = " " if node.what.startswith("[") else ": "
    text = between.join(part for part in (printable(node.what), printable(node.text)) if part)
    for i, line in enumerate(_fitted(text, figures, node.what == "answer", width, len(first))):
        yield (rest if i else first) + line, node
    for i, child in enumerate(node.children):
        last = i == len(node.children) - 1
        branch, trunk = ("└─ ", "   ") if last else ("├─ ", "│  ")
        yield from _lines(child, rest + branch, rest + trunk, width)


def _fitted(text: str, figures: str, whole: bool, width: int | None, used: int) -> list[str]:
    """A line within what is left of the width; where that is too little, the text gives way."""
    tail = f"  ({figures})" if figures else ""
    if width is None:
        return [text + tail]
    room = max(20, width - used)
    if whole:
        return textwrap.wrap(text, room) or [""]
    return [cut(cut(text, max(room // 2, room - columns(tail))) + tail, room)]


def columns(text: str) -> int:
    """How many columns of a terminal a text takes: East Asian wide characters take two."""
    return sum(_columns(char) for char in text)


def _columns(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut(text: str, room: int) -> str:
    """A text that takes at most so many columns."""
    if columns(text) <= room:
        return text
    taken = 0
    for i, char in enumerate(text):
        taken += _columns(char)
        if taken > room - 1:
            return text[:i] + "…"
    return text
