"""What a question asks for: its parts, the type of each, and the values of a type in a text."""

from __future__ import annotations

import re
from typing import Literal, cast

from agent.evidence.language import Language, language_of
from agent.evidence.names import NAME_WORD, find_names, name_spans
from agent.evidence.quantities import (
    find_amounts,
    find_dates,
    find_numbers,
    find_scores,
    number_values,
)
from agent.evidence.sentences import split_sentences
from agent.evidence.words import CJK, content_words, fold

Kind = Literal[
    "name",
    "date",
    "place",
    "number",
    "money",
    "score",
    "names",
    "yesno",
    "reason",
    "passage",
    "text",
]


def asked_kind(text: str, language: Language) -> Kind:
    """What the first question word asks for; a yes or no where there is none."""
    found = [
        (kind == "yesno", match.start(), order, kind)
        for order, (kind, pattern) in enumerate(language.asks)
        if (match := pattern.search(text))
    ]
    return cast(Kind, min(found)[-1]) if found else "text"


_END = re.compile(r"[?？؟;；]\s+(?=\w)")


def split_question(text: str) -> list[str]:
    """The questions that a question is made of: `When was it built` and `who built it?`."""
    parts = language_of(text).parts
    pieces = (piece for whole in _END.split(text) for piece in parts.split(whole))
    return [piece for piece in pieces if piece.strip()]


def find_untold(topic: str, told: str, around: str = "") -> list[str]:
    """The parts of a question that a text does not tell.

    Of a type that has a form (a day, a number) it has no further value. Of other types, of which a
    text has many, neither it nor what stands `around` it has a word that this part alone has. A
    question of one part may be told in any words, but for a day or a number.
    """
    parts, language = split_question(topic), language_of(topic)
    bags = [set(content_words(part, language.tag)) for part in parts]
    said = set(content_words(f"{told} {around}", language.tag))
    used, untold = set[str](), []
    for n, part in enumerate(parts):
        kind = asked_kind(part, language)
        if len(parts) < 2 and kind not in FINDERS:
            continue
        kind = "name" if kind in NAMERS else kind  # `City: Uppsala` is a place, too
        own = bags[n].difference(*bags[:n], *bags[n + 1 :])
        values = (v for v in find_values(kind, told, language=language.tag) if v not in used)
        value = next((v for v in values if set(content_words(v)) - set().union(*bags)), None)
        has_form = kind == "name" or kind in FINDERS
        if has_form and value is None or kind not in FINDERS and own and own.isdisjoint(said):
            untold.append(part.strip(" ,?"))
        elif value is not None:
            used.add(value)
    return untold


_COUNTED = re.compile(
    r"(?<![\w.,-])(?=([\w-]+)\s(?:\w+\s)?([^\W\d_]+))"
)  # `four towns`, `four small towns`
MOST = 50  # things that a list is held against


def find_count(topic: str, text: str) -> int:
    """How many there are, by a text, of what a question asks for; 0 where it does not say.

    That is its first word of content, as it stands there: `Which towns ...?` asks for several,
    `What year ...?` for none of `two years`. The sentence tells of nothing else.
    """
    asked, words = content_words(topic), fold(topic).split()
    for start, end in split_sentences(text) if asked else ():
        said = text[start:end]
        for number, noun in _COUNTED.findall(said):
            if fold(noun) not in words or content_words(noun) != asked[:1]:
                continue
            counts = [n for n in number_values(number) if isinstance(n, int) and 1 < n <= MOST]
            if counts:
                return counts[0] if set(asked[1:]) <= set(content_words(said)) else 0
    return 0


_PLACE = re.compile(r"\b(?:in|at|near|on|from|to|of|within|around|outside)\s+(?:the\s+)?$")
_ZH_PLACE = re.compile(rf"(?:位于|在|于)([{CJK}]{{2,12}}?)(?=举行|建|的|，|。|出生|成立|召开)")


def find_places(text: str, language: str = "en") -> list[str]:
    """Names that follow a preposition of place."""
    found = []
    for start, end in name_spans(text, language):
        if _PLACE.search(text[max(0, start - 20) : start]):
            rest = re.match(rf",\s{NAME_WORD}(?:\s{NAME_WORD})*", text[end:])
            found.append(text[start : end + rest.end()] if rest else text[start:end])
    return found + [match[1] for match in _ZH_PLACE.finditer(text)]


FINDERS = {"date": find_dates, "score": find_scores, "money": find_amounts, "number": find_numbers}
NAMERS = {"name": find_names, "names": find_names, "place": find_places}


def find_values(kind: Kind, text: str, unit: str = "", language: str = "en") -> list[str]:
    """The values of a type in a text, in order; none for types that have no form of their own.

    A number must have a certain `unit`, where one is given.
    """
    if namer := NAMERS.get(kind):
        return namer(text, language)
    finder = FINDERS.get(kind)
    found = finder(text) if finder else []
    return [v for v in found if re.search(unit, v)] if unit and kind == "number" else found
