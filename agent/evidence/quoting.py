"""Quotes located on their page, and the sentences around them."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

from agent.evidence.bm25 import rank_texts, ranked_length, ranked_spans
from agent.evidence.proper_names import find_names
from agent.evidence.sentences import Span, split_passages, split_sentences
from agent.evidence.words import UNSPACED, content_words, count_words, fold, fold_with_offsets
from agent.state import Quote, Source

_Place = tuple[Source, Span]
_Match = Literal["exact", "normalized"]
LEAST_WORDS = 4  # of a part of a quote that show where it is from
MOST_GLUED = 12  # words of a heading
LONGEST_PART = 300  # words
NEAREST = 5  # sentences that may be the one that was meant
_GAP = re.compile(r"\s*(?:[\[(]\s*(?:…|\.{3})\s*[\])]|…|\.{3,}|\n)\s*")
_DIGITS = re.compile(r"\d+(?:[.,:]\d+)*")
_TOKEN = re.compile(rf"{_DIGITS.pattern}|[^\W_]+")
MOST_COMPARED = 20_000_000  # characters of a text and of a piece that is looked for in it


def anchor_quote(quote: str, source: Source) -> Quote | None:
    """Locate a quote in a source; None if it is not there.

    The match is `exact` if the quote is there as given (or as `render_sources` escaped it), and
    `normalized` if it differs only in case, blanks, width, quotation marks or dashes. The text of
    the result is always the page's own. A quote never begins or ends inside a word or a number.
    """
    if exact := find_verbatim(quote, source):
        return exact
    text = source.page.text
    folded, origin = fold_with_offsets(text)
    wanted = fold(html.unescape(quote)).strip(" '.…")
    start = _find_at_words(folded, wanted) if any(c.isalnum() for c in wanted) else None
    if start is None:
        return None
    end = origin[start + len(wanted) - 1] + 1
    while end < len(text) and unicodedata.combining(text[end]):
        end += 1
    return _make_quote(source, origin[start], end, "normalized")


def find_verbatim(quote: str, source: Source) -> Quote | None:
    """Locate a quote that is in a source as given, or as `render_sources` escaped it."""
    for given in dict.fromkeys((quote.strip(), html.unescape(quote).strip())):
        if given and (start := _find_at_words(source.page.text, given)) is not None:
            return _make_quote(source, start, start + len(given), "exact")
    return None


def locate_quote(quote: str, source: Source) -> tuple[Quote, ...]:
    """The places of a quote in a source, although its words were altered; () if nowhere.

    As `anchor_quote`. Else word by word, with other signs between the words; in parts, where it was
    copied across a gap or a line's end; without words in front of it, such as a heading's.
    """
    if whole := anchor_quote(quote, source):
        return (whole,)
    parts = [part for part in _GAP.split(quote) if count_words(part) >= LEAST_WORDS]
    found = [place for part in parts if (place := _find_words(part, source))]
    if 2 * sum(count_words(one.text) for one in found) >= count_words(quote) > 0:
        return tuple(dict.fromkeys(found))
    return ()


def nearest_quote(wanted: str, source: Source) -> Quote | None:
    """The sentence nearest to some words, if it has their numbers, names and most of the others."""
    near = closest_sentences(wanted, [source], NEAREST)
    return next((one for one in near if _says_as_much(one.text, wanted)), None)


def _find_words(part: str, source: Source) -> Quote | None:
    """The place of the words of a part in a row; without those of a heading, if need be."""
    folded, origin = fold_with_offsets(source.page.text)
    words = _TOKEN.findall(fold(html.unescape(part)))[:LONGEST_PART]
    least = max(LEAST_WORDS, len(words) // 2)
    glued = range(1, min(MOST_GLUED, len(words) - least) + 1)
    bare = (words[n:] for n in glued if not _DIGITS.search(" ".join(words[:n])))
    for run in filter(None, (words, *bare)):
        for match in re.finditer(r"[\W_]+".join(map(re.escape, run)), folded):
            if _is_word_border(folded, match.start()) and _is_word_border(folded, match.end()):
                end = origin[match.end() - 1] + 1
                return _make_quote(source, origin[match.start()], end, "normalized")
    return None


def _says_as_much(sentence: str, wanted: str) -> bool:
    """Whether a sentence has all numbers and names of a text, and most of its words."""
    values = {*_DIGITS.findall(fold(wanted)), *map(fold, find_names(wanted))}
    words = set(content_words(wanted))
    shared = words.intersection(content_words(sentence))
    return all(one in fold(sentence) for one in values) and 2 * len(shared) > len(words)


def closest_sentences(claim: str, sources: Sequence[Source], most: int = 10) -> list[Quote]:
    """The sentences of sources that rank highest for a claim, best first."""
    near = _best_spans(claim, list(ranked_pieces(sources, claim, split_passages)), most)
    cut = ((s, a, split_sentences(s.page.text[a:b])) for s, (a, b) in near)
    inner = [(s, (at + a, at + b)) for s, at, spans in cut for a, b in spans]
    quotes = (_make_quote(s, *span, "exact") for s, span in _best_spans(claim, inner, most))
    return [quote for quote in quotes if quote]


def first_sentences(source: Source, most: int) -> list[Quote]:
    """The sentences with which a source begins."""
    spans = split_sentences(source.page.text)[:most]
    return list(filter(None, (_make_quote(source, *span, "exact") for span in spans)))


def ranked_pieces(
    sources: Sequence[Source], query: str, split: Callable[[str], Iterable[Span]]
) -> Iterator[_Place]:
    """The pieces into which `split` cuts what is ranked of sources for a query, in order."""
    length = ranked_length(sources)
    for source in sources:
        text = source.page.text
        for start, end in ranked_spans(text, query, length):
            yield from ((source, (a + start, b + start)) for a, b in split(text[start:end]))


def _best_spans(claim: str, places: list[_Place], most: int) -> list[_Place]:
    scores = rank_texts([source.page.text[a:b] for source, (a, b) in places], claim)
    order = sorted(range(len(places)), key=lambda i: -scores[i])
    return [places[i] for i in order[:most] if scores[i]]


def touched_sentences(text: str, start: int, end: int) -> list[Span]:
    """The sentences that a part of a text touches."""
    return [span for span in split_sentences(text) if span[0] < end and start < span[1]]


def quoted_sentences(quote: Quote, source: Source) -> list[Quote]:
    """The whole sentences of a page that a quote is of, or touches, each as a quote."""
    spans = touched_sentences(source.page.text, quote.start, quote.end)
    return list(filter(None, (_make_quote(source, *span, "exact") for span in spans)))


def _make_quote(source: Source, start: int, end: int, match: _Match) -> Quote | None:
    text = source.page.text[start:end]
    if not any(char.isalnum() for char in text):
        return None
    return Quote(source=source.n, text=text, start=start, end=end, match=match)


def _find_at_words(text: str, piece: str) -> int | None:
    """The offset of a piece of text that begins and ends at word borders.

    A piece that is found again and again within words is given up after `MOST_COMPARED` characters.
    """
    start = -1
    for _ in range(MOST_COMPARED // (len(piece) + 1)):
        start = text.find(piece, start + 1)
        if start < 0:
            return None
        if _is_word_border(text, start) and _is_word_border(text, start + len(piece)):
            return start
    return None


_UNSPACED = re.compile(f"[{UNSPACED}]")


def _is_word_border(text: str, at: int) -> bool:
    if not 0 < at < len(text):
        return True
    left, right = text[at - 1], text[at]
    is_spaced = not (_UNSPACED.match(left) or _UNSPACED.match(right))
    return not (is_spaced and left.isalnum() and right.isalnum())
