"""The context of a sentence on its page: what stands beside it and may turn what it says.

A page holds sentences that it does not say: it denies or doubts them, tells a story, asks what is
true, supposes, gives them to somebody else, or has withdrawn them. What tells so stands in the
title, in a heading above, in the sentence or the line before or after, in a notice at the page's
beginning or end, in the quotation marks around it. The words for it are in the tables of languages
(`turns`), by place; here is where they are looked for. A turn is no verdict: the sentence is open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice, takewhile

from agent.evidence import is_heading, split_sentences
from agent.evidence.language import language_of, turn_pattern
from agent.evidence.sentences import QUOTATION_MARKS, Span
from agent.evidence.words import count_words

LONGEST_PIECE = 400  # characters of a sentence beside, or of a title, that are read
LONGEST_LINE = 10  # words of a line beside that is no sentence of the text
LINES_AFTER = 2  # that may hold a verdict
SEARCHED_ABOVE = 200  # sentences above in which headings are looked for
LEVELS = 8  # one more than headings have; a line that looks like one is below all
FIRST, LAST = 3, 2  # sentences of a page that may be a notice about it
SPEAKERS = 2  # lines of a page that begin with a name and a colon: it is a record of what was said
_LABEL = re.compile(r"(?:[^\W\d_][^\s:：]{0,20} ?){1,3}[:：]\s?(?=\S)")
_HANDLE = re.compile(r"(?<!\w)@?[a-z]{2,}(?:_\w+|\d+)(?!\w)")
_TITLE_SIGN = re.compile(r"\s[-–—·]\s|[|:：,，【】]")
_BRACKETED = re.compile(r"[(（]([^()（）]{1,60})[)）]")


def find_turn(text: str, title: str, start: int, end: int) -> str:
    """What may turn the sentences at these offsets of a page, in its words; "" if nothing."""
    notice = _find_notice(text, title)
    is_apart = notice and notice not in text[start:end]
    turn = notice if is_apart else next(_turns_beside(text, start, end), "")
    return turn[:LONGEST_PIECE].strip("# *")


@lru_cache(maxsize=256)
def _find_notice(text: str, title: str) -> str:
    """What a page says of all its text: in its title, and in its first and last sentences."""
    tags = _languages(text)
    pieces = [text[a:b] for a, b in split_sentences(text)]
    if any(_has(part, "kinds", tags) for part in _parts_of(title[:LONGEST_PIECE], pieces[:1])):
        return title
    first, last = pieces[:FIRST], pieces[FIRST:][-LAST:]
    banners = (one for one in takewhile(_is_line, first) if _has(one, "kinds", tags))
    notices = (one for one in (*first, *last) if _has(one, "notices", tags))
    return next(banners, "") or next(notices, "")


def _parts_of(title: str, opening: list[str]) -> Iterator[str]:
    """The parts of a title. What it has in brackets tells of a page's thing, if its text does."""
    for found in _BRACKETED.finditer(title):
        if not any(found[1].casefold() in piece.casefold() for piece in opening):
            yield found[1]
    yield from filter(None, map(str.strip, _TITLE_SIGN.split(_BRACKETED.sub("", title))))


def _turns_beside(text: str, start: int, end: int) -> Iterator[str]:
    """What may turn a sentence, of all that stands beside it."""
    tags, spans = _languages(text), split_sentences(text)
    above = [span for span in spans if span[1] <= start]
    below = [text[a:b] for a, b in islice((x for x in spans if x[0] >= end), LINES_AFTER)]
    if said := _quotation_around(text, start, end) or _speaker_of(text, start):
        yield said
    headings = (text[a:b].strip("# *") for a, b in headings_above(text, start))
    yield from (line for line in headings if _has(line, "kinds", tags))
    if above:
        before = text[slice(*above[-1])]
        is_apart = "\n" in text[above[-1][1] : start]
        if _has(before, "before", tags) or (is_apart and _introduces(before, tags)):
            yield before
    if below and _has(below[0], "after", tags):
        yield below[0]
    yield from (one for one in below if _is_line(one) and _has(one, "lines", tags))


def headings_above(text: str, at: int) -> Iterator[Span]:
    """Where the headings above a sentence stand, the nearest first, each of a higher level."""
    level, above = LEVELS, [span for span in split_sentences(text) if span[1] <= at]
    for start, end in reversed(above[-SEARCHED_ABOVE:]):
        line = text[start:end]
        is_alone = {text[end : end + 1], text[max(0, start - 1) : start]} <= {"", "\n"}
        own = len(line) - len(line.lstrip("#")) or LEVELS - 1
        if own < level and is_alone and is_heading(line):
            level = own
            yield start, end


def _introduces(line: str, tags: tuple[str, ...]) -> bool:
    """Whether a line tells who says what follows, or what it is."""
    if line.rstrip().endswith((":", "：")):
        return True
    return _is_line(line) and bool(_has(line, "lines", tags) or _HANDLE.search(line))


def _is_line(piece: str) -> bool:
    """Whether a piece is no sentence of a text, but a heading, a label, a verdict or a byline."""
    return count_words(piece) <= LONGEST_LINE and not piece.endswith((".", "。", "!", "！"))


def _quotation_around(text: str, start: int, end: int) -> str:
    """The beginning of a quotation in which a sentence of a paragraph stands; "" for none."""
    line = text.rfind("\n", 0, start) + 1
    before, after = text[line:start], text[end:].partition("\n")[0]
    if before.startswith(">"):
        return before
    for opens, closes in QUOTATION_MARKS:
        at = before.rfind(opens)
        if at > before.rfind(closes) and not (opens == "“" and "„" in before):
            return before[at:]
    if before.count('"') % 2 and after.count('"') % 2:
        return before[before.rfind('"') :]
    return ""


def _speaker_of(text: str, start: int) -> str:
    """Who speaks in a paragraph that begins with a name and a colon, in a record of several."""
    line = text.rfind("\n", 0, start) + 1
    label = _LABEL.match(text, line, start)
    is_record = len(names := _labels(text)) >= SPEAKERS
    return text[line:start] if label and is_record and label[0] in names else ""


@lru_cache(maxsize=64)
def _labels(text: str) -> tuple[str, ...]:
    """The labels of lines that may be names: no word of one begins in lower case."""
    lines = islice(text.splitlines(), 5000)
    labels = {one[0] for line in lines if (one := _LABEL.match(line))}
    return tuple(one for one in labels if not any(word[0].islower() for word in one.split()))


def _languages(text: str) -> tuple[str, ...]:
    """The language of a page, and English, in which much of the web's furniture is."""
    return tuple(dict.fromkeys((language_of(text).tag, "en")))


def _has(piece: str, place: str, tags: tuple[str, ...]) -> bool:
    return any(turn_pattern(tag, place).search(piece[:LONGEST_PIECE].strip("# *")) for tag in tags)
