"""Filling slots without a model: where the evidence states a fact, and what its value is."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from agent.evidence import CJK, content_words, is_row
from agent.llm.extractive.facts import FactKind, fact_of, is_generic, side_slots
from agent.llm.extractive.finders import find_values
from agent.llm.extractive.lines import Line
from agent.llm.extractive.question import ParsedQuestion, is_another_event, named_opponents
from agent.llm.extractive.ranking import ScoredLine
from agent.llm.extractive.records import decides_contest, find_asked_report, is_final, split_entry
from agent.llm.extractive.selection import SHORT, SURE, confidence, is_another_year
from agent.llm.extractive.statement import (
    MINUTE,
    extend_date,
    extend_list,
    fact_spans,
    find_makers,
    find_scorers,
    follows_by_or_to,
    nearest_value,
    values_beside,
)
from agent.llm.extractive.synonyms import synonyms_of
from agent.slots.forms import to_typed
from agent.state import Slot

SUBJECT = 0.6  # share of the topic's names and years that a slot's sentence must be about
LONGEST = 240  # characters of a sentence that stands as a value itself
CANDIDATES = 8
TOPIC = 0.4
COVER = 0.4  # share of the question that a line must speak of where no certain words are known
ASPECT = 8.0  # all of what is compared: a side is asked about that, not about itself
_COMPARED = frozenset(content_words("difference differences compare comparison versus vs better"))
OF_MATCH = ("winner", "loser", "score", "scorers")
MOST = 0.7  # the same, where any name at all could be the value
_BEGINS = re.compile(r"(?:who|when)\b", re.I)
_WHO = re.compile(r"\bwho(?:m|se)?\b", re.I)


class Filled(NamedTuple):
    """A value, the sentence that states it, and the quote, in which the value stands."""

    value: str
    line: Line
    quote: str
    near: float = 0.0  # up to 2, where the value stands beside the words that state it


def fill_slot(slot: Slot, question: ParsedQuestion, ranked: Sequence[ScoredLine]) -> Filled | None:
    """A slot's value with its quote; None where no sentence states it for this very topic.

    What a table says goes before prose: its form tells what it is about.
    """
    if confidence(question, ranked) < SURE:
        return None
    question = part_of(slot, question)
    fact = fact_of(slot, question)
    found = [s.line for s in ranked]
    report = find_asked_report(found, question) if fact.match else None
    if report and (told := report.fact(fact.match)):
        return Filled(told, report.row_with(told.split(", ")[0]), report.quote)
    if report and (fact.match in ("score", "scorers") or named_opponents(question)):
        return None  # the table tells the whole match: no goals, or a draw
    entered = None if named_opponents(question) else find_in_rows(slot, fact, found, question)
    if fact.kind in ("text", "yesno") and slot.form.type != "text":
        return entered  # a sentence is no value of a type
    return entered or _fill_from_prose(slot, fact, ranked, question)


def part_of(slot: Slot, question: ParsedQuestion) -> ParsedQuestion:
    """The part of a question that a slot stands for; the question where it has but one."""
    parts = question.parts
    if len(parts) < 2 or not is_generic(slot.name):
        return question
    return next((part for part in parts if part.text == slot.description), question)


def find_in_rows(
    slot: Slot, fact: FactKind, found: Sequence[Line], question: ParsedQuestion
) -> Filled | None:
    """A fact from a row `Name | value` of a page about the topic."""
    own = set(content_words(slot.name.replace("_", " ")))
    told = set(question.words)
    for line in found:
        name, value = split_entry(line) or ("", "")
        if (
            not name
            or not set(content_words(line.title)) <= told
            or is_another_event(line.title, question)
        ):
            continue
        named = fact.named and re.fullmatch(rf"(?:{fact.named})s?(?:\(s\))?", name, re.I)
        if named or (set(content_words(name)) == own and not is_generic(slot.name)):
            value = re.sub(r"\s*[(（\[].*", "", value)
            if fact.kind in ("date", "number", "money"):
                value = next(iter(find_values(fact.kind, value)), "")
            if value:
                return Filled(value, line, line.text)
    return None


def find_in_prose(
    slot: Slot, found: Filled, question: ParsedQuestion, ranked: Sequence[ScoredLine]
) -> Line | None:
    """The sentence that says the same as a row of a table does; None where none does."""
    question = part_of(slot, question)
    told = _fill_from_prose(slot, fact_of(slot, question), ranked, question)
    return told.line if told and told.value == found.value else None


def is_stated(question: ParsedQuestion, ranked: Sequence[ScoredLine]) -> bool:
    """Whether any line says what was done, where a short question asks who did it, or when.

    Only for a subject with a name: others are told of in too many words.
    """
    short = len(question.words) <= SHORT and _BEGINS.match(question.text)
    if not short or not question.surely_named:
        return True
    fact = fact_of(Slot(name="who"), question)
    return not fact.stated or any(
        re.search(fact.stated, s.line.text, re.I) and _is_about_topic(s.line, question, s, fact)
        for s in ranked
    )


def _fill_from_prose(
    slot: Slot, fact: FactKind, ranked: Sequence[ScoredLine], question: ParsedQuestion
) -> Filled | None:
    """A fact from the sentence that states it best."""
    fitness = [
        (_score_candidate(s, fact, slot, question), s)
        for s in ranked
        if _may_state(s, fact, slot, question)
    ]
    best: tuple[float, Filled] | None = None
    for score, candidate in sorted(fitness, key=lambda pair: -pair[0])[:CANDIDATES]:
        found = _score_line(fact, candidate.line) or _single_value(
            slot, fact, question, candidate.line
        )
        fits = found and ("[]" in slot.name or to_typed(found.value, slot) is not None)
        if found and fits and (best is None or score + found.near > best[0]):
            best = score + found.near, found
    return best[1] if best else None


def _speaks_of_object(line: Line, question: ParsedQuestion, fact: FactKind) -> bool:
    """Whether a line speaks of half of what is asked beside the words that state the fact."""
    if not fact.stated or re.search(f"[{CJK}]", question.text):
        return True
    rest = [w for w in question.words if not re.search(fact.stated, f" {w} ", re.I)]
    said = set(content_words(f"{line.title} {line.heading} {line.before} {line.text}"))
    held = [word for word in rest if word in said or synonyms_of(word) & said]
    return 2 * len(held) >= len(rest)


def _score_line(fact: FactKind, line: Line) -> Filled | None:
    told = find_scorers(line) if fact.kind == "names" else None
    return Filled(", ".join(told[0]), line, told[1]) if told else None


def _may_state(candidate: ScoredLine, fact: FactKind, slot: Slot, question: ParsedQuestion) -> bool:
    """Whether a line may state a fact about this topic."""
    line = candidate.line
    if slot.name in side_slots(question):
        return set(content_words(slot.name.replace("_", " "))) <= set(
            content_words(f"{line.title} {line.text}")
        )
    if fact.stated and not re.search(fact.stated, line.text, re.I):
        return False
    priced = fact.kind == "money" and is_row(line.text) and bool(candidate.found)
    least = MOST if fact.kind == "name" else COVER
    day = fact.match == "day" and question.asks_for_final and is_final(line)
    if not (fact.stated or priced or day or candidate.cover >= least):
        return False
    if is_row(line.text) and fact.kind not in ("text", "money"):
        return False  # a cell says nothing without its head
    sides = {word for side in named_opponents(question) for word in content_words(side)}
    if fact.match and not sides <= set(content_words(line.text)):
        return False  # another match of the same contest
    if (
        fact.match in OF_MATCH
        and question.asks_for_final
        and not sides
        and not decides_contest(line, question, fact.match)
    ):
        return False
    return _is_about_topic(line, question, candidate, fact) and not is_another_year(line, question)


def _score_candidate(
    candidate: ScoredLine, fact: FactKind, slot: Slot, question: ParsedQuestion
) -> float:
    """How well a line may state a slot: it says the slot's own words, and fits the topic.

    Where certain words state a fact, they count more than how much of the topic is repeated.
    """
    own = set(content_words(slot.name.replace("_", " ")))
    line = candidate.line
    said = set(content_words(line.text)) | set(content_words(line.heading))
    named = bool(fact.named and re.search(fact.named, line.text, re.I))
    minutes = fact.kind == "names" and bool(MINUTE.search(line.text))
    about = len(own & said) / len(own) if own else 0.0
    topic = candidate.score * (TOPIC if fact.stated or question.sides else 1.0)
    tongue = bool(re.search(f"[{CJK}]", line.text)) == bool(re.search(f"[{CJK}]", question.text))
    fit = topic + 2.0 * about + 1.0 * named + 3.0 * minutes + 3.0 * tongue
    return fit + _fits_side(line, own, question)


def _fits_side(line: Line, own: set[str], question: ParsedQuestion) -> float:
    """For the side of a comparison: a line about this side and about what is compared."""
    if not question.sides:
        return 0.0
    sides = [set(content_words(side)) for side in question.sides]
    said = set(content_words(f"{line.heading} {line.text}"))
    both = any((other - own) & said for other in sides if other != own)
    aspects = set(question.words) - set[str]().union(*sides) - _COMPARED
    spoken = len(aspects & said) / len(aspects) if aspects else 0.0
    return 2.0 * (own & set(content_words(line.title)) == own) - 3.0 * both + ASPECT * spoken


def _is_about_topic(
    line: Line, question: ParsedQuestion, candidate: ScoredLine, fact: FactKind
) -> bool:
    """Whether a line is about the topic: its names and years stand in it or in what is above it."""
    around = (
        f"{line.title} {line.heading} {line.text} {line.before if line.opens_with_pronoun else ''}"
    )
    if any(year not in around for year in question.years):
        return False
    subject = {word for name in question.surely_named for word in content_words(name)}
    if not subject:
        near = candidate.cover >= COVER and _speaks_of_object(line, question, fact)
        return near or (question.asks_for_final and is_final(line))
    return len(subject & set(content_words(around))) >= SUBJECT * len(subject)


def _single_value(
    slot: Slot, fact: FactKind, question: ParsedQuestion, line: Line
) -> Filled | None:
    if fact.kind in ("text", "yesno"):
        asked = set(content_words(f"{slot.name} {slot.description}".replace("_", " ")))
        holds = asked & set(content_words(f"{line.title} {line.text} {line.heading}"))
        return Filled(line.text, line, line.text) if holds and len(line.text) < LONGEST else None
    found = find_values(fact.kind, line.text, question.unit)
    if sides := named_opponents(question):
        return _value_between(fact, sides, line, found)
    told = set(question.words)
    found = [v for v in found if set(content_words(v)) - told]
    if not found:
        return None
    if fact.kind == "names":
        people = find_makers(line, fact, found)
        return Filled(", ".join(people), line, line.text, 1.0) if people else None
    if fact.kind == "name" and _WHO.search(question.text):
        found = [v for v in found if not re.search(r"\d", v)]  # Cas9 did not discover anything
    at = fact_spans(line.text, fact, question)
    if fact.side:
        found = values_beside(line, fact, at, found)
    if not found:
        return None
    if not found:
        return None
    value, distance = nearest_value(line.text, [a for a, _ in at], found)
    many = fact.kind == "name" and (not fact.side or follows_by_or_to(line.text, value))
    whole = extend_list(line.text, value) if many else value
    whole = extend_date(line.text, value) if fact.kind == "date" else whole
    if fact.kind == "name" and re.match(r"\S+ \S+ of ", whole):
        whole = whole.partition(" of ")[0]  # `Howard Webb of England`
    return Filled(whole, line, line.text, 2.0 * math.exp(-distance / 25))


def _value_between(
    fact: FactKind, sides: Sequence[str], line: Line, found: Sequence[str]
) -> Filled | None:
    """A fact of a match from a sentence that names both sides, where only one value can be it."""
    if fact.match == "winner":
        found = values_beside(
            line, fact, fact_spans(line.text, fact, None), [v for v in found if v in sides]
        )
    return Filled(found[0], line, line.text) if len(found) == 1 else None
