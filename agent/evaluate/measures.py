"""What evaluations measure: a text against gold answers, and how sure a mean is.

Pure functions over texts and numbers, each with the source of its formula.
"""

from __future__ import annotations

import math
import random
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Sequence
from statistics import fmean

from agent.evidence import CJK
from agent.state import Frozen

DRAWS = 2000  # of the bootstrap: the ends of an interval then move by a tenth of its width or less
LEVEL = 0.95
YES_OR_NO = frozenset({"yes", "no", "noanswer"})
Pair = tuple[float, float]  # a question's numerator and denominator of a ratio of sums

_ARTICLE = re.compile(r"\b(a|an|the)\b")
_UNIT = re.compile(f"[{CJK}]|[^\\s{CJK}]+")
_MARKER = re.compile(r"\s?\[\d+\]")


# --- a text against gold answers ---------------------------------------------------------------


def bare(text: str) -> str:
    """An answer without its `[n]` markers."""
    return _MARKER.sub("", text).strip()


def units(text: str, punctuation: str = "") -> list[str]:
    """The tokens of a normalised text: lower case, no articles, punctuation taken out.

    That is `normalize_answer` of SQuAD (evaluate-v1.1.py) and HotpotQA (hotpot_evaluate_v1.py).
    Chinese, Japanese and Korean characters are tokens of their own and all of Unicode's
    punctuation counts, as in MLQA's `mixed_segmentation` (mlqa_evaluation_v1.py); NFKC before it,
    which makes full-width digits plain, is ours. `punctuation`: what stands in its place.
    """
    folded = unicodedata.normalize("NFKC", text).lower()
    kept = "".join(punctuation if _is_punctuation(char) else char for char in folded)
    return _UNIT.findall(_ARTICLE.sub(" ", kept))


def _is_punctuation(char: str) -> bool:
    return char in string.punctuation or unicodedata.category(char).startswith("P")


def exact(text: str, golds: Sequence[str]) -> float:
    """1 if a text is one of the gold answers, both normalised; else 0. Exact match of SQuAD."""
    told = units(text)
    return float(any(told == units(gold) for gold in golds))


def f1(text: str, golds: Sequence[str]) -> float:
    """Harmonic mean of precision and recall over tokens, with the gold answer that fits best.

    SQuAD's; with HotpotQA's rule that `yes`, `no` and `noanswer` fit only themselves.
    """
    return max((_f1(units(text), units(gold)) for gold in golds), default=0.0)


def _f1(told: Sequence[str], gold: Sequence[str]) -> float:
    single = {" ".join(told), " ".join(gold)} & YES_OR_NO
    same = sum((Counter(told) & Counter(gold)).values())
    if not same or (single and list(told) != list(gold)):
        return 0.0
    precision, recall = same / len(told), same / len(gold)
    return 2 * precision * recall / (precision + recall)


def contains(text: str, golds: Sequence[str]) -> float:
    """1 if a gold answer stands in a text at the borders of tokens, both normalised; else 0.

    The lenient match of open-domain question answering (accuracy in Mallen et al. 2023, PopQA).
    Punctuation may stand between two tokens or inside one: both ways are tried.
    """
    return float(any(_within(units(gold, p), units(text, p)) for gold in golds for p in ("", " ")))


def _within(part: Sequence[str], whole: Sequence[str]) -> bool:
    size = len(part)
    starts = range(len(whole) - size + 1)
    return bool(size) and any(list(whole[at : at + size]) == list(part) for at in starts)


def match(text: str, golds: Sequence[str]) -> bool:
    """Whether a text is right, by rules: it contains a gold answer; for yes or no it begins so."""
    said, first = units(text), {" ".join(units(gold)) for gold in golds}
    if first and first <= YES_OR_NO:
        return bool(said) and said[0] in first
    return contains(text, golds) == 1.0


# --- how sure a figure is ----------------------------------------------------------------------


class Figure(Frozen):
    """A figure and the interval that holds the true one in 95 of 100 sets; null: not measured."""

    value: float | None
    interval: tuple[float, float] | None


def ratio(pairs: Sequence[Pair], draws: int = DRAWS) -> Figure:
    """A ratio of sums over questions, such as supported claims of all claims; see `mean`.

    Questions are drawn, not claims: claims of one answer are not independent of each other. Where
    all questions are alike, and neither 0 nor 1, nothing says how far apart others might be: None.
    """
    pairs = [pair for pair in pairs if pair[1]]
    if not pairs:
        return Figure(value=None, interval=None)
    value = _ratio(pairs)
    alike = len({top / low for top, low in pairs}) == 1
    interval = _alike(value, len(pairs)) if alike else _bootstrap(pairs, draws)
    return Figure(value=round(value, 4), interval=interval)


def mean(values: Sequence[float], draws: int = DRAWS) -> Figure:
    """A mean with its interval: the percentile bootstrap (Efron 1979), with a seed.

    Where all values are 0 or all are 1 a bootstrap knows no spread; the interval is then that of
    Clopper and Pearson (1934), so that 20 right of 20 is no certainty: 0.832 to 1.
    """
    return ratio([(value, 1.0) for value in values], draws)


def difference(ours: Sequence[float], theirs: Sequence[float], draws: int = DRAWS) -> Figure:
    """The mean of paired differences, question by question, with its bootstrap interval.

    No interval where all pairs differ alike: nothing then says how far apart others might be.
    """
    pairs = [(a - b, 1.0) for a, b in zip(ours, theirs, strict=True)]
    if not pairs:
        return Figure(value=None, interval=None)
    interval = _bootstrap(pairs, draws) if len(set(pairs)) > 1 else None
    return Figure(value=round(_ratio(pairs), 4), interval=interval)


def _ratio(pairs: Sequence[Pair]) -> float:
    return sum(top for top, _ in pairs) / sum(low for _, low in pairs)


def _alike(value: float, n: int) -> tuple[float, float] | None:
    """The interval of none of n, or n of n; None for anything between."""
    edge = ((1 - LEVEL) / 2) ** (1 / n)
    return {0.0: (0.0, round(1 - edge, 4)), 1.0: (round(edge, 4), 1.0)}.get(value)


def _bootstrap(pairs: Sequence[Pair], draws: int) -> tuple[float, float]:
    draw, n = random.Random(0), len(pairs)
    if all(low == 1 for _, low in pairs):  # a plain mean, which is quicker
        tops = [top for top, _ in pairs]
        found = sorted(math.fsum(draw.choices(tops, k=n)) / n for _ in range(draws))
    else:
        found = sorted(_ratio(draw.choices(pairs, k=n)) for _ in range(draws))
    tail = round(draws * (1 - LEVEL) / 2)
    return round(found[tail], 4), round(found[-tail - 1], 4)


def kappa(ours: Sequence[str], theirs: Sequence[str]) -> float | None:
    """Agreement beyond chance: Cohen's kappa (1960). None where chance alone would agree."""
    n = len(ours)
    same = fmean(a == b for a, b in zip(ours, theirs, strict=True))
    counts = Counter(ours), Counter(theirs)
    chance = sum(counts[0][label] * counts[1][label] for label in counts[0]) / (n * n)
    return None if chance == 1 else round((same - chance) / (1 - chance), 4)
