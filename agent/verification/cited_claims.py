"""What rules can say of a sentence of somebody's report and the pages that it cites.

1. A sentence that a page has word for word is quoted.
2. A quotation that is on no cited page is unsupported.
3. Where a page has the sentence's words with another number or date, it is contradicted.
4. A number that stands on no cited page, and follows from nothing on it, is unsupported where the
   page has half of the other words; so is a sentence that cites the wrong source: no sentence of
   the pages has more than a few of its words, and the pages have not its names.
5. Everything else is open, with a hint for judge and reader: absence proves nothing by itself.
   Pages in another language, or names in another script, cannot be compared: there only 1 and 3
   count.

What a reason says of a page is true of all of it, not of the sentences that were shown. The
thresholds were found with `python -m evals.cited_claims`, on the half that is kept for tuning.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from agent.evidence import anchor_quote, closest_sentences, content_words, fold
from agent.evidence.language import language_of, main_script
from agent.evidence.names import find_sure_names
from agent.evidence.quantities import (
    Day,
    Number,
    Quantity,
    Score,
    find_missing,
    read_quantities,
    stands_on_page,
)
from agent.evidence.words import LONGEST_KEPT, PLAIN_WORD, count_words
from agent.state import Quote, Source, Verdict
from agent.verification.rules import FEWEST_WORDS, is_quoted
from agent.verification.shown import QuotePlace
from agent.verification.unquoted import NOUN_CAPITALS

OFF_TOPIC = "the page is about something else"
NEAREST = 8  # sentences of the pages that a claim is held against
SAME_WORDS = 0.75  # share of a claim's words in a sentence that tells of the same thing
#: Of what is alike: the greater share of the one's words in the other, and the lesser. No number of
#: such a sentence is reckoned.
NEARLY_ALL, COVERED_WORDS = 0.9, 0.5
RIVAL_WORDS = 0.5  # the same, of a sentence that may tell what the nearest one does not
FEWEST_SHARED = 3  # words
#: What a page about something else may have of a claim that has names, and of one that has none:
#: words of the nearest sentence, and their share and that of all words on the page, less than that.
UNLIKE_NAMED, UNLIKE = (3, 0.2, 0.6), (1, 0.1, 0.2)
KNOWN_NAMES = 0.5  # share of a claim's names that a page about something else may have
SAME_THING = 0.5  # share of a claim's words, numbers aside, beside which a number is missed
FEWEST_FOREIGN = 2  # names and numbers of a claim that is held against a page in another language
FEWEST_COMPARED = 4  # words of a claim that is held against a page by its words
LONGEST_TITLE = 12  # words
TITLE_WORDS = 0.8  # share of the longer words with a capital letter that makes words a title
#: Units that stand in each other's place, as `words.toml` names them.
MONEY = frozenset("dollar euro pound-sterling yen rupee".split())
READ_LANGUAGE = 3000  # characters of a page by which its language and script are told
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
_ByNumber = dict[int, Source]


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
    ruling = _find_contradiction(claim, near, by_number)
    if ruling is None and is_comparable:
        ruling = _find_lack(claim, near, sources)
    if ruling:
        follows = ruling.verdict != "unchecked" and _may_follow(claim, near)
        return ruling._replace(may_follow=follows)
    if _is_foreign(claim, sources):
        names = " or ".join(absent_names(claim, sources)[:2])
        return ClaimRuling("unsupported", f"the page does not name {names}", nearest)
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
    if not long or count_words(text) > LONGEST_TITLE or language_of(text).tag in NOUN_CAPITALS:
        return False
    return bool(sum(word[0].isupper() for word in long) > TITLE_WORDS * len(long))


def _rule_quotations(
    quotations: Sequence[str], sources: Sequence[Source], nearest: Quote | None
) -> _Ruled:
    """Unsupported for a quotation on no page."""
    texts = [text for source in sources for text in (source.page.title, source.page.text)]
    for quotation in quotations:
        is_found = any(anchor_quote(quotation, one) for one in sources)
        if not is_found and not any(_has_words(quotation, text) for text in texts):
            near = closest_sentences(quotation, sources, 1)
            reason = "these words are not on the page"
            return ClaimRuling("unsupported", reason, near[0] if near else nearest)
    return None


def _has_words(quotation: str, text: str) -> bool:
    """Whether a text has words in a row, whatever signs stand between them."""
    return f" {' '.join(PLAIN_WORD.findall(fold(quotation)))} " in _plain_text(text)


@lru_cache(maxsize=32)
def _plain_text(text: str) -> str:
    return f" {' '.join(PLAIN_WORD.findall(fold(text)))} "


# --- another number or date -----------------------------------------------------------------------


def _find_contradiction(claim: str, near: Sequence[Quote], sources: _ByNumber) -> _Ruled:
    """The first near sentence that has the claim's words and another number or date."""
    wanted = read_quantities(claim)
    words = _plain_words(claim, wanted)
    if not wanted or len(words) < FEWEST_SHARED:
        return None
    alike = [(_share(words, quote.text), quote) for quote in near]
    for share, quote in alike:
        is_alike = _is_alike(share, claim, quote.text)
        if share < SAME_WORDS and not is_alike:
            continue
        title = sources[quote.source].page.title
        missing = _missing(claim, [quote.text, title], is_alike=is_alike)
        rivals = (_find_rival(one, claim, quote.text, is_alike=is_alike) for one in missing)
        rival = next((one for one in rivals if one is not None), None)
        if rival is None:
            if not missing:
                return None  # a sentence like it has all its numbers
            continue
        others = [o.text for s, o in alike if s >= min(RIVAL_WORDS, share) and o != quote]
        if any(not _missing(claim, [o, quote.text, title], is_alike=is_alike) for o in others):
            continue
        return ClaimRuling("contradicted", f"the page says {rival.text.strip()}", quote)
    return None


