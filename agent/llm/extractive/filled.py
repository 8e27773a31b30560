"""Filling slots without a model: where the evidence states a fact, and what its value is."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from agent.evidence import CJK, is_row, words
from agent.llm.extractive.facts import Fact, fact_of, generic, sided
from agent.llm.extractive.finders import values
from agent.llm.extractive.lines import Line
from agent.llm.extractive.question import Question, another_event, opponents
from agent.llm.extractive.ranking import Scored
from agent.llm.extractive.records import asked, decides, entry, is_final
from agent.llm.extractive.selection import SHORT, SURE, another_year, confidence
from agent.llm.extractive.statement import (
    MINUTE,
    beside,
    given_to,
    listed,
    makers,
    nearest,
    scorers,
    spots,
    until,
)
from agent.llm.extractive.synonyms import alike
from agent.slots.forms import typed
from agent.state import Slot

SUBJECT = 0.6  # share of the topic's names and years that a slot's sentence must be about
LONGEST = 240  # characters of a sentence that stands as a value itself
CANDIDATES = 8
TOPIC = 0.4
COVER = 0.4  # share of the question that a line must speak of where no certain words are known
ASPECT = 8.0  # all of what is compared: a side is asked about that, not about itself
_COMPARED = frozenset(words("difference differences compare comparison versus vs better"))
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


def filled(slot: Slot, question: Question, ranked: Sequence[Scored]) -> Filled | None:
    """A slot's value with its quote; None where no sentence states it for this very topic.

    What a table says goes before prose: its form tells what it is about.
    """
    if confidence(question, ranked) < SURE:
        return None
    question = part_of(slot, question)
    fact = fact_of(slot, question)
    found = [s.line for s in ranked]
    report = asked(found, question) if fact.match else None
    if report and (told := report.told(fact.match)):
        return Filled(told, report.row(told.split(", ")[0]), report.quote)
    if report and (fact.match in ("score", "scorers") or opponents(question)):
        return None  # the table tells the whole match: no goals, or a draw
    entered = None if opponents(question) else of_entry(slot, fact, found, question)
    if fact.kind in ("text", "yesno") and slot.form.type != "text":
        return entered  # a sentence is no value of a type
    return entered or _of_prose(slot, fact, ranked, question)


def part_of(slot: Slot, question: Question) -> Question:
    """The part of a question that a slot stands for; the question where it has but one."""
    parts = question.parts
    if len(parts) < 2 or not generic(slot.name):
        return question
    return next((part for part in parts if part.text == slot.description), question)


def of_entry(slot: Slot, fact: Fact, found: Sequence[Line], question: Question) -> Filled | None:
    """A fact from a row `Name | value` of a page about the topic."""
    own = set(words(slot.name.replace("_", " ")))
    told = set(question.words)
    for line in found:
        name, value = entry(line) or ("", "")
        if not name or not set(words(line.title)) <= told or another_event(line.title, question):
            continue
        named = fact.named and re.fullmatch(rf"(?:{fact.named})s?(?:\(s\))?", name, re.I)
        if named or (set(words(name)) == own and not generic(slot.name)):
            value = re.sub(r"\s*[(（\[].*", "", value)
            if fact.kind in ("date", "number", "money"):
                value = next(iter(values(fact.kind, value)), "")
            if value:
                return Filled(value, line, line.text)
    return None


def in_prose(
    slot: Slot, found: Filled, question: Question, ranked: Sequence[Scored]
) -> Line | None:
    """The sentence that says the same as a row of a table does; None where none does."""
    question = part_of(slot, question)
    told = _of_prose(slot, fact_of(slot, question), ranked, question)
    return told.line if told and told.value == found.value else None


def stated(question: Question, ranked: Sequence[Scored]) -> bool:
    """Whether any line says what was done, where a short question asks who did it, or when.

    Only for a subject with a name: others are told of in too many words.
    """
    short = len(question.words) <= SHORT and _BEGINS.match(question.text)
    if not short or not question.surely_named:
        return True
    fact = fact_of(Slot(name="who"), question)
    return not fact.stated or any(
        re.search(fact.stated, s.line.text, re.I) and _about(s.line, question, s, fact)
        for s in ranked
    )


def _of_prose(
    slot: Slot, fact: Fact, ranked: Sequence[Scored], question: Question
) -> Filled | None:
    """A fact from the sentence that states it best."""
    fitness = [
        (_fitness(s, fact, slot, question), s) for s in ranked if _states(s, fact, slot, question)
    ]
    best: tuple[float, Filled] | None = None
    for score, candidate in sorted(fitness, key=lambda pair: -pair[0])[:CANDIDATES]:
        found = _scored(fact, candidate.line) or _single(slot, fact, question, candidate.line)
        fits = found and ("[]" in slot.name or typed(found.value, slot) is not None)
        if found and fits and (best is None or score + found.near > best[0]):
            best = score + found.near, found
    return best[1] if best else None


def _object(line: Line, question: Question, fact: Fact) -> bool:
    """Whether a line speaks of half of what is asked beside the words that state the fact."""
    if not fact.stated or re.search(f"[{CJK}]", question.text):
        return True
    rest = [w for w in question.words if not re.search(fact.stated, f" {w} ", re.I)]
    said = set(words(f"{line.title} {line.heading} {line.before} {line.text}"))
    held = [word for word in rest if word in said or alike(word) & said]
    return 2 * len(held) >= len(rest)


def _scored(fact: Fact, line: Line) -> Filled | None:
    told = scorers(line) if fact.kind == "names" else None
    return Filled(", ".join(told[0]), line, told[1]) if told else None


def _states(candidate: Scored, fact: Fact, slot: Slot, question: Question) -> bool:
    """Whether a line may state a fact about this topic."""
    line = candidate.line
    if slot.name in sided(question):
        return set(words(slot.name.replace("_", " "))) <= set(words(f"{line.title} {line.text}"))
    if fact.stated and not re.search(fact.stated, line.text, re.I):
        return False
    priced = fact.kind == "money" and is_row(line.text) and bool(candidate.found)
    least = MOST if fact.kind == "name" else COVER
    day = fact.match == "day" and question.final and is_final(line)
    if not (fact.stated or priced or day or candidate.cover >= least):
        return False
    if is_row(line.text) and fact.kind not in ("text", "money"):
        return False  # a cell says nothing without its head
    sides = {word for side in opponents(question) for word in words(side)}
    if fact.match and not sides <= set(words(line.text)):
        return False  # another match of the same contest
    if (
        fact.match in OF_MATCH
        and question.final
        and not sides
        and not decides(line, question, fact.match)
    ):
        return False
    return _about(line, question, candidate, fact) and not another_year(line, question)


def _fitness(candidate: Scored, fact: Fact, slot: Slot, question: Question) -> float:
    """How well a line may state a slot: it says the slot's own words, and fits the topic.

    Where certain words state a fact, they count more than how much of the topic is repeated.
    """
    own = set(words(slot.name.replace("_", " ")))
    line = candidate.line
    said = set(words(line.text)) | set(words(line.heading))
    named = bool(fact.named and re.search(fact.named, line.text, re.I))
    minutes = fact.kind == "names" and bool(MINUTE.search(line.text))
    about = len(own & said) / len(own) if own else 0.0
    topic = candidate.score * (TOPIC if fact.stated or question.sides else 1.0)
    tongue = bool(re.search(f"[{CJK}]", line.text)) == bool(re.search(f"[{CJK}]", question.text))
    fit = topic + 2.0 * about + 1.0 * named + 3.0 * minutes + 3.0 * tongue
    return fit + _of_side(line, own, question)


def _of_side(line: Line, own: set[str], question: Question) -> float:
    """For the side of a comparison: a line about this side and about what is compared."""
    if not question.sides:
        return 0.0
    sides = [set(words(side)) for side in question.sides]
    said = set(words(f"{line.heading} {line.text}"))
    both = any((other - own) & said for other in sides if other != own)
    aspects = set(question.words) - set[str]().union(*sides) - _COMPARED
    spoken = len(aspects & said) / len(aspects) if aspects else 0.0
    return 2.0 * (own & set(words(line.title)) == own) - 3.0 * both + ASPECT * spoken


def _about(line: Line, question: Question, candidate: Scored, fact: Fact) -> bool:
    """Whether a line is about the topic: its names and years stand in it or in what is above it."""
    around = f"{line.title} {line.heading} {line.text} {line.before if line.leans else ''}"
    if any(year not in around for year in question.years):
        return False
    subject = {word for name in question.surely_named for word in words(name)}
    if not subject:
        near = candidate.cover >= COVER and _object(line, question, fact)
        return near or (question.final and is_final(line))
    return len(subject & set(words(around))) >= SUBJECT * len(subject)


def _single(slot: Slot, fact: Fact, question: Question, line: Line) -> Filled | None:
    if fact.kind in ("text", "yesno"):
        asked = set(words(f"{slot.name} {slot.description}".replace("_", " ")))
        holds = asked & set(words(f"{line.title} {line.text} {line.heading}"))
        return Filled(line.text, line, line.text) if holds and len(line.text) < LONGEST else None
    found = values(fact.kind, line.text, question.unit)
    if sides := opponents(question):
        return _between(fact, sides, line, found)
    told = set(question.words)
    found = [v for v in found if set(words(v)) - told]
    if not found:
        return None
    if fact.kind == "names":
        people = makers(line, fact, found)
        return Filled(", ".join(people), line, line.text, 1.0) if people else None
    if fact.kind == "name" and _WHO.search(question.text):
        found = [v for v in found if not re.search(r"\d", v)]  # Cas9 did not discover anything
    at = spots(line.text, fact, question)
    if fact.side:
        found = beside(line, fact, at, found)
    if not found:
        return None
    if not found:
        return None
    value, distance = nearest(line.text, [a for a, _ in at], found)
    many = fact.kind == "name" and (not fact.side or given_to(line.text, value))
    whole = listed(line.text, value) if many else value
    whole = until(line.text, value) if fact.kind == "date" else whole
    if fact.kind == "name" and re.match(r"\S+ \S+ of ", whole):
        whole = whole.partition(" of ")[0]  # `Howard Webb of England`
    return Filled(whole, line, line.text, 2.0 * math.exp(-distance / 25))


def _between(fact: Fact, sides: Sequence[str], line: Line, found: Sequence[str]) -> Filled | None:
    """A fact of a match from a sentence that names both sides, where only one value can be it."""
    if fact.match == "winner":
        found = beside(line, fact, spots(line.text, fact, None), [v for v in found if v in sides])
    return Filled(found[0], line, line.text) if len(found) == 1 else None
