"""Filling slots without a model: a value whose type fits, in a sentence about the thing asked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from agent.evidence import CJK, content_words, is_row
from agent.evidence.asked import FINDERS
from agent.evidence.language import ends_as_question
from agent.evidence.names import plain_name
from agent.evidence.quantities import find_years
from agent.evidence.words import opens_with_pronoun, word_lists
from agent.llm.extractive.fact import Fact, is_generic, read_slot
from agent.llm.extractive.fields import find_field
from agent.llm.extractive.lines import Line
from agent.llm.extractive.question import ParsedQuestion, is_another_event
from agent.llm.extractive.ranking import ScoredLine
from agent.llm.extractive.stated import find_stated
from agent.llm.extractive.synonyms import synonyms_of
from agent.llm.extractive.tables import find_numbered, find_record, is_of_part
from agent.llm.extractive.templates import find_template, side_slots
from agent.slots.forms import to_typed
from agent.slots.sameness import same_value
from agent.state import Slot

#: Words of a question that a sentence and its title may leave out: one in so many. Found on the
#: tune half; run `python -m evals.extractive` after a change.
SPARE = 3
TITLED = 0.66  # the share of what is asked in a title that makes its page one about it
#: The share that may be left out in Chinese. Of 140 questions of XQuAD .45 told 3
#: answers as `complete` without their page, .35 none.
CHINESE = 0.35
LONGEST = 240  # characters of a sentence that stands as a value itself


class Filled(NamedTuple):
    """A value, the sentence that states it, and the quote, in which the value stands."""

    value: str
    line: Line
    quote: str
    is_field: bool = False  # the line is a name with its value, or a row


def fill_slot(slot: Slot, question: ParsedQuestion, ranked: Sequence[ScoredLine]) -> Filled | None:
    """A slot's value with its quote; None where no sentence states it for this very topic.

    What a table says goes before prose: its form tells what it is about.
    """
    question = part_of(slot, question)
    if record := find_record([s.line for s in ranked], question):
        value = record.value_of(read_slot(slot, question), question)
        row = record.row_with(value.split(", ")[0])
        return Filled(value, row, record.quote, is_field=True) if value else None
    if (template := find_template(question)) and template.parties(question):
        return None  # a table tells the whole match; prose is of others of these sides too
    if slot.name in side_slots(question):
        return _fill_side(slot, question, ranked)
    if field := find_field(slot, question, ranked):
        value, line = field
        if "[]" in slot.name or to_typed(value, slot) is not None:
            return Filled(value, line, line.text, is_field=True)
    return _fill_from_prose(slot, question, ranked)


def part_of(slot: Slot, question: ParsedQuestion) -> ParsedQuestion:
    """The part of a question that a slot stands for; the question where it has but one."""
    parts = question.parts if is_generic(slot.name) else ()
    return next((part for part in parts if part.text == slot.description), question)


# --- prose ---------------------------------------------------------------------------------------


def _fill_from_prose(
    slot: Slot, question: ParsedQuestion, ranked: Sequence[ScoredLine]
) -> Filled | None:
    """A fact from the sentence that leaves the fewest words of the question out; else the first."""
    return next((found for _, found in _fillings(slot, question, ranked)), None)


def fill_beside(
    slot: Slot, question: ParsedQuestion, ranked: Sequence[ScoredLine], best: Filled
) -> Iterator[Filled]:
    """Other names than the best one, of sentences of prose that say all of what is asked."""
    told = [best.value]
    for _, one in _fillings(slot, part_of(slot, question), ranked):
        words, own = read_slot(slot, question, one.line.title).words, _bag(one.line.text)
        is_new = not any(same_value(one.value, v) or one.value in v or v in one.value for v in told)
        if is_new and all(_says(word, own, own) for word in words):
            told.append(one.value)
            yield one


def _fillings(
    slot: Slot, question: ParsedQuestion, ranked: Sequence[ScoredLine]
) -> list[tuple[int, Filled]]:
    """The first value of each sentence that states one, with how many words it leaves out."""
    found = []
    for scored in ranked:
        asked = read_slot(slot, question, scored.line.title)
        left_out = _count_left_out(scored.line, asked, question)
        if left_out is None:
            continue
        for told in _values_of(slot, asked, scored.line, question):
            if "[]" in slot.name or to_typed(told.value, slot) is not None:
                said = _bag(scored.line.text).intersection((*asked.words, *asked.relation))
                is_silent = asked.kind == "text" and not said  # a sentence is the value itself
                found.append((left_out, is_silent, -scored.score, told))
                break
    return [(row[0], row[-1]) for row in sorted(found, key=lambda one: one[:3])]


def _values_of(slot: Slot, asked: Fact, line: Line, question: ParsedQuestion) -> Iterator[Filled]:
    """The values of a slot in a line, best first."""
    template = find_template(question) if asked.kind == "names" else None
    if template and template.part:
        if is_of_part(line, template) and (names := find_numbered(line)):
            yield Filled(names, line, line.text)
        return
    if asked.kind in ("text", "yesno", "reason", "passage") and not asked.role:
        if slot.name == "answer" and len(line.text) <= LONGEST:
            yield Filled(line.text, line, line.text)
        return
    told = _bag(question.text)
    text = _clause_of_year(line.text, question.years)
    for value in find_stated(text, asked, plain_name(line.title)):
        vague = asked.dated and asked.kind == "date" and not find_years(value)
        if _bag(value) - told and not vague:
            yield Filled(value, line, line.text)


def _clause_of_year(text: str, years: Sequence[str]) -> str:
    """A sentence from where it speaks of a year in brackets, behind other years in brackets.

    `Italy won twice (1934 and 1938), France once (1998)` says nothing of Italy in 1998.
    """
    at = text.find(years[0]) if years else -1
    before = [m.end() for m in _BRACKETS.finditer(text) if m.end() <= at and find_years(m[0])]
    inside = any(m.start() < at < m.end() for m in _BRACKETS.finditer(text))
    return text[before[-1] :] if before and inside else text


_BRACKETS = re.compile(r"\([^()]*\)")


def _count_left_out(line: Line, asked: Fact, question: ParsedQuestion) -> int | None:
    """How many words of what is asked a line leaves out; None where it is about something else.

    Its page is about the thing asked, or it says all of it itself.
    """
    around = line.context if opens_with_pronoun(line.text) else line._replace(before="").context
    is_no_prose = is_row(line.text) or ends_as_question(line.text)
    if is_no_prose or is_another_event(around, question, line.title):
        return None
    own, near = _bag(line.text), _bag(around)
    is_loose = asked.kind != "text"  # a text is a whole sentence: its form tells nothing
    left_out = [w for w in asked.words if not _says(w, near, own, is_loose=is_loose)]
    if re.search(f"[{CJK}]", question.text):  # pairs of characters, many of them no words
        return len(left_out) if len(left_out) <= CHINESE * len(asked.words) else None
    is_needed = not (asked.names | asked.held).isdisjoint(left_out)
    if is_needed or len(left_out) > min(1, len(asked.words) // SPARE):
        return None
    if not all(_stand_together(pair, line) for pair in asked.bound):
        return None
    if _is_page_about(line, question, asked):
        return len(left_out)
    is_about = bool(asked.names) or asked.kind in FINDERS  # a form of its own tells, too
    whole = all(_says(w, own, own) for w in asked.words) and is_about
    whole = whole and asked.kind not in ("score", "names")
    return len(left_out) + 1 if whole else None


def _is_page_about(line: Line, question: ParsedQuestion, asked: Fact) -> bool:
    """Whether a line's page is about the thing asked: one of its title and the question names it.

    A number in the title that the question does not say makes it another season or edition.
    """
    title = re.sub(r"^lists? of |\(.*?\)", "", line.title, flags=re.I)
    numbers = set(re.findall(r"\d+", line.title)) - set(re.findall(r"\d+", question.text))
    other = any(len(number) < 4 or number in title for number in numbers)
    if other or "(disambiguation)" in line.title:
        return False
    told, titled = _bag(question.text), _bag(line.title)
    named = set(content_words(title)), set(content_words(re.sub("['’]", "", title)))
    said = 0 if line.title.casefold().startswith("list") else len(titled.intersection(asked.words))
    return (
        any(some and some <= told for some in named)
        or said >= max(3, TITLED * len(asked.words))
        or (bool(asked.names) and asked.names <= titled)
    )


def _stand_together(pair: tuple[str, str], line: Line) -> bool:
    """Whether two words follow each other in a line or in its title."""
    first, second = pair
    alike = {second} | synonyms_of(second)
    texts = (content_words(text) for text in (line.text, line.title))
    return any(a == first and b in alike for words in texts for a, b in pairwise(words))


def _says(word: str, around: set[str], own: set[str], *, is_loose: bool = True) -> bool:
    near = is_loose and len(word) > 5 and any(word[:5] == other[:5] for other in around)
    return word in around or near or not own.isdisjoint(synonyms_of(word))


def _bag(text: str) -> set[str]:
    """The content words of a text; `We're` is also `were`, as it is typed."""
    return {*content_words(text), *content_words(re.sub("['’]", "", text))}


def _fill_side(slot: Slot, question: ParsedQuestion, ranked: Sequence[ScoredLine]) -> Filled | None:
    """The sentence that says most of what is compared about this side, and least of the other."""
    own = set(content_words(slot.name.replace("_", " ")))
    others = {word for side in question.sides for word in content_words(side)} - own
    idle = others | own | {*content_words(word_lists()["questions"]["compared"])}
    aspects, told = set(question.words) - idle, own | set(question.words)
    best: dict[float, Line] = {}
    for line, score in ((s.line, s.score) for s in ranked):
        said = set(content_words(f"{line.heading} {line.text}"))
        titled = set(content_words(line.title))
        if len(line.text) <= LONGEST and (
            own <= titled <= told or (own <= said and others & titled)
        ):
            spoken = len(aspects & said) / (len(aspects) or 1)
            fit = 8 * spoken + 2 * (own <= titled) - 3 * bool(others & said) + 0.4 * score
            best.setdefault(fit, line)
    found = [best[max(best)]] if best else []
    return next((Filled(line.text, line, line.text) for line in found), None)