def _missing(claim: str, texts: Sequence[str], *, is_alike: bool = False) -> list[Quantity]:
    """The quantities of a claim that texts neither hold nor give.

    A date is never reckoned, nor is a number in a sentence that is alike, unless it is rounded.
    """
    lost = find_missing(claim, texts)

    def is_exact(one: Quantity) -> bool:
        return _kind(one) == "date" or (is_alike and isinstance(one, Number) and not one.rough)

    return [x for x in find_missing(claim, texts, derived=False) if x in lost or is_exact(x)]


def _plain_words(text: str, quantities: Iterable[Quantity]) -> set[str]:
    """The content words of a text without its quantities."""
    for quantity in quantities:
        text = text.replace(quantity.text, " ")
    return {word for word in content_words(text) if not word.isdecimal()}


def _share(words: set[str], text: str) -> float:
    held = _content_of(text) if len(text) > LONGEST_KEPT else set(content_words(text))
    return len(words & held) / len(words)


def _is_alike(share: float, claim: str, sentence: str) -> bool:
    """Whether a sentence and a claim say the same, numbers aside, but for a few words of one."""
    words = _plain_words(sentence, read_quantities(sentence))
    back = _share(words, claim) if len(words) >= FEWEST_SHARED else 0.0
    return max(share, back) >= NEARLY_ALL and min(share, back) >= COVERED_WORDS


def _find_rival(missing: Quantity, claim: str, sentence: str, *, is_alike: bool) -> Quantity | None:
    """The quantity of a sentence that stands where a claim has another one of its kind.

    A word beside it is the same too, unless the whole sentence is alike.
    """
    beside = _neighbours(missing, claim)
    near = [
        (len(beside & _neighbours(rival, sentence)), rival)
        for rival in find_missing(sentence, [claim], derived=False)
        if _kind(rival) == _kind(missing)
    ]
    beside_both, rival = max(near, key=lambda one: one[0], default=(0, None))
    return rival if beside_both or is_alike else None


def _kind(quantity: Quantity) -> str:
    if isinstance(quantity, Score):
        return "score"
    if isinstance(quantity, Day) or quantity.is_year or quantity.span:
        return "date"
    dimension = quantity.unit.dimension if quantity.unit else ""
    return f"number {'money' if dimension in MONEY else dimension}"


def _neighbours(quantity: Quantity, text: str) -> set[str]:
    """The words on both sides of a quantity."""
    before, _, after = text.partition(quantity.text)
    return {*content_words(before)[-2:], *content_words(after)[:2]}


# --- what no page has -----------------------------------------------------------------------------


def _find_lack(claim: str, near: Sequence[Quote], sources: Sequence[Source]) -> ClaimRuling:
    """What the pages lack of a claim: it proves that it is not told there, or is a hint."""
    lost, absent = missing_on_pages(claim, near, sources), absent_names(claim, sources)
    reason = f"the page does not name {' or '.join(absent[:2])}" if absent else ""
    is_elsewhere = _is_of_another_thing(claim, near, sources)
    if lost and not is_elsewhere:
        reason = f"{lost[0].text.strip()} is not on the page"
    proves = is_elsewhere or any(_would_be_told(one, claim, near, sources) for one in lost)
    verdict: Verdict = "unsupported" if proves else "unchecked"
    return ClaimRuling(verdict, reason or (OFF_TOPIC if proves else ""), near[0] if near else None)


