"""Metrics of an evaluation: a text against gold answers, and values with confidence intervals.

Pure functions over texts and numbers, each with the source of its formula.
"""

from __future__ import annotations

import random
import re
import string
import unicodedata
from collections.abc import Sequence

from agent.evidence import CJK
from agent.state import Frozen

#: Resamples of the bootstrap. With 2000 the ends of an interval vary by at most a tenth of its
#: width from seed to seed.
RESAMPLES = 2000
CONFIDENCE_LEVEL = 0.95
YES_OR_NO = frozenset({"yes", "no", "noanswer"})
Pair = tuple[float, float]  # a question's numerator and denominator in a ratio of sums
Interval = tuple[float, float]

_ARTICLE = re.compile(r"\b(a|an|the)\b")
_TOKEN = re.compile(f"[{CJK}]|[^\\s{CJK}]+")


# --- a text against gold answers ---------------------------------------------------------------


def tokenize(text: str, punctuation: str = "") -> list[str]:
    """Return the tokens of a normalised text: lower case, without articles and punctuation.

    `punctuation` is what replaces each punctuation character.

    Source: `normalize_answer` of SQuAD (evaluate-v1.1.py) and HotpotQA (hotpot_evaluate_v1.py).
    As in `mixed_segmentation` of MLQA (mlqa_evaluation_v1.py), each Chinese, Japanese or Korean
    character is a token, and all of Unicode's punctuation counts. The NFKC normalisation before
    it, which turns full-width digits into ASCII digits, is an addition of this program.
    """
    folded = unicodedata.normalize("NFKC", text).lower()
    plain = "".join(punctuation if _is_punctuation(char) else char for char in folded)
    return _TOKEN.findall(_ARTICLE.sub(" ", plain))


def _is_punctuation(char: str) -> bool:
    return char in string.punctuation or unicodedata.category(char).startswith("P")


def contains_gold(text: str, golds: Sequence[str]) -> float:
    """Return 1 if a gold answer is in a text at token borders, both normalised, else 0.

    Punctuation may separate two tokens or be inside one: both readings are tried.

    Source: the lenient match of open-domain question answering, `accuracy` in Mallen et al. 2023
    (PopQA).
    """
    readings = ((gold, punctuation) for gold in golds for punctuation in ("", " "))
    return float(any(_is_sublist(tokenize(gold, p), tokenize(text, p)) for gold, p in readings))


def _is_sublist(part: Sequence[str], whole: Sequence[str]) -> bool:
    size = len(part)
    starts = range(len(whole) - size + 1)
    return bool(size) and any(list(whole[i : i + size]) == list(part) for i in starts)


def is_right(text: str, golds: Sequence[str]) -> bool:
    """Whether a text contains a gold answer or, for yes and no, begins with it."""
    tokens, gold_texts = tokenize(text), {" ".join(tokenize(gold)) for gold in golds}
    if gold_texts and gold_texts <= YES_OR_NO:
        return bool(tokens) and tokens[0] in gold_texts
    return contains_gold(text, golds) == 1.0


# --- values with confidence intervals ----------------------------------------------------------


class MetricValue(Frozen):
    """A metric's value with its confidence interval of 95%; null where it cannot be measured."""

    value: float | None
    interval: Interval | None


NOT_MEASURED = MetricValue(value=None, interval=None)


def estimate_ratio(pairs: Sequence[Pair]) -> MetricValue:
    """Estimate a ratio of sums over questions, such as supported claims among all claims.

    Questions are resampled, not claims: claims of one answer are not independent of each other.
    Where all questions have the same ratio, see `estimate_mean`.
    """
    pairs = [pair for pair in pairs if pair[1]]
    if not pairs:
        return NOT_MEASURED
    value = _ratio_of_sums(pairs)
    is_uniform = len({numerator / denominator for numerator, denominator in pairs}) == 1
    interval = _exact_interval(value, len(pairs)) if is_uniform else _bootstrap_interval(pairs)
    return MetricValue(value=round(value, 4), interval=interval)


def estimate_mean(values: Sequence[float]) -> MetricValue:
    """Estimate a mean, with the percentile bootstrap (Efron 1979) of a fixed seed as its interval.

    Equal values have no spread to resample. Where all are 0 or all are 1 the interval is exact
    (Clopper and Pearson 1934), so that 20 right answers of 20 are no certainty: 0.832 to 1. Where
    all are equal and neither 0 nor 1, there is no interval.
    """
    return estimate_ratio([(value, 1.0) for value in values])


def _ratio_of_sums(pairs: Sequence[Pair]) -> float:
    return sum(numerator for numerator, _ in pairs) / sum(denominator for _, denominator in pairs)


def _exact_interval(value: float, n: int) -> Interval | None:
    """The interval of Clopper and Pearson for 0 of n and n of n; None for anything between."""
    edge = ((1 - CONFIDENCE_LEVEL) / 2) ** (1 / n)
    return {0.0: (0.0, round(1 - edge, 4)), 1.0: (round(edge, 4), 1.0)}.get(value)


def _bootstrap_interval(pairs: Sequence[Pair]) -> Interval:
    generator, n = random.Random(0), len(pairs)
    estimates = sorted(_ratio_of_sums(generator.choices(pairs, k=n)) for _ in range(RESAMPLES))
    tail = round(RESAMPLES * (1 - CONFIDENCE_LEVEL) / 2)
    return round(estimates[tail], 4), round(estimates[-tail - 1], 4)
