"""Which sentences make the answer, in which order, and whether there is an answer at all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from agent.checking.rules import opens_with_pronoun
from agent.evidence import content_words, is_row
from agent.evidence.dates import find_years
from agent.evidence.words import count_words
from agent.llm.extractive.finders import find_values
from agent.llm.extractive.lines import Line
from agent.llm.extractive.question import ParsedQuestion, is_another_event
from agent.llm.extractive.ranking import ScoredLine, has_answer_type
from agent.llm.extractive.synonyms import synonyms_of

SENTENCES = 4
NEARBY = 0.4  # share of the question that a line speaks of, to be near it
SHORT = 4  # content words of a question that is about one thing, not a chain of them
CANDIDATES = 25
LEAST = 12  # words; less room than this is left empty
#: How far below the best a sentence may score, and what moves it: points of `ranking.WEIGHTS`.
#: Found on the tune half of the questions; run `python -m evals` after a change.
GAP = 3.5
NEW_WORDS = 3.0  # all words of the question that no chosen sentence speaks of
LINKED = 1.0  # its page is named in a chosen sentence: the second hop
NEXT = 1.0  # it stands beside a chosen sentence
SIDE = 2.0  # the side of a comparison that is still missing
LONG = 0.5  # for each 80 words
WANTED = 6.0  # it states a fact that was asked for by name: it goes before what is only near
CLOSE = 1.0  # the gap where such facts were found


def choose_sentences(
    question: ParsedQuestion,
    ranked: Sequence[ScoredLine],
    limit: int,
    wanted: Sequence[Line] = (),
    only: bool = False,
) -> list[Line]:
    """At most four sentences within `limit` words, best first, neighbours in the page's order.

    `wanted` state facts that were asked for by name: they go first and leave little room for more,
    none where they are all that was asked (`only`).
    """
    best = max((s.score for s in ranked), default=0.0) - (CLOSE if wanted else GAP)
    told = set(wanted)
    if only:
        ranked = [s for s in ranked if s.line in told]
        best = float("-inf")
    raised = [s._replace(score=s.score + WANTED * (s.line in told)) for s in ranked]
    left = sorted(raised, key=lambda s: -s.score)[:CANDIDATES]
    left = [s for s in left if not is_another_year(s.line, question) and not is_question(s.line)]
    picked: list[ScoredLine] = []
    while left and len(picked) < SENTENCES:
        worth = [_marginal_score(s, picked, question) for s in left]
        at = worth.index(max(worth))
        candidate = left.pop(at)
        if picked and worth[at] < best:
            break
        shown = candidate  # a first sentence may be cut to what fits; others are whole or not there
        if not picked:
            shown = candidate._replace(line=clip_line(candidate.line, question, limit))
        if not shown.line.text or count_words(shown.line.text) > limit:
            continue
        if candidate.line in told or (
            _adds_something(candidate, picked) and _is_to_the_point(candidate, picked, question)
        ):
            picked.append(shown)
            limit -= count_words(shown.line.text)
    return _order_sentences([s.line for s in picked])


def _marginal_score(
    candidate: ScoredLine, picked: Sequence[ScoredLine], question: ParsedQuestion
) -> float:
    """A sentence's score, given those that are already there."""
    worth = candidate.score - LONG * count_words(candidate.line.text) / 80
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


_CLAUSE = re.compile(r"(?<=[,;:，；：、])\s*|\s+(?=\(|(?:and|but|which|who|while|where|because)\s)")


def clip_line(line: Line, question: ParsedQuestion, limit: int) -> Line:
    """A line, or the run of its clauses within `limit` words that speaks most of the question.

    The text of the result is empty where there is no room for a clause.
    """
    if count_words(line.text) <= limit:
        return line
    if limit < LEAST:
        return line._replace(text="")
    text = line.text
    borders = [0, *(m.end() for m in _CLAUSE.finditer(text) if 0 < m.end() < len(text)), len(text)]
    runs = [
        (a, b)
        for i, a in enumerate(borders)
        for b in borders[i + 1 :]
        if count_words(text[a:b]) <= limit
    ]
    asked = set(question.words)
    best = max(
        runs, key=lambda run: _score_clause(text[slice(*run)], asked, question), default=(0, 0)
    )
    piece = text[slice(*best)]
    start = line.start + best[0] + len(piece) - len(piece.lstrip())
    return line._replace(text=piece.strip().rstrip(",;:，；：、"), start=start)


