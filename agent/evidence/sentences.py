"""Text cut into sentences and passages.

Every span is a half-open range of character offsets into the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import islice

from agent.evidence.language import month_pattern

Span = tuple[int, int]

PASSAGE = 500  # characters: some three sentences, enough to be read alone and few enough to rank

_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|Lt|Col|Gen|Capt|Rev|Hon|No|Nos|Vol|vs|cf|ca|approx|Inc|Ltd|"
    r"Co|Corp|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|al|etc|e\.g|i\.e|z\.B|bzw|Nr|Abs|Bd|"
    r"Mt|Ft|Gov|Sen|Rep|Adm|Maj|Sgt|Cmdr|Mme|Mlle|Ave|Blvd|Bros|Dept|"
    r"bspw|geb|gegr|gest|vgl|Fa|Hrsg|Mio|Mrd|Okt|Dez|Str|Chr)"
    r"|\b[A-ZÄÖÜ]|\b\w\.\w|\b[du]|\b(?:u\. ?a|d\. ?h)|(?<!\w)[\u0621-\u064a])\.$"
)
#: A German ordinal: after an article, or before a month.
_ORDINAL = re.compile(r"(\b(?:im|vom|zum|zur|der|das|den|dem|des|seit|bis) )?\b\d{1,2}\.$", re.I)
#: `c. 1850`, `p. 5`, `Fig. 3`; and, letter by letter, `z. B.`, `v. Chr.`
_BEFORE_NUMBER = re.compile(r"(?<!\d )\b(?:[a-z]|pp|figs?|eqs?|ch|sec|art)\.$", re.I)
_LETTERED = re.compile(r"\b[a-z]\.$"), re.compile(r"\s?(?:\w\.|Chr\b)")
#: Quotation marks. A quotation is not cut at a stop within it.
QUOTATION_MARKS = (("“", "”"), ("„", "“"), ("«", "»"), ("「", "」"), ("『", "』"))
QUOTED = 300  # characters, before and after a stop
#: Stops and line breaks that are looked at: a text of `DENSE` characters for each has no prose, and
#: a table or a list of words seldom so many.
LEAST_BORDERS, MOST_BORDERS, DENSE = 1000, 50_000, 8
CELL = 60  # characters of a cell that may be a sentence
LONGEST = 10_000  # characters of a sentence; a longer one is a list or an attack, and is cut
#: Matches only where a run of stops begins, so that a long run is scanned once.
_BORDER = re.compile(
    r"(?<![.!?…؟۔।])[.!?…؟۔।]++[\"'”’»“‘«)\]]*+(?=\s)|[。！？｡]++[”’」』）]*+(?!と)|\n++"
)


@lru_cache(maxsize=256)
def split_sentences(text: str) -> tuple[Span, ...]:
    """The spans of the sentences of a text, without surrounding blanks. A line break ends one.

    A row of a table is one sentence, unless cells side by side are sentences. A sentence is cut
    after `LONGEST` characters. Where more than one character in `DENSE` is a stop
    or a line break, or there are more than `MOST_BORDERS`, the rest is cut like that alone.
    """
    spans: list[Span] = []
    start = 0
    most = min(max(LEAST_BORDERS, len(text) // DENSE), MOST_BORDERS)
    for border in islice(_BORDER.finditer(text), most):
        if border[0][0] != "\n" and (
            _is_quoted(text, start, border.end())
            or (border[0][0] in ".?!" and _goes_on(text, start, border))
        ):
            continue
        spans.append((start, border.end()))
        start = border.end()
    spans.append((start, len(text)))
    cells = (cell for span in spans for cell in _split_cells(text, *span))
    cut = ((at, min(at + LONGEST, end)) for a, end in cells for at in range(a, end, LONGEST))
    return tuple(span for span in (_trim(text, *s) for s in cut) if span[0] < span[1])


def _split_cells(text: str, start: int, end: int) -> Iterator[Span]:
    """A sentence; of a row whose cells are sentences each one, the first behind its row's name."""
    begins, cell = start, start
    is_within = start > 0 and text[start - 1] != "\n"  # a cell of several sentences
    bar = text.find(" | ", start, end)
    while bar >= 0:
        after = text.find(" | ", bar + 3, end)
        is_said = is_within or (bar - cell > CELL and text[bar - 1] in ".!?")
        if is_said and (after if after >= 0 else end) - bar > CELL:
            yield begins, bar
            begins, is_within = bar + 2, False
        cell, bar = bar + 3, after
    yield begins, end


def _goes_on(text: str, start: int, border: re.Match[str]) -> bool:
    """Whether a stop ends no sentence: it is of an abbreviation, an ordinal, a title or a list."""
    before = text[max(start, border.start() - 12) : border.start() + 1]
    after = text[border.end() : border.end() + 8].lstrip(" ")[:1]
    if before[:-1].strip().isdecimal() and start + 12 > border.start():
        return True  # `1.` of a list
    if after.isdecimal() and _BEFORE_NUMBER.search(before):
        return True
    if _LETTERED[0].search(before) and _LETTERED[1].match(text, border.end()):
        return True
    ordinal = _ORDINAL.search(before)
    if ordinal and (ordinal[1] or _german_month_pattern().match(text, border.end())):
        return True
    return bool(_ABBREVIATION.search(before)) or after.islower() or after in tuple("|,;:–—/")


@cache
def _german_month_pattern() -> re.Pattern[str]:
    return re.compile(rf" ?{month_pattern('de')}(?!\w)")


def _is_quoted(text: str, start: int, at: int) -> bool:
    """Whether an offset lies in a quotation that began in its sentence and ends in its line."""
    before = text[max(start, at - QUOTED) : at]
    rest = text[at : at + QUOTED].partition("\n")[0]
    return (before.count('"') % 2 == 1 and '"' in rest) or any(
        opens in before and closes in rest and before.rfind(opens) > before.rfind(closes)
        for opens, closes in QUOTATION_MARKS
    )


def _trim(text: str, start: int, end: int) -> Span:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())


def split_passages(text: str, size: int = PASSAGE) -> tuple[Span, ...]:
    """The spans of pieces of whole sentences, of about `size` characters each.

    A longer sentence is cut anywhere, so that no piece is longer than twice `size`.
    """
    pieces: list[Span] = []
    for start, end in split_sentences(text):
        if pieces and end - pieces[-1][0] <= size:
            pieces[-1] = (pieces[-1][0], end)
        else:
            pieces.extend((at, min(at + 2 * size, end)) for at in range(start, end, 2 * size))
    return tuple(pieces)
