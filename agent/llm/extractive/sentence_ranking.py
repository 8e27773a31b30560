"""Which sentences of the evidence fit a question best, and how likely they answer it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from agent.evidence import rank_texts, word_shares
from agent.evidence.proper_names import plain_name
from agent.evidence.words import count_words
from agent.llm.extractive.candidates import Line, Question

MOST = 3  # sentences of an answer
CANDIDATES = 25
COPIED = 0.2  # a sentence with no larger share of new words repeats another one
TITLE = 0.8  # how much a word counts in the title or heading of a sentence
#: Weights of what ranks a sentence, fitted to the half for tuning of `python -m evals.extractive`.
WEIGHTS = {"bm25": 1.8, "cover": 2.2, "source": 1.6, "hop": 2.7}
NEW, LINKED, NEXT = 3.0, 1.0, 1.0
#: Log odds that the best sentences answer, fitted there to each question with its page and without.
ODDS = {"cover": 1.73, "together": 1.8, "title": 1.16, "same_page": 0.75, "base": -3.89}
MOST_SURE = 0.95
#: The least confidence from which sentences are shown; see `python -m evals.extractive`.
ANSWERED = 0.31


class Scored(NamedTuple):
    """A line with its score, and what it has of a question (`found`: its words, title included)."""

    line: Line
    score: float
    found: frozenset[str]
    signs: Mapping[str, float]


def score_lines(lines: Sequence[Line], question: Question) -> list[Scored]:
    """Each line with its score for a question, in the given order."""
    own = [frozenset(question.read(line.text)) for line in lines]
    above = [frozenset(question.read(f"{line.title} {line.heading}")) for line in lines]
    bags = [words | titled for words, titled in zip(own, above, strict=True)]
    shares = word_shares(question.words, bags)
    bm25 = rank_texts([line.about for line in lines], question.text)
    top = max(bm25, default=0.0) or 1.0
    covers = [_sum(shares, words) for words in own]
    hops, scored = _hop_shares(lines, covers, question), list[Scored]()
    for n, line in enumerate(lines):
        title = set(question.read(line.title))
        signs = {
            "bm25": bm25[n] / top,
            "cover": covers[n] + TITLE * _sum(shares, above[n] - own[n]),
            "source": 1 / line.source,
            "hop": hops.get(line.source, 0.0),
            "title": len(title & shares.keys()) / (len(title) or 1),
        }
        score = sum(weight * signs[name] for name, weight in WEIGHTS.items())
        scored.append(Scored(line, score, bags[n] & shares.keys(), signs))
    return scored


def _sum(shares: Mapping[str, float], words: Iterable[str]) -> float:
    return sum(shares.get(word, 0.0) for word in words)


def _hop_shares(
    lines: Sequence[Line], covers: Sequence[float], question: Question
) -> dict[int, float]:
    """For each page that the question does not name, how well a line elsewhere fits that does."""
    asked_text = question.text.casefold()
    names = {line.source: plain_name(line.title).casefold() for line in lines}
    fresh = {n: name for n, name in names.items() if len(name) > 3 and name not in asked_text}
    best: dict[int, float] = {}
    for line, cover in zip(lines, covers, strict=True):
        text = line.text.casefold()
        for n in (n for n, name in fresh.items() if n != line.source and name in text):
            best[n] = max(best.get(n, 0.0), cover)
    return best


def choose_lines(ranked: Sequence[Scored], question: Question, limit: int) -> list[Line]:
    """At most three lines within `limit` words: the best, then what adds to it."""
    left = sorted((s for s in ranked if not s.line.is_label), key=lambda s: -s.score)[:CANDIDATES]
    picked: list[Scored] = []
    while left and len(picked) < MOST:
        best = max(left, key=lambda s: _worth(s, picked, question))
        left.remove(best)
        if count_words(best.line.text) <= limit and not _repeats(best, picked, question):
            picked.append(best)
            limit -= count_words(best.line.text)
    return [s.line for s in picked]


def _worth(one: Scored, picked: Sequence[Scored], question: Question) -> float:
    if not picked:
        return one.score
    covered = frozenset[str]().union(*(s.found for s in picked))
    text = " ".join(s.line.text for s in picked).casefold()
    name = plain_name(one.line.title).casefold()
    is_linked = len(name) > 3 and name in text and one.line.source != picked[0].line.source
    is_next = any(one.line.is_beside(s.line) for s in picked)
    new = len(one.found - covered) / (len(question.words) or 1)
    return one.score + NEW * new + LINKED * is_linked + NEXT * is_next


def _repeats(one: Scored, picked: Sequence[Scored], question: Question) -> bool:
    own = set(question.read(one.line.text))
    return any(len(own - set(question.read(s.line.text))) <= COPIED * len(own) for s in picked)


def rate_answer(ranked: Sequence[Scored], question: Question) -> float:
    """How likely the best lines answer, from 0 to 1.

    0 where the question has no word, or where a name or a number of it is nowhere.
    """
    covered = {word for scored in ranked for word in scored.found}
    is_lost = any(map(covered.isdisjoint, question.exact))
    if is_lost or not ranked or not any(map(str.isalpha, "".join(question.words))):
        return 0.0
    odds = sum(ODDS[name] * value for name, value in answer_signs(ranked, question).items())
    return round(min(MOST_SURE, 1 / (1 + math.exp(-odds))), 3)


def answer_signs(ranked: Sequence[Scored], question: Question) -> dict[str, float]:
    """The features of whether the best lines answer, each between 0 and 1."""
    best = sorted((s for s in ranked if not s.line.is_label), key=lambda s: -s.score)[:MOST]
    best = best or list(ranked[:1])
    together = frozenset[str]().union(*(s.found for s in best))
    first = best[0]
    return {
        "cover": first.signs["cover"],
        "together": len(together) / (len(question.words) or 1),
        "title": first.signs["title"],
        "same_page": sum(s.line.source == first.line.source for s in best) / len(best),
        "base": 1.0,
    }
