"""What a question takes for granted, and whether a sentence says it of somebody else."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.checking.conflicts import find_conflict
from agent.checking.reading import normalize, read_sentences
from agent.checking.roles import Role, find_roles
from agent.checking.words import Sentence, Word, are_alike

LONGEST = 500  # characters of a question or a sentence
_ASKED = re.compile(
    r"(?:(?:since )?(?:why|how|when|where)|(?:in |on |at )?(?:which|what) \w+)\s+"
    r"(?:did|do|does|was|were|is|are|has|have|had)\s+(.+?)\??$",
    re.I,
)


def find_premise(topic: str) -> str:
    """What a question such as "why did A win B?" takes for granted: "A win B"; else nothing."""
    found = _ASKED.match(" ".join(topic.split())[:LONGEST])
    return found[1] if found else ""


def denies_premise(taken: str, sentence: str) -> bool:
    """Whether a sentence negates a premise, or says all of it of another name than its own.

    "France win the 2022 World Cup" is denied by "Argentina won the 2022 World Cup, beating
    France", by "The 2022 World Cup was won by Argentina" and by "France did not win the 2022 World
    Cup".
    """
    mine, told = _flat(taken), _flat(sentence)
    if not any(word.kind == "name" for word in mine):
        return False
    if _holds(told, mine) and find_conflict(mine, told).startswith("negated"):
        return True
    return _is_anothers(mine, told)


def repeats_premise(taken: str, sentence: str) -> bool:
    """Whether a sentence has all words of a premise."""
    return _holds(_flat(sentence), _flat(taken))


def _is_anothers(mine: Sentence, told: Sentence) -> bool:
    who, verb, rest = _active(mine) or _passive(mine) or ([], None, [])
    if verb is None or len(_telling(rest)) < 2 or not _holds(told, rest):
        return False
    doers = [_before(told, i) for i, word in enumerate(told) if are_alike(verb, word)]
    doers += [list(role.names) for role in _by(told) if are_alike(verb, role.role)]
    named = [doer for doer in doers if doer]
    return bool(named) and not any(_share(who, doer) for doer in named)


Parts = tuple[list[Word], Word | None, list[Word]]  # who did what, and the rest


def _active(words: Sentence) -> Parts | None:
    """`A won B in C`: the names that come first, the verb after them, what follows."""
    who = [word for word in words[: _names(words, 0)] if word.kind == "name"]
    after = words[len(who) :]
    if not who or not after or after[0].kind != "word" or after[0].little:
        return None
    return who, after[0], list(after[1:])


def _passive(words: Sentence) -> Parts | None:
    """`B won by A in C`."""
    for role in _by(words):
        rest = [word for word in words if word != role.role and word not in role.names]
        return list(role.names), role.role, rest
    return None


def _by(words: Sentence) -> list[Role]:
    return [role for role in find_roles(words) if role.by == "by" and role.names]


def _telling(words: Sequence[Word]) -> list[Word]:
    return [word for word in words if not word.little and word.kind != "mark"]


def _holds(told: Sentence, words: Sequence[Word]) -> bool:
    """Whether a sentence has all words that tell something."""
    return all(any(same_word(word, other) for other in told) for word in _telling(words))


def _flat(text: str) -> Sentence:
    return tuple(word for s in read_sentences(normalize(text, LONGEST)) for word in s)


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


def same_word(word: Word, other: Word) -> bool:
    return bool(set(word.keys) & set(other.keys))


def _share(some: list[Word], others: list[Word]) -> bool:
    return any(same_word(word, other) for word in some for other in others)
