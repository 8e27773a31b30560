"""Whether the evidence answers a question at all."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from agent.evidence.language import is_surely_other
from agent.llm.extractive.fact import is_dated
from agent.llm.extractive.lines import is_label
from agent.llm.extractive.question import ParsedQuestion, is_another_kind
from agent.llm.extractive.ranking import ScoredLine

NEARBY = 0.4  # share of the question that a line with a sum of money must speak of
SHORT = 4  # content words of a question that is about one thing, not a chain of them
MOST = 0.95  # no more is known of the surest: the questions of each kind are few
#: Logistic weights (log odds) of what tells whether the best lines answer. Fitted to the answers of
#: 533 English questions of five sets, each asked with its pages and without: the tune half. Run
#: `python -m evals.extractive` after a change.
WEIGHTS = {
    "cover": 1.24,
    "title_whole": 0.71,
    "together": 2.35,
    "proximity": 0.91,
    "stated": 1.51,
    "yesno": -3.30,
    "same_page": 1.50,
    "base": -4.26,
}
#: The same for other languages, fitted to 120 invented questions and 350 of XQuAD: there the words
#: of a question tell more, and its form less.
ABROAD = {
    "cover": 3.53,
    "title_said": 1.11,
    "together": 1.11,
    "proximity": 1.90,
    "yesno": -1.05,
    "same_page": 2.37,
    "base": -4.06,
}
#: The least confidence that is answered from. It keeps 85 of 100 right answers of the tune half.
ANSWERED = 0.32


def rate_answer(
    question: ParsedQuestion, ranked: Sequence[ScoredLine], *, is_stated: bool
) -> float:
    """How likely lines answer a question, where it is as likely that the page was found as not.

    `is_stated`: a value that it asks for is stated for the very thing asked. From 0 to 1; 0 where
    the lines cannot answer. Numbers alone (`2+2`) name nothing that a page could be about.
    """
    if not any(map(str.isalpha, "".join(question.words))):
        return 0.0
    odds = log_odds(question, ranked, is_stated=is_stated)
    return 0.0 if math.isinf(odds) else min(MOST, round(1 / (1 + math.exp(-odds)), 3))


def log_odds(question: ParsedQuestion, ranked: Sequence[ScoredLine], *, is_stated: bool) -> float:
    """The same as log odds; minus infinity where the lines cannot answer."""
    best = sorted((s for s in ranked if not is_label(s.line)), key=lambda s: -s.score)[:3]
    other = all(is_another_kind(s.line.context, question, s.line.title) for s in best)
    other = other or all(_is_foreign(s, question) for s in best)
    named = not _has_foreign_name(question, ranked) and _relates_names(question, ranked)
    if other or not named or _lacks_value(question, ranked):
        return float("-inf")
    signs = _answer_signs(question, best) | {"stated": float(is_stated)}
    weights = WEIGHTS if question.language == "en" else ABROAD
    return sum(weight * signs[name] for name, weight in weights.items())


def _answer_signs(question: ParsedQuestion, best: Sequence[ScoredLine]) -> dict[str, float]:
    """What tells whether the best lines answer; each between 0 and 1."""
    first, telling = best[0], frozenset(question.telling_words)
    together = frozenset[str]().union(*(s.found for s in best))
    return {
        "cover": first.cover,
        "title_said": first.features.title_said,
        "title_whole": first.features.title_whole,
        "together": len(together & telling) / (len(telling) or 1),
        "proximity": first.features.proximity,
        "yesno": float(question.kind == "yesno"),
        "same_page": sum(s.line.source == first.line.source for s in best) / len(best),
        "base": 1.0,
    }


def _is_foreign(scored: ScoredLine, question: ParsedQuestion) -> bool:
    """Whether a line is in another language, of a page whose title the question says nothing of.

    Then no more than a name can be of both.
    """
    is_other = is_surely_other(scored.line.whole, question.language)
    return is_other and not scored.features.title_said


def _lacks_value(question: ParsedQuestion, ranked: Sequence[ScoredLine]) -> bool:
    """Whether no line has a number, a day or a sum of money where one is asked for.

    Of a thing of the past, that is: `When does it occur?` may be told without a day. Only in
    English the form of a question tells that.
    """
    least = {"money": NEARBY, "number": 0.0, "date": 0.0}
    is_undated = question.language == "en" and not is_dated(question)
    if question.kind not in least or (question.kind == "date" and is_undated):
        return False
    return not any(s.features.typed and s.cover >= least[question.kind] for s in ranked)


def _has_foreign_name(question: ParsedQuestion, ranked: Sequence[ScoredLine]) -> bool:
    """Whether a name, a model number or a year of the question stands nowhere."""
    bag, named = _all_words(ranked, question), question.named_words
    numbers = {w for name in named for w in name if re.search(r"\d", w)} - set(question.years)
    texts = [text for s in ranked for text in (s.line.text, s.line.title)]
    spans = (year[:3] if year.endswith("0") else year for year in question.years[:1])
    year = any(not any(span in text for text in texts) for span in spans)  # `1970` is a decade too
    return year or bool(numbers - bag) or any(map(bag.isdisjoint, named))


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
