"""The rules of the verdict: what can be proved of a claim and its quotes, and nothing else.

1. A claim that is a whole sentence of a page, word for word, is supported where nothing beside it
   may turn what it says (`context.py`); else it only stands there, and is open. One that opens
   with a pronoun is so only where the sentence before it on the page stands before it in the
   answer.
   One that cites another page is so, and then cites its own, where it opens with the title of the
   page on which it stands, and what it cited is about something else (`is_miscited`).
2. A claim with a number, date or score that its quotes neither hold nor give is never supported
   (`agent/evidence/quantities/`). Without a judge it is unsupported if that quantity stands nowhere
   on the pages that it cites.
3. A claim whose quotes are all of works that were retracted is unsupported, whoever else says what.
4. Everything else is open: a model judges it, and without a judge it is unchecked. A quote that
   reads like an instruction to a model gives orders, and tells nothing: what a judge calls
   supported by such quotes alone is partial.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import NamedTuple

from agent.checking.calculation import compute_claim
from agent.checking.context import find_turn
from agent.evidence import content_words, fold, is_heading, is_row, split_sentences
from agent.evidence.instructions import find_instruction
from agent.evidence.language import ends_as_question
from agent.evidence.quantities import find_missing, missing_quantities, stands_on_page
from agent.evidence.quoting import touched_sentences
from agent.evidence.sentences import Span
from agent.evidence.words import count_words, opens_with_pronoun
from agent.state import Calculation, Claim, Verdict

FEWEST_WORDS = 4  # of a sentence; fewer are a name, a number or a fragment
#: A value beside its name, which says something in fewer words: `Fee: 10 %`.
_NAMED_VALUE = re.compile(r"\w\W{0,3}(?:: | \| )\W{0,5}\w")
FAILING: tuple[Verdict, ...] = ("unsupported", "contradicted")


class QuotePlace(NamedTuple):
    """Where a quote stands: offsets into the text of a page with this title."""

    text: str
    title: str
    start: int
    end: int
    is_retracted: bool = False  # the page is a work that was retracted
    source: int = 0  # its number

    @property
    def quote(self) -> str:
        """The words of the quote."""
        return self.text[self.start : self.end]


class Assessment(NamedTuple):
    """A verdict, and who gave it: `rule`, `calculation`, a model's name, or nobody.

    Of a model it has the arithmetic that it gave; of a claim, what that gives.
    """

    verdict: Verdict
    by: str = ""
    calculation: Calculation | None = None


UNCHECKED = Assessment("unchecked")


def decide_verdict(
    claim: str,
    places: Sequence[QuotePlace],
    judged: Assessment | None = None,
    before: Sequence[str] = (),
) -> Assessment:
    """What is to be said of a claim: as it is proved, else as a model judged it within the rules.

    `judged` is None where no model did. `before`: as for `is_proved`.
    """
    if is_retracted(places):
        return Assessment("unsupported", "rule")
    if is_proved(claim, places, before):
        return Assessment("supported", "rule")
    if judged and judged.verdict == "supported" and not places:
        return Assessment("unsupported", "rule")
    if judged:
        return limit_assessment(judged, claim, places)
    pages = {place.text for place in places}
    missing = find_missing(claim, _texts_of(places))
    if any(not any(stands_on_page(one, page) for page in pages) for one in missing):
        return Assessment("unsupported", "rule")
    return UNCHECKED


def decide_value(value: str, places: Sequence[QuotePlace], judged: Assessment | None) -> Assessment:
    """What is to be said of a slot's value: what a model does, within the rules.

    A value that is a whole sentence is on its page, but not thereby the answer to its slot.
    """
    judged = judged._replace(calculation=None) if judged else UNCHECKED
    return limit_assessment(judged, value, places)


def is_retracted(places: Sequence[QuotePlace]) -> bool:
    """Whether there is nothing to stand on but works that were retracted."""
    return bool(places) and all(place.is_retracted for place in places)


def limit_assessment(
    judged: Assessment, claim: str, places: Sequence[QuotePlace], pages: Sequence[str] = ()
) -> Assessment:
    """What a model said, and no more than the rules and its own arithmetic allow.

    A claim stands on its quotes, and on `pages` as wholes where it cites these and quotes nothing.
    """
    told, judged = judged.calculation, judged._replace(calculation=None)
    telling = [place for place in places if not _gives_orders(place)]
    computed = compute_claim(told.expression, claim, telling) if told else None
    if computed and computed.fault:
        verdict = judged.verdict if judged.verdict in FAILING else "unsupported"
        return Assessment(verdict, "calculation", computed.calculation)
    if judged.verdict != "supported":
        return judged
    missing = computed.missing if computed else find_missing(claim, _texts_of(telling))
    holds = all(any(stands_on_page(one, page) for page in pages) for one in missing)
    if computed:
        judged = Assessment("supported", "calculation", computed.calculation)
    return judged if telling and holds else judged._replace(verdict="partial")


def explain_fault(judged: Assessment, claim: str, places: Sequence[QuotePlace]) -> str:
    """Why the arithmetic of a model does not hold; "" where it does, and where there is none."""
    told = judged.calculation
    computed = compute_claim(told.expression, claim, places) if told else None
    return computed.fault if computed else ""


def _gives_orders(place: QuotePlace) -> bool:
    """Whether a quote, or a sentence that it is of, reads like an instruction to a model."""
    touched = (place.text[a:b] for a, b in touched_sentences(place.text, place.start, place.end))
    return find_instruction(place.quote, *touched) is not None


def missing_in_quotes(claim: str, places: Sequence[QuotePlace]) -> tuple[str, ...]:
    """The quantities of a claim that its quotes neither hold nor give, as written."""
    return missing_quantities(claim, _texts_of(places))


def _texts_of(places: Sequence[QuotePlace]) -> tuple[str, ...]:
    """What may hold a claim's quantities: its quotes, and the titles of their pages."""
    return tuple(dict.fromkeys([p.quote for p in places] + [p.title for p in places]))


