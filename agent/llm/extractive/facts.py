"""The kinds of facts that slots ask for, and which facts an answer to a question needs."""

from __future__ import annotations

import re
from typing import NamedTuple

from agent.llm.extractive.question import Kind, ParsedQuestion, named_opponents
from agent.llm.extractive.synonyms import is_verb, verb_forms
from agent.state import Slot


class FactKind(NamedTuple):
    """A kind of fact: words that name it, words that state it, and the type of its value."""

    named: str  # pattern of the slot's name
    stated: str  # pattern of what a sentence says that states it; empty: nothing certain
    kind: Kind
    side: str = ""  # where the value stands: "before" or "after" the words; empty: nearest
    match: str = ""  # what a report of a match calls it (`slots.of_report`); empty: not told there


_WON = r"\b(won|wins?|winners?|beat\w*|defeat\w*|champions?|victor\w*|(?:went|awarded|given) to)\b"
_SCORED = r"\b(goal-?scorers?|scored|scorers?|goals?|equali[sz]ed|converted)\b"
_FOUNDED = r"\b(founded|established|formed|incorporated|set up|started|created|inception|history)\b"

FACTS: tuple[FactKind, ...] = (
    FactKind(
        r"runner.?up|loser|second.?place|finalist",
        r"\b(beat\w*|defeat\w*|over|against)\b",
        "name",
        "after",
        "loser",
    ),
    FactKind(
        r"winner|champion|won\b|victor|laureate",
        rf"{_WON}|冠军是?|获胜|夺冠|夺得",
        "name",
        "before",
        "winner",
    ),
    FactKind(r"scorers?\b", rf"{_SCORED}|进球|打进|罚进", "names", "", "scorers"),
    FactKind(r"score|result", r"\d\s?[-–:]\s?\d|\d比\d", "score", "", "score"),
    FactKind(
        r"founders?\b|founded.?by|creators?\b",
        rf"\b(co-?found\w+|founders?)\b|{_FOUNDED}|创立|创办|创始人",
        "names",
    ),
    FactKind(
        r"found(ed|ation|ing)|established|inception|formed",
        rf"{_FOUNDED}|\bsince\b|成立|创立|创办",
        "date",
    ),
    FactKind(
        r"headquarter|head.?office|\bseat\b|based",
        r"\b(headquarter\w*|based|seat|head office|offices?)\b|总部",
        "place",
    ),
    FactKind(
        r"\bceo\b|chief.?executive|leader|president|director|\bhead\b|chair",
        r"\b(ceo|chief executive|led|leads?|president|director|head|chair\w*)\b|首席执行官|总裁",
        "name",
    ),
    FactKind(
        r"venue|stadium|location|place|where|birthplace",
        r"\b(at|in|near|located|born|stadium|lies|based)\b|位于|举行|在",
        "place",
        "",
        "place",
    ),
    FactKind(r"referee", r"\breferee\w*\b|裁判", "name", "", "referee"),
    FactKind(
        r"attendance|spectators", r"\b(attend\w*|spectators|crowd)\b", "number", "", "attendance"
    ),
    FactKind(r"coach|manager", r"\b(coach\w*|manage[dr]\w*)\b|教练", "name"),
    FactKind(r"author|writer|written", r"\b(wrote|written|author\w*|by)\b|作者", "name"),
    FactKind(
        r"invent|discover|designer|architect|developer",
        r"\b(invent\w*|discover\w*|design\w*|creat\w*|architect|develop\w*)\b|发明|设计",
        "name",
    ),
    FactKind(r"price|cost|\bfees?\b|budget|revenue|salary|how.?much", r"", "money"),
    FactKind(
        r"\b(date|when|year|day|deadline|born|died|opened)\b|released?|launch",
        r"",
        "date",
        "",
        "day",
    ),
    FactKind(
        r"number|count|how.?many|population|height|length|distance|period|duration|limit|size|\bage\b"
        r"|capacity|weight|percent|amount|quantity|days|hours",
        r"",
        "number",
    ),
    FactKind(
        r"\b(responsible|in charge|owner)\b",
        r"\b(responsib\w+|in charge|owners?|takes? (care|over))\b",
        "name",
    ),
    FactKind(
        r"\b(who|person|name|contact|team)\b|approver|organi[sz]ation",
        r"",
        "name",
    ),
)
PLAIN = FactKind("", "", "text")
#: What a slot asks for whose name says nothing, by its form.
FORMS: dict[str, Kind] = {"date": "date", "integer": "number", "number": "number"}


