"""What a claim states that can be named, and whether its evidence has it: numbers, dates, names."""

from __future__ import annotations

import re
from typing import NamedTuple

from agent.checking.likeness import Comparison, Evidence, name_runs
from agent.checking.reading import COUNTERS, PARTICLES
from agent.checking.words import Sentence, Word, search_keys
from agent.evidence import CJK

APART = 3  # words between a day and its month


class StatedFact(NamedTuple):
    """A number, a date or a name of a claim, as it calls it, and whether its evidence has it.

    `exact`: a number or a date, for which there is no other word.
    """

    text: str
    there: bool
    exact: bool = False


def find_facts(found: Comparison, around: Evidence) -> list[StatedFact]:
    """Every number, date and name of a claim. Names may also be in what stands around."""
    stated: list[StatedFact] = []
    for sentence in found.claim:
        stated += [
            StatedFact(f"the {_name_kind(word)} {word.text}", bool(found.hits(word)), True)
            for word in sentence
            if word.kind == "number" and word.keys
        ]
        stated += _dates(found, sentence)
        stated += [_name(found, around, run) for run in name_runs(sentence)]
        stated += _foreign(sentence, found.evidence.text + around.text)
    return stated


def _dates(found: Comparison, sentence: Sentence) -> list[StatedFact]:
    """Days of months: both being there is not enough, they have to be there side by side."""
    dates = []
    for first, second in zip(sentence, sentence[1:], strict=False):
        month, day = (first, second) if _is_month(first) else (second, first)
        if _is_month(month) and day.kind == "number" and 0 < (day.value or 0) < 32:
            known = bool(found.hits(month) and found.hits(day))
            there = not known or found.meet(month, day, APART)
            dates.append(StatedFact(f"the date {first.text} {second.text}", there, True))
    return dates


def _name_kind(word: Word) -> str:
    return "month" if _is_month(word) else "number"


def _is_month(word: Word) -> bool:
    return bool(word.keys) and word.keys[0].startswith("@")


def _name(found: Comparison, around: Evidence, run: list[Word]) -> StatedFact:
    """A name is there if all its words are. At a sentence's beginning it may be a mere word."""
    text = " ".join(word.text for word in run)
    there = all(_has_name(found, around, word) for word in run)
    return StatedFact(f"the name {text}", there)


def _has_name(found: Comparison, around: Evidence, word: Word) -> bool:
    return bool(found.hits(word)) or any(key in around.places for key in search_keys(word))


def _foreign(sentence: Sentence, evidence: str) -> list[StatedFact]:
    """Two Chinese characters in a row neither of which the evidence has: a word that it lacks."""
    run = "".join(word.text[0] for word in sentence if _CJK.match(word.text))
    there = set(evidence) | PARTICLES | set(COUNTERS)
    absent = "".join(" " if char in there else char for char in run).split()
    return [StatedFact(f"the word {word}", False) for word in absent if len(word) > 1]


_CJK = re.compile(f"[{CJK}]")
