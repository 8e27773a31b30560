"""What a question asks for: its words, names, years and sides, and the type of its answer."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Literal, NamedTuple, cast

from agent.evidence import content_words
from agent.evidence.dates import find_years
from agent.evidence.language import language_of, load_language
from agent.evidence.names import UPPER, find_question_names
from agent.evidence.words import word_lists

Kind = Literal[
    "name", "date", "place", "number", "money", "score", "names", "yesno", "passage", "text"
]
#: What a number that answers stands before, by what is asked.
_UNITS = {
    "length": r"\b(?:m|km|cm|mm|miles?|feet|foot|ft|inch(?:es)?|light.years?"
    r"|(?:kilo|centi|milli)?m[eè]t(?:re|er|ro)s?)\b|[米里]|метр|متر",
    "time": r"seconds?|minutes?|hours?|days?|weeks?|months?|years?|decades?|[年月天日小时分钟]"
    "|once|twice|times",
    "text": r"characters?|pages?|words?",
    "weight": r"\b(?:kg|g|lb|lbs|pounds?|tons?|tonnes?|kilograms?|grams?)\b|[吨克斤]",
    "percent": r"%|per ?cent",
}
_SIDES = (
    re.compile(
        r"\bdifferences?\s+between\s+(.+?)\s+and\s+(.+?)(?:\s+(?:in|for|when|with)\b|[?.]|$)", re.I
    ),
    re.compile(
        r"\bcompar(?:e|ing|ison of)\s+(.+?)\s+(?:and|with|to|against)\s+(.+?)"
        r"(?:\s+(?:in|for|by)\b|[?.]|$)",
        re.I,
    ),
    re.compile(
        r"([\w.+#'’-]+(?: [\w.+#'’-]+){0,3}?)\s+(?:vs\.?|versus)\s+"
        r"([\w.+#'’-]+(?: [\w.+#'’-]+){0,3}?)(?:\s+(?:in|for|when)\b|[?:.,]|$)",
        re.I,
    ),
    re.compile(r"[,:]\s*(?:the )?(.{2,60}?),?\s+or\s+(?:the )?(.{2,60}?)\s*\?*$"),
    re.compile(
        r"\b(?:both|between|did|do|does|are|were|is|was|have|has)\s+(.{2,60}?)\s+and\s+(.{2,60}?)"
        r"\s+(?:both|from|the same|located|have|members?|born|of the same|in the same|each)\b",
        re.I,
    ),
    re.compile(r"(.{2,30}?)(?:和|与|跟)(.{2,30}?)(?:的|有何|有什么)?(?:区别|不同|比较|差异)"),
)


class ParsedQuestion(NamedTuple):
    """A question, taken apart."""

    text: str
    plain: str  # the question without its question words
    words: tuple[str, ...]  # content words, folded and stemmed, in order
    names: tuple[str, ...]  # as written
    years: tuple[str, ...]
    sides: tuple[str, ...]  # of a comparison
    kind: Kind
    unit: str  # pattern that a number must match to be the answer; empty: any
    language: str

    def read(self, text: str) -> list[str]:
        """The content words of a text, as the words of this question are read."""
        return content_words(text, self.language)

    @property
    def parts(self) -> tuple[ParsedQuestion, ...]:
        """The questions that it is made of, each with the subject; itself where it is one."""
        pieces = _PARTS.split(self.text)
        if len(pieces) < 2 or self.sides:
            return (self,)
        first = parse_question(pieces[0].rstrip(" ,") + "?")
        subject = " ".join((*first.surely_named, *first.years)) or first.plain
        rest = (parse_question(f"{piece} {subject}") for piece in pieces[1:])
        return (first, *(part._replace(text=part.text) for part in rest))

    @property
    def asks_for_final(self) -> bool:
        """Whether it is about what decides a contest: its final, its winner, its score."""
        return bool(_CONTEST.search(self.text) and _OUTCOME.search(self.text))

    @property
    def surely_named(self) -> tuple[str, ...]:
        """The names that are surely some: not for being the first word, or a noun in German."""
        large = load_language(self.language).has_noun_capitals
        return tuple(
            name
            for name in self.names
            if " " in name
            or name.isupper()
            or not (large or self.text.lstrip(_OPENING).startswith(name))
        )


_OPENING = "¿¡\"'“„« "
_PARTS = re.compile(
    r",?\s+and\s+(?=(?:how|when|where|who|whom|what|which|why)\s)|[,，]\s*(?=(?:多|何时|谁|哪))",
    re.I,
)
_CONTEST = re.compile(
    r"\b(cup|finals?|championship|euro \d{4}|super bowl)\b|世界杯|决赛|锦标赛", re.I
)
_OUTCOME = re.compile(
    r"\b(won|wins?|winners?|beat|champions?|results?|score[ds]?|goal-?scorers?|goals?)\b"
    r"|冠军|赢|夺冠|获胜|比分|进球",
    re.I,
)
_SIDE = rf"((?:[{UPPER}][\w'’.-]*\s)+(?:and\s(?:[{UPPER}][\w'’.-]*\s)+)?)"
_AGAINST = (
    re.compile(rf"{_SIDE}(?:against|vs?\.?|versus|played|play|beat|met)\s{_SIDE}"),
    re.compile(rf"\bbetween\s((?:[{UPPER}][\w'’.-]*\s)+)and\s((?:[{UPPER}][\w'’.-]*\s)+)"),
)
#: What makes a contest, a team or a prize another one than that of the same name without it.
_QUALIFIERS = {
    word: frozenset(content_words(group))
    for group in (
        "women woman female ladies girls",
        "youth junior juniors u17 u20 u21",
        "club clubs",
        "beach futsal indoor",
        "paralympic paralympics wheelchair",
        "winter",
    )
    for word in content_words(group)
}


def named_opponents(question: ParsedQuestion) -> tuple[str, ...]:
    """The two sides of a match that a question names; empty where it names none."""
    text = f"{question.text.rstrip(' ?!.')} "
    found = next(filter(None, (form.search(text) for form in _AGAINST)), None)
    if not found:
        return ()
    first = re.sub(r"^(?:The|Did|Was|When|Between|What|Who)\s", "", found[1].strip())
    return first, found[2].strip()


def asks_for_result(question: ParsedQuestion) -> bool:
    """Whether it is about a match: one of two sides that it names, or what decides a contest."""
    final = question.asks_for_final or re.search(r"\bfinal\b|决赛", question.text, re.I)
    return bool(final or named_opponents(question))


def is_another_event(around: str, question: ParsedQuestion, title: str = "") -> bool:
    """Whether a text is about another year, or another kind of contest, than the question.

    `around` is the text with what stands above it, `title` that of its page: a page that is about
    a kind of contest which the question does not name is another one.
    """
    if any(year not in around for year in question.years):
        return True
    asked = {w for name in question.names for w in content_words(name) if w in _QUALIFIERS}
    said = set(content_words(around))
    if any(_QUALIFIERS[word].isdisjoint(said) for word in asked):
        return True
    told = set(question.words)
    own = {w for w in content_words(title) if w in _QUALIFIERS}
    return bool(question.names) and any(_QUALIFIERS[word].isdisjoint(told) for word in own)


@lru_cache(maxsize=64)
def parse_question(text: str) -> ParsedQuestion:
    """A question taken apart by its form; nothing is looked up."""
    text = " ".join(text.split())[:2000]
    language = language_of(text)
    plain = text
    for asked, rest in language.drop:
        plain = asked.sub(rest, plain)
    found = dict.fromkeys(content_words(plain, language.tag))
    told = tuple(word for word in found if word not in _request_words())
    kinds = (kind for kind, pattern in language.asks if pattern.search(text))
    return ParsedQuestion(
        text=text,
        plain=plain,
        words=told or tuple(found),
        names=tuple(find_question_names(text, language.stop)),
        years=tuple(dict.fromkeys(find_years(text))),
        sides=_compared_sides(text),
        kind=cast(Kind, next(kinds, "text")),
        unit=find_unit(text, language.tag),
        language=language.tag,
    )


def find_unit(asked: str, language: str) -> str:
    """The pattern of the units that a number must have for what is asked; "" for any."""
    units = load_language(language).units
    found = next((dims for words, dims in units if words.search(asked)), ())
    return "|".join(_UNITS[dim] for dim in found)


@cache
def _request_words() -> frozenset[str]:
    """What a question says only because it is one."""
    return frozenset(content_words(word_lists()["leading"]["requests"]))


def _compared_sides(text: str) -> tuple[str, ...]:
    for pattern in _SIDES:
        if match := pattern.search(text):
            sides = [side.strip(" ,.?!\"'") for side in match.groups()]
            if all(sides) and len(sides[0].split()) <= 8:
                return tuple(sides)
    return ()
