"""Statements of several times: an older rule and the one that replaced it, figures as of a year.

Their values do not disagree: each is of its own time, and the newest is what holds now. Times count
only where a text ties them to what it says:

- the sentences of all statements name years for their values;
- the titles of the pages are one but for their numbers: `Handbook 2021`, `Handbook 2026`;
- the newest page says that it replaces others.

The date of a page alone makes no value older: a page of yesterday may quote a figure of 1990. Nor
does a page replace one of a better standing: anybody can write a date.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.evidence.credibility import host_kind
from agent.evidence.language import language_of
from agent.evidence.names import plain_name
from agent.evidence.quantities import find_years
from agent.evidence.quoting import sentence_span
from agent.evidence.words import count_words
from agent.slots.sameness import same_value
from agent.state import Source, Statement

OPENING = 4  # words before the first comma that tell when
NEAR = 300  # characters of a page, and on either side of a quote, that may say what it replaces
Group = tuple[str, list[Statement]]


def group_by_time(said: Sequence[Statement], sources: Sequence[Source], topic: str) -> list[Group]:
    """The statements by the time that each is of, the newest first; none where that tells nothing.

    A value that several times have is of its newest one. A topic with a year asks for that.
    """
    own = [sources[one.quote.source - 1] for one in said]
    years = [_year_said(one, source) for one, source in zip(said, own, strict=True)]
    times = [year or _time_of(source) for year, source in zip(years, own, strict=True)]
    if (
        find_years(topic)
        or any(one.of for one in said)
        or not all(times)
        or len({time[:4] for time in times}) < 2
    ):
        return []
    last = times.index(max(times))
    if host_kind(own[last].page.url).score < max(host_kind(one.page.url).score for one in own):
        return []
    titles = {re.sub(r"\d+", "", source.page.title) for source in own}
    versions = len(titles) == 1 and all(find_years(plain_name(s.page.title)) for s in own)
    if not (all(years) or versions or _replaces_others(said[last], own[last])):
        return []
    groups: list[Group] = []
    for time, one in sorted(zip(times, said, strict=True), key=lambda pair: pair[0], reverse=True):
        same = (group for _, group in groups if same_value(group[0].value, one.value))
        if (home := next(same, None)) is None:
            groups.append((time, home := []))
        home.append(one)
    return groups


def is_time(of: str) -> bool:
    """Whether what a value is of is a time, as `group_by_time` tells it."""
    return bool(re.match(r"\d{4}(?:-|$)", of))


def _year_said(one: Statement, source: Source) -> str:
    """The latest year that a statement's sentence names for its value; "" where it names none.

    It stands in one clause with the value, or opens the sentence: `In 2019, 300 worked there`.
    """
    text, value = source.page.text, str(one.value)
    if find_years(value):
        return ""
    start, end = sentence_span(text, one.quote.start)
    first, *rest = re.split(r"[,;:()，；：（）]\s", text[start:end])
    opening = first if count_words(first) <= OPENING else ""
    held = [clause for clause in (first, *rest) if value in clause]
    return max(find_years(" ".join((opening, *held))), default="")


def _time_of(source: Source) -> str:
    """The year in a page's title, else the day of the page."""
    titled = max(find_years(source.page.title), default="")
    return titled or source.page.date or source.hit.date or ""


def _replaces_others(one: Statement, source: Source) -> bool:
    """Whether a page says that it replaces others, where it begins or around what it states."""
    text = source.page.text
    around = text[max(0, one.quote.start - NEAR) : one.quote.end + NEAR]
    replaces = language_of(text).replaces
    return any(replaces.search(part.casefold()) for part in (text[:NEAR], around))
