"""Where two sentences share their words and yet say the opposite: negation, opposites, roles."""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import cache

from agent.checking.roles import find_misattached
from agent.checking.words import Sentence, Word, are_alike, is_common, load_lists, words_of
from agent.evidence import stem, strip_accents

SCOPE = 4  # words that a negation reaches: "did not win the cup"; the next comma ends it
NEAR = 3  # content words on each side of a verb among which its doer and its sufferer are


def find_conflict(claim: Sentence, evidence: Sentence) -> str:
    """Why a sentence denies a claim that it shares most words with; nothing if it does not.

    A negation and an opposite cancel out. What the words share is the caller's to judge.
    """
    if opposite := _find_opposite(claim, evidence):
        return f"its quotes say the opposite: {opposite}"
    if negated := _find_negation(claim, evidence):
        return f"negated: {negated}"
    return _find_swap(claim, evidence) or find_misattached(claim, evidence)


def find_hedge(claim: Sentence, evidence: Sentence) -> str:
    """The hedge (`may`, `allegedly`) before a word that the claim states without one."""
    if any(_is_hedge(word) for word in claim):
        return ""
    for at in (i for i, word in enumerate(evidence) if _is_hedge(word)):
        sure = [w for w in evidence[at + 1 : at + 1 + SCOPE] if not w.little and not _is_hedge(w)]
        if any(are_alike(word, other) for word in sure[:2] for other in claim):
            return evidence[at].text
    return ""


def _is_hedge(word: Word) -> bool:
    return word.kind == "word" and strip_accents(word.text) in words_of(
        "hedges", "words", "chinese"
    )


# --- negation -------------------------------------------------------------------------------------


@cache
def _harmless() -> frozenset[str]:
    words = words_of("negators", "chinese_harmless")
    return frozenset(word[i : i + 2] for word in words for i in range(len(word) - 1))


def _negates(sentence: Sentence, at: int) -> bool:
    word = strip_accents(sentence[at].text)
    if word in words_of("negators", "words") or word.endswith("n't"):
        after = strip_accents(sentence[at + 1].text) if at + 1 < len(sentence) else ""
        return after not in words_of("negators", "after")
    first = word[:1]
    return first in words_of("negators", "chinese") and word not in _harmless()


def _scopes(sentence: Sentence) -> list[list[int]]:
    """What each negation of a sentence denies, the likeliest first."""
    scopes = []
    for at in (i for i in range(len(sentence)) if _negates(sentence, i)):
        ahead: list[int] = []
        for i in range(at + 1, len(sentence)):
            if sentence[i].kind == "mark" or len(ahead) == SCOPE:
                break
            if not sentence[i].little:
                ahead.append(i)
        behind = (
            range(at - 1, max(-1, at - 3), -1)
            if strip_accents(sentence[at].text) == "nicht"
            else ()
        )
        scopes.append(ahead + [i for i in behind if not sentence[i].little])
    return scopes


def _reach(sentence: Sentence) -> frozenset[int]:
    return frozenset(i for scope in _scopes(sentence) for i in scope)


def _find_negation(claim: Sentence, evidence: Sentence) -> str:
    """The word that one of the two denies and the other affirms.

    Where both deny something, as a title that both name may, the one that does so more often.
    """
    mine, theirs = _denials(claim), _denials(evidence)
    if len(mine) == len(theirs):
        return ""
    (more, words), (less, others) = sorted(
        ((mine, claim), (theirs, evidence)), key=lambda side: -len(side[0])
    )
    spared = [others[i] for scope in less for i in scope]
    affirmed = [word for i, word in enumerate(others) if word not in spared]
    for i in (i for scope in more for i in scope):
        if any(are_alike(words[i], other) for other in affirmed):
            return words[i].text
    return ""


def _denials(sentence: Sentence) -> list[list[int]]:
    """What each negation of a sentence surely denies."""
    return [_likeliest(sentence, scope) for scope in _scopes(sentence)]


def _likeliest(sentence: Sentence, scope: list[int]) -> list[int]:
    """The words that a negation surely denies: the next that says much; in a script with little
    inflection or no spaces, any of the next three."""
    telling = [i for i in scope if not is_common(sentence[i])] or scope
    return telling[: 1 if telling and sentence[telling[0]].text.isascii() else 3]


