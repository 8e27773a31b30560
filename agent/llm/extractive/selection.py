"""Which sentences make the answer, in which order, and whether there is an answer at all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from agent.checking.rules import opens_with_pronoun
from agent.evidence import is_row
from agent.evidence.dates import find_years
from agent.evidence.words import count_words
from agent.llm.extractive.alike import synonyms_of
from agent.llm.extractive.lines import Line, quotable_lines
from agent.llm.extractive.question import ParsedQuestion, is_another_event
from agent.llm.extractive.ranking import ScoredLine, has_answer_type, score_lines
from agent.outside import Excerpt

SENTENCES = 4
NEARBY = 0.4  # share of the question that a line speaks of, to be near it
SHORT = 4  # content words of a question that is about one thing, not a chain of them
CANDIDATES = 25
CLAUSES = 40  # of a sentence that is cut
FEWEST_WORDS = 4  # of a line without a stop; fewer are a label
#: How far below the best a sentence may score, and what moves it: points of `ranking.WEIGHTS`.
#: Found on the tune half of the questions; run `python -m evals` after a change.
GAP = 3.5
NEW_WORDS = 3.0  # all words of the question that no chosen sentence speaks of
LINKED = 1.0  # its page is named in a chosen sentence: the second hop
NEXT = 1.0  # it stands beside a chosen sentence
TOLD_ON = 3.0  # it follows one, where a passage is asked for: how, why, a list
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
    """At most four sentences within `limit` words, best first.

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
    left = [s for s in left if _may_answer(s.line, question)]
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
            _adds_something(candidate, picked, question)
            and _is_to_the_point(candidate, picked, question)
        ):
            picked.append(shown)
            limit -= count_words(shown.line.text)
    return [s.line for s in picked]


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
    beside = TOLD_ON if _goes_on(line, picked, question) else NEXT * _is_beside(line, picked)
    linked = len(name) > 3 and name in text and all(s.line.source != line.source for s in picked)
    return (
        worth
        + NEW_WORDS * len(candidate.found - said) / (len(question.words) or 1)
        + LINKED * linked
        + beside
        + SIDE * bool(sides)
    )


def _is_beside(line: Line, picked: Sequence[ScoredLine]) -> bool:
    return any(s.line[:3] == line[:3] and abs(s.line.at - line.at) == 1 for s in picked)


def _goes_on(line: Line, picked: Sequence[ScoredLine], question: ParsedQuestion) -> bool:
    """Whether a line goes on with what is told of how, of why, or in a list."""
    after = any(s.line[:3] == line[:3] and line.at == s.line.at + 1 for s in picked)
    return question.kind == "passage" and after


_CLAUSE = re.compile(r"(?<=[,;:，；：、])\s*|\s+(?=\(|(?:and|but|which|who|while|where|because)\s)")


def clip_line(line: Line, question: ParsedQuestion, limit: int) -> Line:
    """A line, or the run of its clauses within `limit` words that speaks most of the question."""
    text = line.text
    if count_words(text) <= limit:
        return line
    borders = [0, *(m.end() for m in _CLAUSE.finditer(text)), len(text)][:CLAUSES]
    runs = [text[a:b] for i, a in enumerate(borders) for b in borders[i + 1 :]]
    asked = set(question.words)
    piece = max(
        (run for run in runs if count_words(run) <= limit),
        key=lambda run: (len(asked & set(question.read(run))), len(run)),
        default="",
    )
    piece = piece.strip().rstrip(",;:，；：、")
    return line._replace(text=piece, start=line.start + text.find(piece))


def _adds_something(
    candidate: ScoredLine, picked: Sequence[ScoredLine], question: ParsedQuestion
) -> bool:
    """Whether a sentence says something that the others do not: no copies from another page."""
    own = set(question.read(candidate.line.text))
    return all(len(own - set(question.read(s.line.text))) > 0.2 * len(own) for s in picked)


def _is_to_the_point(
    candidate: ScoredLine, picked: Sequence[ScoredLine], question: ParsedQuestion
) -> bool:
    """Whether a further sentence is still to the point, or is about something that one named.

    It must say a word of the question or a value of its type, and be about a name of the question.
    """
    line = candidate.line
    title = re.sub(r"\s*\(.*?\)$", "", line.title).casefold()
    named = len(title) > 3 and any(title in s.line.text.casefold() for s in picked)
    goes_on = _goes_on(line, picked, question)
    if not picked or goes_on or (named and not addresses_reader(line)):
        return True
    own = set(question.read(line.text))
    asked = any(word in own or synonyms_of(word) & own for word in question.words)
    subject = _named_words(question)
    around = own | set(question.read(f"{line.title} {line.heading} {line.before}"))
    about = not subject or any(name & around for name in subject)
    return about and (asked or has_answer_type(line, question))


