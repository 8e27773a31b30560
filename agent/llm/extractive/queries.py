"""What to search for without a model: the question, its names and its parts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agent.evidence import CJK, stop_words
from agent.evidence.words import word_lists
from agent.llm.extractive.fact import is_generic
from agent.llm.extractive.question import ParsedQuestion
from agent.llm.extractive.synonyms import doer_noun
from agent.llm.extractive.templates import find_template
from agent.state import Slot

QUERIES = (3, 5)  # at least where there are so many sensible ones, at most
LONGEST = 300  # characters of a query


def propose_queries(question: ParsedQuestion, slots: Sequence[Slot]) -> list[str]:
    """Three to five queries where there are so many, the question first."""
    found = [
        question.text,
        *_name_event(question),
        *_sides(question),
        *slot_queries(question, slots),
        *_parts(question),
    ]
    return distinct_queries(found, question)[: QUERIES[1]]


def distinct_queries(queries: Sequence[str], question: ParsedQuestion) -> list[str]:
    """The queries in order, each once: what differs only in stop words or case is one.

    What is made of stop words alone is none, unless it is the question itself.
    """
    seen: dict[tuple[str, ...], str] = {}
    stop = stop_words(question.language)
    for query in (" ".join(query.split())[:LONGEST] for query in queries):
        key = tuple(word for word in re.findall(r"\w+", query.casefold()) if word not in stop)
        if query and (key or query == question.text):
            seen.setdefault(key, query)
    return list(seen.values())


def words_as_written(question: ParsedQuestion) -> list[str]:
    """The content words of a question as written."""
    found = re.findall(r"[\w'’.&-]*\w", question.plain)
    if len(found) == 1 and (run := found[0]) and re.match(f"[{CJK}]", run[-1]):
        found = [run[i : i + 4] for i in range(0, len(run), 4)]  # no blanks to cut it at
    stop = stop_words(question.language)
    return [word for word in found if word.casefold() not in stop]


def slot_queries(question: ParsedQuestion, slots: Sequence[Slot]) -> list[str]:
    """What is asked about with the name of each slot; names of slots are English."""
    if question.language != "en":
        return []
    named = bool(question.surely_named)
    about = (*question.names, *question.years) if named else words_as_written(question)[:6]
    subject = " ".join(about)
    asked = [slot.name.replace("_", " ") for slot in slots if not is_generic(slot.name)]
    return [f"{subject} {name}" for name in asked if name.casefold() not in subject.casefold()]


def _name_event(question: ParsedQuestion) -> list[str]:
    """What is named of a year, as the page about it is called, and the one of what decided it."""
    template, about = find_template(question), " ".join((*question.years, *question.surely_named))
    if not (template and template.query and question.years and question.surely_named):
        return []
    return [f"{about} {template.query}", about]


def _sides(question: ParsedQuestion) -> Iterator[str]:
    """The sides of a comparison with what is compared, and each name."""
    written = words_as_written(question)
    told = " ".join(question.sides).casefold()
    comparing = word_lists()["questions"]["compared"].split()
    rest = [word for word in written if word.casefold() not in told][:4]
    compared = " ".join(word for word in rest if word.casefold() not in comparing)
    yield from (f"{side} {compared}" for side in question.sides)
    named = question.names[:3] if len(question.names) > 1 else ()
    yield from named[:2]
    said = " ".join(question.names).casefold()
    asked = [word for word in written if word.casefold() not in said]
    yield from [" ".join(asked)] if len(asked) > 2 else []
    yield from named[2:]


def _parts(question: ParsedQuestion) -> list[str]:
    """Its first name, its words without the first and the last ones, its name with the doer."""
    plain = words_as_written(question)
    cuts = (plain, plain[1:], plain[:-1], plain[2:])
    parts = [*question.names[:1], *(" ".join(cut) for cut in cuts if len(cut) > 1)][: QUERIES[0]]
    subject = " ".join(question.surely_named)
    nouns = filter(None, (doer_noun(word.casefold()) for word in plain if subject))
    return [*parts, *(f"{subject} {noun}" for noun in nouns)]
