"""What a slot asks for: the type of its value, the relation that states it, and of what."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple, cast

from agent.evidence import content_words, stem, stop_words
from agent.evidence.asked import Kind
from agent.evidence.words import word_lists
from agent.llm.extractive.question import ParsedQuestion, find_unit
from agent.llm.extractive.synonyms import is_verb, synonyms_of
from agent.state import Slot


class Fact(NamedTuple):
    """What a sentence must say to state a value, and the type of this value."""

    kind: Kind
    relation: frozenset[str]  # stems; one of them stands in the sentence; empty: the type alone
    words: tuple[str, ...]  # stems of what the sentence is about
    names: frozenset[str]  # stems of the names among them
    held: frozenset[str] = frozenset()  # stems of what is of a name: `mother` of Ada Quill
    bound: tuple[tuple[str, str], ...] = ()  # `first climbed`, `season 8`: they stand together
    unit: str = ""
    counted: str = ""  # what is counted, as written: what a number must stand before
    events: frozenset[str] = frozenset()  # stems of what was held, where its day is asked for
    role: str = ""  # words that tell no type: `The mascot was X`
    dated: bool = False  # of the past: a day without a year says too little


#: Slots that stand for the answer itself, by the type of what the question asks for.
GENERIC: dict[str, Kind] = {
    "who": "name",
    "when": "date",
    "where": "place",
    "how_many": "number",
    "how_much": "money",
    "answer": "text",
}
#: Of a slot whose name says nothing, by its form.
FORMS: dict[str, Kind] = {"date": "date", "integer": "number", "number": "number"}


@cache
def _kinds() -> tuple[tuple[Kind, re.Pattern[str]], ...]:
    rows = (row.partition(":") for row in word_lists()["slots"]["kinds"].strip().splitlines())
    return tuple(
        (cast(Kind, kind), re.compile(rf"\b(?:{words.strip()})\b")) for kind, _, words in rows
    )


def is_generic(name: str) -> bool:
    """Whether a slot stands for the answer itself, or for one part of it (`how_tall`, `who_2`)."""
    return re.sub(r"_\d+$", "", name) in GENERIC or name.startswith("how_")


def read_slot(slot: Slot, question: ParsedQuestion, title: str = "") -> Fact:
    """What a slot asks for: what the question does, or what its own name and the subject say.

    The words of a page's `title` name the thing asked, so that none of them is the relation.
    """
    if is_generic(slot.name):
        return _read_question(question, title)
    spelled = re.sub(r"[\W_]+", " ", slot.name.casefold())
    own = content_words(spelled)
    kind = next((k for k, named in _kinds() if named.search(spelled)), None)
    kind = kind or FORMS.get(slot.form.type, "text")
    subject = [w for name in question.surely_named for w in content_words(name)]
    words = (
        [*subject, *question.years]
        if subject
        else [w for w in question.telling_words if w not in own]
    )
    return Fact(
        kind,
        _with_synonyms([*own, "won"] if kind == "score" else own),
        tuple(dict.fromkeys(words)),
        frozenset(subject),
        role=spelled.strip() if kind == "text" else "",
        unit=find_unit(spelled, "en") or question.unit,
        events=_event_words(slot, title)
        if kind == "date" and _DAY.issuperset(own)
        else frozenset(),
    )


#: What the name of a slot for a day may say without telling of which event.
_DAY = frozenset(content_words("date day when time year event"))


def _event_words(slot: Slot, title: str) -> frozenset[str]:
    """What a slot for a day is the day of: what the page's title calls it, or its description.

    `2022 FIFA World Cup final` is a final, `Treaty of Lund` a treaty.
    """
    titled = content_words(re.split(r"\s(?:of|in|at|for)\s|\s*\(", title)[0])
    return frozenset((*titled[-1:], *content_words(slot.description))) - _DAY


def _with_synonyms(stems: list[str]) -> frozenset[str]:
    return frozenset(s for word in stems for s in (word, *synonyms_of(word)))


_WHO = re.compile(
    r"\bwhom? (?:(?:has|have|had|will|originally|also|really|actually|currently|first"
    r"|all) )*(?!is\b|was\b|are\b|were\b|did\b|does\b|do\b)(\w+)",
    re.I,
)
_ROLE_OF = re.compile(
    r"(?:\bwho (?:is|are|was|were) (?:the |considered |known )*|^(?:the )?)"
    r"((?:[\w'-]+ ){0,4}?[\w'-]+)(?= (?:of|in|for|on|at|that|who|to|from|when|during)\b|\W*$)",
    re.I,
)
_MEASURE = re.compile(
    r"\bhow (?!many|much)(\w+)|\b(?:what|which) (?:is |was |are )?(?:the )?(\w+) of\b"
)
_BOUND = re.compile(
    r"\b(first|second|third|last|only|latest|current|new|original|\w{3,}est|most|\d{1,2}(?:st|nd|rd|th))\s(\w+)"
    r"|\b(\w+)\s(\d{1,3})\b"
)
_EXTREME = re.compile(r"\b(?:first|last|most|\w{3,}est)(?=\W*$)", re.I)  # `is the latest?`
_HELD_BY = re.compile(r"\b([a-z]\w+) of (?:the |a )?(?=[A-Z0-9\"“])")


@lru_cache(maxsize=1024)
def _read_question(question: ParsedQuestion, title: str) -> Fact:
    relation = [stem(word) for word in _relation_words(question, frozenset(content_words(title)))]
    bound = (content_words(m[0]) for m in _BOUND.finditer(question.text.casefold()))
    held = (*_HELD_BY.findall(question.text), *_EXTREME.findall(question.text))
    return Fact(
        question.kind,
        _with_synonyms(relation),
        tuple(w for w in question.telling_words if w not in relation),
        frozenset(w for name in question.surely_named for w in content_words(name)),
        frozenset(stem(word.casefold()) for word in held).difference(relation),
        tuple((pair[0], pair[1]) for pair in bound if len(pair) == 2),
        question.unit,
        _counted_word(question.text),
        dated=is_dated(question),
    )


def is_dated(question: ParsedQuestion) -> bool:
    """Whether a question asks for a day of the past."""
    return bool(re.search(r"\bwhen (?:was|were|did)\b", question.text, re.I))


def _relation_words(question: ParsedQuestion, titled: frozenset[str]) -> list[str]:
    """The verb or the role that a question asks about, where its form shows it."""
    text = question.text.casefold()
    if question.kind == "name":
        found = _WHO.search(text) or _ROLE_OF.search(text)
        return found[1].split()[-1:] if found else []
    if question.kind == "number":
        found = _MEASURE.search(text)
        return [word for word in (found.groups() if found else ()) if word]
    if question.kind in ("date", "place"):
        verbs = [w for w in re.findall(r"\w+", text) if is_verb(w) and w not in stop_words()]
        return [word for word in verbs if stem(word) not in titled][-1:]
    return []


def _counted_word(text: str) -> str:
    """What `how many` counts."""
    found = re.search(r"\bhow many ([\w'’ -]+)", text, re.I)
    words = re.split(
        r"\b(?:is|are|was|were|do|does|did|has|have|had|can|will|in|of)\b",
        found[1] if found else "",
    )
    told = [word for word in words[0].casefold().split() if content_words(word)]
    return told[-1] if told else ""
