"""Slots without a model: which facts an answer needs, and where the evidence states them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from agent.evidence import words
from agent.llm.question import Kind, Question
from agent.llm.ranking import Line, Scored
from agent.llm.values import name_spans, values
from agent.research import Slot


class Fact(NamedTuple):
    """A kind of fact: the words that name it, those that state it, and the type of its value."""

    named: str  # pattern of the slot's name
    stated: str  # pattern of the words that a sentence uses to state it
    kind: Kind
    side: str = ""  # where the value stands: "before" the words, "after" them, or anywhere


FACTS: tuple[Fact, ...] = (
    Fact(r"runner|loser|second.?place|finalist", r"\b(beat|beating|defeat\w*|over|against)\b", "name", "after"),
    Fact(r"winner|champion|won\b|victor", r"\b(won|wins?|beat\w*|defeat\w*|champions?|victor\w*|went to|awarded to)\b|冠军|获胜|夺冠|夺得", "name", "before"),
    Fact(r"scorers?\b|goals_by", r"\b(goalscorers?|scored|scorers?|goals?|equali[sz]ed|converted)\b|进球|打进|罚进", "names"),
    Fact(r"score|result", r"\b(score|won|beat\w*|defeat\w*|draw|victory|result|final)\b|比|战成", "score"),
    Fact(r"founders?\b|founded_by", r"\b(founded|founders?|co-?founded|set up|established|started) ?(by)?\b|创立|创办|创始人", "names"),
    Fact(r"found(ed|ation|ing)|established|inception|start_date", r"\b(founded|established|formed|incorporated|set up|started|created|since)\b|成立|创立|创办", "date"),
    Fact(r"headquarter|based|seat\b", r"\b(headquarter\w*|based in|seat|head office)\b|总部", "place"),
    Fact(r"\b(ceo|chief_executive|leader|president|director|head)\b", r"\b(ceo|chief executive|led by|leads?|president|director|head of|chairman|chairs?)\b|首席执行官|总裁", "name"),
    Fact(r"venue|stadium|location|place|where|city|country|birthplace|held", r"\b(at|in|held|located|born|stadium|place|played|lies|based|took place)\b|位于|举行|在", "place"),
    Fact(r"referee", r"\breferee\w*\b|裁判", "name"),
    Fact(r"coach|manager", r"\b(coach\w*|manage[dr]\w*)\b|教练", "name"),
    Fact(r"author|writer|written", r"\b(wrote|written|author\w*|by)\b|作者", "name"),
    Fact(r"inventor|invented|discover|designer|creator|created|architect|developer", r"\b(invent\w*|discover\w*|design\w*|creat\w*|architect|develop\w*|by)\b|发明|设计", "name"),
    Fact(r"price|cost|fee|budget|revenue|salary|amount_paid", r"\b(price|costs?|fee|budget|revenue|salary|paid|pay|worth)\b|价格|费用|元", "money"),
    Fact(r"\b(date|when|year|day|deadline|born|died|release\w*|opened|launch\w*)\b", r"", "date"),
    Fact(r"number|count|how_many|population|height|length|distance|period|duration|limit|size|age|attendance|capacity|weight|percent\w*|amount|quantity", r"", "number"),
    Fact(r"\b(who|person|name|owner|approver|responsible|contact|team|organi[sz]ation)\b", r"", "name"),
)
PLAIN = Fact("", "", "text")


def fact_of(slot: Slot) -> Fact:
    """What kind of fact a slot asks for, by its name, else by its description."""
    for text in (slot.name, slot.description):
        spelled = re.sub(r"[\s_-]+", "_", text.strip().casefold())
        for fact in FACTS:
            if re.search(fact.named, spelled.replace("_", " ")) or re.search(fact.named, spelled):
                return fact
    return PLAIN


# --- which -----------------------------------------------------------------------------------

_FINAL = re.compile(r"\b(world cup|final|championship|euro \d{4}|super bowl|cup)\b|世界杯|决赛", re.I)
_COMPANY = re.compile(r"\b(company|corporation|inc\.?|ltd\.?|gmbh|startup|firm|founded|founders?)\b|公司", re.I)


def suggested(question: Question) -> tuple[Slot, ...]:
    """The facts that an answer to a question needs, by the form of the question."""
    if question.sides:
        return tuple(Slot(name=_snake(side), description=f"about {side}") for side in question.sides)
    if _FINAL.search(question.text) and re.search(r"\b(won|win|winner|who|beat)\b|冠军|谁|赢", question.text, re.I):
        return _slots("winner score goalscorers")
    if question.kind == "text" and _COMPANY.search(question.text):
        return _slots("founded founders headquarters")
    return (Slot(name=_KIND_NAMES[question.kind], description=question.text),)


_KIND_NAMES: dict[Kind, str] = {
    "name": "who", "names": "who", "date": "when", "place": "where", "number": "how_many",
    "money": "how_much", "score": "score", "yesno": "answer", "text": "answer",
}


def _slots(names: str) -> tuple[Slot, ...]:
    return tuple(Slot(name=name) for name in names.split())


def _snake(text: str) -> str:
    return re.sub(r"\W+", "_", text.casefold()).strip("_")[:40] or "side"


# --- filling -----------------------------------------------------------------------------------

FITS = 0.55  # share of the question that a slot's sentence must speak of


def filled(slot: Slot, question: Question, ranked: Sequence[Scored]) -> dict[str, Any]:
    """A slot's value with its quote; null where no sentence states it for this topic."""
    fact = fact_of(slot)
    best: tuple[float, str, Line] | None = None
    for candidate in ranked:
        value = _value(slot, fact, question, candidate)
        if value and (best is None or candidate.score > best[0]):
            best = (candidate.score, value, candidate.line)
    if best is None:
        return {"name": slot.name, "value": None, "source": None, "quote": ""}
    return {"name": slot.name, "value": best[1], "source": best[2].source, "quote": best[2].text}


def _value(slot: Slot, fact: Fact, question: Question, candidate: Scored) -> str | None:
    line = candidate.line
    if not fits(line, question) or candidate.cover < FITS:
        return None
    cue = re.search(fact.stated, line.text, re.I) if fact.stated else None
    if fact.stated and not cue:
        return None
    told = set(question.words)
    if fact.kind == "text":
        return line.text if len(line.text) < 300 else None
    found = [v for v in values(fact.kind, line.text) if set(words(v)) - told]
    if fact.kind == "names":
        return ", ".join(dict.fromkeys(found)) or None
    if cue and fact.side:
        found = _beside(line.text, cue, fact.side, found) or found
    return found[0] if found else None


def _beside(text: str, cue: re.Match[str], side: str, found: Sequence[str]) -> list[str]:
    passive = re.match(r"\s*(?:\w+\s){0,2}by\b", text[cue.end() :])
    after = (side == "after") != bool(passive and side == "before")
    names = [text[a:b] for a, b in name_spans(text) if (a > cue.start()) == after]
    kept = [name for name in names if name in found]
    return kept if after else kept[::-1][-1:]


def fits(line: Line, question: Question) -> bool:
    """Whether a line can be about this topic: its years stand in it or in what is above it."""
    around = f"{line.title} {line.heading} {line.text} {line.before}"
    return all(year in around for year in question.years)
