"""The sentences of the evidence that could be quoted, each with what it is about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from agent.evidence import is_heading, split_sentences
from agent.evidence.instructions import find_instruction
from agent.outside import Excerpt

_MARKER = re.compile(r"(?:[-*+•‣–]|\d{1,3}[.)]|>)\s+")


class Line(NamedTuple):
    """A sentence, where it stands, and what it is about without saying so."""

    source: int
    title: str
    passage: int  # of its source
    at: int  # in its passage
    text: str
    heading: str
    before: str  # the sentence before it
    start: int  # where it stands in its passage
    whole: str  # the passage


def quotable_lines(evidence: Sequence[Excerpt]) -> list[Line]:
    """Every sentence of the evidence that could be quoted, in order, under its heading.

    A passage that is only a heading is that of the next passage.
    """
    found: list[Line] = []
    for excerpt in evidence:
        excerpt = excerpt.model_copy(update={"title": _plain_title(excerpt)})
        above = ""
        for number, passage in enumerate(excerpt.passages):
            if is_heading(passage):
                above = passage.strip("#* :")
                continue
            found.extend(_passage_lines(excerpt, number, passage, above))
            above = ""
    return found


def _plain_title(excerpt: Excerpt) -> str:
    """A title without the name of the site behind it: words that its page does not use."""
    parts = re.split(r"\s[-—|·]\s", excerpt.title)
    site = parts[-1].casefold()
    said = " ".join(excerpt.passages).casefold()
    if len(parts) < 2 or len(site.split()) > 3 or site in said:
        return excerpt.title
    return excerpt.title[: excerpt.title.rindex(parts[-1])].rstrip(" -—|·")


def _passage_lines(excerpt: Excerpt, number: int, passage: str, heading: str) -> list[Line]:
    found: list[Line] = []
    before = ""
    speaks = find_instruction(passage) is not None
    for at, (start, end) in enumerate(split_sentences(passage)):
        text = passage[start:end]
        if _is_heading_of(text, passage[end : end + 1]):
            heading, before = text.strip("#* :"), ""
            continue
        if mark := _MARKER.match(text):
            text, start = text[mark.end() :], start + mark.end()
        if speaks and find_instruction(text):
            continue  # addressed to a model: nothing to quote
        if any(char.isalnum() for char in text) and not text.startswith("^"):  # not a footnote
            about = (excerpt.source, excerpt.title, number, at)
            found.append(Line(*about, text, heading, before, start, passage))
            before = text
    return found


def _is_heading_of(text: str, following: str) -> bool:
    return is_heading(text) and (following == "\n" or text.startswith(("#", "**")))
