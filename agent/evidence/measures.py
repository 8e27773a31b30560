"""Sentences of two pages that count or measure one thing, with different results."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import dropwhile, islice, takewhile
from typing import NamedTuple

from agent.evidence.copies import Rival, find_rivals
from agent.evidence.names import find_names
from agent.evidence.quantities import (
    Number,
    find_years,
    missing_quantities,
    read_quantities,
)
from agent.evidence.quoting import anchor_quote, quoted_sentences
from agent.evidence.selection import is_row
from agent.evidence.sentences import split_sentences
from agent.evidence.words import content_words
from agent.state import Quote, Source

LONGEST_COMPARED = 500  # characters of a sentence
LONGEST_PAGE = 100_000  # characters of a page that are compared
MOST = 20  # sentences of a page that are compared
NEAR = 40  # characters behind a number that tell what it counts
ROOT = 5  # letters: `employs` and `employees` are of one word


class _Measure(NamedTuple):
    text: str
    counted: frozenset[str]  # stems of what is counted
    verb: frozenset[str]  # that of the word before the number, which may be the verb
    unit: str
    value: float
    rough: str  # `least`, `under` and so on

    def allows(self, other: _Measure) -> bool:
        """Whether it is a least number and the other one a most that is no smaller."""
        is_range = self.rough in ("over", "least") and other.rough in ("under", "most")
        return is_range and self.value <= other.value

    def is_alike(self, other: _Measure) -> bool:
        """Whether both count things of one name, or one tells by its verb what the other counts."""
        pairs = (
            (self.counted, other.counted),
            (self.verb, other.counted),
            (self.counted, other.verb),
        )
        return self.unit == other.unit and any(_share_root(*pair) for pair in pairs)


def find_disagreements(quotes: Iterable[Quote], sources: Sequence[Source]) -> list[Rival]:
    """The quoted sentences against which another source has another number, each pair once.

    A work that was retracted stands against nothing.
    """
    sources = [source for source in sources if not source.hit.is_retracted]
    standing = {source.n for source in sources}
    quotes = tuple(quote for quote in quotes if quote.source in standing)
    found: dict[frozenset[tuple[int, int]], Rival] = {}
    for rival in (*find_rivals(quotes, sources), *find_other_measures(quotes, sources)):
        pair = frozenset((side.source, side.start) for side in (rival.quote, rival.other))
        found.setdefault(pair, rival)
    return list(found.values())


def find_other_measures(quotes: Iterable[Quote], sources: Sequence[Source]) -> Iterator[Rival]:
    """The sentences of other sources that give a measure of a quoted one another number.

    They are about one thing where they share a name and neither sentence has one that the other
    page does not; of one time where they name the same years, or none. A number that rounds the
    other one is no other number.
    """
    by_number = {source.n: source for source in sources}
    for quote in quotes:
        one = by_number[quote.source]
        for sentence in quoted_sentences(quote, one):
            first = sentence.text
            measures = _measures(first) if len(first) <= LONGEST_COMPARED else ()
            for other in sources if measures else ():
                for second in _find_sentences(measures, other) if other.n != one.n else ():
                    if _are_of_one_thing(one, first, other, second):
                        yield from _pair_up(sentence, one, second, other)


def _pair_up(first: Quote, one: Source, second: str, other: Source) -> Iterator[Rival]:
    for a, b in _differing_numbers(first.text, second):
        if against := anchor_quote(second, other):
            yield Rival(first, one.page.url, a, against, other.page.url, b)


def _find_sentences(measures: Sequence[_Measure], source: Source) -> Iterator[str]:
    """The first sentences of a page with a number and a word of the same root as a measure's."""
    roots = {word[:ROOT] for one in measures for word in (*one.counted, *one.verb)}
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(roots)))})", re.I)
    return islice(filter(pattern.search, _numbered_sentences(source.page.text)), MOST)


@lru_cache(maxsize=64)
def _numbered_sentences(text: str) -> tuple[str, ...]:
    begin = text[:LONGEST_PAGE]
    sentences = (begin[start:end] for start, end in split_sentences(begin))
    return tuple(s for s in sentences if len(s) <= LONGEST_COMPARED and re.search(r"\d", s))


def _are_of_one_thing(one: Source, first: str, other: Source, second: str) -> bool:
    """Whether two sentences name one thing and one time, as far as they and their titles tell."""
    if set(find_years(first)) != set(find_years(second)):
        return False
    own, theirs = _names(first), _names(second)
    shared = (own | _names(one.page.title)) & (theirs | _names(other.page.title))
    ours, others = (
        set(content_words(f"{a.page.title} {b}")) for a, b in ((one, first), (other, second))
    )
    return bool(shared) and own <= others and theirs <= ours


@lru_cache(maxsize=256)
def _names(text: str) -> frozenset[str]:
    return frozenset(word for name in find_names(text) for word in content_words(name))


def _differing_numbers(first: str, second: str) -> Iterator[tuple[str, str]]:
    """The numbers of one measure of which neither sentence holds the other's."""
    ours, theirs = _measures(first), _measures(second)
    missing = missing_quantities(first, (second,)), missing_quantities(second, (first,))
    for a in ours:
        for b in theirs:
            is_range = a.allows(b) or b.allows(a)
            if a.is_alike(b) and not is_range and a.text in missing[0] and b.text in missing[1]:
                yield a.text, b.text


@lru_cache(maxsize=256)
def _measures(sentence: str) -> tuple[_Measure, ...]:
    """The numbers of a sentence that count or measure something it names; none of a row's.

    What the cells of two tables are of, their columns do not tell.
    """
    found = []
    for number in () if is_row(sentence) else read_quantities(sentence):
        at = sentence.find(number.text)
        if not isinstance(number, Number) or number.is_year or number.span or at < 0:
            continue
        behind = sentence[at + len(number.text) :][:NEAR]
        before = re.findall(r"[^\W\d_]+", sentence[:at])[-1:]
        unit = number.unit.dimension if number.unit else ""
        counted = frozenset(_first_words(behind)) - _names(sentence)
        verb = frozenset(content_words(" ".join(before))) - _names(sentence)
        if counted:
            value = number.values[0]
            found.append(_Measure(number.text, counted, verb, unit, value, number.rough))
    return tuple(found)


def _first_words(text: str) -> list[str]:
    """The stems of the first words that tell something, up to one that does not, or a sign."""
    words = re.findall(r"[^\W_]+|[,;:()]", text)
    told = dropwhile(lambda word: not content_words(word), words)
    return [stem for word in takewhile(content_words, told) for stem in content_words(word)]


def _share_root(own: frozenset[str], theirs: frozenset[str]) -> bool:
    roots = {word[:ROOT] for word in theirs if len(word) >= ROOT}
    return bool(own & theirs) or any(word[:ROOT] in roots for word in own if len(word) >= ROOT)