def score_evidence(evidence: Sequence[Excerpt], question: ParsedQuestion) -> list[ScoredLine]:
    """The lines of some evidence with their scores; none about another kind of contest."""
    return drop_other_events(score_lines(quotable_lines(evidence), question), question)


def drop_other_events(ranked: Sequence[ScoredLine], question: ParsedQuestion) -> list[ScoredLine]:
    """The lines that are not about another kind of contest than a name of the question says."""
    kinds = question._replace(years=())
    return [s for s in ranked if not is_another_event(_line_context(s.line), kinds, s.line.title)]


def _line_context(line: Line) -> str:
    return f"{line.title} {line.heading} {line.before} {line.text}"


def may_answer(question: ParsedQuestion, ranked: Sequence[ScoredLine]) -> bool:
    """Whether an answer can be made of some lines.

    They must be about the question, a page must speak of all names of a short one, so that it can
    relate them, and where money is asked for, a line near it must hold some. Not so for dates and
    numbers: on the tune half that refused more right answers than wrong ones.
    """
    if not is_sure(question, ranked) or not _relates_names(question, ranked):
        return False
    return question.kind != "money" or any(
        (s.cover >= NEARBY or (s.found and is_row(s.line.text)))
        and has_answer_type(s.line, question)
        for s in ranked
    )


def _relates_names(question: ParsedQuestion, ranked: Sequence[ScoredLine]) -> bool:
    named = _named_words(question)
    if len(named) < 2 or len(question.words) > SHORT or question.sides:
        return True
    own = ([s for s in ranked if s.line.source == n] for n in {s.line.source for s in ranked})
    return any(all(name <= _all_words(lines, question) for name in named) for lines in own)


def _may_answer(line: Line, question: ParsedQuestion) -> bool:
    return not (is_another_year(line, question) or is_question(line) or is_label(line))


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


def is_label(line: Line) -> bool:
    """Whether a line tells nothing by itself: a heading, the head of a table, a word to press."""
    text = line.text.rstrip(" \"'”’»)")
    if is_row(text):
        above = line.whole[: line.start].rstrip("\n").rpartition("\n")[2]
        return not is_row(above) and not any(map(str.isdigit, text))
    return count_words(text) < FEWEST_WORDS and not text.endswith((".", "!", "。", "！", "।", "۔"))


def join_neighbours(
    picked: Sequence[Line], known: Iterable[Line], wanted: Iterable[Line], limit: int
) -> list[Line]:
    """The sentences, best first, but neighbours in the page's order, in at most `limit` words.

    Before one that opens with a pronoun goes the one before it on its page. Where that opens with
    one, or is not there, it is left out, unless it is `wanted` or the best.
    """
    places = {line[:4]: line for line in known if not opens_with_pronoun(line.text)}
    kept = {*wanted, *picked[:1]}
    pieces: list[list[Line]] = []
    for line in picked:
        before = places.get((*line[:3], line.at - 1)) if opens_with_pronoun(line.text) else None
        if opens_with_pronoun(line.text) and not before and line not in kept:
            continue
        piece = [before, line] if before else [line]
        near = [one for one in pieces if one[-1][:4] == (*line[:3], line.at - 1)]
        if any(line in one for one in pieces):
            continue
        if near:
            near[0].append(line)
        else:
            pieces = [*(one for one in pieces if one != [before]), piece]
    return _trim(sorted(pieces, key=lambda one: opens_with_pronoun(one[0].text)), limit)


def _trim(pieces: Sequence[list[Line]], limit: int) -> list[Line]:
    lines: list[Line] = []
    for piece in pieces:
        for part in (piece, piece[-1:]):  # without what leads to it, where it is the only one
            if sum(count_words(line.text) for line in (*lines, *part)) <= limit:
                lines += part
                break
            if lines:
                break
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
    near = _all_words(best, question)
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
    bag = _all_words(ranked, question)
    models = {
        w for name in question.surely_named for w in question.read(name) if re.search(r"\d", w)
    }
    if models - bag - set(question.years):
        return True  # another product, section or version than any that is told of
    years = any(year not in bag and not _is_within(year, ranked) for year in question.years[:1])
    return years or any(not name & bag for name in _named_words(question))


def _is_within(year: str, ranked: Sequence[ScoredLine]) -> bool:
    return any(year in s.line.text or year in s.line.title for s in ranked)


def _named_words(question: ParsedQuestion) -> list[set[str]]:
    return [bag for name in question.surely_named if (bag := set(question.read(name)))]


def _all_words(some: Iterable[ScoredLine], question: ParsedQuestion) -> set[str]:
    lines = (s.line for s in some)
    texts = {text for line in lines for text in (line.text, line.title, line.heading)}
    return {word for text in texts for word in question.read(text)}  # many lines have one title