def _score_clause(piece: str, asked: set[str], question: ParsedQuestion) -> tuple[float, int]:
    """How much a piece of a sentence tells: words of the question, and a value of its type."""
    found = [
        v for v in find_values(question.kind, piece, question.unit) if set(content_words(v)) - asked
    ]
    return len(asked & set(content_words(piece))) + 1.5 * bool(found), len(piece)


def _adds_something(candidate: ScoredLine, picked: Sequence[ScoredLine]) -> bool:
    """Whether a sentence says something that the others do not: no copies from another page."""
    own = set(content_words(candidate.line.text))
    return all(len(own - set(content_words(s.line.text))) > 0.2 * len(own) for s in picked)


def _is_to_the_point(
    candidate: ScoredLine, picked: Sequence[ScoredLine], question: ParsedQuestion
) -> bool:
    """Whether a further sentence is still to the point, or is about something that one named.

    It must say a word of the question or a value of its type, and be about a name of the question.
    """
    line = candidate.line
    title = re.sub(r"\s*\(.*?\)$", "", line.title).casefold()
    named = len(title) > 3 and any(title in s.line.text.casefold() for s in picked)
    if not picked or (named and not addresses_reader(line)):
        return True
    own = set(content_words(line.text))
    asked = any(word in own or synonyms_of(word) & own for word in question.words)
    subject = _named_words(question)
    around = own | set(content_words(f"{line.title} {line.heading} {line.before}"))
    about = not subject or any(name & around for name in subject)
    return about and (asked or has_answer_type(line, question))


def drop_other_events(ranked: Sequence[ScoredLine], question: ParsedQuestion) -> list[ScoredLine]:
    """The lines that are not about another kind of contest than a name of the question says."""
    kinds = question._replace(years=())
    return [s for s in ranked if not is_another_event(_line_context(s.line), kinds, s.line.title)]


def _line_context(line: Line) -> str:
    return f"{line.title} {line.heading} {line.before} {line.text}"


def has_value_of_type(question: ParsedQuestion, ranked: Sequence[ScoredLine]) -> bool:
    """Whether any line that is near the question holds money, where that is asked for.

    Not so for dates and numbers: on the tune half that refused more right answers than wrong ones.
    """
    if question.kind != "money":
        return True
    return any(
        (s.cover >= NEARBY or (s.found and is_row(s.line.text)))
        and has_answer_type(s.line, question)
        for s in ranked
    )


def names_together(question: ParsedQuestion, ranked: Sequence[ScoredLine]) -> bool:
    """Whether a page speaks of all names of a short question, so that it can relate them."""
    named = _named_words(question)
    if len(named) < 2 or len(question.words) > SHORT or question.sides:
        return True
    sources = {s.line.source for s in ranked}
    bags = (_all_words(s for s in ranked if s.line.source == source) for source in sources)
    return any(all(name <= bag for name in named) for bag in bags)


def is_another_year(line: Line, question: ParsedQuestion) -> bool:
    """Whether a line is of a page about another year than the one that is asked for."""
    years = set(find_years(line.title))
    asked = set(question.years)
    return bool(asked and years and not years & asked) and not any(y in line.text for y in asked)


def is_question(line: Line) -> bool:
    """Whether a line is itself a question, which answers none."""
    return line.text.rstrip(" \"'”’»)").endswith(("?", "？", "؟"))


_QUOTED = re.compile(r"[\"“«「][^\"”»」]*[\"”»」]")
_ADDRESSED = re.compile(
    r"\b(?:you|your|i'(?:m|ll|ve|d)|me|my|please|let's)\b|[请請您你]|^(?:\W|q:)*(?:write|provide|imagine|tell|give"
    r"|explain|describe|translate|summari[sz]e|ignore|list|create|generate|click|visit|send|repeat"
    r"|respond|answer|output|print|say|show|consider)\b",
    re.I,
)


