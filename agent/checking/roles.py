"""Who is what of whom: whether a claim gives a role to another name than its evidence does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from agent.checking.words import Sentence, Word, are_alike

COPULAS = frozenset("is was are were be been became".split())
PLACES = frozenset({"in", "at"})
#: Between a role and its preposition: "born (December 1, 1957) in", "was directed and written by".
BETWEEN = 8
PASSED = 3  # words such as "director" that may stand among the names


class Role(NamedTuple):
    """A role and the names that have it; `by` is the preposition between them, or nothing."""

    role: Word
    by: str
    names: tuple[Word, ...]


def find_misattached(claim: Sentence, evidence: Sentence) -> str:
    """Why a claim's role is not its name's: the evidence has that name, and gives the role another.

    Looks at "directed by A", "born in B", "the director of C is A", "A directed C" in the claim,
    and at "directed by A", "born in B" in the evidence. Empty where it sees no such thing.
    """
    there = {key for word in evidence for key in word.also}
    theirs = [role for role in find_roles(evidence) if role.names]
    for mine in _claimed_roles(claim):
        known = [word for word in mine.names if word.also and word.also[0] in there]
        rivals = [role for role in theirs if _comparable(mine, role)]
        if known and rivals and not any(_shares(mine, role) for role in rivals):
            rival = rivals[0]
            names = " ".join(word.text for word in rival.names[:3])
            return f"its quotes have {rival.role.text} {rival.by} {names}"
    return ""


def lacks_date(claim: Sentence) -> bool:
    """Whether a claim says what a date is, and names none: "the date of birth is Paris"."""
    said = [word.text.casefold() for word in claim]
    dated = any(a in ("date", "year") and b == "of" for a, b in zip(said, said[1:], strict=False))
    return dated and bool(COPULAS & set(said)) and all(word.kind != "number" for word in claim)


def find_unsaid_role(claim: Sentence, found: Callable[[Word], object]) -> str:
    """The role that a claim gives a name ("the mayor of C is A") and its evidence never names."""
    roles = [role.role for role in _claimed_roles(claim) if not role.by and role.names]
    return "" if any(found(role) for role in roles) or not roles else roles[-1].text


def _comparable(mine: Role, theirs: Role) -> bool:
    if not are_alike(mine.role, theirs.role):
        return False
    if theirs.by in PLACES:
        return mine.by in PLACES or mine.by == "" and bool(_LIVES & set(theirs.role.keys))
    return mine.by not in PLACES


_LIVES = frozenset({"born", "birth", "di", "died", "death"})


def _shares(mine: Role, theirs: Role) -> bool:
    keys = {key for word in theirs.names for key in word.also}
    return any(key in keys for word in mine.names for key in word.also)


def find_roles(sentence: Sentence) -> Iterator[Role]:
    """Roles with a preposition before their names: "directed by A and B", "born 1957 in C"."""
    for i, word in enumerate(sentence):
        if word.kind != "word" or word.little:
            continue
        for j in range(i + 1, min(len(sentence), i + BETWEEN)):
            said = sentence[j].text.casefold()
            if said == "by" or said in PLACES:
                yield Role(word, said, _chain(sentence, j + 1))
                break
            if not (sentence[j].kind in ("number", "mark") or said == "and"):
                break


def _chain(sentence: Sentence, start: int) -> tuple[Word, ...]:
    """The names from a place on, until what is done next: "the French director A, starring"."""
    names: list[Word] = []
    passed = 0
    for word in sentence[start:]:
        if word.text.casefold() == "by":
            break  # another's part: "and written by B"
        if word.kind == "name":
            names.append(word)
        elif word.kind == "word" and not word.little:
            passed += 1
            if passed > PASSED or word.text.endswith(("ing", "ed")):
                break
    return tuple(names)


def _claimed_roles(sentence: Sentence) -> Iterator[Role]:
    """All ways in which a claim gives a role to a name."""
    yield from (role for role in find_roles(sentence) if role.names)
    said = [word.text.casefold() for word in sentence]
    for i, word in enumerate(sentence):
        if word.kind != "word" or word.little:
            continue
        after, before = sentence[i + 1 : i + 3], _run_before(sentence, i)
        if after and said[i + 1] == "of" and (told := _names_after(sentence, i + 2)):
            yield Role(word, "", told)
        elif after and after[0].kind == "name" and before:
            yield Role(word, "", before)


def _names_after(sentence: Sentence, start: int) -> tuple[Word, ...]:
    """The names that come right after the copula that follows "the director of C"."""
    for i in range(start, len(sentence)):
        if sentence[i].text.casefold() in COPULAS:
            ahead = [w for w in sentence[i + 1 : i + 4] if not w.little]
            return _chain(sentence, i + 1) if ahead and ahead[0].kind == "name" else ()
    return ()


def _run_before(sentence: Sentence, at: int) -> tuple[Word, ...]:
    """The names that stand right before a place."""
    start = at
    while start and sentence[start - 1].kind == "name":
        start -= 1
    return sentence[start:at]
