"""How a claim is like its evidence: which of its words are there, how close, in which order."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

from agent.checking.reading import normalize, read_sentences
from agent.checking.words import Sentence, Word, search_keys, strength, weight

LONGEST_EVIDENCE = 50_000  # characters of all quotes together, and again of all surroundings
WINDOW = 3  # sentences in a row that are taken for one statement
ROUGH = 0.05  # of a number: as far off as "about 300" may be
CLOSE = 8  # words within which neighbours in the claim count as neighbours in the evidence


class Likeness(NamedTuple):
    """The features of which a score is made. Shares are by the weight of the claim's words."""

    window: float  # share found in the best few sentences in a row
    all: float  # share found anywhere
    near: float  # share of neighbours in the claim that are near each other in the evidence
    pairs: float  # share of the claim's pairs of words that stand there just so
    numbers: float  # numbers that are not there, at most 2
    names: float  # names that are not there, at most 3
    length: float  # log of the claim's words
    evidence: float  # log of the evidence's words
    density: float  # the claim's words over the root of the evidence's


class Evidence:
    """Texts, with every place of every key: in which sentence, and at which word of all."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.text = normalize("\n".join(texts)[: 2 * LONGEST_EVIDENCE], LONGEST_EVIDENCE)
        self.sentences = read_sentences(self.text)
        self.places: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self.pairs: set[tuple[str, str]] = set()
        self.values: list[tuple[int, float]] = []
        self.size = 0
        for n, sentence in enumerate(self.sentences):
            self._add(n, sentence)

    def _add(self, n: int, sentence: Sentence) -> None:
        for short in initials(sentence):
            self.places[short].append((n, self.size))
        for word in sentence:
            for key in word.keys + word.also:
                self.places[key].append((n, self.size))
            if word.value is not None:
                self.values.append((n, word.value))
            self.size += 1
        self.pairs.update(_pairs(sentence))
        self.size += WINDOW


@lru_cache(maxsize=64)
def read_evidence(texts: tuple[str, ...]) -> Evidence:
    """The evidence of some texts, kept, since many claims cite the same."""
    return Evidence(texts)


def _pairs(sentence: Sentence) -> list[tuple[str, str]]:
    keys = [word.keys[0] for word in sentence if word.keys]
    return list(zip(keys, keys[1:], strict=False))


def name_runs(sentence: Sentence) -> list[list[Word]]:
    """The names of a sentence: words with capitals in a row, with or without an `of the`."""
    found: list[list[Word]] = []
    apart = 9
    for word in sentence:
        if word.kind == "name" and not word.rough and found and apart < 2:
            found[-1].append(word)
        elif word.kind == "name":
            found.append([word])
        apart = 0 if word.kind == "name" else apart + 1 if word.text in ("of", "the") else 9
    return found


def initials(sentence: Sentence) -> dict[str, list[Word]]:
    """The short forms of a sentence's names of several words, as keys: World Health ... is &who."""
    long = [run for run in name_runs(sentence) if 2 <= len(run) <= 8]
    return {"&" + "".join(word.text[0] for word in run).lower(): run for run in long}


class Comparison:
    """A claim beside its evidence: which sentences of it have which of the claim's words."""

    def __init__(self, claim: Sequence[Sentence], evidence: Evidence) -> None:
        self.claim = claim
        self.evidence = evidence
        told = {w.keys[0]: w for s in claim for w in s if w.keys and not w.little}
        self.words = tuple(told.values())
        self._total = sum(weight(word) for word in self.words) or 1.0
        self._short = {
            word.keys[0]: short.removeprefix("&")
            for sentence in claim
            for short, run in initials(sentence).items()
            for word in run
        }
        self._hits = {word.keys[0]: self._find(word) for word in self.words}

    def hits(self, word: Word) -> dict[int, float]:
        """The sentences that have a word of the claim, and how surely."""
        return self._hits[word.keys[0]]

    def _find(self, word: Word) -> dict[int, float]:
        short = (f"&{word.text.lower()}",) if word.text.isupper() else ()
        long = (self._short[word.keys[0]],) if word.keys[0] in self._short else ()
        found: dict[int, float] = {}
        for key in search_keys(word) + short + long:
            for n, _ in self.evidence.places.get(key, ()):
                found[n] = max(found.get(n, 0.0), strength(key))
        return found or self._about(word)

    def _about(self, word: Word) -> dict[int, float]:
        """The sentences with a number that "about 300" may mean."""
        near = word.value or 0.0
        return {
            n: 0.9
            for n, value in self.evidence.values
            if word.rough and word.kind == "number" and abs(value - near) <= ROUGH * abs(near)
        }

    @cached_property
    def likeness(self) -> Likeness:
        """All features."""
        missing = [word.kind for word in self.words if not self.hits(word)]
        asked = [pair for sentence in self.claim for pair in _pairs(sentence)]
        return Likeness(
            window=max(self.shares(WINDOW), default=0.0),
            all=self._share(max(self.hits(w).values(), default=0.0) for w in self.words),
            near=self._near(),
            pairs=sum(pair in self.evidence.pairs for pair in asked) / max(1, len(asked)),
            numbers=min(2.0, missing.count("number")),
            names=min(3.0, missing.count("name")),
            length=math.log1p(len(self.words)),
            evidence=math.log1p(self.evidence.size),
            density=len(self.words) / math.sqrt(max(8, self.evidence.size)),
        )

    def _share(self, strengths: Iterable[float]) -> float:
        parts = zip(self.words, strengths, strict=True)
        return sum(weight(word) * found for word, found in parts) / self._total

    def shares(self, width: int) -> list[float]:
        """The share of the claim in every run of so many sentences, by its first."""
        shares = [0.0] * len(self.evidence.sentences)
        for word in self.words:
            best: dict[int, float] = {}
            for n, found in self.hits(word).items():
                for first in range(max(0, n - width + 1), n + 1):
                    best[first] = max(best.get(first, 0.0), found)
            for first, found in best.items():
                shares[first] += weight(word) * found / self._total
        return shares

    def _near(self) -> float:
        couples = list(zip(self.words, self.words[1:], strict=False))
        return sum(self.meet(*couple, CLOSE) for couple in couples) / max(1, len(couples))

    def meet(self, first: Word, second: Word, reach: int) -> bool:
        """Whether two words stand within so many words of each other, in either order."""
        few, many = sorted((self._at(first), self._at(second)), key=len)
        return any(at + step in many for at in few for step in range(-reach, reach + 1))

    def _at(self, word: Word) -> set[int]:
        return {at for key in word.keys for _, at in self.evidence.places.get(key, ())}

    @cached_property
    def verbatim(self) -> bool:
        """Whether the claim stands in its evidence as it is, but for case and punctuation."""
        told, there = (_join_words(part) for part in (self.claim, self.evidence.sentences))
        return f" {told} " in f" {there} "


def _join_words(sentences: Sequence[Sentence]) -> str:
    return " ".join(w.text for s in sentences for w in s if w.kind != "mark").casefold()
