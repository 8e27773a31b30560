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
)
from agent.evidence.words import CJK

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
