"""What a question asks for: its words, names, years and sides, and the type of its answer."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from agent.evidence import content_words
from agent.evidence.dates import find_years
from agent.evidence.names import UPPER, find_question_names
from agent.evidence.words import word_lists

Kind = Literal["name", "date", "place", "number", "money", "score", "names", "yesno", "text"]

#: The first that matches tells the type of the answer. English, then Chinese.
_KINDS: tuple[tuple[Kind, str], ...] = (
    ("money", r"\bhow much\b.*\b(cost|costs|price|paid|pay|worth|earn|charge|fee|spend|spent)\b"),
    ("money", r"\bwhat\b.*\b(price|salary|fee|budget|revenue)\b|多少钱|价格|费用"),
    ("number", r"\bhow (many|much|long|old|far|tall|high|often|big|large|deep|fast|heavy|wide)\b"),
    (
        "number",
        r"\b(what|which) (is the |was the |were the )?(number|percentage|percent|population|"
        r"amount|height|length|distance|size|age|weight|speed|area|depth|width|temperature|rate|"
        r"limit|maximum|minimum)\b|多少|几个|几次|几名|多高|多长|多大|多重|多久",
    ),
    (
        "date",
        r"^(?:\w+ )?when\b|\bwhen (?:is|was|are|were|did|do|does|will|has|had)\b|"
        r"\b(what|which) (year|date|day|month|decade|century|season)\b|"
        r"\bwhat time\b|何时|什么时候|哪一?年|几月|几号|年份",
    ),
    ("score", r"\b(what|which)\b.*\bscore\b|比分"),
    ("name", r"\bwho(m|se)?\b|\bby whom\b|谁|哪个国家|哪支|哪位|哪家|冠军是"),
    (
        "place",
        r"\bwhere\b|\b(what|which) (city|country|state|town|place|county|continent|river|"
        r"region|island|street|district|location)\b|哪里|哪儿|何处|什么地方|在哪|位于",
    ),
    (
        "name",
        r"^(?:the )?(?:\w+ ){0,2}?(?:author|writer|singer|composer|director|president|founder"
        r"|inventor|creator|designer|leader|winner|owner) of\b",
    ),
    ("date", r"\b(?:release|air|start|premiere|opening)(?: date)?$|\b(?:date|year) of\b"),
    (
        "yesno",
        r"^(is|are|was|were|do|does|did|can|could|has|have|had|will|would|should|may|must)\b|"
        r"吗[?？]?$",
    ),
)
_LENGTH = (
    r"\b(?:m|km|cm|mm|miles?|feet|foot|ft|inch(?:es)?|(?:kilo|centi|milli)?met(?:re|er)s?"
    r"|light.years?)\b|[米里]"
)
_TIME = r"seconds?|minutes?|hours?|days?|weeks?|months?|years?|decades?|[年月天日小时分钟]"
#: What follows a number that answers: (what is asked, its units).
_UNITS = (
    (r"\bhow (tall|high|deep|wide|far)\b|\b(height|distance|depth|width)\b|多高|多远", _LENGTH),
    (r"\bhow long\b|\blength\b|多长|多久", f"{_LENGTH}|{_TIME}|characters?|pages?|words?"),
    (r"\bhow (old|often|soon)\b|\b(period|duration)\b", f"{_TIME}|once|twice|times"),
    (
        r"\bhow heavy\b|\bweigh|多重",
        r"\b(?:kg|g|lb|lbs|pounds?|tons?|tonnes?|kilograms?|grams?)\b|[吨克斤]",
    ),
    (r"\bpercent(age)?\b|百分", r"%|per ?cent"),
)
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
        """The names without a first word that may be written large only because it is first."""
        return tuple(
            name
            for name in self.names
            if " " in name or name.isupper() or not self.text.startswith(name)
        )


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
    return ParsedQuestion(
        text=text,
        plain=_strip_question_words(text),
        words=_question_words(_strip_question_words(text)),
        names=tuple(find_question_names(text)),
        years=tuple(dict.fromkeys(find_years(text))),
        sides=_compared_sides(text),
        kind=_answer_kind(text),
        unit=find_unit(text),
    )


def find_unit(asked: str) -> str:
    """The pattern of the units that a number must have for what is asked; "" for any."""
    return next((unit for words, unit in _UNITS if re.search(words, asked, re.I)), "")


_ZH = (
    (r"有?多高", "高度"),
    (r"多长", "长度"),
    (r"多重", "重"),
    (r"多大", "面积"),
    (
        r"(?:是)?(?:谁|什么|哪里|哪儿|何处|哪一?年|何时|什么时候|多少|哪些|哪个|为什么|怎么|如何)|[吗呢？?]",
        " ",
    ),
)


@cache
def _request_words() -> frozenset[str]:
    """What a question says only because it is one."""
    return frozenset(content_words(word_lists()["leading"]["requests"]))


def _question_words(text: str) -> tuple[str, ...]:
    found = dict.fromkeys(content_words(text))
    return tuple(word for word in found if word not in _request_words()) or tuple(found)


def _strip_question_words(text: str) -> str:
    """A question without the question words that would be taken for content."""
    text = re.sub(r"\bhow (?:many|much|long|often|far|old|soon)\b", " ", text, flags=re.I)
    for asked, plain in _ZH:
        text = re.sub(asked, plain, text)
    return text


def _answer_kind(text: str) -> Kind:
    for kind, pattern in _KINDS:
        if re.search(pattern, text, re.I):
            return kind
    return "text"


def _compared_sides(text: str) -> tuple[str, ...]:
    for pattern in _SIDES:
        if match := pattern.search(text):
            sides = [side.strip(" ,.?!\"'") for side in match.groups()]
            if all(sides) and len(sides[0].split()) <= 8:
                return tuple(sides)
    return ()