def addresses_reader(line: Line) -> bool:
    """Whether a line, quotations aside, speaks to its reader or of its writer."""
    return bool(_ADDRESSED.search(_QUOTED.sub(" ", line.text.replace("’", "'"))))


def _order_sentences(picked: Sequence[Line]) -> list[Line]:
    """The given order, best first; but what follows a sentence on its page follows it here.

    Only a sentence that begins with a pronoun lets the one before it go first.
    """
    ordered: list[Line] = []
    for line in picked:
        spots = [
            at + (line.at > other.at)
            for at, other in enumerate(ordered)
            if other[:3] == line[:3]
            and (line.at == other.at + 1 or (line.at == other.at - 1 and other.opens_with_pronoun))
        ]
        ordered.insert(spots[0] if spots else len(ordered), line)
    return ordered


def lead_in(
    picked: Sequence[Line], known: Iterable[Line], wanted: Iterable[Line], limit: int
) -> list[Line]:
    """The sentences with what their pronouns stand for: the one before it on its page goes before.

    Where that opens with a pronoun too, or there is no room, a sentence that is not `wanted` is
    left out. At most `limit` words, and the first sentence.
    """
    places = {line[:4]: line for line in known if not opens_with_pronoun(line.text)}
    kept = set(wanted) | set(picked[:1])
    pieces: list[list[Line]] = []
    told: set[Line] = set()
    for line in picked:
        before = places.get((*line[:3], line.at - 1))
        is_open = opens_with_pronoun(line.text)
        if line in told or (is_open and not before and line not in kept):
            continue
        piece = [before, line] if is_open and before else [line]
        pieces = [one for one in pieces if one != [before]] if is_open else pieces
        pieces.append(piece)
        told |= set(piece)
    return _trim(pieces, limit)


def _trim(pieces: Sequence[list[Line]], limit: int) -> list[Line]:
    lines = list(pieces[0]) if pieces else []
    for piece in pieces[1:]:
        if sum(count_words(line.text) for line in (*lines, *piece)) <= limit:
            lines += piece
    if sum(count_words(line.text) for line in lines) > limit:
        return lines[-1:]  # without what leads to it
    return lines


# --- whether ---------------------------------------------------------------------------------

#: Logistic weights: does the evidence answer? Found on the tune half of the questions, each asked
#: with its gold passages in the corpus and without; run `python -m evals` after a change.
CONFIDENCE = {
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
SURE = -1.1  # how often it abstains, with and without the gold passages: evals/RESULTS.md


def confidence(question: ParsedQuestion, ranked: Sequence[ScoredLine]) -> float:
    """How sure it is that the evidence answers: log odds; minus infinity where it cannot."""
    best = sorted(ranked, key=lambda s: -s.score)[:3]
    if not best or _has_foreign_name(question, ranked):
        return float("-inf")
    return sum(
        CONFIDENCE[name] * value for name, value in answer_signs(question, ranked, best).items()
    )


def answer_signs(
    question: ParsedQuestion, ranked: Sequence[ScoredLine], best: Sequence[ScoredLine]
) -> dict[str, float]:
    """What tells whether the evidence answers; each between 0 and 1."""
    first = best[0].features
    count = len(question.words) or 1
    near = _all_words(best)
    named = _named_words(question)
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
    """Whether a name or a year of the question stands nowhere in the evidence."""
    bag = _all_words(ranked)
    models = {
        w for name in question.surely_named for w in content_words(name) if re.search(r"\d", w)
    }
    if models - bag - set(question.years):
        return True  # another product, section or version than any that is told of
    years = any(year not in bag and not _is_within(year, ranked) for year in question.years[:1])
    return years or any(not name & bag for name in _named_words(question))


def _is_within(year: str, ranked: Sequence[ScoredLine]) -> bool:
    return any(year in s.line.text or year in s.line.title for s in ranked)


def _named_words(question: ParsedQuestion) -> list[set[str]]:
    return [bag for name in question.surely_named if (bag := set(content_words(name)))]


def _all_words(some: Iterable[ScoredLine]) -> set[str]:
    lines = (s.line for s in some)
    texts = {text for line in lines for text in (line.text, line.title, line.heading)}
    return {word for text in texts for word in content_words(text)}  # many lines have one title
