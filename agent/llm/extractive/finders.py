"""Values in a sentence, by type: names, dates, numbers, money, scores. Each is a substring."""

from __future__ import annotations

import re

from agent.evidence import CJK, STOP_WORDS
from agent.llm.extractive.question import UPPER, Kind

_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December|"
    r"Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.?"
)
_DATE = re.compile(
    rf"\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTH},? \d{{4}}"
    rf"|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}"
    rf"|\d{{4}}-\d{{2}}-\d{{2}}|\d{{4}}年(?:\d{{1,2}}月(?:\d{{1,2}}日)?)?|{_MONTH},? \d{{4}}"
    rf"|\b\d{{1,2}} {_MONTH}(?!\w)|{_MONTH} \d{{1,2}}\b"
    r"|\b(?:1\d{3}|20\d{2})s?\b|\b\d{1,2}(?:st|nd|rd|th)(?:[ -]century| of the month)"
    r"|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?\b(?: at \d{1,2}(?::\d\d)?(?: ?[ap]\.?m\.?)?)?"
    r"|\b\d{1,2}:\d\d\b|\b\d{1,2} ?[ap]\.?m\b\.?"
)
_COUNT = (
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|"
    r"sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|"
    r"hundred|thousand|million|billion|dozen|half|twice)"
)
_NUMBER = re.compile(
    rf"[$€£¥]?(?<![\w.])\d(?:[\d,.]*\d)?(?![a-zA-Z\d])"
    rf"|\b{_COUNT}(?:[- ]{_COUNT})*\b|[一二两三四五六七八九十百千万亿]+(?=[个名次座米年天])",
    re.I,
)
_UNIT = re.compile(
    r"(?:(?:\s?%|°C?F?|\s(?:percent|per cent|(?:hundred|thousand|million|billion|trillion))\b)"
    r"|(?:[ -](?:(?:working|business|calendar|square|cubic|light|metric) )?"
    r"(?:days?|weeks?|months?|years?|hours?|minutes?|seconds?|km|kilomet(?:re|er)s?|met(?:re|er)s?|"
    r"miles?|feet|foot|ft|inches|kg|kilograms?|tons?|tonnes?|people|degrees?|dollars?|euros?|characters?|pages?|words?|"
    r"kronor|pounds?|times?|goals?|GB|MB|litres?|liters?|m|cm|mm|g)\b)|[米吨年天公里个名次颗]+)+"
)
_MONEY = re.compile(
    r"(?:US|A|C)?[$€£¥]\s?\d[\d,.]*\d?(?:\s?(?:k|m|bn|million|billion|thousand)\b)?"
    r"|\b\d[\d,.]*\d?\s(?:(?:thousand|million|billion)\s)?(?:Swedish |US )?"
    r"(?:dollars|euros?|pounds|kronor|USD|EUR|GBP|CHF|yen|yuan)\b|\d[\d,.]*(?:万|亿)?(?:元|美元|欧元)",
    re.I,
)
_DRAW = r"\d{1,3}[-–]\d{1,3}"
_SCORE = re.compile(
    rf"(?<![\d–-])\d{{1,3}}\s?[-–:]\s?\d{{1,3}}\b(?!\s?[-–:/]\d)"
    rf"(?:\s(?:on penalties|after extra time|after an? {_DRAW} draw|in extra time))*"
    r"|\d{1,2}比\d{1,2}"
)
_PARTICLE = r"(?:de|del|della|van|von|der|den|di|da|dos|la|le|bin|ibn|al|el|of|the|y|&)"
_PIECE = rf"[{UPPER}](?:[\w'’&-]|\.(?=\w|\s[{UPPER}]))*"
NAME = re.compile(rf"\b{_PIECE}(?:\s(?:{_PARTICLE}\s){{0,2}}{_PIECE})*")
_CALENDAR = frozenset(
    "january february march april may june july august september october november december monday "
    "tuesday wednesday thursday friday saturday sunday".split()
)
_LEADING = STOP_WORDS | frozenset(
    "after although another because before both despite during each even every first following "
    "however last later many most none only other since some still such though three two one under "
    "until unlike when whereas within without here also please note see all any".split()
)


