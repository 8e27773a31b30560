"""Filling slots without a model: where the evidence states a fact, and what its value is."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from agent.evidence import CJK, is_row, sentences, words
from agent.llm.facts import Fact, fact_of, generic, sided
from agent.llm.question import Question, another_event
from agent.llm.ranking import Line, Scored
from agent.llm.records import asked, decides, entry
from agent.llm.selection import SURE, another_year, confidence
from agent.llm.values import name_spans, values
from agent.research import Slot

SUBJECT = 0.6  # share of the topic's names and years that a slot's sentence must be about
LONGEST = 240  # characters of a sentence that stands as a value itself
QUOTE = 700  # characters of a quote that runs over several sentences
CANDIDATES = 8
TOPIC = 0.4
COVER = 0.4  # share of the question that a line must speak of where no certain words are known


ASPECT = 8.0  # all of what is compared: a side is asked about that, not about itself
_COMPARED = frozenset(words("difference differences compare comparison versus vs better"))
OF_MATCH = ("winner", "loser", "score", "scorers")


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
    return (
        of_report(fact, found, question)
        or of_entry(slot, fact, found, question)
        or _of_prose(slot, fact, ranked, question)
    )


def part_of(slot: Slot, question: Question) -> Question:
    """The part of a question that a slot stands for; the question where it has but one."""
    parts = question.parts
    if len(parts) < 2 or not generic(slot.name):
        return question
    return next((part for part in parts if part.text == slot.description), question)


def of_report(fact: Fact, found: Sequence[Line], question: Question) -> Filled | None:
    """A fact of a match, from a table that reports this very match."""
    report = asked(found, question) if fact.match else None
    value = report.told(fact.match) if report else ""
    return Filled(value, report.line, report.quote) if report and value else None


def of_entry(
    slot: Slot, fact: Fact, found: Sequence[Line], question: Question
) -> Filled | None:
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


def _of_prose(
    slot: Slot, fact: Fact, ranked: Sequence[Scored], question: Question
) -> Filled | None:
    """A fact from the sentence that states it best."""
    fitness = [
        (_fitness(s, fact, slot, question), s) for s in ranked if _states(s, fact, slot, question)
    ]
    best: tuple[float, Filled] | None = None
    for score, candidate in sorted(fitness, key=lambda pair: -pair[0])[:CANDIDATES]:
        found = _scorers(candidate.line) if fact.kind == "names" else None
        found = found or _single(slot, fact, question, candidate.line)
        if found and (best is None or score + found.near > best[0]):
            best = score + found.near, found
    return best[1] if best else None


def _states(candidate: Scored, fact: Fact, slot: Slot, question: Question) -> bool:
    """Whether a line may state a fact about this topic."""
    line = candidate.line
    if slot.name in sided(question):
        return set(words(slot.name.replace("_", " "))) <= set(words(f"{line.title} {line.text}"))
    if fact.stated and not re.search(fact.stated, line.text, re.I):
        return False
    if not fact.stated and candidate.cover < COVER:
        return False
    if is_row(line.text) and fact.kind != "text":
        return False  # a cell says nothing without its head
    if fact.match in OF_MATCH and question.final and not decides(line, question, fact.match):
        return False
    return _about(line, question, candidate) and not another_year(line, question)


def _fitness(candidate: Scored, fact: Fact, slot: Slot, question: Question) -> float:
    """How well a line may state a slot: it says the slot's own words, and fits the topic.

    Where certain words state a fact, they count more than how much of the topic is repeated.
    """
    own = set(words(slot.name.replace("_", " ")))
    line = candidate.line
    said = set(words(line.text)) | set(words(line.heading))
    named = bool(fact.named and re.search(fact.named, line.text, re.I))
    minutes = fact.kind == "names" and bool(_MINUTE.search(line.text))
    about = len(own & said) / len(own) if own else 0.0
    topic = candidate.score * (TOPIC if fact.stated or question.sides else 1.0)
    fit = topic + 2.0 * about + 1.0 * named + 3.0 * minutes
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


def _about(line: Line, question: Question, candidate: Scored) -> bool:
    """Whether a line is about the topic: its names and years stand in it or in what is above it."""
    around = f"{line.title} {line.heading} {line.text} {line.before if line.leans else ''}"
    if any(year not in around for year in question.years):
        return False
    subject = {word for name in question.surely_named for word in words(name)}
    if not subject:
        return candidate.cover >= 0.4  # as in `selection`: most of a question without names
    return len(subject & set(words(around))) >= SUBJECT * len(subject)


def _single(slot: Slot, fact: Fact, question: Question, line: Line) -> Filled | None:
    if fact.kind in ("text", "yesno"):
        asked = set(words(f"{slot.name} {slot.description}".replace("_", " ")))
        holds = asked & set(words(f"{line.title} {line.text} {line.heading}"))
        return Filled(line.text, line, line.text) if holds and len(line.text) < LONGEST else None
    told = set(question.words)
    found = [v for v in values(fact.kind, line.text, question.unit) if set(words(v)) - told]
    if not found:
        return None
    if fact.kind == "names":
        found = _people(line, found)
        near = bool(re.search(rf"(?:{fact.stated})[^.;]{{0,40}}\bby\b", line.text, re.I))
        return Filled(", ".join(dict.fromkeys(found)), line, line.text, near) if found else None
    spots = _spots(line.text, fact, question)
    if fact.side:
        found = _sided(line, fact, spots, found)
    if not found:
        return None
    value, distance = _nearest(line.text, [a for a, _ in spots], found)
    whole = _listed(line.text, value) if fact.kind == "name" and not fact.side else value
    return Filled(whole, line, line.text, 2.0 * math.exp(-distance / 25))


def _spots(text: str, fact: Fact, question: Question) -> list[tuple[int, int]]:
    """Where the fact's own words stand, else those of the question."""
    if fact.stated:
        return [m.span() for m in re.finditer(fact.stated, text, re.I)]
    asked = set(question.words)
    told = [
        m.span()
        for m in re.finditer(rf"[{CJK}]{{2}}|[^\W{CJK}]+", text)
        if asked & set(words(m[0]))
    ]
    return told or [(0, 0)]


