"""Which facts an answer to a question needs: by a template of `words.toml`, else by its form."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from agent.evidence.words import word_lists
from agent.llm.extractive.fact import GENERIC
from agent.llm.extractive.question import ParsedQuestion
from agent.state import Slot


class Template(NamedTuple):
    """The facts that a kind of topic has. Patterns that are not in the data match anything."""

    topic: re.Pattern[str]
    asks: re.Pattern[str]
    unless: re.Pattern[str]
    kinds: frozenset[str]  # of the answer; empty: any
    part: re.Pattern[str] | None  # of a heading or a title: what tells these facts stands below it
    query: str  # what the page that tells them is called besides
    slots: tuple[tuple[str, str, str], ...]  # name, pattern of what needs it, description

    def fits(self, question: ParsedQuestion) -> bool:
        """Whether a question is of this kind."""
        text = question.text
        told = self.topic.search(text) and self.asks.search(text) and not self.unless.search(text)
        return bool(told) and (not self.kinds or question.kind in self.kinds)

    def parties(self, question: ParsedQuestion) -> list[str]:
        """What a question names beside the topic: the two sides of a match."""
        return [name for name in question.surely_named if not self.topic.search(name)]

    def suggest(self, question: ParsedQuestion) -> tuple[Slot, ...]:
        """The slots, and which of them the question needs."""
        parties = self.parties(question)
        about = f"of {' against '.join(parties)}" if len(parties) > 1 else ""
        return tuple(
            Slot(
                name=name,
                description=about or said,
                needed=bool(need and re.search(need, question.text, re.I)),
            )
            for name, need, said in self.slots
        )


@cache
def _load_templates() -> tuple[Template, ...]:
    return tuple(
        Template(
            re.compile(row["topic"]),
            re.compile(row.get("asks", "")),
            re.compile(row.get("unless", "(?!)")),
            frozenset(row.get("kinds", "").split()),
            re.compile(row["part"]) if "part" in row else None,
            row.get("query", ""),
            tuple(map(tuple, row["slots"])),
        )
        for row in word_lists()["templates"]
    )


def find_template(question: ParsedQuestion) -> Template | None:
    """The template for a question; None for most."""
    return next((one for one in _load_templates() if one.fits(question)), None)


_HOW = re.compile(r"\bhow (tall|high|long|old|far|deep|wide|big|large|heavy|fast)\b", re.I)


def suggest_slots(question: ParsedQuestion) -> tuple[Slot, ...]:
    """The facts that an answer needs, by the form of the question."""
    if template := find_template(question):
        return template.suggest(question)
    if question.sides:
        pairs = zip(side_slots(question), question.sides, strict=True)
        return tuple(Slot(name=name, description=f"What is said of {side}") for name, side in pairs)
    return tuple(
        Slot(name=name, description=part.text)
        for name, part in zip(_name_parts(question), question.parts, strict=True)
    )


def _name_parts(question: ParsedQuestion) -> Iterator[str]:
    """A name for each part of a question; `who_2` for the second that asks who."""
    known = Counter[str]()
    for part in question.parts:
        name = _slot_name(part)
        known[name] += 1
        yield f"{name}_{known[name]}" if known[name] > 1 else name


def _slot_name(part: ParsedQuestion) -> str:
    kinds = {kind: name for name, kind in GENERIC.items()}
    how = _HOW.search(part.text)
    return f"how_{how[1].lower()}" if how else kinds.get(part.kind, "answer")


def side_slots(question: ParsedQuestion) -> tuple[str, ...]:
    """The names of the slots that stand for the sides of a comparison."""
    snaked = (re.sub(r"\W+", "_", side.casefold()).strip("_")[:40] for side in question.sides)
    return tuple(name or "side" for name in snaked)