# --- opposites ------------------------------------------------------------------------------------


@cache
def _sides() -> dict[str, tuple[tuple[int, int], ...]]:
    """Each word that has an opposite, with its lines and its side of each."""
    sides: dict[str, tuple[tuple[int, int], ...]] = {}
    lines = [
        line for text in load_lists()["opposites"].values() for line in text.strip().split("\n")
    ]
    for n, line in enumerate(lines):
        for side, words in enumerate(line.split(":")):
            for word in words.split():
                spelled = stem(strip_accents(word))
                sides[spelled] = (*sides.get(spelled, ()), (n, side))
    return sides


Marks = dict[tuple[int, int], tuple[str, bool]]


def _marks(sentence: Sentence) -> Marks:
    """The sides that a sentence takes, by which word, and whether that word is denied."""
    denied = _reach(sentence)
    return {
        side: (word.text, i in denied)
        for i, word in enumerate(sentence)
        for side in _sides().get(word.keys[0] if word.keys else "", ())
    }


def _find_opposite(claim: Sentence, evidence: Sentence) -> str:
    """A word of the claim whose opposite stands in the evidence, where it does not itself."""
    mine, theirs = _marks(claim), _marks(evidence)
    for (line, side), (text, denied) in mine.items():
        across = (line, 1 - side)
        if across in theirs and (line, side) not in theirs and across not in mine:
            other, other_denied = theirs[across]
            return f"{other}, not {text}" if denied == other_denied else ""
    return _find_prefix_denial(claim, evidence)


def _find_prefix_denial(claim: Sentence, evidence: Sentence) -> str:
    """`possible` against `impossible`: a word with a denying beginning, on one side only."""
    mine, theirs = _stems(claim), _stems(evidence)
    for first, second in ((mine, theirs), (theirs, mine)):
        for word in first - second:
            for start in ("un", "in", "im", "ir", "il", "dis", "non"):
                if len(word) > 4 and start + word in second and start + word not in first:
                    return f"{start + word} against {word}"
    return ""


def _stems(sentence: Sentence) -> Set[str]:
    return {word.keys[0] for word in sentence if word.kind == "word"}


# --- roles ----------------------------------------------------------------------------------------


@cache
def _directed_verbs() -> frozenset[str]:
    return frozenset(
        stem(strip_accents(word)) for word in words_of("directed", "en", "de", "zh", "ar")
    )


def _find_swap(claim: Sentence, evidence: Sentence) -> str:
    """The verb before and after which both have the same names, the other way round."""
    theirs = _all_roles(evidence)
    for verb, mine in _all_roles(claim):
        if any(are_alike(verb, other) and _are_crossed(mine, r) for other, r in theirs):
            return f"its quotes have the roles of {verb.text!r} the other way round"
    return ""


Roles = tuple[frozenset[str], frozenset[str]]


def _all_roles(sentence: Sentence) -> list[tuple[Word, Roles]]:
    verbs = _directed_verbs()
    at = [i for i, word in enumerate(sentence) if word.keys and word.keys[0] in verbs]
    return [(sentence[i], _roles(sentence, i)) for i in at]


def _roles(sentence: Sentence, verb: int) -> Roles:
    """What stands before and after a verb; changed over where it is passive."""
    before = _content(sentence[:verb][::-1])
    after = _content(sentence[verb + 1 :])
    return (after, before) if _is_passive(sentence, verb) else (before, after)


def _content(words: Sequence[Word]) -> frozenset[str]:
    near = [word for word in words if word.kind != "mark" and not word.little]
    reach = NEAR if near and near[0].text.isascii() else 2 * NEAR
    return frozenset(word.keys[0] for word in near[:reach] if word.kind != "number")


def _is_passive(sentence: Sentence, verb: int) -> bool:
    after = [strip_accents(word.text) for word in sentence[verb + 1 : verb + 4]]
    chinese = any("被" in word.text for word in sentence[max(0, verb - 8) : verb])
    return chinese or ("by" in after and not sentence[verb].text.endswith("ing"))


def _are_crossed(mine: Roles, theirs: Roles) -> bool:
    (a, b), (c, d) = mine, theirs
    return bool((a & d) - c and (b & c) - d) and not a & c
