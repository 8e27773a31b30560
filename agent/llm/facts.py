"""The kinds of facts that slots ask for, and which facts an answer to a question needs."""

from __future__ import annotations

import re
from typing import NamedTuple

from agent.llm.question import Kind, Question
from agent.research import Slot


class Fact(NamedTuple):
    """A kind of fact: words that name it, words that state it, and the type of its value."""

    named: str  # pattern of the slot's name
    stated: str  # pattern of what a sentence says that states it; empty: nothing certain
    kind: Kind
    side: str = ""  # where the value stands: "before" or "after" the words; empty: nearest


_WON = r"\b(won|wins?|winners?|beat\w*|defeat\w*|champions?|victor\w*|(?:went|awarded|given) to)\b"
_SCORED = r"\b(goal-?scorers?|scored|scorers?|goals?|equali[sz]ed|converted)\b"
_FOUNDED = r"\b(founded|established|formed|incorporated|set up|started|created|inception|history)\b"

FACTS: tuple[Fact, ...] = (
    Fact(
        r"runner.?up|loser|second.?place|finalist",
        r"\b(beat\w*|defeat\w*|over|against)\b",
        "name",
        "after",
    ),
    Fact(
        r"winner|champion|won\b|victor|laureate",
        rf"{_WON}|冠军是?|获胜|夺冠|夺得",
        "name",
        "before",
    ),
    Fact(r"scorers?\b", rf"{_SCORED}|进球|打进|罚进", "names"),
    Fact(r"score|result", r"\d\s?[-–:]\s?\d|\d比\d", "score"),
    Fact(
        r"founders?\b|founded.?by|creators?\b",
        rf"\b(co-?found\w+|founders?)\b|{_FOUNDED}|创立|创办|创始人",
        "names",
    ),
    Fact(
        r"found(ed|ation|ing)|established|inception|formed",
        rf"{_FOUNDED}|\bsince\b|成立|创立|创办",
        "date",
    ),
    Fact(
        r"headquarter|head.?office|\bseat\b|based",
        r"\b(headquarter\w*|based|seat|head office|offices?)\b|总部",
        "place",
    ),
    Fact(
        r"\bceo\b|chief.?executive|leader|president|director|\bhead\b|chair",
        r"\b(ceo|chief executive|led|leads?|president|director|head|chair\w*)\b|首席执行官|总裁",
        "name",
    ),
    Fact(
        r"venue|stadium|location|place|where|birthplace",
        r"\b(at|in|near|located|born|stadium|lies|based)\b|位于|举行|在",
        "place",
    ),
    Fact(r"referee", r"\breferee\w*\b|裁判", "name"),
    Fact(r"coach|manager", r"\b(coach\w*|manage[dr]\w*)\b|教练", "name"),
    Fact(r"author|writer|written", r"\b(wrote|written|author\w*|by)\b|作者", "name"),
    Fact(
        r"invent|discover|designer|architect|developer",
        r"\b(invent\w*|discover\w*|design\w*|creat\w*|architect|develop\w*)\b|发明|设计",
        "name",
    ),
    Fact(r"price|cost|\bfees?\b|budget|revenue|salary|how.?much", r"", "money"),
    Fact(r"\b(date|when|year|day|deadline|born|died|opened)\b|released?|launch", r"", "date"),
    Fact(
        r"number|count|how.?many|population|height|length|distance|period|duration|limit|size|\bage\b"
        r"|attendance|capacity|weight|percent|amount|quantity|days|hours",
        r"",
        "number",
    ),
    Fact(
        r"\b(who|person|name|owner|responsible|contact|team)\b|approver|organi[sz]ation",
        r"",
        "name",
    ),
)
PLAIN = Fact("", "", "text")


def fact_of(slot: Slot) -> Fact:
    """What kind of fact a slot asks for, by its name, else by its description."""
    for text in (slot.name, slot.description):
        spelled = re.sub(r"[\W_]+", " ", text.casefold())
        for fact in FACTS:
            if re.search(fact.named, spelled):
                return fact
        if slot.name in GENERIC:
            return PLAIN
    return PLAIN


# --- which facts an answer needs -------------------------------------------------------------

_FINAL = re.compile(r"\b(cup|final|championship|euro \d{4}|super bowl)\b|世界杯|决赛|锦标赛", re.I)
_WHO_WON = re.compile(
    r"\b(won|wins?|winner|beat|champions?|result|score)\b|冠军|赢|夺冠|获胜", re.I
)
_COMPANY = re.compile(r"\b(company|corporation|inc\.?|ltd\.?|gmbh|startup|firm)\b|公司", re.I)
_ASKS = re.compile(r"\b(what|which|who|whom|whose|how|why|where|when)\b|[?？]", re.I)
GENERIC: dict[str, Kind] = {
    "who": "name",
    "when": "date",
    "where": "place",
    "how_many": "number",
    "how_much": "money",
    "score": "score",
    "answer": "text",
}


def suggested(question: Question) -> tuple[Slot, ...]:
    """The facts that an answer needs, by the form of the question."""
    if question.sides:
        pairs = zip(sided(question), question.sides, strict=True)
        return tuple(Slot(name=name, description=f"What is said of {side}") for name, side in pairs)
    if _FINAL.search(question.text) and _WHO_WON.search(question.text):
        return tuple(Slot(name=name) for name in ("winner", "score", "goalscorers"))
    if _COMPANY.search(question.text) and not _ASKS.search(question.text):
        return tuple(Slot(name=name) for name in ("founded", "founders", "headquarters"))
    kinds = {kind: name for name, kind in GENERIC.items()}
    return (Slot(name=kinds.get(question.kind, "answer"), description=question.text),)


def sided(question: Question) -> tuple[str, ...]:
    """The names of the slots that stand for the sides of a comparison."""
    return tuple(_snake(side) for side in question.sides)


def _snake(text: str) -> str:
    return re.sub(r"\W+", "_", text.casefold()).strip("_")[:40] or "side"
