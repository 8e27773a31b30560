"""What the marks of a report lead to: the entries of its lists, by label and by author and year."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from agent.documents.blocks import TextBlock
from agent.documents.reports.lists import (
    OPENING,
    Entry,
    ListLine,
    SourceList,
    find_address,
    find_runs,
)
from agent.evidence.words import strip_accents
from agent.state.urls import canonical_url, is_web_url

_YEAR = re.compile(r"(?<!\d)(1[5-9]\d{2}|20\d{2})(?!\d)|\bn\.d\.")
#: Words that name an author: `Berg`, `Data`, `5mins.ai`; not `et al`, `and`, `of`.
_NAME = re.compile(r"(?:[^\W\d_a-z]|\d|[a-z]+\.[a-z])[\w.'’-]*\w|[^\W\d_a-zA-Z]")
LONGEST_TITLE = 300  # characters
AUTHORS = 300  # characters of an entry in which its authors stand
MAX_ENTRIES = 2000
MOST_ALIKE = 20  # entries of a year that have a name


class CitedAddress(NamedTuple):
    """What a marker or a link leads to: an address, or "" where the report gives none."""

    key: str  # the same for every way in which the source is named
    url: str
    title: str = ""

    @classmethod
    def of(cls, url: str, title: str = "") -> CitedAddress:
        """The source at an address; a `#name` is a note that gives none."""
        if is_web_url(url):
            return cls(canonical_url(url), url, title)
        if stated := find_address(title):
            return cls(canonical_url(stated), stated, title)
        return cls(url, "", title)


class Used(NamedTuple):
    """The labels that a text may name: surely, or by round brackets and digits behind stops."""

    sure: set[str]
    unsure: set[str]
    has_numbers: bool  # in square brackets


class Note(NamedTuple):
    """Prose below an entry of a list, which is about its source."""

    block: TextBlock
    about: CitedAddress


class References:
    """The sources that a report lists: what `[3]` is where it stands, and `(Smith, 2020)`."""

    def __init__(self, listed: Iterable[tuple[str, str, str]] = ()) -> None:
        self._given = {label.casefold(): CitedAddress.of(u, t) for label, u, t in listed}
        self._labels: dict[str, list[tuple[int, CitedAddress]]] = {}  # by their blocks
        self._heads: dict[tuple[str, str], list[tuple[set[str], CitedAddress]]] = {}
        self._count = 0

    def __bool__(self) -> bool:
        return bool(self._given or self._labels or self._heads)

    @property
    def labels(self) -> Collection[str]:
        """The labels of all entries."""
        return {*self._given, *self._labels}

    def take_lists(
        self, blocks: Sequence[TextBlock], used: Used
    ) -> list[tuple[int, TextBlock | Note]]:
        """Read the lists; returns what is left of the blocks, each with its place in the report."""
        taken: dict[int, list[tuple[ListLine, CitedAddress]]] = {}
        opening = set()
        for run in self._choose(blocks, used):
            place = run.entries[0].lines[0]
            opening.add((place.block, place.start))
            for entry in run.entries:
                address = self._add_entry(entry, place.block)
                for line in entry.lines:
                    taken.setdefault(line.block, []).append((line, address))
        left = []
        for n, block in enumerate(blocks):
            opens = (n + 1, 0) in opening
            if n in taken:
                left += [(n, rest) for rest in _cut_block(block, taken[n])]
            elif not (opens and block.kind == "paragraph" and _is_opening(block.text)):
                left.append((n, block))
        return left

    def _choose(self, blocks: Sequence[TextBlock], used: Used) -> list[SourceList]:
        """The runs that are lists of sources; those without addresses only where none has one.

        Where most addresses stand in prose, no bare number is a mark: "rated (1-4)".
        """
        runs = list(find_runs(blocks))
        listed = sum(bool(one.keys and one.url) for run in runs for one in run.entries)
        total = sum(max(block.text.count("://"), len(block.links)) for block in blocks)
        labels = used.sure | used.unsure if listed * 3 >= total else used.sure
        has_titles = sum(len(run.entries) for run in runs if run.is_whole) > 1
        chosen = [
            run
            for run in runs
            if (has_titles and run.is_whole) or run.is_cited(labels, has_marks=used.has_numbers)
        ]
        if not chosen and not self._given and used.has_numbers:
            return [run for run in runs if run.is_printed]
        return chosen

    def _add_entry(self, entry: Entry, place: int) -> CitedAddress:
        words = (word for word in entry.text.split() if "://" not in word)
        title = " ".join(words)[:LONGEST_TITLE].strip(" :-–—([")
        named = entry.keys[0] if entry.keys else entry.text[:80]
        address = CitedAddress.of(entry.url or f"#{named}", title)
        self._count += 1
        if self._count > MAX_ENTRIES:
            return address
        for key in entry.keys:
            known = self._labels.setdefault(key.casefold(), [])
            if not known or known[-1][0] != place:
                known.append((place, address))
        self._index_authors(entry.text[:AUTHORS], address)
        return address

    def _index_authors(self, text: str, address: CitedAddress) -> None:
        years = list(_YEAR.finditer(text))
        ends = next((one.end() for one in years if one.start() > 3), AUTHORS)
        names = _names(text[:ends])
        for year in {one[0] for one in years}:
            for name in names:
                alike = self._heads.setdefault((year, name), [])
                if len(alike) < MOST_ALIKE:
                    alike.append((names, address))

    def find(self, label: str, place: int = 0) -> CitedAddress | None:
        """The source with this label in the next list behind a place, or else the last before."""
        label = label.casefold()
        known = self._labels.get(label)
        if not known:
            return self._given.get(label)
        return known[min(bisect_left(known, place, key=lambda one: one[0]), len(known) - 1)][1]

    def find_by_author(self, author: str, year: str) -> CitedAddress | None:
        """The source of these authors and this year: `Smith et al.`, `Institute of Data`, `2020`.

        All names of the author stand before the year in its entry.
        """
        names = _names(author)
        alike = self._heads.get((year, min(names)), ()) if names else ()
        return next((address for head, address in alike if names <= head), None)


def _names(text: str) -> set[str]:
    names = (one[0].removesuffix("'s") for one in _NAME.finditer(text))
    return {strip_accents(name) for name in names if not name.isdecimal()}


def _is_opening(text: str) -> bool:
    """Whether a line only stands above a list: short, and no sentence."""
    text = text.strip()
    return len(text) < OPENING and (text[-1:].isalpha() or text.endswith((":", "：")))


def _cut_block(
    block: TextBlock, taken: Sequence[tuple[ListLine, CitedAddress]]
) -> list[TextBlock | Note]:
    """What is left of a block without the lines of a list: prose above it, notes below entries."""
    left: list[TextBlock | Note] = []
    at, about = 0, None
    for line, address in [*taken, (None, None)]:
        start = line.start if line else len(block.text)
        if block.text[at:start].strip():
            piece = block.slice(at, start)
            if about is None and line:  # the last line above a list may open it
                above, _, opens = piece.text.rstrip().rpartition("\n")
                piece = piece.slice(0, len(above)) if _is_opening(opens) else piece
            if piece.text.strip():
                left.append(Note(piece, about) if about else piece)
        at, about = (line.end, address) if line else (start, None)
    return left
