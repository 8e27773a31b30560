"""Links that open a page at a quote: text fragments, made so that a browser finds them.

What a browser does with one is in https://wicg.github.io/scroll-to-text-fragment/; what of it
matters here was seen in Chromium (`python -m evals.links`): words that are named must stand in one
block, without a line break, a footnote or an inline block between them, begin and end at borders of
words, and the first place that fits is opened. So few words are named: some of the quote's first,
enough to be the only ones of their kind on the page, and its last.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import quote as percent

from agent.evidence import CJK, Span, is_heading

#: Words that are named at least, where a piece of the quote has so many: fewer are often found in
#: a menu above the text, more run into footnotes. Found by `python -m evals.links`.
FIRST, LAST = 4, 2
MOST = 12  # words
LETTERS = 5  # of the only words of their kind; a shorter cell is found elsewhere on the page
NEAR = 200  # characters before and after a quote in which its neighbours are looked for
AHEAD = 800  # characters before a quote from which it is still in view, in a table

#: Where stored text may have a border of blocks, a line break or a footnote of the page.
_BREAK = re.compile(r"\n+| \| |; |(?<=[:)\]])[ ]|(?<=[.!?…][\"”’»')\]])[ ]|(?<=\w\w[.!?…])[ ]")
#: Chinese, Japanese and Korean have no blanks: a browser knows the borders of their clauses.
_TOKEN = re.compile(r"[^\s。，、；：！？]+[。，、；：！？」』）”’]*")
_CJK = re.compile(f"[{CJK}]")
_MARK = re.compile("[\u0300-\u036f\u0610-\u061a\u064b-\u065f\u0670\u0640\u0591-\u05c7]")
_WORDS = re.compile(r"\w+")


class Terms(NamedTuple):
    """What a text fragment names: words, and where needed those just before and after them."""

    start: Span
    end: Span | None = None
    prefix: Span | None = None
    suffix: Span | None = None


def link(url: str, text: str, start: int = 0, end: int | None = None) -> str:
    """The URL that opens a page at `text[start:end]`, where `text` is the page's stored text."""
    base, given = url.split(":~:")[0], terms(text, start, len(text) if end is None else end)
    if given is None:
        return base
    directives = [given]
    if given.prefix or given.suffix:  # the page may have something in between: then without them
        directives.append(Terms(given.start, given.end))
    named = "&".join(f"text={','.join(_written(text, one))}" for one in directives)
    return f"{base}{'' if '#' in base else '#'}:~:{named}"


def _written(text: str, given: Terms) -> Iterator[str]:
    def encoded(span: Span) -> str:
        return percent(" ".join(text[slice(*span)].split()), "", errors="replace").replace(
            "-", "%2D"
        )

    if given.prefix:
        yield f"{encoded(given.prefix)}-"
    yield encoded(given.start)
    if given.end:
        yield encoded(given.end)
    if given.suffix:
        yield f"-{encoded(given.suffix)}"


def terms(text: str, start: int, end: int) -> Terms | None:
    """What to name of a quote; None where it has no word.

    The first words that are alone of their kind on the page; where none are, those that are with
    their neighbours. A heading is never alone: the page's own contents name it too.
    """
    runs = list(_runs(text, start, end))
    if not runs:
        return None
    page = plain(text)
    for run in (run for run in runs if not _titles(text, run)):
        if words := _alone_in(page, text, run):
            return Terms(words, _last(text, words, runs[-1]))
    return _among_neighbours(text, runs)


def _titles(text: str, run: Sequence[Span]) -> bool:
    """Whether a run is a heading."""
    start, end = text.rfind("\n", 0, run[0][0]) + 1, text.find("\n", run[-1][1])
    return is_heading(text[start : end if end >= 0 else len(text)])


def _growing(run: Sequence[Span], text: str) -> Iterator[Span]:
    """The first words of a run: some, then ever more."""
    size = 0
    for n, (start, end) in enumerate(run[:MOST], 1):
        size += 1 + len(_CJK.findall(text, start, end)) // 2
        if size >= FIRST or n == len(run):
            yield run[0][0], end


def _last(text: str, first: Span, run: Sequence[Span]) -> Span | None:
    """The last words of a quote that lie beyond its first, such as do not stand between."""
    beyond = [word for word in run if word[0] >= first[1]]
    chosen = None
    for count in range(min(LAST, len(beyond)), min(len(beyond), MOST) + 1):
        if count:
            chosen = beyond[-count][0], beyond[-1][1]
            if plain(text[first[1] : chosen[1]]).count(plain(text[slice(*chosen)])) == 1:
                break
    return chosen


def _among_neighbours(text: str, runs: Sequence[Sequence[Span]]) -> Terms:
    """The longest words of a quote, told from others of their kind by what stands around them."""
    page = plain(text)
    tries = [_with_neighbours(text, run) for run in runs]
    tries.sort(key=lambda t: t.start[0] - t.start[1])
    for words, _, left, right in tries:
        if left and _alone(page, text, left, words):
            return Terms(words, _last(text, words, runs[-1]), left)
        if right and _alone(page, text, words, right):
            return Terms(words, None, None, right)
    start = runs[0][0][0]
    before = [_alone_in(page, text, run) for run in _runs(text, max(0, start - AHEAD), start)]
    found = [words for words in before if words]
    last = runs[-1][-MOST:]
    return Terms(found[-1], (last[0][0], last[-1][1])) if found else Terms(tries[0].start)


def _alone_in(page: str, text: str, run: Sequence[Span]) -> Span | None:
    """The first words of a run that are alone of their kind on the page."""
    for words in _growing(run, text):
        if len(plain(text[slice(*words)])) >= LETTERS + 2 and _alone(page, text, words):
            return words
    return None


def _with_neighbours(text: str, run: Sequence[Span]) -> Terms:
    start, end = run[0][0], run[:MOST][-1][1]
    left = list(_runs(text, max(0, start - NEAR), start))
    right = list(_runs(text, end, end + NEAR))
    return Terms(
        (start, end),
        None,
        (left[-1][-FIRST:][0][0], left[-1][-1][1]) if left else None,
        (right[0][0][0], right[0][:FIRST][-1][1]) if right else None,
    )


def _alone(page: str, text: str, *spans: Span) -> bool:
    """Whether a page has these words, one after the other, only once."""
    words = " ".join(plain(text[slice(*span)]).strip() for span in spans)
    return page.count(f" {words} ") == 1


def _runs(text: str, start: int, end: int) -> Iterator[list[Span]]:
    """The whole words of each piece of a text that is one block of its page, as far as is known.

    Stored text has a line for a block and for a row of cells.
    """
    low = max(text.rfind("\n", 0, start + 1) + 1, start - NEAR, 0)
    high = text.find("\n", end, end + NEAR)
    high = min(high if high >= 0 else end + NEAR, len(text))
    borders = [m.span() for m in _BREAK.finditer(text, low, high)]
    for (_, at), (to, _) in pairwise([(low, low), *borders, (high, high)]):
        tokens = (m.span() for m in _TOKEN.finditer(text, at, to))
        run = [(a, b) for a, b in tokens if a < end and b > start]
        while run and not plain(text[slice(*run[0])]).strip():
            run.pop(0)  # the mark of a list
        if run:
            yield run


@lru_cache(maxsize=64)
def plain(text: str) -> str:
    """A text as a browser compares it: words without case, marks and signs, blanks around each."""
    bare = _MARK.sub("", unicodedata.normalize("NFKD", text)).casefold()
    return f" {' '.join(_WORDS.findall(bare))} "