def dates(text: str) -> list[str]:
    """The dates, years, days and times in a text."""
    return [match[0].strip(" ,") for match in _DATE.finditer(text)]


def scores(text: str) -> list[str]:
    """The results of matches: `4-2`."""
    return [match[0] for match in _SCORE.finditer(text)]


def sums(text: str) -> list[str]:
    """The amounts of money."""
    return [match[0].rstrip(".,") for match in _MONEY.finditer(text)]


def numbers(text: str) -> list[str]:
    """The numbers, with the unit that follows; not those that are part of a date or a score."""
    taken = [m.span() for p in (_DATE, _SCORE) for m in p.finditer(text)]
    found = []
    for match in _NUMBER.finditer(text):
        if not any(a <= match.start() < b for a, b in taken):
            unit = _UNIT.match(text, match.end())
            found.append(text[match.start() : unit.end() if unit else match.end()].rstrip(".,"))
    return found


def names(text: str) -> list[str]:
    """The names: runs of capitalised words, without the word that only begins a sentence."""
    return [text[a:b] for a, b in name_spans(text)] + [
        m[1] or m[2] for m in _ZH_NAME.finditer(text)
    ]


#: After a word that introduces one, or before its Latin spelling in brackets.
_ZH_NAME = re.compile(
    rf"(?:是|为|由|归|来自|[，。；、]|^)((?:(?![是为由归的])[{CJK}·]){{2,10}}?)(?=（[A-Z]|\([A-Z])"
    rf"|(?:是|由|归)((?:(?![的一])[{CJK}·]){{2,8}}?)(?=队?[，。；、）)]|$)"
)


def zh_name_spans(text: str) -> list[tuple[int, int]]:
    """Where the names in Chinese stand that have their Latin spelling behind them."""
    return [match.span(1) for match in _ZH_NAME.finditer(text) if match[1]]


def name_spans(text: str) -> list[tuple[int, int]]:
    """Where the names stand."""
    spans = []
    for match in NAME.finditer(text):
        start, end = match.span()
        while start < end:  # "The Beatles" is kept as "Beatles": the article is not the name
            word = re.match(r"[\w'’.&-]+", text[start:end])
            if not word or word[0].lower() not in _LEADING:
                break
            start += word.end()
            start += len(text[start:end]) - len(text[start:end].lstrip())
        name = text[start:end].rstrip(".'’-&")
        name = re.sub(r"['’]s$", "", name)
        if len(name) > 1 and name.lower() not in _CALENDAR and name.lower() not in _LEADING:
            spans.append((start, start + len(name)))
    return spans


_PLACE = re.compile(r"\b(?:in|at|near|on|from|to|of|within|around|outside)\s+(?:the\s+)?$")
_ZH_PLACE = re.compile(rf"(?:位于|在|于)([{CJK}]{{2,12}}?)(?=举行|建|的|，|。|出生|成立|召开)")


def places(text: str) -> list[str]:
    """Names that follow a preposition of place."""
    found = []
    for start, end in name_spans(text):
        if _PLACE.search(text[max(0, start - 20) : start]):
            rest = re.match(rf",\s{_PIECE}(?:\s{_PIECE})*", text[end:])
            found.append(text[start : end + rest.end()] if rest else text[start:end])
    return found + [match[1] for match in _ZH_PLACE.finditer(text)]


FINDERS = {
    "date": dates,
    "score": scores,
    "money": sums,
    "number": numbers,
    "name": names,
    "names": names,
    "place": places,
}


def values(kind: Kind, text: str, unit: str = "") -> list[str]:
    """The values of a type in a text, in order; none for types that have no form of their own.

    A number must have a certain `unit`, where one is given.
    """
    finder = FINDERS.get(kind)
    found = finder(text) if finder else []
    return [v for v in found if re.search(unit, v)] if unit and kind == "number" else found
