"""A tree as lines of text for a terminal."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterator

from agent.state.sanitizing import sanitize_for_display
from agent.trace.values import Node

MIN_WIDTH = 20  # columns of a line, however deep its node


def render_lines(node: Node, width: int | None) -> Iterator[tuple[str, Node]]:
    """Render a tree as lines without control characters, each with its node.

    `width`, in columns: lines are truncated to it, but the answer is wrapped. None: no limit.
    """
    yield from _render_node(node, "", "", width)


def _render_node(
    node: Node, prefix: str, rest_prefix: str, width: int | None
) -> Iterator[tuple[str, Node]]:
    """`prefix`: the branches before the node's first line; `rest_prefix`: before all others."""
    figures = " · ".join(sanitize_for_display(figure) for figure in node.figures if figure)
    separator = " " if node.label.startswith("[") else ": "
    text = separator.join(filter(None, map(sanitize_for_display, (node.label, node.text))))
    room = None if width is None else max(MIN_WIDTH, width - len(prefix))
    for i, line in enumerate(_fit_lines(text, figures, room, wrap=node.label == "answer")):
        yield (rest_prefix if i else prefix) + line, node
    for i, child in enumerate(node.children):
        is_last = i == len(node.children) - 1
        branch, trunk = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
        yield from _render_node(child, rest_prefix + branch, rest_prefix + trunk, width)


def _fit_lines(text: str, figures: str, room: int | None, *, wrap: bool) -> list[str]:
    """The text with its figures as lines of `room` columns; the text is truncated first."""
    tail = f"  ({figures})" if figures else ""
    if room is None:
        return [text + tail]
    if wrap:
        return textwrap.wrap(text, room) or [""]
    return [truncate(truncate(text, max(room // 2, room - display_width(tail))) + tail, room)]


def display_width(text: str) -> int:
    """The columns of a text in a terminal: wide East Asian characters take two."""
    return sum(_char_width(char) for char in text)


def _char_width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def truncate(text: str, width: int) -> str:
    """Truncate a text to this many columns, with an ellipsis at the end if it is longer."""
    if display_width(text) <= width:
        return text
    used = 0
    for i, char in enumerate(text):
        used += _char_width(char)
        if used > width - 1:
            return text[:i] + "…"
    return text
