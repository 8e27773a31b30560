"""Words that a question and its answer use for one thing: irregular forms, verbs and nouns."""

from __future__ import annotations

import re
from functools import cache

from agent.evidence import content_words
from agent.evidence.words import word_lists

_NOUN = re.compile(r"\w+(?:er|or|ers|ors|ion|ions|ment|ure|ist|book)$")


@cache
def _groups() -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(line.replace(">", "").split()) for line in _lines())


@cache
def _lines() -> tuple[str, ...]:
    return tuple(word_lists()["synonyms"]["groups"].strip().splitlines())


@cache
def _synonyms() -> dict[str, frozenset[str]]:
    table: dict[str, frozenset[str]] = {}
    for line in _lines():
        group, _, narrower = (frozenset(content_words(part)) for part in line.partition(">"))
        for word in (*group, *narrower):
            others = group | narrower if word in group else narrower
            table[word] = table.get(word, frozenset()) | others - {word}
    return table


def synonyms_of(word: str) -> frozenset[str]:
    """The stems that may stand for a stem."""
    return _synonyms().get(word, frozenset())


def doer_noun(verb: str) -> str:
    """The word for who or what did a verb: `founder` for `founded`; empty where none is known."""
    group = next((group for group in _groups() if verb in group), ())
    return next(filter(_NOUN.fullmatch, group), "")


@cache
def _verbs() -> frozenset[str]:
    return frozenset(w for group in _groups() for w in group if not _NOUN.fullmatch(w))


def is_verb(word: str) -> bool:
    """Whether a word may be the past of a verb."""
    return word.endswith("ed") or word in _verbs()
