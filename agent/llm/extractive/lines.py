"""The sentences of the evidence that could be quoted, each with what it is about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from agent.evidence import is_heading, is_row, split_sentences
from agent.evidence.instructions import find_instruction
from agent.evidence.language import CLOSING, ends_as_question
from agent.evidence.words import count_words
from agent.outside import Excerpt
from agent.outside.contract import RETRACTED

_MARKER = re.compile(r"(?:[-*+•‣–>]|\d{1,3}[.)])\s+")
_OPENS_LIST = (":", "：")
_LEADERS = "....."  # before the number of a page, in a table of contents
FEWEST_WORDS = 4  # of a line without a stop; fewer are a label


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
    mark: str = ""  # of a list, before it: `- `, `2. `

    @property
    def context(self) -> str:
        """The sentence with what stands above and before it."""
        return f"{self.title} {self.heading} {self.before} {self.text}"

    def follows(self, other: Line) -> bool:
        """Whether it stands right behind another one."""
        return self[:3] == other[:3] and self.at == other.at + 1

    @property
    def is_listed(self) -> bool:
        """Whether it is of a list: an item, or what says of what the list behind it is."""
        return bool(self.mark) or self.text.endswith(_OPENS_LIST)

    def goes_on_list(self, other: Line) -> bool:
        """Whether it is the next item of the list that another line is of, or ends its item."""
        inline = "\n" not in self.whole[other.start + len(other.text) : self.start]
        return self.follows(other) and other.is_listed and (bool(self.mark) or inline)


def quotable_lines(evidence: Sequence[Excerpt]) -> list[Line]:
    """Every sentence that could be quoted, in order, under its heading; none that was retracted.

    A passage that is only a heading is that of the next passage.
    """
    found: list[Line] = []
    for excerpt in (e for e in evidence if not e.title.startswith(RETRACTED)):
        excerpt = excerpt.model_copy(update={"title": _drop_site(excerpt)})
        above = ""
        for number, passage in enumerate(excerpt.passages):
            if is_heading(passage):
                above = passage.strip("#* :")
                continue
            found.extend(_passage_lines(excerpt, number, passage, above))
            above = ""
    return found


def _drop_site(excerpt: Excerpt) -> str:
    """A title without the name of the site behind it: words that its page does not use."""
    parts = re.split(r"\s[-—|·]\s", excerpt.title)
    site = parts[-1].casefold()
    said = " ".join(excerpt.passages).casefold()
    if len(parts) < 2 or len(site.split()) > 3 or site in said:
        return excerpt.title
    return excerpt.title[: excerpt.title.rindex(parts[-1])].rstrip(" -—|·")


def _passage_lines(excerpt: Excerpt, number: int, passage: str, heading: str) -> Iterator[Line]:
    before = ""
    speaks = find_instruction(passage) is not None
    for at, (start, end) in enumerate(split_sentences(passage)):
        text, mark = passage[start:end], ""
        if _is_heading_of(text, passage[:start][-1:], passage[end : end + 1]):
            heading, before = text.strip("#* :"), ""
            continue
        if found := _MARKER.match(text):
            text, start = text[found.end() :], start + found.end()
            mark = found[0] if found[0][0].isdigit() else "- " * (found[0][0] != ">")
        if speaks and find_instruction(text):
            continue  # addressed to a model: nothing to quote
        is_pointer = text.startswith("^") or _LEADERS in text  # a footnote, a line of contents
        if any(char.isalnum() for char in text) and not is_pointer:
            about = (excerpt.source, excerpt.title, number, at)
            yield Line(*about, text, heading, before, start, passage, mark)
            before = text


def _is_heading_of(text: str, before: str, following: str) -> bool:
    """Whether a text stands above what follows: a heading, or a question on a line of its own."""
    is_alone = following == "\n" and before in ("", "\n")
    is_marked = text.startswith(("#", "**"))
    return (is_heading(text) and (following == "\n" or is_marked)) or (
        is_alone and ends_as_question(text)
    )


def is_label(line: Line) -> bool:
    """Whether a line tells nothing by itself: a heading, the head of a table or a list, a word."""
    text = line.text.rstrip(CLOSING)
    if text.endswith(_OPENS_LIST):
        return True
    if is_row(text):
        above = line.whole[: line.start].rstrip("\n").rpartition("\n")[2]
        return not is_row(above) and not any(map(str.isdigit, text))
    return count_words(text) < FEWEST_WORDS and not text.endswith((".", "!", "。", "！", "।", "۔"))
