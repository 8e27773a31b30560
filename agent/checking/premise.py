"""What a question takes for granted, and whether a sentence says it of somebody else."""

from __future__ import annotations

import re

from agent.checking.reading import normal, read
from agent.checking.words import Sentence, Word, alike

LONGEST = 500  # characters of a question or a sentence
_ASKED = re.compile(r"(?:why|how|when|where|in which \w+|on which \w+)\s+did\s+(.+?)\??$", re.I)


def premise(question: str) -> str:
    """What a question of the form "why did A win B?" takes for granted: "A win B"; else nothing."""
    found = _ASKED.match(" ".join(question.split())[:LONGEST])
    return found[1] if found else ""


def denied(taken: str, sentence: str) -> bool:
    """Whether a sentence says of another name all that a premise says of its own.

    "France win the 2022 World Cup" is denied by "Argentina won the 2022 World Cup, beating France":
    the verb and all after it are there, and another name stands right before the verb.
    """
    mine = _flat(taken)
    who = [word for word in mine[: _names(mine, 0)] if word.kind == "name"]
    after = mine[len(who) :]
    if not who or not after or after[0].kind != "word" or after[0].little:
        return False
    verb, *rest = after
    told = _flat(sentence)
    needed = [word for word in rest if not word.little and word.kind != "mark"]
    if len(needed) < 2 or not all(any(_is(word, other) for other in told) for word in needed):
        return False
    places = [i for i, word in enumerate(told) if alike(verb, word)]
    doers = [_before(told, i) for i in places]
    return bool(doers) and all(doer and not _share(who, doer) for doer in doers)


def _flat(text: str) -> Sentence:
    return tuple(word for s in read(normal(text, LONGEST)) for word in s)


def _names(words: Sentence, start: int) -> int:
    while start < len(words) and words[start].kind == "name":
        start += 1
    return start


def _before(words: Sentence, at: int) -> list[Word]:
    """The names right before a place."""
    start = at
    while start and words[start - 1].kind == "name":
        start -= 1
    return list(words[start:at])


def _is(word: Word, other: Word) -> bool:
    return bool(set(word.keys) & set(other.keys))


def _share(some: list[Word], others: list[Word]) -> bool:
    return any(_is(word, other) for word in some for other in others)