def _would_be_told(
    lost: Quantity, claim: str, near: Sequence[Quote], sources: Sequence[Source]
) -> bool:
    """Whether pages that lack a number tell of the same thing, so that they would have it.

    A date that is told may not stand there (`on Wednesday`): that takes a sentence like the claim.
    """
    words = _plain_words(claim, read_quantities(claim))
    texts = [quote.text for quote in near]
    texts += _whole_pages(sources) if _kind(lost) != "date" else []
    return bool(words) and any(_share(words, text) >= SAME_THING for text in texts)


def _may_follow(claim: str, near: Sequence[Quote]) -> bool:
    """Whether a number that the nearest sentences lack may be reckoned from two of its kind there.

    A share may be one of any two numbers of a kind; years, of dates.
    """
    texts = [quote.text for quote in near]
    told = {(one.text, _kind(one)) for text in texts for one in read_quantities(text)}
    counts = Counter(kind.replace("date", "number months") for _, kind in told)
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
    return [one for one in lost if not any(stands_on_page(one, page) for page in pages)]


def absent_names(claim: str, sources: Sequence[Source]) -> list[str]:
    """The names of a claim of which no page has a word, as written."""
    held = frozenset[str]().union(*map(_content_of, _whole_pages(sources)))
    told = ((name, set(content_words(name))) for name in find_sure_names(claim))
    return [name for name, words in told if words and not words & held]


def _whole_pages(sources: Sequence[Source]) -> list[str]:
    return [f"{source.page.title}\n{source.page.text}" for source in sources]


def _is_of_another_thing(claim: str, near: Sequence[Quote], sources: Sequence[Source]) -> bool:
    """Whether the pages tell of something else, as those of wrong sources do.

    Of a claim that names nothing, a page that says the same in other words has as little.
    """
    words, names = set(content_words(claim)), _names_in(claim)
    if len(words) < FEWEST_COMPARED:
        return False
    pages = [_content_of(page) for page in _whole_pages(sources)]
    known = max((len(words & page) for page in pages), default=0) / len(words)
    named = max((len(names & page) for page in pages), default=0)
    shared = max((len(words.intersection(content_words(q.text))) for q in near), default=0)
    most, nearest, on_page = UNLIKE_NAMED if names else UNLIKE
    is_unlike = shared <= most and shared < nearest * len(words) and known < on_page
    return is_unlike and named <= KNOWN_NAMES * len(names)


def _is_foreign(claim: str, sources: Sequence[Source]) -> bool:
    """Whether pages in another language, but the same script, have no name and no number of it."""
    names, numbers, pages = _names_in(claim), read_quantities(claim), _whole_pages(sources)
    is_read = all(main_script(claim) == main_script(page[:READ_LANGUAGE]) for page in pages)
    is_told = any(
        names & _content_of(page) or any(stands_on_page(one, page) for one in numbers)
        for page in pages
    )
    return is_read and not is_told and bool(names) and len(names) + len(numbers) >= FEWEST_FOREIGN


def _names_in(claim: str) -> set[str]:
    return {word for word in content_words(" ".join(find_sure_names(claim))) if len(word) > 2}


def missing_words(claim: str, shown: Sequence[str]) -> str:
    """The longest run of a claim's words that what was shown does not have, as written; "" if none.

    At least one of them says something; numbers alone are told otherwise.
    """
    held = {word for text in shown for word in content_words(text)}
    read = [(token, set(content_words(token[0]))) for token in PLAIN_WORD.finditer(claim)]
    groups = groupby(read, key=lambda one: bool(one[1]) and one[1] <= held)
    runs = [list(run) for is_held, run in groups if not is_held]
    counted = [(sum(bool(words) for _, words in run), run) for run in runs]
    count, best = max(counted, key=lambda one: one[0], default=(0, []))
    return claim[best[0][0].start() : best[-1][0].end()] if count else ""


@lru_cache(maxsize=256)
def _content_of(text: str) -> frozenset[str]:
    return frozenset(content_words(text))


# --- what can be compared -------------------------------------------------------------------------


def _is_comparable(claim: str, head: str) -> bool:
    """Whether a claim and a page are of one language, as far as that can be told."""
    told, of_page = (language_of(x).tag if count_words(x) >= 6 else "" for x in (claim, head))
    return main_script(claim) == main_script(head) and told in ("", of_page)
