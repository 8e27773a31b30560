"""Sources that are copies, or near-copies, of another, and where these differ in a number."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice, product
from typing import NamedTuple

from agent.evidence.language import is_question
from agent.evidence.quantities import score_spans
from agent.evidence.quoting import anchor_quote, sentence_span
from agent.evidence.ranking import ranked_length
from agent.evidence.words import CJK, content_words, opens_with_pronoun
from agent.state import Hit, Quote, Source

DISAGREEMENT = "The sources disagree"  # how each warning begins that tells of one
SHINGLE = 5  # words: two writers seldom hit on the same five in a row
#: The share of the smaller text's shingles from which it repeats the other one: a copy keeps most
#: of them under another heading or with a few words changed. Set by hand: `evals.conflicts`.
REPEATED = 0.5
LEAST_SHINGLES = 10  # of a search result that is compared; set by hand
#: Words of a question that a result repeats: fewer stand in texts about the same thing too.
LEAST_REPEATED = 6
#: The share of the content words of two results from which these are alike. Results that were
#: written to say one thing had .33 in the middle and .24 or more in four of five pairs, a result
#: of the truth with one of them .15 and at most .27 in nine of ten. (`evals.planted`, tune half.)
ALIKE = 0.25
_CHUNK = re.compile(rf"[{CJK}]|[^\W_{CJK}]+")


def find_copies(sources: Sequence[Source]) -> dict[int, int]:
    """For each source's number, that of the first source whose text it repeats; else its own.

    Near-copies too: a text under another heading, shortened, or with some words changed. Each
    text is compared by its shingles (`SHINGLE` words in a row, case and signs aside) with those
    before it; the smaller one's share that both hold counts (containment; Broder, On the
    resemblance and containment of documents, 1997). A copy leads to what it repeats only where it
    is no mere excerpt, which others may quote too. Of long texts the beginnings are compared.
    """
    held: dict[int, set[int]] = {}
    first: dict[int, int] = {}
    length = ranked_length(sources)
    for source in sources:
        own = _shingles(source.page.text[:length])
        same = (n for n, other in held.items() if _is_copy(own, other))
        whole = (first[n] for n in same if first[n] == n or len(held[n]) >= len(own) / 2)
        first[source.n] = next(whole, source.n)
        held[source.n] = own
    return first


def repeats_hit(one: Hit, other: Hit) -> bool:
    """Whether two results are near-copies of each other as far as their search tells.

    Another number makes another page: two finals are told in the same words. Short snippets may be
    alike by coincidence.
    """
    (numbers, own), (others_numbers, others) = map(_read_hit, (one, other))
    is_long = min(len(own), len(others)) >= LEAST_SHINGLES
    return is_long and numbers == others_numbers and _is_copy(own, others)


@lru_cache(maxsize=256)  # each result is compared with each other one
def _read_hit(hit: Hit) -> tuple[set[str], set[int]]:
    """The numbers and the shingles of a result, which nobody changes."""
    text = f"{hit.title} {hit.snippet}"
    return set(map(_digits, _NUMBER.findall(text))), _shingles(text)


def are_alike(one: Hit, other: Hit) -> bool:
    """Whether two results have so many words in common as texts with one statement have."""
    own, others = (set(content_words(f"{hit.title} {hit.snippet}")) for hit in (one, other))
    return len(own & others) >= ALIKE * max(1, len(own | others))


def repeats_question(hit: Hit, topic: str) -> bool:
    """Whether a result has a whole question word for word.

    Pages that answer a question seldom ask it in the same words; those that were written to be
    found by it do.
    """
    words = _CHUNK.findall(topic.casefold())
    if len(words) < LEAST_REPEATED or not is_question(topic):
        return False
    text = f"{hit.title} {hit.snippet}".casefold()
    return f" {' '.join(words)} " in f" {' '.join(_CHUNK.findall(text))} "


def _is_copy(own: set[int], other: set[int]) -> bool:
    return len(own & other) >= REPEATED * min(len(own), len(other))


def _shingles(text: str) -> set[int]:
    words = _CHUNK.findall(text.casefold())
    runs = zip(*(words[i:] for i in range(SHINGLE)), strict=False)
    return set(map(hash, runs)) or {hash(tuple(words))}


# --- near-copies with another number ------------------------------------------------------------

NEAR = 600  # characters on either side of a sentence that are compared
LONGEST_COMPARED = 500  # characters of a sentence
MOST_REPEATED = 50  # times that a page may have a sentence, of which all are compared
_NUMBER = re.compile(r"\d(?:[\d.,]{0,20}\d)?")


class Rival(NamedTuple):
    """Sentences of two pages that give one thing two numbers."""

    quote: Quote
    url: str
    number: str
    other: Quote
    other_url: str
    other_number: str


def find_rivals(quotes: Iterable[Quote], sources: Sequence[Source]) -> list[Rival]:
    """The sentences of other sources that say what quoted ones say, but for one number.

    They count where the sentence names what it is about, or the text around them is the same too;
    not where the titles have other numbers, nor scores, of which two sides have many: what two
    pages of one kind say of two things is no disagreement. Each pair comes once.
    """
    found: dict[frozenset[tuple[int, int]], Rival] = {}
    by_number = {source.n: source for source in sources}
    for quote, other in product(quotes, sources):
        own = by_number[quote.source]
        if other.n != own.n and (rival := _find_rival(quote, own, other)):
            pair = frozenset((q.source, q.start) for q in (rival.quote, rival.other))
            found.setdefault(pair, rival)
    return list(found.values())


def describe_rival(rival: Rival) -> str:
    """A warning that names both sides by their pages."""
    return (
        f'{DISAGREEMENT}: "{rival.quote.text}" ({rival.url}), but "{rival.other.text}" '
        f"({rival.other_url})."
    )


def _find_rival(quote: Quote, own: Source, other: Source) -> Rival | None:
    start, end = sentence_span(own.page.text, quote.start)
    sentence = own.page.text[start:end]
    numbers = _NUMBER.findall(sentence)
    if not numbers or len(sentence) > LONGEST_COMPARED:
        return None
    if _NUMBER.findall(own.page.title) != _NUMBER.findall(other.page.title):
        return None  # 2018 and 2022 are two finals
    matches = _same_but_for_numbers(sentence).finditer(other.page.text)
    for match in islice(matches, MOST_REPEATED):
        pairs = zip(numbers, match.groups(), strict=True)
        differing = [pair for pair in pairs if _digits(pair[0]) != _digits(pair[1])]
        if len(differing) != 1:
            continue
        near = (_text_near(own, start, end), _text_near(other, *match.span()))
        is_same = _is_named(sentence) or _is_copy(*map(_shingles, near))
        said, opposed = anchor_quote(sentence, own), anchor_quote(match[0], other)
        if is_same and said and opposed:
            [(one, two)] = differing
            return Rival(said, own.page.url, one, opposed, other.page.url, two)
    return None


def _is_named(sentence: str) -> bool:
    """Whether a sentence says what it is about: a word behind its first one has a capital.

    Not where it opens with a pronoun, or states a score.
    """
    behind = _CHUNK.findall(sentence)[1:]
    is_open = opens_with_pronoun(sentence) or bool(score_spans(sentence))
    return any(word[0].isupper() for word in behind) and not is_open


def _same_but_for_numbers(sentence: str) -> re.Pattern[str]:
    """A pattern of a sentence with any numbers in the place of its own; case and signs aside."""
    number = rf"(?<![\d.,])({_NUMBER.pattern})(?!\d)"
    parts = re.findall(rf"{_NUMBER.pattern}|[^\W\d_]+", sentence)
    words = (number if part[0].isdigit() else re.escape(part) for part in parts)
    return re.compile(r"[^\w\n]{0,5}".join(words) + r"[.!?。！？]?", re.I)


def _digits(number: str) -> str:
    return number.replace(",", "").replace(".", "")


def _text_near(source: Source, start: int, end: int) -> str:
    """The text around a place, with its numbers alike."""
    return _NUMBER.sub("0", source.page.text[max(0, start - NEAR) : end + NEAR])