def _sided(
    line: Line, fact: Fact, spots: Sequence[tuple[int, int]], found: Sequence[str]
) -> list[str]:
    """The values on the side of the words where this fact has them; a passive turns it round."""
    text = line.text
    for start, end in spots:
        passive = re.match(r"\s*(?:\w+\s){0,3}by\b", text[end:])
        after = fact.side == "after" or passive or re.search(r"\bto$|是$", text[start:end])
        kept = [v for v in found if (text.find(v) >= end if after else text.find(v) < start)]
        kept = [
            v for v in kept if not _OF.search(text[max(0, text.find(v) - 12) : text.find(v)])
        ] or (kept if after else [])
        if kept:
            return kept[:1] if after else kept[-1:]
    return []


def _nearest(text: str, spots: Sequence[int], found: Sequence[str]) -> tuple[str, int]:
    """The value closest to the words, and how far it is."""
    far = [(min(abs(text.find(v) - s) for s in spots), i) for i, v in enumerate(found)]
    distance, at = min(far)
    return found[at], distance


def _listed(text: str, value: str) -> str:
    """A name with those that follow it in a list: `A, B and C`."""
    at = text.find(value)
    end = at + len(value)
    spans = [span for span in name_spans(text) if span[0] >= end]
    for start, stop in spans:
        if text[end:start] not in (", ", " and ", ", and ", " & "):
            break
        end = stop
    return text[at:end] if " and " in text[at:end] or " & " in text[at:end] else value


# --- lists of names ------------------------------------------------------------------------------

_MINUTE = re.compile(
    r"\(?\b\d{1,3}(?:st|nd|rd|th) minute|\b\d{1,3}(?:\+\d{1,2})?\s?['′’](?!s)|第\d{1,3}分钟"
)
_OF = re.compile(r"\b(?:of|for|from|against|by|in|at|to|with|over)\s(?:the\s)?$")


def _people(line: Line, found: Sequence[str]) -> list[str]:
    """Names that are not where somebody is from, nor the page's own subject."""
    told = line.title.casefold()
    kept = []
    place = -1
    for start, end in name_spans(line.text):
        name = line.text[start:end]
        by = re.search(r"\bby\s$", line.text[max(0, start - 5) : start])
        if (_OF.search(line.text[max(0, start - 12) : start]) and not by) or start - place == 2:
            place = end  # and what follows after a comma: `in Billund, Denmark`
        elif name in found and name.casefold() not in told:
            kept.append(name)
    return kept


def _scorers(line: Line) -> Filled | None:
    """Who scored, where minutes are told: the name before each of them."""
    if not _MINUTE.search(line.text):
        return None
    first, last = _run(line)
    quote = line.whole[first:last]
    found: list[str] = []
    spans = [span for span in name_spans(quote) if _acts(quote, *span)]
    for minute in _MINUTE.finditer(quote):
        before = [(a, b) for a, b in spans if b <= minute.start()]
        whole = [span for span in before if " " in quote[slice(*span)]] or before
        close = [span for span in before[-1:] if minute.start() - span[1] <= 3] or whole[-1:]
        found.extend(quote[a:b] for a, b in close)
    return Filled(", ".join(dict.fromkeys(found)), line, quote) if found else None


def _acts(text: str, start: int, end: int) -> bool:
    """Whether a name can be who does something: not `of France`, `the French`, `, a captain,`."""
    before, after = text[max(0, start - 12) : start], text[end : end + 2]
    if _OF.search(before) or (before.endswith(", ") and after == ", "):
        return False
    return " " in text[start:end] or not re.search(r"\b(?:a|an|the)\s$", before, re.I)


def _run(line: Line) -> tuple[int, int]:
    """The span of a line and of its neighbours that tell minutes too, within a paragraph."""
    first, last = line.start, line.start + len(line.text)
    spans = sentences(line.whole)
    for start, end in (s for s in spans if s[0] >= last):
        if "\n" in line.whole[last:start] or not _MINUTE.search(line.whole[start:end]):
            break
        last = end if end - first <= QUOTE else last
    for start, end in (s for s in reversed(spans) if s[1] <= first):
        if "\n" in line.whole[end:first] or not _MINUTE.search(line.whole[start:end]):
            break
        first = start if last - start <= QUOTE else first
    return first, last


def as_answer(slot: Slot, found: Filled | None) -> dict[str, Any]:
    """A slot as the reflect task answers it."""
    if found is None:
        return {"name": slot.name, "value": None, "source": None, "quote": ""}
    return {
        "name": slot.name,
        "value": found.value,
        "source": found.line.source,
        "quote": found.quote,
    }
