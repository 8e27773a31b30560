"""Whether the evidence answers a question at all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from agent.llm.extractive.question import ParsedQuestion, is_another_kind
from agent.llm.extractive.ranking import ScoredLine

NEARBY = 0.4  # share of the question that a line with a sum of money must speak of
LEAST_STEM = 5  # letters of a name that may be followed by an ending
SHORT = 4  # content words of a question that is about one thing, not a chain of them
#: Logistic weights: does the evidence answer? Found on the tune half of the questions, each asked
#: with its gold passages in the corpus and without; run `python -m evals` after a change.
WEIGHTS = {
    "cover": 0.53,
    "page": 1.61,
    "title_said": 0.34,
    "title_whole": 1.86,
    "count": 1.23,
    "together": 1.81,
    "names_far": -1.80,
    "proximity": 1.13,
    "base": -3.70,
}
#: The least that is answered from; how often it abstains: evals/RESULTS.md. Found on the tune half:
#: in English a lower bound gives no more right answers. In other languages names and forms of words
#: tell less: with -3.3 91 of 120 questions are answered from their page (51 with -2.0), 27 of 120
#: from other pages (2). Run `python -m evals --only extractive languages` after a change.
SURE, SURE_ABROAD = -2.0, -3.3


def is_sure(question: ParsedQuestion, ranked: Sequence[ScoredLine]) -> bool:
    """Whether some lines are likely to be about what a question asks for.

    Numbers alone (`2+2`) name nothing that a page could be about.
    """
    least = SURE if question.language == "en" else SURE_ABROAD
    words = any(map(str.isalpha, "".join(question.words)))
    return words and confidence(question, ranked) >= least


def confidence(question: ParsedQuestion, ranked: Sequence[ScoredLine]) -> float:
    """How sure it is that the evidence answers: log odds; minus infinity where it cannot."""
    best = sorted(ranked, key=lambda s: -s.score)[:3]
    typed = question.kind != "money" or any(s.features.typed * s.cover >= NEARBY for s in ranked)
    other = all(is_another_kind(s.line.context, question, s.line.title) for s in best)
    named = not _has_foreign_name(question, ranked) and _relates_names(question, ranked)
    if other or not (typed and named):
        return float("-inf")
    signs = answer_signs(question, best)
    return sum(WEIGHTS[name] * value for name, value in signs.items())


def answer_signs(question: ParsedQuestion, best: Sequence[ScoredLine]) -> dict[str, float]:
    """What tells whether the best lines answer; each between 0 and 1."""
    first, telling = best[0].features, frozenset(question.telling_words)
    count = len(telling) or 1
    near, named = _all_words(best, question), question.named_words
    together = frozenset[str]().union(*(s.found for s in best))
    return {
        "cover": best[0].cover,
        "page": first.page,
        "title_said": first.title_said,
        "title_whole": first.title_whole,
        "count": len(best[0].found & telling) / count,
        "together": len(together & telling) / count,
        "names_far": sum(1 for name in named if not name & near) / (len(named) or 1),
        "proximity": first.proximity,
        "base": 1.0,
    }


def _has_foreign_name(question: ParsedQuestion, ranked: Sequence[ScoredLine]) -> bool:
    """Whether a name, a model number or a year of the question stands nowhere."""
    bag, named = _all_words(ranked, question), question.named_words
    numbers = {w for name in named for w in name if re.search(r"\d", w)} - set(question.years)
    texts = [text for s in ranked for text in (s.line.text, s.line.title)]
    spans = (year[:3] if year.endswith("0") else year for year in question.years[:1])
    year = any(not any(span in text for text in texts) for span in spans)  # `1970` is a decade too
    return year or bool(numbers - bag) or any(not _is_said(name, bag) for name in named)


def _is_said(name: set[str], bag: set[str]) -> bool:
    """Whether a word of a name stands among others, by itself or with another ending."""
    stems = tuple(word for word in name if len(word) >= LEAST_STEM)
    ending = (
        word.startswith(stems) or any(s.startswith(word) and len(word) >= LEAST_STEM for s in stems)
        for word in bag
    )
    return bool(name & bag) or any(ending)


def _relates_names(question: ParsedQuestion, ranked: Sequence[ScoredLine]) -> bool:
    """Whether one page speaks of all names of a short question, so that it can relate them."""
    named = question.named_words
    if len(named) < 2 or len(question.words) > SHORT or question.sides:
        return True
    own = ([s for s in ranked if s.line.source == n] for n in {s.line.source for s in ranked})
    return any(all(name <= _all_words(lines, question) for name in named) for lines in own)


def _all_words(some: Iterable[ScoredLine], question: ParsedQuestion) -> set[str]:
    lines = (s.line for s in some)
    texts = {text for line in lines for text in (line.text, line.title, line.heading)}
    return {word for text in texts for word in question.read(text)}  # many lines have one title
