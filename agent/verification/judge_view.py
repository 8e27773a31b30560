"""What a judge is shown of a page: the sentences with quotes, one on each side, headings above."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from agent.evidence import is_heading, split_sentences
from agent.evidence.sentences import Span
from agent.state import Page, Quote

SEARCHED_ABOVE = 200  # sentences above in which headings are looked for
LEVELS = 8  # one more than headings have; a line that looks like one is below all


class QuotePlace(NamedTuple):
    """The place of a quote: offsets into the text of a page with this title."""

    text: str
    title: str
    start: int
    end: int
    is_retracted: bool = False  # the page is a retracted work
    source: int = 0  # its number

    @property
    def quote(self) -> str:
        """The words of the quote."""
        return self.text[self.start : self.end]

    @property
    def context(self) -> str:
        """What a judge is shown of it: title, headings, the sentences around."""
        around = spans_around(self.text, [(self.start, self.end)])
        return "\n".join((self.title, *(self.text[a:b] for _, (a, b) in around)))


def text_around_quotes(page: Page, quotes: Iterable[Quote]) -> tuple[str, ...]:
    """The sentences of a page that hold quotes, and one on each side, neighbours joined.

    With them the headings above.
    """
    pieces: list[Span] = []
    last = -1
    for i, span in spans_around(page.text, ((quote.start, quote.end) for quote in quotes)):
        joins = pieces and i - 1 == last
        pieces[-1:] = [(pieces[-1][0], span[1])] if joins else [*pieces[-1:], span]
        last = i
    return tuple(page.text[a:b] for a, b in pieces)


def spans_around(text: str, spans: Iterable[Span]) -> list[tuple[int, Span]]:
    """The sentences that are shown for some parts of a text, each with its number, in order."""
    sentences = split_sentences(text)
    shown: set[int] = set()
    for start, end in spans:
        quoted = [i for i, (a, b) in enumerate(sentences) if a < end and start < b]
        shown.update(range(min(quoted, default=0) - 1, max(quoted, default=-1) + 2))
        headings = set(_headings_above(text, start))
        shown.update(i for i, span in enumerate(sentences) if span in headings)
    return [(i, sentences[i]) for i in sorted(shown & set(range(len(sentences))))]


def _headings_above(text: str, at: int) -> Iterator[Span]:
    """The places of the headings above a sentence, the nearest first, each of a higher level."""
    level, above = LEVELS, [span for span in split_sentences(text) if span[1] <= at]
    for start, end in reversed(above[-SEARCHED_ABOVE:]):
        line = text[start:end]
        is_alone = {text[end : end + 1], text[max(0, start - 1) : start]} <= {"", "\n"}
        own = len(line) - len(line.lstrip("#")) or LEVELS - 1
        if own < level and is_alone and is_heading(line):
            level = own
            yield start, end