# --- proof ----------------------------------------------------------------------------------------


def is_proved(claim: str, places: Sequence[QuotePlace], before: Sequence[str] = ()) -> bool:
    """Whether a claim is a whole sentence that a quote is of, word for word; or two, one after the
    other on the page.

    Case, blanks and typography aside. Never a name, a number or a fragment alone. `before`: claims
    that stand before it, one for each place where it stands (`claims_before`). If it opens with a
    pronoun, each must be the sentence before it on the page, and open with none.
    """
    said = _strip_stops(claim)
    if count_words(said) < FEWEST_WORDS and not _NAMED_VALUE.search(claim):
        return False
    needed: set[str] = set()
    if opens_with_pronoun(claim):
        needed = set(map(_strip_stops, before))
        if not needed or not all(one and not opens_with_pronoun(one) for one in needed):
            return False
    return "" in find_turns(claim, places, needed)


def find_turns(
    words: str, places: Sequence[QuotePlace], needed: Set[str] = frozenset()
) -> Iterator[str]:
    """What may turn a whole sentence, or two, at each place where it stands; "" for nothing.

    `needed`: what must stand before it there.
    """
    return (find_turn(*where) for where in _find_words(_strip_stops(words), needed, places))


def explain_turn(claim: str, places: Sequence[QuotePlace]) -> str:
    """Why a claim that stands on a page word for word is not proved; "" for another one."""
    turn = next(filter(None, find_turns(claim, places)), "")
    return f"it stands on the page, but not by itself: beside “{turn}”" if turn else ""


def _find_words(
    said: str, needed: Set[str], places: Sequence[QuotePlace]
) -> Iterator[tuple[str, str, int, int]]:
    """Where a text is a whole sentence that a quote is of, or two: a page, its title, offsets."""
    for place in places:
        for previous, start, end in _whole_sentences(place):
            one, before = (
                _strip_stops(place.text[start:end]),
                _strip_stops(place.text[slice(*previous)]),
            )
            if said == one and needed <= {before}:
                yield place.text, place.title, start, end
            elif not needed and _is_joined(said, before, one):
                yield place.text, place.title, previous[0], end


def _is_joined(said: str, previous: str, one: str) -> bool:
    """Whether a text is one sentence and the next one, with nothing but signs between them."""
    if not previous or not (said.startswith(previous) and said.endswith(one)):
        return False
    between = said[len(previous) : len(said) - len(one)]
    return bool(between) and not any(char.isalnum() for char in between)


def is_miscited(claim: str, title: str, places: Sequence[QuotePlace]) -> bool:
    """Whether a claim is about the thing that a page is titled after, and its quotes are not.

    The claim opens with the words of the title: so it says by itself what it is about. One of its
    quotes that has them too may tell another number of the same thing, as may a page of that title.
    """
    named = set(content_words(re.sub(r"\([^)]*\)", "", title)))  # in brackets: what it is
    opens = named and named == set(content_words(claim)[: len(named)])
    quoted = (set(content_words(f"{place.title} {place.quote}")) for place in places)
    return bool(opens) and not any(named <= words for words in quoted)


def claims_before(groups: Iterable[Sequence[Claim]]) -> dict[str, tuple[str, ...]]:
    """What stands before each claim, by its text, in each of some texts.

    It is "" at the beginning of one, and in lists and tables.
    """
    before: dict[str, tuple[str, ...]] = {}
    for claims in groups:
        for previous, claim in zip((None, *claims), claims, strict=False):
            is_prose = previous and previous.form == claim.form == "sentence"
            text = previous.text if previous and is_prose else ""
            before[claim.text] = (*before.get(claim.text, ()), text)
    return before


def _whole_sentences(place: QuotePlace) -> Iterator[tuple[Span, int, int]]:
    """The sentences that a quote touches, those that are whole and no questions.

    Each with where the one before it stands, which is empty where it is not whole.
    """
    text, spans = place.text, split_sentences(place.text)
    touched = [i for i, (a, b) in enumerate(spans) if a < place.end and place.start < b]
    near = range(max(0, touched[0] - 1), touched[-1] + 1) if touched else ()
    whole = {i: spans[i] for i in near if _is_whole(text, i, spans)}
    yield from ((whole.get(i - 1, (0, 0)), *whole[i]) for i in touched if i in whole)


def _is_whole(text: str, at: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether a sentence is no part of another one, which was cut where its line ends."""
    start, end = spans[at]
    sentence = text[start:end]
    if ends_as_question(sentence):
        return False
    before = text[slice(*spans[at - 1])] if at else ""
    after = text[slice(*spans[at + 1])] if at + 1 < len(spans) else ""
    begins = _STOP.search(before) or not before or is_heading(before) or is_row(before)
    ends = _STOP.search(sentence) or not after[:1].islower()
    return bool(begins and ends) or "\n\n" in text[max(0, start - 2) : start]


def _strip_stops(text: str) -> str:
    return fold(text).strip(" .!?。！？")


_STOP = re.compile(r"[.!?…。！？؟۔।:：][\"'”’»“‘«)\]」』）]*$")
