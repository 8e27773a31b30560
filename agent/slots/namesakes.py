"""Things of one name that several sources describe: two people, a film and its book, two finals.

Their values do not disagree. What distinguishes two things:

- what the model that read said of them, in words of the sources;
- a word in one title that makes another thing of a name ("women");
- the qualifiers of their titles: `Mercury (planet)`, `Paris, Texas`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple
from urllib.parse import urlsplit

from agent.evidence import content_words, fold, split_sentences
from agent.evidence.credibility import is_reference
from agent.slots.equivalence import OTHER_THING, same_value
from agent.state import Source, Statement, sanitize_line

LEAD = 800  # characters in which a page says what it is about
LONGEST_LABEL = 120  # characters
_SITE = re.compile(r"\s+(?:[-–—|·]|::)\s+(?P<tail>[^|]*)$")
_QUALIFIED = re.compile(
    r"(?P<name>[^(（,]+?)\s*(?:[(（](?P<inner>[^)）]+)[)）]\s*|,\s(?P<after>[^,]+))$"
)
Words = frozenset[str]


class Thing(NamedTuple):
    """What a statement is about, as words that can be compared; no name where that is unknown."""

    label: str = ""
    name: Words = frozenset()
    described: Words = frozenset()  # by the model, without what it says of all
    marks: Words = frozenset()  # words of the title that make another thing of a name
    qualifier: Words = frozenset()
    host: str = ""  # of a reference work, where each thing has a page


def group_by_thing(
    statements: Sequence[Statement], sources: Sequence[Source], topic: str
) -> list[tuple[str, list[Statement]]]:
    """The statements about each thing, with what it is; that is "" where all are about one.

    Where the topic has words of some things alone, those of which it has most are meant.
    """
    wanted = frozenset(content_words(topic))
    values = frozenset(word for one in statements for word in content_words(str(one.value)))
    read = [_read_thing(one, sources[one.quote.source - 1], wanted, values) for one in statements]
    described = [one.described for one in read if one.described]
    common = described[0].intersection(*described) if described else frozenset()
    things = [one._replace(described=one.described - common) for one in read]
    groups: list[list[int]] = []
    for i in sorted(range(len(statements)), key=lambda i: not things[i].name):
        fitting = [g for g in groups if not any(are_namesakes(things[i], things[k]) for k in g)]
        value = statements[i].value
        same = (g for g in fitting if any(same_value(statements[k].value, value) for k in g))
        home = next(same, next(iter(fitting), None))
        if home is None:
            groups.append([i])
        else:
            home.append(i)
    counts = [_count_wanted(things[group[0]], wanted) for group in groups]
    meant = [g for g, count in zip(groups, counts, strict=True) if count == max(counts)]
    if len(meant) == 1:
        return [("", [statements[i] for i in sorted(meant[0])])]
    return [(things[g[0]].label, [statements[i] for i in sorted(g)]) for g in meant]


def _count_wanted(one: Thing, wanted: Words) -> int:
    """How many words that distinguish a thing the topic has."""
    return len((one.described | one.marks | one.qualifier) & (wanted - one.name))


def label_namesakes(sources: Sequence[Source]) -> list[str]:
    """What each of several pages of one name is about: titles, or how they begin; "" for the same.

    They may disagree about one thing: a reader of the labels decides.
    """
    titles = [source.page.title for source in sources]
    if len({fold(_read_title(title)[0]) for title in titles}) > 1:
        return ["" for _ in sources]
    openings = [_find_opening(s.page.text, s.page.title) for s in sources]
    differ = len({_read_title(title)[1:] for title in titles}) == len(titles)
    labels = titles if differ else openings
    bags = [frozenset(content_words(text)) for text in labels]
    are_two = differ or all(_differ(a, b) for a, b in combinations(bags, 2))
    return [sanitize_line(text, LONGEST_LABEL) if are_two else "" for text in labels]


# --- what a statement is about -----------------------------------------------------------------


def _read_thing(one: Statement, source: Source, wanted: Words, values: Words) -> Thing:
    page = source.page
    title, qualifier, marks = _read_title(page.title)
    name = frozenset(content_words(title))
    described = frozenset(content_words(one.of)) - values
    if not (described or name <= wanted):
        return Thing()
    named = page.title if marks else _SITE.sub("", page.title)
    opening = named if qualifier or marks else _find_opening(page.text, title) or page.title
    label = one.of or sanitize_line(opening, LONGEST_LABEL)
    host = urlsplit(page.url).netloc if is_reference(page.url) else ""
    return Thing(label, name, described, marks, qualifier - name, host)


def _read_title(title: str) -> tuple[str, Words, Words]:
    marks = OTHER_THING & set(re.findall(r"\w+", fold(title)))
    bare = _SITE.sub("", title).strip()
    found = _QUALIFIED.fullmatch(bare)
    name = found["name"] if found else bare
    text = (found["inner"] or found["after"] or "") if found else ""
    qualifier = frozenset(content_words(text) if any(map(str.isalpha, text)) else ())
    words = (word for word in re.split(r"(?:['’]s)?\s+", name) if fold(word) not in marks)
    name = " ".join(word for word in words if not (len(word) == 2 and word[1] == "."))
    return name, qualifier, frozenset(marks)


def _find_opening(text: str, title: str) -> str:
    lead = text[:LEAD]
    sentences = (lead[start:end] for start, end in split_sentences(lead))
    name = fold(title)
    return next((s for s in sentences if fold(s) != name and len(s.split()) > 3), lead)


# --- two things ----------------------------------------------------------------------------------


def are_namesakes(one: Thing, other: Thing) -> bool:
    """Whether two things of one name are two."""
    if one.described and other.described:
        return _differ(one.described, other.described)
    if not one.name or one.name != other.name:
        return False
    if one.marks != other.marks or one.qualifier == other.qualifier:
        return one.marks != other.marks
    is_one_work = bool(one.host) and one.host == other.host
    both = bool(one.qualifier and other.qualifier)
    return is_one_work or (both and _differ(one.qualifier, other.qualifier))


def _differ(one: Words, other: Words) -> bool:
    return bool(one - other and other - one) and 2 * len(one & other) < len(one | other)
