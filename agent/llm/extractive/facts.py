"""Which facts an answer to a question needs."""

from __future__ import annotations

import re

from agent.llm.extractive.fact import GENERIC
from agent.llm.extractive.question import ParsedQuestion, named_opponents
from agent.state import Slot

_COMPANY = re.compile(r"\b(company|corporation|inc\.?|ltd\.?|gmbh|startup|firm)\b|公司", re.I)
_ASKS = re.compile(r"\b(what|which|who|whom|whose|how|why|where|when)\b|[?？]", re.I)
_ABOUT = re.compile(r"^(?:please )?(?:tell me (?:more )?about|what is known about|about)\s+", re.I)
_LONE = re.compile(r"[A-Z][A-Za-z&-]{2,}(?: (?:Group|Holdings?|Company|Corp\w*|AG|SE|plc|SA))?$")
_HOW = re.compile(r"\bhow (tall|high|long|old|far|deep|wide|big|large|heavy|fast)\b", re.I)
#: The facts of a match that decides; the descriptions are what passages are looked for by.
MATCH = {
    "winner": "champions, who won the final",
    "score": "result of the final, report, penalties",
    "goalscorers": "who scored in the final, and when",
}


def suggest_slots(question: ParsedQuestion) -> tuple[Slot, ...]:
    """The facts that an answer needs, by the form of the question."""
    if sides := named_opponents(question):
        if question.asks_for_final:
            about = f"of {' against '.join(sides)}"
            return tuple(Slot(name=n, description=about, needed=_asks(n, question)) for n in MATCH)
    elif question.asks_for_final and question.kind in ("name", "score", "text"):
        return tuple(
            Slot(name=name, description=said, needed=_asks(name, question))
            for name, said in MATCH.items()
        )
    if question.sides:
        pairs = zip(side_slots(question), question.sides, strict=True)
        return tuple(Slot(name=name, description=f"What is said of {side}") for name, side in pairs)
    if is_company(question):
        names = ("founded", "founders", "headquarters")
        return tuple(Slot(name=name, needed=False) for name in names)
    parts = {_slot_name(part): part for part in question.parts}
    return tuple(Slot(name=name, description=part.text) for name, part in parts.items())


def _asks(name: str, question: ParsedQuestion) -> bool:
    """Whether a question asks for this fact of a match: for its winner, unless for another one."""
    asked = question.text.casefold()
    others = {"score": "score" in asked or "比分" in asked, "goalscorers": "scored" in asked}
    return others.get(name, not any(others.values()))


def is_company(question: ParsedQuestion) -> bool:
    """Whether a topic is a company, or a single name that may well be one, and no question."""
    name = _ABOUT.sub("", question.text).strip(" .!")
    if _ASKS.search(name):
        return False
    return bool(_COMPANY.search(name) or _LONE.match(name))


def _slot_name(part: ParsedQuestion) -> str:
    kinds = {kind: name for name, kind in GENERIC.items()}
    how = _HOW.search(part.text)
    return f"how_{how[1].lower()}" if how else kinds.get(part.kind, "answer")


def side_slots(question: ParsedQuestion) -> tuple[str, ...]:
    """The names of the slots that stand for the sides of a comparison."""
    return tuple(_snake_case(side) for side in question.sides)


def _snake_case(text: str) -> str:
    return re.sub(r"\W+", "_", text.casefold()).strip("_")[:40] or "side"
