"""An answer as a message of a chat: Markdown, and where in it which source is cited."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from agent.answer.answer_view import show_on_terminal
from agent.answer.markdown_renderer import render_message
from agent.answer.messages import group_by_source, shown_title

if TYPE_CHECKING:
    from agent.answer.schema import Answer, Citation

#: A mark, linked or not. No foreign text holds a bracket that is not escaped.
_MARK = re.compile(r"(?<!\\)\[(?:\\\[(\d+)\\\]\]\(<[^>]*>\)|(\d+)\])")
_RUN = re.compile(r"\brun ([0-9]{8}T[0-9A-Za-z-]{1,80})")


class SourceMark(NamedTuple):
    """A mark of a source: the characters from `start` to `end` of the message."""

    start: int
    end: int
    citation: Citation  # the first of its source


class ChatMessage(NamedTuple):
    """What a chat shows of an answer: the text, its marks, and the quotes of each source."""

    text: str
    marks: tuple[SourceMark, ...]
    sources: tuple[tuple[Citation, ...], ...]


def write_chat_message(answer: Answer) -> ChatMessage:
    """The answer as a terminal shows it, in Markdown. It ends with the name of its run."""
    by_source = group_by_source(answer.citations)
    links = {number: quotes[0].link for number, quotes in by_source.items()}
    text = render_message(show_on_terminal(answer).head, links)
    marks = tuple(_find_marks(text, {n: quotes[0] for n, quotes in by_source.items()}))
    return ChatMessage(text, marks, tuple(map(tuple, by_source.values())))


def _find_marks(text: str, cited: dict[int, Citation]) -> Iterator[SourceMark]:
    for mark in _MARK.finditer(text):
        if first := cited.get(int(mark[1] or mark[2])):
            yield SourceMark(mark.start(), mark.end(), first)


def source_title(citation: Citation) -> str:
    """What a chat calls a source."""
    return shown_title(citation) or citation.url


def find_run_name(text: str) -> str | None:
    """The name of the run that a message of a chat ends with; None where it has none."""
    return next(reversed(_RUN.findall(text)), None)
