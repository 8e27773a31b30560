"""Which sentences make the answer, in which order, and whether there is an answer at all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from agent.evidence import CJK, words
from agent.llm.question import Question
from agent.llm.ranking import FEATURES, Line, Scored

SENTENCES = 4
CANDIDATES = 25
#: How far below the best a sentence may score, and what moves it: points of `ranking.WEIGHTS`.
#: Found on the tune half of the questions; see evals/RESULTS.md, and run evals.extractive again.
GAP = 3.5
NEW_WORDS = 3.0  # all words of the question that no chosen sentence speaks of
LINKED = 1.0  # its page is named in a chosen sentence: the second hop
NEXT = 1.0  # it stands beside a chosen sentence
SIDE = 2.0  # the side of a comparison that is still missing
LONG = 0.5  # for each 80 words
WANTED = 3.0  # it states a slot


def chosen(
    question: Question, ranked: Sequence[Scored], limit: int, wanted: Iterable[Line] = ()
) -> list[Line]:
    """At most four sentences within `limit` words, best first, neighbours in the page's order."""
    told = set(wanted)
    raised = [s._replace(score=s.score + WANTED * (s.line in told)) for s in ranked]
    left = sorted(raised, key=lambda s: -s.score)[:CANDIDATES]
    left = [s for s in left if not another_year(s.line, question)]
    subject = _named(question)
    picked: list[Scored] = []
    while left and len(picked) < SENTENCES:
        worth = [_worth(s, picked, question) for s in left]
        at = worth.index(max(worth))
        candidate = left.pop(at)
        if picked and worth[at] < picked[0].score - GAP:
            break
        if _adds(candidate, picked) and _stays(candidate.line, picked, subject) and (length := size(candidate.line.text)) <= limit:
            picked.append(candidate)
            limit -= length
    return _ordered([s.line for s in picked])


def _worth(candidate: Scored, picked: Sequence[Scored], question: Question) -> float:
    """A sentence's score, given those that are already there."""
    worth = candidate.score - LONG * size(candidate.line.text) / 80
    if not picked:
        return worth
    line = candidate.line
    said = frozenset[str]().union(*(s.found for s in picked))
    text = " ".join(f"{s.line.title} {s.line.text}" for s in picked).casefold()
    name = re.sub(r"\s*\(.*?\)$", "", line.title).casefold()
    own = f"{line.title} {line.text}".casefold()
    sides = [side for side in map(str.casefold, question.sides) if side in own and side not in text]
    beside = any(s.line[:3] == line[:3] and abs(s.line.at - line.at) == 1 for s in picked)
    linked = len(name) > 3 and name in text and all(s.line.source != line.source for s in picked)
    return (
        worth
        + NEW_WORDS * len(candidate.found - said) / (len(question.words) or 1)
        + LINKED * linked
        + NEXT * beside
        + SIDE * bool(sides)
    )


def _adds(candidate: Scored, picked: Sequence[Scored]) -> bool:
    """Whether a sentence says something that the others do not: no copies from another page."""
    own = set(words(candidate.line.text))
    return all(len(own - set(words(s.line.text))) > 0.2 * len(own) for s in picked)


def _stays(line: Line, picked: Sequence[Scored], subject: Sequence[set[str]]) -> bool:
    """Whether a further sentence is still about a name of the question, or about one found."""
    if not picked or not subject:
        return True
    around = set(words(f"{line.title} {line.heading} {line.text} {line.before}"))
    if any(name & around for name in subject):
        return True
    title = re.sub(r"\s*\(.*?\)$", "", line.title).casefold()
    return len(title) > 3 and any(title in s.line.text.casefold() for s in picked)


def another_year(line: Line, question: Question) -> bool:
    """Whether a line is of a page about another year than the one that is asked for."""
    years = set(re.findall(r"(?<!\d)(?:1\d{3}|20\d{2})(?!\d)", line.title))
    asked = set(question.years)
    return bool(asked and years and not years & asked) and not any(y in line.text for y in asked)


def _ordered(picked: Sequence[Line]) -> list[Line]:
    """The given order, but a sentence that neighbours one in the list goes to its side."""
    ordered: list[Line] = []
    for line in picked:
        for at, other in enumerate(ordered):
            if other[:3] == line[:3] and abs(other.at - line.at) == 1:
                ordered.insert(at + (line.at > other.at), line)
                break
        else:
            ordered.append(line)
    return ordered


def size(text: str) -> int:
    """Words; two characters of Chinese, Japanese or Korean are one."""
    cjk = len(re.findall(f"[{CJK}]", text))
    return len(re.sub(f"[{CJK}]", " ", text).split()) + (cjk + 1) // 2


# --- whether ---------------------------------------------------------------------------------

#: Logistic weights: does the evidence answer? Found on the tune half of the questions, each asked
#: with its gold passages in the corpus and without; see evals/RESULTS.md.
CONFIDENCE = {
    "cover": 0.87, "page": 2.23, "title_said": 0.48, "title_whole": 1.16, "count": 0.87,
    "together": 0.92, "names_far": -1.98, "absent": -0.95, "proximity": 1.36, "base": -2.9,
}
SURE = -0.9  # answers 92% of what can be answered, abstains from 54% of the rest


def confidence(question: Question, ranked: Sequence[Scored]) -> float:
    """How sure it is that the evidence answers: log odds; minus infinity where it cannot."""
    best = sorted(ranked, key=lambda s: -s.score)[:3]
    if not best or _foreign(question, ranked):
        return float("-inf")
    return sum(CONFIDENCE[name] * value for name, value in signs(question, ranked, best).items())


def signs(
    question: Question, ranked: Sequence[Scored], best: Sequence[Scored]
) -> dict[str, float]:
    """What tells whether the evidence answers; each between 0 and 1."""
    first = dict(zip(FEATURES, best[0].features, strict=True))
    count = len(question.words) or 1
    near = _bag(best)
    named = _named(question)
    together = frozenset[str]().union(*(s.found for s in best))
    return {
        "cover": best[0].cover,
        "page": first["page"],
        "title_said": first["title_said"],
        "title_whole": first["title_whole"],
        "count": len(best[0].found) / count,
        "together": len(together) / count,
        "names_far": sum(1 for name in named if not name & near) / (len(named) or 1),
        "absent": len(set(question.words) - _bag(ranked)) / count,
        "proximity": first["proximity"],
        "base": 1.0,
    }


def _foreign(question: Question, ranked: Sequence[Scored]) -> bool:
    """Whether a name or a year of the question stands nowhere in the evidence."""
    bag = _bag(ranked)
    years = any(year not in bag and not _within(year, ranked) for year in question.years[:1])
    return years or any(not name & bag for name in _named(question))


def _within(year: str, ranked: Sequence[Scored]) -> bool:
    return any(year in s.line.text or year in s.line.title for s in ranked)


def _named(question: Question) -> list[set[str]]:
    return [bag for name in question.surely_named if (bag := set(words(name)))]


def _bag(some: Iterable[Scored]) -> set[str]:
    bag: set[str] = set()
    for s in some:
        bag.update(words(s.line.text), words(s.line.title), words(s.line.heading))
    return bag
