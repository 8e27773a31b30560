"""Links that open a page at a quote: text fragments, chosen so that a browser finds them.

The format is https://wicg.github.io/scroll-to-text-fragment/. In Chromium the named words must be
in one block, without line break, footnote or inline block between them, and begin and end at word
borders; the first match is opened. So a link names the first words of the quote, as many as are
unique on the page, and the last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice, pairwise
from typing import NamedTuple
from urllib.parse import quote as percent

from agent.evidence import CJK_CHARACTER, Span, is_heading
from agent.evidence.words import normalize

#: The least number of words to name, if the quote has so many. Fewer are often found in a menu
#: above the text, more run into footnotes.
FIRST, LAST = 4, 2
MOST = 12  # words
LETTERS = 5  # the least length of unique words: a shorter cell is found elsewhere on the page
NEAR = 200  # characters before and after a quote that are searched for its neighbours
MOST_RUNS = 60  # of a quote, or before it, that are looked for on the page
LONGEST = 5000  # characters of a quote within which the words to name are
AHEAD = 800  # characters before a quote from which it is still in view, in a table

#: Places in stored text where the page may have a block border, a line break or a footnote.
_BREAK = re.compile(r"\n+| \| |; |(?<=[:)\]])[ ]|(?<=[.!?…][\"”’»')\]])[ ]|(?<=\w\w[.!?…])[ ]")
#: Chinese, Japanese and Korean have no blanks: a browser knows the borders of their clauses.
_TOKEN = re.compile(r"[^\s。，、；：！？]+[。，、；：！？」』）”’]*")
_MARK = re.compile("[\u0300-\u036f\u0610-\u061a\u064b-\u065f\u0670\u0640\u0591-\u05c7]")
_WORDS = re.compile(r"\w+")


class TextFragment(NamedTuple):
    """The spans that a text fragment names: start, end, and neighbours where they are needed."""

    start: Span
    end: Span | None = None
    prefix: Span | None = None
    suffix: Span | None = None


def quote_link(url: str, text: str, start: int = 0, end: int | None = None) -> str:
    """The URL that opens a page at `text[start:end]`, where `text` is the page's stored text.

    The address of a document of a corpus, which no browser opens, stays as it is.
    """
    if url.startswith("corpus:"):
        return url
    base = url.partition(":~:")[0]
    given = choose_fragment(text, start, len(text) if end is None else end)
    if given is None:
        return base
    directives = [given]
    if given.prefix or given.suffix:  # the page may have something in between: then without them
        directives.append(TextFragment(given.start, given.end))
    named = "&".join(f"text={','.join(_write_directive(text, one))}" for one in directives)
    return f"{base}{'' if '#' in base else '#'}:~:{named}"


def _write_directive(text: str, given: TextFragment) -> Iterator[str]:
    def encode(span: Span) -> str:
        words = " ".join(text[slice(*span)].split())
        return percent(words, "", errors="replace").replace("-", "%2D")

    if given.prefix:
        yield f"{encode(given.prefix)}-"
    yield encode(given.start)
    if given.end:
        yield encode(given.end)
    if given.suffix:
        yield f"-{encode(given.suffix)}"


def choose_fragment(text: str, start: int, end: int) -> TextFragment | None:
    """The words of a quote to name; None if it has no word.

    Its first words that occur once on the page, else words that do with their neighbours. A heading
    is not unique: the table of contents has it too.
    """
    runs = list(islice(_block_runs(text, start, min(end, start + LONGEST)), MOST_RUNS))
    if not runs:
        return None
    page = browser_words(text)
    for run in (run for run in runs if not _is_title(text, run)):
        if words := _unique_prefix(page, text, run):
            return TextFragment(words, _last_words(text, words, runs[-1]))
    return _fragment_with_neighbours(text, runs)


def _is_title(text: str, run: Sequence[Span]) -> bool:
    start, end = text.rfind("\n", 0, run[0][0]) + 1, text.find("\n", run[-1][1])
    return is_heading(text[start : end if end >= 0 else len(text)])


def _growing_prefixes(run: Sequence[Span], text: str) -> Iterator[Span]:
    size = 0
    for n, (start, end) in enumerate(run[:MOST], 1):
        size += 1 + len(CJK_CHARACTER.findall(text, start, end)) // 2
        if size >= FIRST or n == len(run):
            yield run[0][0], end


def _last_words(text: str, first: Span, run: Sequence[Span]) -> Span | None:
    """The last words of a quote, beyond `first`, that occur once between there and its end."""
    beyond = [word for word in run if word[0] >= first[1]]
    chosen = None
    for count in range(min(LAST, len(beyond)), min(len(beyond), MOST) + 1):
        if count:
            chosen = beyond[-count][0], beyond[-1][1]
            words = browser_words(text[slice(*chosen)])
            if browser_words(text[first[1] : chosen[1]]).count(words) == 1:
                break
    return chosen


def _fragment_with_neighbours(text: str, runs: Sequence[Sequence[Span]]) -> TextFragment:
    """A fragment of the longest run of a quote, made unique by its neighbours."""
    page = browser_words(text)
    tries = [_neighbours_of(text, run) for run in runs]
    tries.sort(key=lambda t: t.start[0] - t.start[1])
    for words, _, left, right in tries:
        if left and _occurs_once(page, text, left, words):
            return TextFragment(words, _last_words(text, words, runs[-1]), left)
        if right and _occurs_once(page, text, words, right):
            return TextFragment(words, None, None, right)
    start = runs[0][0][0]
    before = list(_block_runs(text, max(0, start - AHEAD), start))[-MOST_RUNS:]
    found = list(filter(None, (_unique_prefix(page, text, run) for run in before)))
    last = runs[-1][-MOST:]
    return TextFragment(found[-1], _hull(last)) if found else TextFragment(tries[0].start)


def _unique_prefix(page: str, text: str, run: Sequence[Span]) -> Span | None:
    for words in _growing_prefixes(run, text):
        is_long = len(browser_words(text[slice(*words)])) >= LETTERS + 2
        if is_long and _occurs_once(page, text, words):
            return words
    return None


def _neighbours_of(text: str, run: Sequence[Span]) -> TextFragment:
    start, end = _hull(run[:MOST])
    before = [_hull(one[-FIRST:]) for one in _block_runs(text, max(0, start - NEAR), start)]
    after = (_hull(one[:FIRST]) for one in _block_runs(text, end, end + NEAR))
    return TextFragment((start, end), None, before[-1] if before else None, next(after, None))


def _hull(words: Sequence[Span]) -> Span:
    return words[0][0], words[-1][1]


def _occurs_once(page: str, text: str, *spans: Span) -> bool:
    words = " ".join(browser_words(text[slice(*span)]).strip() for span in spans)
    return page.count(f" {words} ") == 1


def _block_runs(text: str, start: int, end: int) -> Iterator[list[Span]]:
    """The words of each piece of a text that is probably one block of its page.

    Stored text has one line for each block and for each row of cells.
    """
    low = max(text.rfind("\n", 0, start + 1) + 1, start - NEAR, 0)
    high = text.find("\n", end, end + NEAR)
    high = min(high if high >= 0 else end + NEAR, len(text))
    borders = [m.span() for m in _BREAK.finditer(text, low, high)]
    for (_, at), (to, _) in pairwise([(low, low), *borders, (high, high)]):
        tokens = (m.span() for m in _TOKEN.finditer(text, at, to))
        run = [(a, b) for a, b in tokens if a < end and b > start]
        while run and not browser_words(text[slice(*run[0])]).strip():
            run.pop(0)  # the mark of a list
        if run:
            yield run


@lru_cache(maxsize=32)
def browser_words(text: str) -> str:
    """A text as a browser compares it: words without case, accents and punctuation."""
    bare = _MARK.sub("", normalize("NFKD", text)).casefold()
    return f" {' '.join(_WORDS.findall(bare))} "
