"""Filling slots without a model: a value whose type fits, in a sentence about the thing asked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from agent.checking.rules import opens_with_pronoun
from agent.evidence import CJK, content_words, is_row
from agent.evidence.dates import find_years
from agent.llm.extractive.alike import synonyms_of
from agent.llm.extractive.fact import Fact, is_generic, read_slot
from agent.llm.extractive.facts import side_slots
from agent.llm.extractive.finders import find_values
from agent.llm.extractive.lines import Line
from agent.llm.extractive.question import (
    ParsedQuestion,
    asks_for_result,
    is_another_event,
    named_opponents,
)
from agent.llm.extractive.ranking import ScoredLine
from agent.llm.extractive.records import (
    MatchReport,
    find_asked_result,
    find_scorers,
    is_final,
    split_entry,
)
from agent.llm.extractive.selection import SHORT, is_question, is_sure
from agent.llm.extractive.stated import find_stated, relation_spans
from agent.slots.forms import to_typed
from agent.state import Slot

#: Words of a question that a sentence and its title may leave out: one in so many. Found on the
#: tune half; run `python -m evals.filled` after a change.
SPARE = 3
NAMED = 0.6  # the share of the words of names that a line must speak of
TITLED = 0.66  # the share of what is asked in a title that makes its page one about it
CHINESE = 0.6  # the share that may be left out in Chinese
LONGEST = 240  # characters of a sentence that stands as a value itself


class Filled(NamedTuple):
    """A value, the sentence that states it, and the quote, in which the value stands."""

    value: str
    line: Line
    quote: str


def fill_slot(slot: Slot, question: ParsedQuestion, ranked: Sequence[ScoredLine]) -> Filled | None:
    """A slot's value with its quote; None where no sentence states it for this very topic.

    What a table says goes before prose: its form tells what it is about.
    """
    if not is_sure(question, ranked):
        return None
    question = part_of(slot, question)
    asked = read_slot(slot, question)
    found = [s.line for s in ranked]
    if asks_for_result(question) and (result := find_asked_result(found, question)):
        told = _find_in_result(slot, result, question)
        return Filled(told, result.row_with(told.split(", ")[0]), result.quote) if told else None
    if named_opponents(question):
        return None  # the table tells the whole match; prose is of others of these sides too
    if slot.name in side_slots(question):
        return _fill_side(slot, question, ranked)
    return _find_in_rows(slot, asked, found, question) or _fill_from_prose(slot, ranked, question)


def part_of(slot: Slot, question: ParsedQuestion) -> ParsedQuestion:
    """The part of a question that a slot stands for; the question where it has but one."""
    parts = question.parts
    if len(parts) < 2 or not is_generic(slot.name):
        return question
    return next((part for part in parts if part.text == slot.description), question)


def is_stated(question: ParsedQuestion, ranked: Sequence[ScoredLine]) -> bool:
    """Whether any line says what was done, where a short question asks who did it, or when.

    Only for a subject with a name: others are told of in too many words.
    """
    asked = read_slot(Slot(name="who"), question)
    short = len(question.words) <= SHORT and _BEGINS.match(question.text)
    if not (short and asked.names and asked.relation):
        return True
    least = NAMED * len(asked.names)
    return any(
        relation_spans(s.line.text, asked) and len(asked.names & _bag(_around(s.line))) >= least
        for s in ranked
    )


_BEGINS = re.compile(r"(?:who|when)\b", re.I)


# --- tables --------------------------------------------------------------------------------------


def _find_in_result(slot: Slot, result: MatchReport, question: ParsedQuestion) -> str:
    """What a table tells of a result; a slot that stands for the answer is what is asked for."""
    own = slot.name if not is_generic(slot.name) else question.text
    told = {
        r"winner|champion|\bwon\b": result.winner,
        "scorers?": result.scorers,
        "score|result": result.score,
    }
    known = (value for named, value in told.items() if re.search(named, own, re.I))
    return result.cell(question.read(own.replace("_", " ")), question) or next(known, "")


def _find_in_rows(
    slot: Slot, asked: Fact, found: Sequence[Line], question: ParsedQuestion
) -> Filled | None:
    """A fact from a row `Name | value` of a page about the topic."""
    own = set(content_words(slot.name.replace("_", " ")))
    for line in found:
        name, value = split_entry(line) or ("", "")
        named = set(content_words(name))
        if not named or named != own or not _is_page_about(line, question, asked):
            continue
        value = re.sub(r"\s*[(（\[].*", "", value)
        if asked.kind in ("date", "number", "money"):
            value = next(iter(find_values(asked.kind, value)), "")
        if value:
            return Filled(value, line, line.text)
    return None


# --- prose ---------------------------------------------------------------------------------------


def _fill_from_prose(
    slot: Slot, ranked: Sequence[ScoredLine], question: ParsedQuestion
) -> Filled | None:
    """A fact from the sentence that leaves the fewest words of the question out; else the first."""
    found = []
    for scored in ranked:
        asked = read_slot(slot, question, scored.line.title)
        left_out = _count_left_out(scored.line, asked, question)
        if left_out is None:
            continue
        for told in _values_of(slot, asked, scored.line, question):
            if "[]" in slot.name or to_typed(told.value, slot) is not None:
                found.append((left_out, -scored.score, told))
                break
    return min(found, key=lambda one: one[:2])[2] if found else None


def _values_of(slot: Slot, asked: Fact, line: Line, question: ParsedQuestion) -> Iterator[Filled]:
    """The values of a slot in a line, best first."""
    if "scorer" in slot.name:
        if is_final(line) and (scorers := find_scorers(line)):
            yield Filled(scorers[0], line, scorers[1])
        return
    if asked.kind in ("text", "yesno", "passage") and not asked.role:
        if slot.name == "answer" and len(line.text) <= LONGEST:
            yield Filled(line.text, line, line.text)
        return
    told = _bag(question.text)
    subject = _find_subject(line, asked) if asked.kind == "name" else None
    if subject and _bag(subject.value) - told:
        yield subject
    for value in find_stated(line.text, asked, re.sub(r"\s*\(.*?\)$", "", line.title)):
        vague = asked.dated and asked.kind == "date" and not find_years(value)
        if _bag(value) - told and not vague:
            yield Filled(value, line, line.text)


_PERSON = re.compile(r"(?:he|she|they)\b", re.I)


def _find_subject(line: Line, asked: Fact) -> Filled | None:
    """The person or group of a page, of whom a sentence of it says what is asked.

    Where the sentence begins with a pronoun, the quote holds the sentence before it too.
    """
    name = re.sub(r"\s*\(.*?\)$", "", line.title).strip()
    family = name.split()[-1] if name else ""
    opening = line.text.lstrip("\"'“")
    if not name or not asked.relation & _bag(line.text) or _PASSIVE_BY.search(line.text):
        return None
    if opening.startswith((name, family)):
        return Filled(name if opening.startswith(name) else family, line, line.text)
    start = line.whole.rfind(line.before, 0, line.start) if line.before else -1
    if _PERSON.match(line.text) and start >= 0 and name in line.before:
        return Filled(name, line, line.whole[start : line.start + len(line.text)])
    return None


_PASSIVE_BY = re.compile(r"\b(?:was|were|is|are|been)\s(?:\w+\s)?\w+ed\b|\bby\b")


def _count_left_out(line: Line, asked: Fact, question: ParsedQuestion) -> int | None:
    """How many words of what is asked a line leaves out; None where it is about something else.

    Its page is about the thing asked, or it says all of it itself.
    """
    if (
        is_row(line.text)
        or is_question(line)
        or is_another_event(_around(line), question, line.title)
    ):
        return None
    own, around = _bag(line.text), _bag(_around(line))
    left_out = [w for w in asked.words if not _says(w, around, own)]
    if re.search(f"[{CJK}]", question.text):  # pairs of characters, many of them no words
        return len(left_out) if len(left_out) <= CHINESE * len(asked.words) else None
    if len(left_out) > min(1, len(asked.words) // SPARE) or asked.names & set(left_out):
        return None
    if not all(_stand_together(pair, line) for pair in asked.bound):
        return None
    if _is_page_about(line, question, asked):
        return len(left_out)
    whole = all(_says(w, own, own) for w in asked.words) and bool(asked.names)
    whole = whole and asked.kind not in ("score", "names")
    subject = asked.kind == "name" and len(asked.words) > 2 and not left_out
    whole = whole or (subject and _find_subject(line, asked) is not None)
    return len(left_out) + 1 if whole else None


def _is_page_about(line: Line, question: ParsedQuestion, asked: Fact) -> bool:
    """Whether a line's page is about the thing asked: one of its title and the question names it.

    A number in the title that the question does not say makes it another season or edition.
    """
    if "(disambiguation)" in line.title:
        return False
    told = _bag(question.text)
    title = re.sub(r"^lists? of |\(.*?\)", "", line.title, flags=re.I)
    numbers = set(re.findall(r"\d+", line.title)) - set(re.findall(r"\d+", question.text))
    if any(len(number) < 4 or number in title for number in numbers):
        return False
    named = set(content_words(title)), set(content_words(re.sub("['’]", "", title)))
    if any(some and some <= told for some in named):
        return True
    titled = _bag(line.title)
    listed = line.title.casefold().startswith("list")
    said = sum(word in titled for word in asked.words)
    if not listed and said >= max(3, TITLED * len(asked.words)):
        return True
    return bool(asked.names) and asked.names <= _bag(line.title)


def _stand_together(pair: tuple[str, str], line: Line) -> bool:
    """Whether two words follow each other in a line or in its title."""
    first, second = pair
    alike = {second} | synonyms_of(second)
    for text in (line.text, line.title):
        words = content_words(text)
        for a, b in zip(words, words[1:], strict=False):
            if a == first and b in alike:
                return True
    return False


def _says(word: str, around: set[str], own: set[str]) -> bool:
    near = len(word) > 5 and any(word[:5] == other[:5] for other in around)
    return word in around or near or not own.isdisjoint(synonyms_of(word))


def _around(line: Line) -> str:
    before = line.before if opens_with_pronoun(line.text) else ""
    return f"{line.title} {line.heading} {before} {line.text}"


def _bag(text: str) -> set[str]:
    """The content words of a text; `We're` is also `were`, as it is typed."""
    return set(content_words(text)) | set(content_words(re.sub("['’]", "", text)))


# --- the sides of a comparison -------------------------------------------------------------------

_COMPARED = frozenset(content_words("difference differences compare comparison versus vs better"))


def _fill_side(slot: Slot, question: ParsedQuestion, ranked: Sequence[ScoredLine]) -> Filled | None:
    """The sentence that says most of what is compared about this side, and least of the other."""
    own = set(content_words(slot.name.replace("_", " ")))
    sides = [set(content_words(side)) for side in question.sides]
    aspects = set(question.words) - set[str]().union(*sides) - _COMPARED
    others = set[str]().union(*sides) - own
    best: tuple[float, Line] | None = None
    for scored in ranked:
        line = scored.line
        said = set(content_words(f"{line.heading} {line.text}"))
        titled = set(content_words(line.title))
        about = own <= titled <= own | set(question.words) or (own <= said and others & titled)
        if not about or len(line.text) > LONGEST:
            continue
        spoken = len(aspects & said) / len(aspects) if aspects else 0.0
        fit = 8 * spoken + 2 * (own <= set(content_words(line.title))) - 3 * bool(others & said)
        if best is None or fit + 0.4 * scored.score > best[0]:
            best = fit + 0.4 * scored.score, line
    return Filled(best[1].text, best[1], best[1].text) if best else None
