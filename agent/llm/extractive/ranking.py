"""How well each sentence of the evidence answers a question."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from agent.evidence import rank_texts
from agent.evidence.asked import find_values
from agent.evidence.language import load_language
from agent.evidence.names import plain_name
from agent.llm.extractive.lines import Line
from agent.llm.extractive.question import ParsedQuestion
from agent.llm.extractive.synonyms import synonyms_of


class Features(NamedTuple):
    """What makes a sentence an answer. Shares are of the question's words, the rarer the more."""

    cover: float = 0.0  # the share that it speaks of, itself or by its context
    typed: float = 0.0  # 1: it holds a value of the type that is asked for
    proximity: float = 0.0  # neighbours in the question that are close in it too
    length: float = 0.0  # log of its words over the mean
    first: float = 0.0  # 1: it opens its page
    title_said: float = 0.0  # share of its page's title that the question says
    title_whole: float = 0.0  # 1: the question says the whole title
    page: float = 0.0  # the share that its page speaks of
    source: float = 0.0  # one over the number of its source
    hop_in: float = 0.0  # the best cover of a sentence elsewhere that names its page
    bm25: float = 0.0  # over the best one's
    hop_union: float = 0.0  # the best share that it and a sentence linked with it speak of
    earliest: float = 0.0  # one over its place in its passage


#: Found by sweeps of one weight after the other on the tune half of the questions (halved, raised
#: by 60 %, then by a quarter either way), for right answers of the three sets and ten languages.
WEIGHTS = Features(
    cover=2.69,
    typed=2.16,
    proximity=0.8,
    length=1.17,
    first=0.24,
    title_said=0.79,
    title_whole=0.31,
    page=1.68,
    source=1.63,
    hop_in=2.66,
    bm25=1.8,
    hop_union=1.9,
    earliest=0.27,
)
#: How much a word counts that stands not in the sentence but in its context.
TITLE, HEADING, BEFORE, NEAR, ALIKE = 0.8, 0.6, 0.4, 0.6, 0.6


class ScoredLine(NamedTuple):
    """A line with its fitness: `score` to rank, `cover` the share of the question it speaks of."""

    line: Line
    score: float
    cover: float
    found: frozenset[str]  # the words of the question that it holds, itself or by its context
    features: Features = Features()


class _View:
    """A line as bags of words, and how much it speaks of each word of a question (`hits`)."""

    def __init__(self, line: Line, question: ParsedQuestion) -> None:
        self.line = line
        self.order = question.read(line.text)
        self.own = frozenset(self.order)
        self.title = frozenset(question.read(line.title))
        self.said = self.own | self.title
        heading, before = question.read(line.heading), question.read(line.before)
        starts = {word[:5] for word in (*self.own, *heading) if len(word) > 5}
        self.hits: dict[str, float] = {}
        for word in question.words:
            context = max(
                TITLE * (word in self.title),
                HEADING * (word in heading),
                BEFORE * (word in before),
                NEAR * (len(word) > 5 and word[:5] in starts),
                ALIKE * (not self.own.isdisjoint(synonyms_of(word))),
            )
            if hit := 1.0 if word in self.own else context:
                self.hits[word] = hit


class _Weigher:
    """The words of a question with their weights: the rarer among the lines, the more."""

    def __init__(self, views: Sequence[_View], question: ParsedQuestion) -> None:
        self.words = question.words
        held = {word: sum(word in view.said for view in views) for word in self.words}
        rarity = {
            w: math.log(1 + (len(views) - n + 0.5) / (n + 0.5)) + 0.5 for w, n in held.items()
        }
        total = sum(rarity.values()) or 1.0
        self._shares = {word: value / total for word, value in rarity.items()}

    def share(self, hits: Mapping[str, float] | frozenset[str]) -> float:
        """The share of the question that some of its words make, each by how much it is said."""
        rated = hits.items() if isinstance(hits, Mapping) else ((word, 1.0) for word in hits)
        return sum(self._shares.get(word, 0.0) * hit for word, hit in rated)

    def proximity(self, order: Sequence[str]) -> float:
        """The share of neighbours in the question that are close in a sentence too."""
        where: dict[str, list[int]] = {}
        for at, word in enumerate(order):
            where.setdefault(word, []).append(at)
        return sum(
            (self._shares[left] + self._shares[right]) / 2
            for left, right in zip(self.words, self.words[1:], strict=False)
            if any(0 < b - a <= 3 for a in where.get(left, ()) for b in where.get(right, ()))
        )


def score_lines(found: Sequence[Line], question: ParsedQuestion) -> list[ScoredLine]:
    """Each line with its score for a question, in the given order."""
    views = [_View(line, question) for line in found]
    weigher = _Weigher(views, question)
    bm25 = rank_texts([f"{line.title} {line.heading} {line.text}" for line in found], question.text)
    mean = sum(len(view.order) for view in views) / (len(views) or 1) or 1.0
    pages, hops = _page_shares(views, weigher), _hop_features(views, question, weigher)
    asked, top = frozenset(question.words), max(bm25, default=0.0) or 1.0
    scored: list[ScoredLine] = []
    for view, rank, (hop_in, hop_union) in zip(views, bm25, hops, strict=True):
        line = view.line
        features = Features(
            cover=weigher.share(view.hits),
            typed=float(has_answer_type(line, question)),
            proximity=weigher.proximity(view.order),
            length=math.log((len(view.order) + 1) / mean),
            first=float(line.at == 0 and not line.passage),
            title_said=len(asked & view.title) / (len(view.title) or 1),
            title_whole=float(bool(view.title) and view.title <= asked),
            page=pages[line.source],
            source=1 / line.source,
            hop_in=hop_in,
            bm25=rank / top,
            hop_union=hop_union,
            earliest=1 / (1 + line.at),
        )
        score = sum(map(float.__mul__, WEIGHTS, features))
        scored.append(ScoredLine(line, score, features.cover, frozenset(view.hits), features))
    return scored


def _page_shares(views: Sequence[_View], weigher: _Weigher) -> dict[int, float]:
    held: dict[int, set[str]] = {}
    for view in views:
        held.setdefault(view.line.source, set()).update(view.said)
    return {n: weigher.share(frozenset(words)) for n, words in held.items()}


def _hop_features(
    views: Sequence[_View], question: ParsedQuestion, weigher: _Weigher
) -> list[tuple[float, float]]:
    """For each line: the best cover of a line elsewhere that names its page, and that of both."""
    told = question.text.casefold()
    names = {view.line.source: plain_name(view.line.title).casefold() for view in views}
    titles = {n: name for n, name in names.items() if len(name) > 3 and name not in told}
    incoming: dict[int, float] = {}
    union = [0.0] * len(views)
    for i, view in enumerate(views):
        text = view.line.text.casefold()
        for source, name in titles.items():
            if source == view.line.source or name not in text:
                continue
            incoming[source] = max(incoming.get(source, 0.0), weigher.share(view.hits))
            for j, other in enumerate(views):
                if other.line.source == source:
                    both = weigher.share(view.said | other.said)
                    union[i], union[j] = max(union[i], both), max(union[j], both)
    return [(incoming.get(view.line.source, 0.0), union[i]) for i, view in enumerate(views)]


def has_answer_type(line: Line, question: ParsedQuestion) -> bool:
    """Whether a line holds a value of the type that the question asks for, and did not name."""
    holds = load_language(question.language).holds.get(question.kind)
    if holds and holds.search(line.text):
        return True
    told = set(question.words)
    values = find_values(question.kind, line.text, question.unit, question.language)
    return any(set(question.read(value)) - told for value in values)
