"""Which sentences make the answer, and in which order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import accumulate

from agent.evidence.language import ends_as_question
from agent.evidence.names import plain_name
from agent.evidence.words import count_words, opens_with_pronoun
from agent.llm.extractive.lines import Line, is_label
from agent.llm.extractive.question import ParsedQuestion
from agent.llm.extractive.ranking import ScoredLine

SENTENCES = 4
CANDIDATES = 25
CLAUSES = 40  # of a sentence that is cut
COPIED = 0.2  # a sentence with no larger share of new words, and no new number, repeats another
#: How far below the best a sentence may score, and what moves it: points of `ranking.WEIGHTS`.
#: Found on the tune half of the questions; run `python -m evals` after a change.
GAP = 3.5
NEW_WORDS = 3.0  # all words of the question that no chosen sentence speaks of
LINKED = 1.0  # its page is named in a chosen sentence: the second hop
NEXT = 1.0  # it stands beside a chosen sentence
TOLD_ON = 3.0  # it follows one, where a passage is asked for: how, why, a list
SIDE = 2.0  # the side of a comparison that is still missing
WANTED = 6.0  # it states a fact that was asked for by name: it goes before what is only near
CLOSE = 1.0  # the gap where such facts were found


def choose_sentences(
    question: ParsedQuestion,
    ranked: Sequence[ScoredLine],
    limit: int,
    wanted: Sequence[Line] = (),
) -> list[Line]:
    """At most four sentences within `limit` words, best first.

    `wanted` state facts that were asked for by name: they go first and leave little room for more.
    """
    told = set(wanted)
    best = max((s.score for s in ranked), default=0.0) - (CLOSE if wanted else GAP)
    if listed := _answering_list(question, ranked, limit):
        return listed
    raised = [s._replace(score=s.score + WANTED * (s.line in told)) for s in ranked]
    left = sorted(raised, key=lambda s: -s.score)[:CANDIDATES]
    left = [s for s in left if not (ends_as_question(s.line.text) or is_label(s.line))]
    picked: list[ScoredLine] = []
    while left and len(picked) < SENTENCES:
        worth = [_marginal_score(s, picked, question) for s in left]
        at = worth.index(max(worth))
        candidate = left.pop(at)
        if picked and worth[at] < best:
            break
        line = candidate.line if picked else clip_line(candidate.line, question, limit)
        adds = candidate.line in told or _adds_something(line, picked, question)
        if adds and 0 < count_words(line.text) <= limit:
            picked.append(candidate._replace(line=line))
            limit -= count_words(line.text)
    return [s.line for s in picked]


def _answering_list(
    question: ParsedQuestion, ranked: Sequence[ScoredLine], limit: int
) -> list[Line]:
    """The list within `limit` words that the best sentence is of, where no single fact is asked."""
    if question.kind not in ("text", "passage") or not ranked:
        return []
    lines = [s.line for s in ranked]
    start = _find_list(question, lines, max(ranked, key=lambda s: s.score).line)
    if start is None:
        return []
    first = last = start
    while first and lines[first].goes_on_list(lines[first - 1]):
        first -= 1
    while last + 1 < len(lines) and lines[last + 1].goes_on_list(lines[last]):
        last += 1
    words = accumulate(count_words(line.text) for line in lines[first : last + 1])
    fitting = first + sum(used <= limit for used in words)
    return lines[first:fitting] if fitting - first > 1 else []


def _find_list(question: ParsedQuestion, lines: Sequence[Line], best: Line) -> int | None:
    """Where a line of a list stands that answers: the best line, or one below its heading.

    The heading tells, where it says more of the question than the line. Else an item may state a
    single fact.
    """
    asked = set(question.words)
    titled, said = (len(asked.intersection(question.read(t))) for t in (best.heading, best.text))
    if titled > said:
        section = best[:3], best.heading
        below = (n for n, x in enumerate(lines) if x.is_listed and (x[:3], x.heading) == section)
        return next(below, None)
    alone = not best.is_listed or (best.mark and question.kind == "text")
    return None if alone else lines.index(best)


def _marginal_score(
    candidate: ScoredLine, picked: Sequence[ScoredLine], question: ParsedQuestion
) -> float:
    """A sentence's score, given those that are already there."""
    line = candidate.line
    if not picked:
        return candidate.score
    said = frozenset[str]().union(*(s.found for s in picked))
    text = " ".join(f"{s.line.title} {s.line.text}" for s in picked).casefold()
    own, name = f"{line.title} {line.text}".casefold(), plain_name(line.title).casefold()
    side = any(side in own and side not in text for side in map(str.casefold, question.sides))
    linked = len(name) > 3 and name in text and all(s.line.source != line.source for s in picked)
    worth = candidate.score + NEW_WORDS * len(candidate.found - said) / (len(question.words) or 1)
    return worth + LINKED * linked + SIDE * side + _beside(line, picked, question)


def _beside(line: Line, picked: Sequence[ScoredLine], question: ParsedQuestion) -> float:
    """What it counts that a line stands beside one: it goes on with what is told of how, or why."""
    if question.kind == "passage" and any(line.follows(s.line) for s in picked):
        return TOLD_ON
    return NEXT * any(line.follows(s.line) or s.line.follows(line) for s in picked)


def _adds_something(line: Line, picked: Sequence[ScoredLine], question: ParsedQuestion) -> bool:
    """Whether a further sentence is of what is asked for, new, and not spoken to its reader."""
    if not picked or _beside(line, picked, question) == TOLD_ON:
        return True
    own, around = set(question.read(line.text)), set(question.read(line.context))
    title = plain_name(line.title).casefold()
    named = [name & around for name in question.named_words]
    linked = len(title) > 3 and any(title in s.line.text.casefold() for s in picked)
    new = [own - set(question.read(s.line.text)) for s in picked]
    copies = any(len(words) <= COPIED * len(own) and not _has_digit(words) for words in new)
    return (linked or not named or any(named)) and not copies and not addresses_reader(line)


def _has_digit(words: Iterable[str]) -> bool:
    return any(char.isdigit() for word in words for char in word)


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


# --- in which order ------------------------------------------------------------------------------


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
        if any(line in piece for piece in pieces):
            continue
        if near := next((piece for piece in pieces if line.follows(piece[-1])), None):
            near.append(line)
        else:
            pieces = [one for one in pieces if one != [before]]
            pieces.append([before, line] if before else [line])
    return _trim(sorted(pieces, key=lambda one: opens_with_pronoun(one[0].text)), limit)


def _trim(pieces: Sequence[list[Line]], limit: int) -> list[Line]:
    """As many pieces as fit; of one that does not, its answer, or later what leads to it."""
    lines: list[Line] = []
    for piece in pieces:
        for part in (piece, piece[:1] if lines else piece[-1:]):
            if sum(count_words(line.text) for line in (*lines, *part)) <= limit:
                lines += part
                break
    return lines
