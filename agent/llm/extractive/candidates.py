"""The sentences of the evidence that could be quoted, each with its title and heading."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from agent.evidence import content_words, is_heading, is_row, split_sentences
from agent.evidence.language import CLOSING, ends_as_question, language_of
from agent.evidence.prompt_injection import find_instruction
from agent.evidence.proper_names import find_question_names
from agent.evidence.words import count_words
from agent.state import RETRACTED, Excerpt

_MARK = re.compile(r"^(?:[-*+•‣–>]|\d{1,3}[.)])\s+")
_FIELD = re.compile(r":\**\s+\S|：")
STOPS = tuple(".!。！।۔")
FEWEST_WORDS = 4  # of a line without a stop; fewer are a label


class Question(NamedTuple):
    """A question: its content words, each once, in its language; `exact`: its names and numbers."""

    text: str
    words: tuple[str, ...]
    language: str
    exact: tuple[frozenset[str], ...]

    def read(self, text: str) -> list[str]:
        """The content words of a text, as those of this question are read."""
        return content_words(text, self.language)


@lru_cache(maxsize=64)
def read_question(text: str) -> Question:
    """A question with its words."""
    text = " ".join(text.split())[:2000]
    language = language_of(text)
    words = tuple(dict.fromkeys(content_words(text, language.tag)))
    names = find_question_names(text, language.stop)
    if language.has_noun_capitals:
        names = [name for name in names if " " in name]
    exact = [content_words(name, language.tag) for name in names]
    exact += [[word] for word in words if any(map(str.isdigit, word))]
    return Question(text, words, language.tag, tuple(map(frozenset, filter(None, exact))))


class Line(NamedTuple):
    """A sentence, and its place."""

    source: int
    title: str
    passage: int  # of its source
    at: int  # in its passage
    text: str
    heading: str
    is_whole: bool = False  # it is a whole line of the page
    is_below: bool = False  # right below the line before it

    @property
    def about(self) -> str:
        """The line with its title and its heading."""
        return f"{self.title} {self.heading} {self.text}"

    @property
    def is_label(self) -> bool:
        """Whether it states nothing by itself: a few words, what opens a list, a question."""
        text = self.text.rstrip(CLOSING)
        is_short = count_words(text) < FEWEST_WORDS and not text.endswith(STOPS)
        is_field = is_row(text) or _FIELD.search(text)
        return text.endswith((":", "：")) or ends_as_question(text) or (is_short and not is_field)

    def is_beside(self, other: Line) -> bool:
        """Whether it is right before or after another one."""
        return self[:3] == other[:3] and abs(self.at - other.at) == 1


def read_lines(evidence: Sequence[Excerpt]) -> list[Line]:
    """Every sentence that could be quoted, in order; none of what was retracted.

    What gives orders to a model is left out.
    """
    lines: list[Line] = []
    for excerpt in (one for one in evidence if not one.title.startswith(RETRACTED)):
        heading = ""
        for number, passage in enumerate(excerpt.passages):
            for line in _read_passage(excerpt, number, passage, heading):
                heading = line.heading
                lines += [line] if line.text else []
    return lines


def _read_passage(excerpt: Excerpt, number: int, passage: str, heading: str) -> Iterator[Line]:
    title, speaks = _drop_site(excerpt.title), find_instruction(passage) is not None
    is_first = True
    for at, (start, end) in enumerate(split_sentences(passage)):
        text = passage[start:end]
        before = passage[:start].rstrip(" ")[-2:]
        is_whole = before[-1:] in ("", "\n") and passage[end : end + 1] in ("", "\n")
        if is_whole and is_heading(text) and not _FIELD.search(text):
            yield Line(excerpt.source, title, number, at, "", heading := text.strip("#* :"))
            is_first = True
            continue
        text = _MARK.sub("", text, count=1)
        if any(map(str.isalnum, text)) and not (speaks and find_instruction(text)):
            is_below = before != "\n\n" and not is_first
            yield Line(excerpt.source, title, number, at, text, heading, is_whole, is_below)
            is_first = False


def _drop_site(title: str) -> str:
    parts = re.split(r"\s[-—|·]\s", title)
    is_site = len(parts) > 1 and len(parts[-1].split()) < 4
    return title[: title.rindex(parts[-1])].rstrip(" -—|·") if is_site else title
