"""Rules for a sentence of a given report and the pages that it cites.

1. A sentence that a page has word for word is quoted.
2. A quotation that is on no cited page is unsupported.
3. So is a number or a date that is on no cited page, and follows from nothing on it, where the
   page has half of the other words. A judge may show that it follows from others.
4. Everything else is open. Pages in another language or script cannot be compared: there only 1
   counts.

Thresholds: `python -m evals.cited_claims`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from agent.evidence import anchor_quote, closest_sentences, content_words, fold
from agent.evidence.language import language_of, main_script
from agent.evidence.quantities import (
    Day,
    Quantity,
    Score,
    find_missing,
    is_on_page,
    read_quantities,
)
from agent.evidence.words import PLAIN_WORD, count_words
from agent.state import Quote, Source, Verdict
from agent.verification.judge_view import QuotePlace
from agent.verification.rules import FEWEST_WORDS, is_quoted

NEAREST = 8  # sentences of the pages that a claim is compared with
SAME_THING = 0.5  # share of a claim's words, numbers aside, with which a number is missed
LONGEST_TITLE = 12  # words
TITLE_WORDS = 0.8  # share of the longer words with a capital letter that makes words a title
#: Units that replace each other, as `words.toml` names them.
MONEY = frozenset("dollar euro pound-sterling yen rupee".split())
READ_LANGUAGE = 3000  # characters of a page by which its language and script are known
_QUOTED = re.compile(
    r"“([^“”]{1,1500})”|„([^„“”]{1,1500})[“”]|«([^«»]{1,1500})»|「([^「」]{1,1500})」"
    r"|\"([^\"]{1,1500})\""
)
_ELLIPSIS = re.compile(r"\s*(?:\[\s*(?:\.{3}|…)\s*\]|\(\s*(?:\.{3}|…)\s*\)|\.{3,}|…)\s*")
_INSERTED = re.compile(r"\[[^\[\]]{1,40}\]")


class ClaimRuling(NamedTuple):
    """What rules say of a claim, why, and the quote that decides or is nearest.

    `may_follow`: they refute it by a number, which a judge may show to follow from others.
    """

    verdict: Verdict
    reason: str = ""
    quote: Quote | None = None
    may_follow: bool = False

    @property
    def is_open(self) -> bool:
        """Whether a model is to judge."""
        return self.verdict in ("quoted", "unchecked") or self.may_follow


_Ruled = ClaimRuling | None


def rule_claim(claim: str, sources: Sequence[Source]) -> ClaimRuling:
    """What rules say of a claim by the pages that it cites."""
    near = closest_sentences(claim, sources, NEAREST)
    by_number = {source.n: source for source in sources}
    for quote in near:
        page = by_number[quote.source].page
        if is_quoted(claim, (QuotePlace(page.text, page.title, quote.start, quote.end),)):
            return ClaimRuling("quoted", "", quote)
    nearest = near[0] if near else None
    heads = [source.page.text[:READ_LANGUAGE] for source in sources]
    is_comparable = any(_is_comparable(claim, head) for head in heads)
    lost = _rule_quotations(find_quotations(claim), sources, nearest)
    if lost and is_comparable:
        return lost
    for one in missing_on_pages(claim, near, sources) if is_comparable else ():
        if _would_be_stated(one, claim, near, sources):
            reason = f"{one.text.strip()} is not on the page"
            return ClaimRuling("unsupported", reason, nearest, _may_follow(claim, near))
    return ClaimRuling("unchecked", "", nearest)


# --- quotations -----------------------------------------------------------------------------------


def find_quotations(claim: str) -> list[str]:
    """The quotations in a claim, those of `FEWEST_WORDS` words or more, cut at omissions."""
    found = [next(filter(None, groups)) for groups in _QUOTED.findall(claim)]
    pieces = (p for text in found for gap in _ELLIPSIS.split(text) for p in _INSERTED.split(gap))
    stripped = (piece.strip(" ,;:.!?—–-'’‘") for piece in pieces)
    return [p for p in stripped if count_words(p) >= FEWEST_WORDS and not _is_title(p)]


def _is_title(text: str) -> bool:
    """Whether quoted words are a title: few, and nearly all longer ones have a capital letter."""
    long = [word for word in PLAIN_WORD.findall(text) if len(word) > 3 and not word.isdecimal()]
    if not long or count_words(text) > LONGEST_TITLE or language_of(text).has_noun_capitals:
        return False
    return bool(sum(word[0].isupper() for word in long) > TITLE_WORDS * len(long))


def _rule_quotations(
    quotations: Sequence[str], sources: Sequence[Source], nearest: Quote | None
) -> _Ruled:
    texts = [text for source in sources for text in (source.page.title, source.page.text)]
    for quotation in quotations:
        is_found = any(anchor_quote(quotation, one) for one in sources)
        if not is_found and not any(_has_words(quotation, text) for text in texts):
            near = closest_sentences(quotation, sources, 1)
            reason = "these words are not on the page"
            return ClaimRuling("unsupported", reason, near[0] if near else nearest)
    return None


def _has_words(quotation: str, text: str) -> bool:
    return f" {' '.join(PLAIN_WORD.findall(fold(quotation)))} " in _plain_text(text)


@lru_cache(maxsize=32)
def _plain_text(text: str) -> str:
    return f" {' '.join(PLAIN_WORD.findall(fold(text)))} "


# --- numbers that no page has ---------------------------------------------------------------------


def _kind(quantity: Quantity) -> str:
    if isinstance(quantity, Score):
        return "score"
    if isinstance(quantity, Day) or quantity.is_year or quantity.span:
        return "date"
    dimension = quantity.unit.dimension if quantity.unit else ""
    return f"number {'money' if dimension in MONEY else dimension}"


def _would_be_stated(
    lost: Quantity, claim: str, near: Sequence[Quote], sources: Sequence[Source]
) -> bool:
    """Whether pages that lack a number are about the same thing, so that they would have it.

    A page may write a date in another way (`on Wednesday`): that takes a sentence like the claim.
    """
    for quantity in read_quantities(claim):
        claim = claim.replace(quantity.text, " ")
    words = {word for word in content_words(claim) if not word.isdecimal()}
    texts = [quote.text for quote in near]
    texts += _whole_pages(sources) if _kind(lost) != "date" else []
    return any(len(words & _content_of(text)) >= SAME_THING * max(1, len(words)) for text in texts)


def _may_follow(claim: str, near: Sequence[Quote]) -> bool:
    """Whether a number that the nearest sentences lack may be reckoned from two of its kind there.

    A share may be one of any two numbers of a kind; years, of dates.
    """
    texts = [quote.text for quote in near]
    values = {(one.text, _kind(one)) for text in texts for one in read_quantities(text)}
    counts = Counter(kind.replace("date", "number months") for _, kind in values)
    shared = max(counts.values(), default=0)
    kinds = [_kind(one) for one in find_missing(claim, texts)]
    return any(shared > 1 if kind == "number share" else counts[kind] > 1 for kind in kinds)


def missing_on_pages(
    claim: str, near: Sequence[Quote], sources: Sequence[Source]
) -> list[Quantity]:
    """The quantities of a claim that no page has, and that follow from none of its sentences."""
    given = [quote.text for quote in near] + [source.page.title for source in sources]
    pages = _whole_pages(sources)
    lost = find_missing(claim, given)
    return [one for one in lost if not any(is_on_page(one, page) for page in pages)]


def _whole_pages(sources: Sequence[Source]) -> list[str]:
    return [f"{source.page.title}\n{source.page.text}" for source in sources]


@lru_cache(maxsize=256)
def _content_of(text: str) -> frozenset[str]:
    return frozenset(content_words(text))


# --- what can be compared -------------------------------------------------------------------------


def _is_comparable(claim: str, head: str) -> bool:
    own, of_page = (language_of(x).tag if count_words(x) >= 6 else "" for x in (claim, head))
    return main_script(claim) == main_script(head) and own in ("", of_page)