def fact_of(slot: Slot, question: ParsedQuestion) -> FactKind:
    """What kind of fact a slot asks for: by its name, else by its description.

    A slot that stands for the answer itself asks for what the question asks for.
    """
    if is_generic(slot.name):
        return _fact_of_question(question)
    for text in (slot.name, slot.description):
        spelled = re.sub(r"[\W_]+", " ", text.casefold())
        for fact in FACTS:
            if re.search(fact.named, spelled):
                return fact
    return PLAIN._replace(kind=FORMS.get(slot.form.type, PLAIN.kind))


_ROLES = ("name", "names")
_DID = re.compile(
    r"\bwho (?:(?:has|have|had|did|first|originally|also|really|actually) )*(\w+)"
    r"|\b(?:when|where|who|whom|year|date) (?:was|were|is|are|did|does|has|have)\b.*?"
    r"\b(\w+)(?: by| in| at)?\W*$",
    re.I,
)
_BE = frozenset("is are was were s will can should would do does did has have had may must".split())


def _fact_of_question(question: ParsedQuestion) -> FactKind:
    """What `who`, `when` and their like ask for: who did the verb, when it was, else any value."""
    verb = _asked_verb(question)
    if question.kind == "name" and verb:
        known = next((f for f in FACTS if f.match and re.match(f.named, verb)), PLAIN)
        if known.kind in _ROLES:
            return known
        return FactKind("", rf"\b(?:{'|'.join(verb_forms(verb))})\b", "name", "before")
    if question.kind == "name":
        role = (f for f in FACTS if f.kind in _ROLES and re.search(f.named, question.text, re.I))
        found = next(role, PLAIN)
        return found._replace(kind="name", side="") if found.stated else FactKind("", "", "name")
    if question.kind in ("date", "place") and verb:
        told = {"date": "day", "place": "place"}[question.kind]
        return FactKind("", rf"\b(?:{'|'.join(verb_forms(verb))})\b", question.kind, "", told)
    told = {"date": "day", "place": "place", "score": "score"}.get(question.kind, "")
    return FactKind("", "", question.kind, "", told)


def _asked_verb(question: ParsedQuestion) -> str:
    """The verb that is asked about, where the form of the question shows it."""
    found = _DID.search(question.text)
    verb = (found[1] or found[2]).casefold() if found else ""
    last = bool(found and found[2])  # a last word may be anything
    return "" if verb in _BE or (last and not is_verb(verb)) else verb


# --- which facts an answer needs -------------------------------------------------------------

_COMPANY = re.compile(r"\b(company|corporation|inc\.?|ltd\.?|gmbh|startup|firm)\b|公司", re.I)
_ASKS = re.compile(r"\b(what|which|who|whom|whose|how|why|where|when)\b|[?？]", re.I)
_ABOUT = re.compile(r"^(?:please )?(?:tell me (?:more )?about|what is known about|about)\s+", re.I)
_LONE = re.compile(r"[A-Z][A-Za-z&-]{2,}(?: (?:Group|Holdings?|Company|Corp\w*|AG|SE|plc|SA))?$")
GENERIC: dict[str, Kind] = {
    "who": "name",
    "when": "date",
    "where": "place",
    "how_many": "number",
    "how_much": "money",
    "score": "score",
    "answer": "text",
}
_HOW = re.compile(r"\bhow (tall|high|long|old|far|deep|wide|big|large|heavy|fast)\b", re.I)
#: The facts of a match that decides; the descriptions are what passages are looked for by.
MATCH = {
    "winner": "champions, who won the final",
    "score": "result of the final, report, penalties",
    "goalscorers": "who scored in the final, and when",
}


def is_generic(name: str) -> bool:
    """Whether a slot stands for the answer itself, or for one part of it (`how_tall`)."""
    return name in GENERIC and name != "score" or name.startswith("how_")


def suggest_slots(question: ParsedQuestion) -> tuple[Slot, ...]:
    """The facts that an answer needs, by the form of the question."""
    if sides := named_opponents(question):
        if question.asks_for_final:
            return tuple(Slot(name=n, description=f"of {' against '.join(sides)}") for n in MATCH)
    elif question.asks_for_final:
        return tuple(Slot(name=name, description=said) for name, said in MATCH.items())
    if question.sides:
        pairs = zip(side_slots(question), question.sides, strict=True)
        return tuple(Slot(name=name, description=f"What is said of {side}") for name, side in pairs)
    if is_company(question):
        return tuple(Slot(name=name) for name in ("founded", "founders", "headquarters"))
    parts = {_slot_name(part): part for part in question.parts}
    return tuple(Slot(name=name, description=part.text) for name, part in parts.items())


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
