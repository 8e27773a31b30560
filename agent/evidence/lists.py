"""Lists in a text: how many items a sentence, bullets or rows enumerate."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from agent.evidence.sentences import split_sentences
from agent.evidence.words import stop_words, strip_accents

_CONJUNCTION = r"(?:and|or|und|oder|et|ou|y|e|o|и|или|en|och|og|及び|および)"
_SEPARATOR = re.compile(
    rf"\s*(?:[,;،؛、，；]\s*(?:{_CONJUNCTION}\s)?|\s{_CONJUNCTION}\s|\s&\s|[和与與及と](?=\S)|\sو)\s*",
    re.I,
)
_BULLET = re.compile(r"^[^\S\n]*(?:[-*•‣–]|\d{1,3}[.)])\s+\S", re.M)
LONG_ITEM = 6  # words


@lru_cache(maxsize=256)
def list_lengths(text: str) -> frozenset[int]:
    """How many items the lists of a text have: those within a sentence, bullets, rows."""
    found = {len(_BULLET.findall(text))}
    rows = sum(1 for line in text.split("\n") if line.count("|") > 1)
    found |= {rows, rows - 1, rows - 2}
    found |= {len(items) for items in find_lists(text)}
    return frozenset(length for length in found if length > 1)


@lru_cache(maxsize=256)
def find_lists(text: str) -> tuple[list[str], ...]:
    """The items of each list in the sentences of a text; "In 1997, A and B" also without 1997."""
    return tuple(_find_lists(text))


def _find_lists(text: str) -> Iterator[list[str]]:
    for start, end in split_sentences(text):
        sentence = text[start:end].rpartition(":")[2] or text[start:end]
        for part in dict.fromkeys((text[start:end], sentence)):
            for run in _runs_of_items(_SEPARATOR.split(part)):
                yield run
                if len(run) > 2 and _is_adverbial(run[0]):
                    yield run[1:]


def _runs_of_items(pieces: Sequence[str]) -> Iterator[list[str]]:
    """Pieces in a row of which all but the first and the last are short enough for items."""
    run: list[str] = []
    for piece in pieces:
        run.append(piece)
        if len(piece.split()) > LONG_ITEM:
            if _is_list(run):
                yield run
            run = [piece]
    if _is_list(run):
        yield run


def _is_list(run: Sequence[str]) -> bool:
    """Two items make a list only if they are names: any sentence may hold an `and`."""
    if len(run) == 2:
        return run[0].split()[-1:] != [] and all(
            word[:1].isupper() for word in (run[0].split()[-1], *run[1].split()[:1])
        )
    return len(run) > 2


def _is_adverbial(piece: str) -> bool:
    """Whether what stands before the first comma opens a sentence rather than a list."""
    first = strip_accents((piece.split() or [""])[0])
    return len(piece.split()) <= LONG_ITEM and (
        first in stop_words("en", "de") or any(char.isdigit() for char in piece)
    )
