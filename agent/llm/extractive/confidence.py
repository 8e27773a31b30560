"""Whether the evidence answers a question at all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from agent.llm.extractive.question import ParsedQuestion, is_another_kind
from agent.llm.extractive.ranking import ScoredLine

NEARBY = 0.4  # share of the question that a line with a sum of money must speak of
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
#: The least that is answered from; how often it abstains: evals/RESULTS.md. On the tune half it
#: gives up 7 of 267 right answers, to refuse 38 % of the questions without a gold passage. In
#: other languages than English less is asked for, since fewer names are told there: of xquad in
#: lower case (tune half) 57 of 68 are right, 56 with the bound of English, by BM25 alone 45.
SURE, SURE_ABROAD = -1.3, -2.0


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
    first, count = best[0].features, len(question.words) or 1
    near, named = _all_words(best, question), question.named_words
    together = frozenset[str]().union(*(s.found for s in best))
    return {
        "cover": best[0].cover,
        "page": first.page,
        "title_said": first.title_said,
        "title_whole": first.title_whole,
        "count": len(best[0].found) / count,
        "together": len(together) / count,
        "names_far": sum(1 for name in named if not name & near) / (len(named) or 1),
        "proximity": first.proximity,
        "base": 1.0,
    }


def _has_foreign_name(question: ParsedQuestion, ranked: Sequence[ScoredLine]) -> bool:
    """Whether a name, a model number or a year of the question stands nowhere."""
    bag, named = _all_words(ranked, question), question.named_words
    numbers = {w for name in named for w in name if re.search(r"\d", w)} - set(question.years)
    texts = [text for s in ranked for text in (s.line.text, s.line.title)]
    year = any(not any(year in text for text in texts) for year in question.years[:1])
    return year or bool(numbers - bag) or any(not name & bag for name in named)


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
