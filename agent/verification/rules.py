"""The rules of the verdict: what is on a page word for word, and what no judge may overrule.

1. A whole sentence of its page that no judge judged is quoted: the page says it, nothing more.
2. A claim with a quantity that does not follow from its quotes (`agent/evidence/quantities/`), or
   with a name or host that is in none (`unquoted.py`), is never supported. Without a judge it is
   unsupported, of a quantity only where no cited page has it.
3. A claim whose quotes are all of retracted works is unsupported, whatever a judge says.
4. Everything else is for a judge, and without one unchecked. Quotes that read like an instruction
   to a model support nothing: at most partial.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from agent.evidence import fold, is_heading, is_row, split_sentences
from agent.evidence.language import ends_as_question
from agent.evidence.prompt_injection import find_instruction
from agent.evidence.quantities import find_missing, is_on_page, missing_quantities
from agent.evidence.quoting import touched_sentences
from agent.evidence.words import count_words
from agent.state import Calculation, Verdict
from agent.verification.calculation import compute_claim
from agent.verification.judge_view import QuotePlace
from agent.verification.unquoted import find_unquoted

FEWEST_WORDS = 4  # of a sentence; fewer are a name, a number or a fragment
#: A value next to its name, which says something in fewer words: `Fee: 10 %`.
_NAMED_VALUE = re.compile(r"\w\W{0,3}(?:: | \| )\W{0,5}\w")
FAILING: tuple[Verdict, ...] = ("unsupported", "contradicted")


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
    *,
    names: bool = True,
) -> Assessment:
    """The verdict on a claim: as a model judged it within the rules, else by the rules.

    `judged` is None where no model did. Without `names` the rule about names and hosts is left out.
    """
    if is_retracted(places) or (judged and judged.verdict == "supported" and not places):
        return Assessment("unsupported", "rule")
    if judged:
        return limit_assessment(judged, claim, places, names=names)
    if is_quoted(claim, places):
        return Assessment("quoted", "rule")
    pages = {place.text for place in places}
    missing = find_missing(claim, _texts_of(places))
    is_lost = any(not any(is_on_page(one, page) for page in pages) for one in missing)
    if is_lost or (names and find_unquoted(claim, places)):
        return Assessment("unsupported", "rule")
    return UNCHECKED


def decide_value(value: str, places: Sequence[QuotePlace], judged: Assessment | None) -> Assessment:
    """The verdict on a slot's value: that of a model, within the rules.

    Its quotes have it, but that does not make it the answer to its slot.
    """
    judged = judged._replace(calculation=None) if judged else UNCHECKED
    return limit_assessment(judged, value, places, names=False)


def is_retracted(places: Sequence[QuotePlace]) -> bool:
    """Whether all quotes are of works that were retracted."""
    return bool(places) and all(place.is_retracted for place in places)


def limit_assessment(
    judged: Assessment,
    claim: str,
    places: Sequence[QuotePlace],
    pages: Sequence[str] = (),
    *,
    names: bool = True,
) -> Assessment:
    """The verdict of a model, as far as the rules and its own arithmetic allow.

    A claim is supported by its quotes, and by whole `pages` where it cites these without quotes.
    """
    if judged.calculation and judged.calculation.is_query:
        return judged  # code made it, and the audit makes it again
    calculation, judged = judged.calculation, judged._replace(calculation=None)
    supporting = [place for place in places if not _gives_orders(place)]
    if is_quoted(claim, supporting):
        return judged  # its numbers and names are the page's own
    computed = compute_claim(calculation.expression, claim, supporting) if calculation else None
    if computed and computed.fault:
        verdict = judged.verdict if judged.verdict in FAILING else "unsupported"
        return Assessment(verdict, "calculation", computed.calculation)
    if judged.verdict != "supported":
        return judged
    missing = computed.missing if computed else find_missing(claim, _texts_of(supporting))
    holds = all(any(is_on_page(one, page) for page in pages) for one in missing)
    if computed:
        judged = Assessment("supported", "calculation", computed.calculation)
    holds &= not (names and find_unquoted(claim, supporting, pages))
    return judged if supporting and holds else judged._replace(verdict="partial")


def explain_fault(judged: Assessment, claim: str, places: Sequence[QuotePlace]) -> str:
    """Why the arithmetic of a model does not hold; "" where it does, and where there is none."""
    calculation = None if is_quoted(claim, places) else judged.calculation
    computed = compute_claim(calculation.expression, claim, places) if calculation else None
    return computed.fault if computed else ""


def _gives_orders(place: QuotePlace) -> bool:
    touched = (place.text[a:b] for a, b in touched_sentences(place.text, place.start, place.end))
    return find_instruction(place.quote, *touched) is not None


def missing_in_quotes(claim: str, places: Sequence[QuotePlace]) -> tuple[str, ...]:
    """The quantities of a claim that its quotes neither hold nor give, as written."""
    return missing_quantities(claim, _texts_of(places))


def _texts_of(places: Sequence[QuotePlace]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([p.quote for p in places] + [p.title for p in places]))


# --- word for word --------------------------------------------------------------------------------


def is_quoted(claim: str, places: Sequence[QuotePlace]) -> bool:
    """Whether a claim is a whole sentence that a quote is of, word for word; or two, one after the
    other on the page.

    Case, blanks and typography aside. Never a name, a number or a fragment alone.
    """
    text = _strip_stops(claim)
    if count_words(text) < FEWEST_WORDS and not _NAMED_VALUE.search(claim):
        return False
    return any(
        text == one or _is_joined(text, previous, one)
        for place in places
        for previous, one in _whole_sentences(place)
    )


def _is_joined(text: str, previous: str, one: str) -> bool:
    """Whether a text is one sentence and the next one, with nothing but signs between them."""
    if not previous or not (text.startswith(previous) and text.endswith(one)):
        return False
    between = text[len(previous) : len(text) - len(one)]
    return bool(between) and not any(char.isalnum() for char in between)


def _whole_sentences(place: QuotePlace) -> Iterator[tuple[str, str]]:
    """The sentences that a quote touches, those that are whole and no questions, without stops.

    Each after the one before it, which is "" where it is not whole.
    """
    text, spans = place.text, split_sentences(place.text)
    touched = [i for i, (a, b) in enumerate(spans) if a < place.end and place.start < b]
    near = range(max(0, touched[0] - 1), touched[-1] + 1) if touched else ()
    whole = {i: _strip_stops(text[slice(*spans[i])]) for i in near if _is_whole(text, i, spans)}
    yield from ((whole.get(i - 1, ""), whole[i]) for i in touched if i in whole)


def _is_whole(text: str, at: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether a sentence is no part of another one, which was cut where its line ends."""
    start, end = spans[at]
    sentence = text[start:end]
    if ends_as_question(sentence):
        return False
    before = text[slice(*spans[at - 1])] if at else ""
    after = text[slice(*spans[at + 1])] if at + 1 < len(spans) else ""
    is_field = bool(_NAMED_VALUE.search(sentence)) and not sentence[:1].islower()
    is_open = not before or is_heading(before) or is_row(before)
    begins = is_field or is_open or _STOP.search(before)
    ends = _STOP.search(sentence) or not after[:1].islower()
    return bool(begins and ends) or "\n\n" in text[max(0, start - 2) : start]


def _strip_stops(text: str) -> str:
    return fold(text).strip(" .!?。！？-*•")


_STOP = re.compile(r"[.!?…。！？؟۔।:：][\"'”’»“‘«)\]」』）]*$")
