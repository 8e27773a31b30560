"""Words that a question and its answer use for one thing: irregular forms, verbs and nouns."""

from __future__ import annotations

import re
from functools import cache

from agent.evidence import content_words
from agent.evidence.words import word_lists


@cache
def _load_groups() -> dict[str, frozenset[str]]:
    table: dict[str, frozenset[str]] = {}
    for line in word_lists()["alike"]["groups"].strip().splitlines():
        group = frozenset(content_words(line))
        table |= {word: table.get(word, frozenset()) | group - {word} for word in group}
    return table


def synonyms_of(word: str) -> frozenset[str]:
    """The stems that may stand for a stem."""
    return _load_groups().get(word, frozenset())


_NOUN = re.compile(r"\w+(?:er|or|ers|ors|ion|ions|ment|ure|ist|book)$")


@cache
def _verbs() -> frozenset[str]:
    words = word_lists()["alike"]["groups"].split()
    return frozenset(word for word in words if not _NOUN.fullmatch(word))


def doer_noun(verb: str) -> str:
    """The word for who or what did a verb: `founder` for `founded`; empty where none is known."""
    groups = map(str.split, word_lists()["alike"]["groups"].strip().splitlines())
    group = next((group for group in groups if verb in group), [])
    return next((word for word in group if _NOUN.fullmatch(word)), "")


def is_verb(word: str) -> bool:
    """Whether a word may be the past of a verb."""
    return word.endswith("ed") or word in _verbs()
