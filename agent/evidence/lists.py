"""Lists in a text: how many items a sentence, bullets or rows enumerate."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby

from agent.evidence.proper_names import find_names
from agent.evidence.sentences import split_sentences
from agent.evidence.words import stop_words, strip_accents

_CONJUNCTION = r"(?:and|or|und|oder|et|ou|y|e|o|и|или|en|och|og|及び|および)"
_SEPARATOR = re.compile(
    rf"\s*(?:[,;،؛、，；]\s*(?:{_CONJUNCTION}\s)?|\s{_CONJUNCTION}\s|\s&\s|[和与與及と](?=\S)|\sو)\s*",
    re.I,
)
_BULLET = re.compile(r"^[^\S\n]*(?:[-*•‣–]|\d{1,3}[.)])\s+(\S.*)$", re.M)
_ITEM = re.compile(r"[^\S\n]*(?:[-*•‣–]\s+|\d{1,3}[.)]\s+|\|\s*|(?=[^|\n]+\|))")
LONG_ITEM = 6  # words


@lru_cache(maxsize=256)
def list_lengths(text: str) -> frozenset[int]:
    """How many items the lists of a text have: those within a sentence, bullets, rows."""
    rows = sum(line.count("|") > 1 for line in text.split("\n"))
    found = {len(_BULLET.findall(text)), rows, rows - 1, rows - 2, *map(len, find_lists(text))}
    return frozenset(length for length in found if length > 1)


@lru_cache(maxsize=256)
def find_lists(text: str) -> tuple[list[str], ...]:
    """The items of each list of a text, in a sentence or one a line.

    Those of "In 1997, A and B" are given also without 1997.
    """
    sentences = [text[start:end] for start, end in split_sentences(text)]
    parts = (part for one in sentences for part in dict.fromkeys((one, one.rpartition(":")[2])))
    runs = [run for part in parts for run in _runs_of_items(_SEPARATOR.split(part))]
    shorter = (run[1:] for run in runs if len(run) > 2 and _is_adverbial(run[0]))
    return (*runs, *shorter, *filter(None, [_BULLET.findall(text)]))


def find_items(text: str) -> list[list[str]]:
    """The items of each list of names in the sentences of a text."""
    named = ([_name_of(one, n == 0) for n, one in enumerate(run)] for run in find_lists(text))
    return [list(dict.fromkeys(names)) for names in named if all(names)]


def find_rows(text: str) -> list[list[str]]:
    """The first names of the bullets or table rows that are under each other in a text."""
    found = []
    for has_form, lines in groupby(text.split("\n"), lambda line: bool(_ITEM.match(line))):
        if has_form:
            cells = [_ITEM.sub("", line, count=1).split("|")[0].strip() for line in lines]
            found.append([cell for cell in dict.fromkeys(cells) if cell])
    return [cells for cells in found if len(cells) > 2]


def _name_of(piece: str, is_first: bool) -> str:
    """The name that an item of a list is; "" where it is something else, as in an apposition.

    The first item comes with what is before the list.
    """
    names = find_names(piece)
    name = "" if not names else names[-1] if is_first else names[0]
    bare = piece.strip(" .,:;!?")
    return name if bare.endswith(name) and (is_first or len(name) > len(bare) / 2) else ""


def _runs_of_items(pieces: Sequence[str]) -> Iterator[list[str]]:
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
        last = run[0].split()[-1:]
        return bool(last) and all(word[:1].isupper() for word in last + run[1].split()[:1])
    return len(run) > 2


def _is_adverbial(piece: str) -> bool:
    """Whether what is before the first comma opens a sentence rather than a list."""
    words = piece.split() or [""]
    opens = strip_accents(words[0]) in stop_words("en", "de") or any(map(str.isdigit, piece))
    return len(words) <= LONG_ITEM and opens
