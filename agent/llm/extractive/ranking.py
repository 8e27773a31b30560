"""How well each sentence of the evidence answers a question."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from agent.evidence import rank_texts
from agent.llm.extractive.alike import synonyms_of
from agent.llm.extractive.finders import find_values
from agent.llm.extractive.lines import Line
from agent.llm.extractive.question import ParsedQuestion


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
    year: float = 0.0  # 1: its page is about the year that is asked for; 0.4: it says the year


#: Found by a sweep of one weight after the other on the tune half of the questions (halved, raised
#: by 60 %, then by a quarter either way), for the mean share of right answers of the three sets.
WEIGHTS = Features(
    cover=2.69,
    typed=2.16,
    proximity=0.18,
    length=1.17,
    first=0.48,
    title_said=0.79,
    title_whole=0.31,
    page=1.68,
    source=1.63,
    hop_in=2.66,
    bm25=1.2,
    hop_union=1.9,
    earliest=0.54,
    year=1.54,
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


class LineWords:
    """A line as bags of words."""

    def __init__(self, line: Line, question: ParsedQuestion) -> None:
        self.line = line
        self.order = question.read(line.text)
        self.own = frozenset(self.order)
        self.title = frozenset(question.read(line.title))
        self.heading = frozenset(question.read(line.heading))
        self.before = frozenset(question.read(line.before))
        self.starts = {word[:5] for word in self.own if len(word) > 5}

    def match_word(self, word: str) -> float:
        """How much this line speaks of a word: 1 if it says it."""
        if word in self.own:
            return 1.0
        return max(
            TITLE * (word in self.title),
            HEADING * (word in self.heading),
            BEFORE * (word in self.before),
            NEAR * (len(word) > 5 and word[:5] in self.starts),
            ALIKE * (not self.own.isdisjoint(synonyms_of(word))),
        )


def score_lines(found: Sequence[Line], question: ParsedQuestion) -> list[ScoredLine]:
    """Each line with its score for a question, in the given order."""
    views = [LineWords(line, question) for line in found]
    rarity = _word_rarity(views, question.words)
    total = sum(rarity.values()) or 1.0
    hits = [{w: h for w in question.words if (h := view.match_word(w))} for view in views]
    covers = [sum(rarity[w] * h for w, h in hit.items()) / total for hit in hits]
    rows = _line_features(views, question, rarity, covers)
    return [
        ScoredLine(line, sum(map(float.__mul__, WEIGHTS, row)), cover, frozenset(hit), row)
        for line, row, cover, hit in zip(found, rows, covers, hits, strict=True)
    ]


def _word_rarity(views: Sequence[LineWords], wanted: Sequence[str]) -> dict[str, float]:
    """How much each word tells: the rarer among the lines, the more."""
    count = len(views)
    rarity = {}
    for word in wanted:
        holding = sum(1 for view in views if word in view.own or word in view.title)
        rarity[word] = math.log(1 + (count - holding + 0.5) / (holding + 0.5)) + 0.5
    return rarity


def _line_features(
    views: Sequence[LineWords],
    question: ParsedQuestion,
    rarity: dict[str, float],
    covers: Sequence[float],
) -> list[Features]:
    total = sum(rarity.values()) or 1.0
    mean = sum(len(view.order) for view in views) / (len(views) or 1) or 1.0
    bm25 = rank_texts([f"{v.line.title} {v.line.text}" for v in views], question.text)
    top = max(bm25, default=0.0) or 1.0
    pages = _page_covers(views, rarity, total)
    hops = _hop_features(views, question, covers, rarity)
    asked = frozenset(question.words)
    rows: list[Features] = []
    for i, view in enumerate(views):
        line, has = view.line, float(has_answer_type(view.line, question))
        rows.append(
            Features(
                cover=covers[i],
                typed=has,
                proximity=_proximity(view, question.words, rarity) / total,
                length=math.log((len(view.order) + 1) / mean),
                first=float(line.at == 0 and not line.passage),
                title_said=len(asked & view.title) / (len(view.title) or 1),
                title_whole=float(bool(view.title) and view.title <= asked),
                page=pages[line.source],
                source=1 / line.source,
                hop_in=hops[i][0],
                bm25=bm25[i] / top,
                hop_union=hops[i][1],
                earliest=1 / (1 + line.at),
                year=_fits_year(line, question),
            )
        )
    return rows


def _fits_year(line: Line, question: ParsedQuestion) -> float:
    """Whether a line is about the year that is asked for: by its page, or by its own words."""
    if any(year in line.title or year in line.heading for year in question.years):
        return 1.0
    return 0.4 * any(year in line.text for year in question.years)


def _page_covers(
    views: Sequence[LineWords], rarity: dict[str, float], total: float
) -> dict[int, float]:
    held: dict[int, set[str]] = {}
    for view in views:
        held.setdefault(view.line.source, set()).update(view.own, view.title)
    return {n: sum(rarity[w] for w in rarity if w in bag) / total for n, bag in held.items()}


def _hop_features(
    views: Sequence[LineWords],
    question: ParsedQuestion,
    covers: Sequence[float],
    rarity: dict[str, float],
) -> list[tuple[float, float]]:
    """For each line: the best cover of a line elsewhere that names its page, and that of both."""
    told = question.text.casefold()
    titles: dict[int, str] = {}
    for view in views:
        name = re.sub(r"\s*\(.*?\)$", "", view.line.title).casefold()
        if len(name) > 3 and name not in told:
            titles[view.line.source] = name
    incoming: dict[int, float] = {}
    union = [0.0] * len(views)
    total = sum(rarity.values()) or 1.0
    asked = frozenset(question.words)
    said = [asked & (view.own | view.title) for view in views]
    for i, view in enumerate(views):
        text = view.line.text.casefold()
        for source, name in titles.items():
            if source != view.line.source and name in text:
                incoming[source] = max(incoming.get(source, 0.0), covers[i])
                for j, other in enumerate(views):
                    if other.line.source == source:
                        both = sum(rarity[w] for w in said[i] | said[j]) / total
                        union[i] = max(union[i], both)
                        union[j] = max(union[j], both)
    return [(incoming.get(view.line.source, 0.0), union[i]) for i, view in enumerate(views)]


def _proximity(view: LineWords, asked: Sequence[str], rarity: dict[str, float]) -> float:
    """The rarity of neighbouring words of the question that are close in the sentence too."""
    where: dict[str, list[int]] = {}
    for at, word in enumerate(view.order):
        if word in rarity:
            where.setdefault(word, []).append(at)
    close = 0.0
    for left, right in zip(asked, asked[1:], strict=False):
        if any(0 < b - a <= 3 for a in where.get(left, ()) for b in where.get(right, ())):
            close += (rarity[left] + rarity[right]) / 2
    return close


def has_answer_type(line: Line, question: ParsedQuestion) -> bool:
    """Whether a line holds a value of the type that the question asks for, and did not name."""
    told = set(question.words)
    return any(
        set(question.read(value)) - told
        for value in find_values(question.kind, line.text, question.unit)
    )
