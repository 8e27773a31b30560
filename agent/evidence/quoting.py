"""Where words stand on a page, and what stands around them."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Sequence

from agent.evidence.text import CJK, PASSAGE, Span, fold, passages, rank, sentences
from agent.state import Quote, Source


def anchor(quote: str, source: Source) -> Quote | None:
    """Where a quote stands in a source; None if it does not.

    `exact` if it stands there as given (or as `show` escaped it), `normalized` if it differs only
    in case, blanks, width, quotes or dashes. The text of the result is always the page's own.
    A quote never begins or ends inside a word or a number.
    """
    text = source.page.text
    for given in dict.fromkeys((quote.strip(), html.unescape(quote).strip())):
        if given and (start := _at_words(text, given)) is not None:
            return _quote(source, start, start + len(given), "exact")
    folded, origin = fold(text)
    wanted = fold(html.unescape(quote))[0].strip(" '.…")
    start = _at_words(folded, wanted) if any(c.isalnum() for c in wanted) else None
    if start is None:
        return None
    end = origin[start + len(wanted) - 1] + 1
    while end < len(text) and unicodedata.combining(text[end]):
        end += 1
    return _quote(source, origin[start], end, "normalized")


def nearest(quote: str, source: Source) -> str:
    """The passage of a source that is most like words which it does not hold; "" if none is."""
    spans = passages(source.page.text, PASSAGE // 2)
    texts = [source.page.text[a:b] for a, b in spans]
    scores = rank(texts, quote)
    best = max(range(len(texts)), key=scores.__getitem__, default=-1)
    return texts[best] if best >= 0 and scores[best] else ""


def closest(claim: str, sources: Sequence[Source], most: int = 10) -> list[Quote]:
    """The sentences of sources that share most with a claim, best first."""
    near = _best(claim, [(s, span) for s in sources for span in passages(s.page.text)], most)
    found = _best(
        claim,
        [(s, (a + x, a + y)) for s, (a, b) in near for x, y in sentences(s.page.text[a:b])],
        most,
    )
    quotes = (_quote(source, start, end, "exact") for source, (start, end) in found)
    return [quote for quote in quotes if quote]


def _best(claim: str, places: list[tuple[Source, Span]], most: int) -> list[tuple[Source, Span]]:
    """Those of some places of sources that fit a claim at all, best first."""
    scores = rank([source.page.text[a:b] for source, (a, b) in places], claim)
    order = sorted(range(len(places)), key=lambda i: -scores[i])
    return [places[i] for i in order[:most] if scores[i]]


def lead(text: str, start: int) -> str:
    """What stands before a place in its sentence."""
    begin, _ = _sentence(text, start)
    return text[begin:start]


def antecedent(text: str, start: int) -> str:
    """The sentence before the one at a place, if that one opens with a pronoun; else nothing."""
    begin, end = _sentence(text, start)
    return near(text, start, before=1) if _PRONOUN.match(text[begin:end]) else ""


def near(text: str, start: int, before: int = 2, after: int = 0) -> str:
    """The sentence at a place with so many before and after it."""
    spans = sentences(text)
    at = next((i for i, span in enumerate(spans) if span[0] <= start < span[1]), None)
    if at is None:
        return ""
    shown = spans[max(0, at - before) : at + after + 1]
    return text[shown[0][0] : shown[-1][1]]


def _sentence(text: str, at: int) -> Span:
    """The sentence that holds a place."""
    return next((span for span in sentences(text) if span[0] <= at < span[1]), (at, at))


_PRONOUN = re.compile(
    r"(?:he|she|it|they|his|her|its|their|this|these|er|sie|es|sein|seine|ihr|ihre)\b|[他她它其这该]",
    re.I,
)


def _quote(source: Source, start: int, end: int, match: str) -> Quote | None:
    text = source.page.text[start:end]
    if not any(char.isalnum() for char in text):
        return None
    return Quote.model_validate(
        {"source": source.n, "text": text, "start": start, "end": end, "match": match}
    )


def _at_words(text: str, piece: str) -> int | None:
    """Where a piece stands in a text between borders of words."""
    start = text.find(piece)
    while start >= 0:
        if _border(text, start) and _border(text, start + len(piece)):
            return start
        start = text.find(piece, start + 1)
    return None


#: Chinese, Japanese and Korean; Thai, Lao, Burmese and Khmer.
_UNSPACED = re.compile(f"[{CJK}\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")


def _border(text: str, at: int) -> bool:
    if not 0 < at < len(text):
        return True
    left, right = text[at - 1], text[at]
    if _UNSPACED.match(left) or _UNSPACED.match(right):
        return True
    return not (left.isalnum() and right.isalnum())
