"""True sentences with the pages that they stand on, and false ones made of them.

A false one is made by code, the same each time: subject and object exchanged, a number or a whole
sentence of another event, another year, a neighbouring name, a denial, made-up praise. It is made
only where the result is really false: what a page says in other places is looked at before. True
ones in other words are `paraphrases.toml`, and templates over the matches of the World Cups.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from agent.evidence import split_sentences
from agent.evidence.proper_names import find_names
from evals.harness import ROOT, draw, read_rows
from evals.questions import load_passages

DEMO = ROOT / "agent/demo"
PARAPHRASES = Path(__file__).with_name("paraphrases.toml")
MATCHES = 60  # of the World Cups, by the SHA-1 of their id
FACTS = 150  # of 2wiki, by the SHA-1 of their words
LONGEST = 400  # characters of a true sentence
MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
#: What stands in a sentence as a quantity, by kind. The first that fits is the one that is swapped.
QUANTITIES = (
    re.compile(rf"\b\d{{1,2}} (?:{MONTHS})\b"),
    re.compile(r"(?<![\d-])\d{1,2}-\d{1,2}(?![\d-])"),
    re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\d,])"),
    re.compile(r"(?<![\w.,-])\d{1,3}(?:\.\d+)?(?![\w,-]|\.\d)"),
    re.compile(r"\b(?:three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b"),
)
YEAR = re.compile(r"(?<![\d.,])(?:1[5-9]\d\d|20[0-2]\d)(?![\d,]|\.\d)")
#: After these words another number or year may be as true.
LOOSE = re.compile(
    r"\b(?:about|nearly|almost|over|above|under|below|than|least|most|around|some|roughly|before"
    r"|after|until|by|between|to|every|up)\s+$",
    re.I,
)
#: Verbs whose two sides cannot be exchanged.
ONE_WAY = re.compile(
    r"\b(?:beat|beating|beaten|defeated|won|founded|invented|took over|overtook|succeeded|designed"
    r"|refereed|built|chose|described|approved|announced|developed|directed|composed|was born in"
    r"|died in|named after|hosted|received|introduced|created|reported|presented|led|gave|coached"
    r"|lost|is a|was a|was an|is an|captained)\b"
)
DENIABLE = re.compile(r"\b(is|was|were|are|has been|had been|can|could)\b(?! not\b)")
DENIED = re.compile(r"\b(?:not|no|never|nor|nobody|none|without|neither|nothing)\b|n't\b", re.I)
PRAISE = ", which critics all over the world praised as a masterpiece"


class Leaf(NamedTuple):
    """A page: its title and its text."""

    title: str
    text: str


class Told(NamedTuple):
    """A true sentence of the first page; the other pages are about things like it."""

    text: str
    topic: str
    pages: tuple[Leaf, ...]


class Pair(NamedTuple):
    """A claim with the quote that it cites on the first page.

    `wrong`: the number or date in it that is false; "" where none is, or where the quote's own
    numbers give it by chance.
    """

    kind: str
    true: bool
    claim: str
    quote: str
    topic: str
    pages: tuple[Leaf, ...]
    wrong: str = ""
    language: str = "en"


# --- true sentences ------------------------------------------------------------------------------


@cache
def demo_pages() -> dict[str, Leaf]:
    """The pages of the demo corpus by the names of their files."""
    pages = {}
    for path in sorted(DEMO.glob("*.md")):
        _, front, text = path.read_text("utf-8").split("---\n", 2)
        title = re.search(r"^title: (.*)$", front, re.M)
        pages[path.stem] = Leaf(title[1] if title else path.stem, text.strip())
    return pages


def _with_neighbours(name: str) -> tuple[Leaf, ...]:
    """A page of the demo corpus and the two on either side of it in the folder."""
    names = list(demo_pages())
    at = names.index(name)
    around = [names[(at + step) % len(names)] for step in (1, -1, 2, -2)]
    return tuple(demo_pages()[one] for one in (name, *around))


def demo_sentences() -> Iterator[Told]:
    """Every sentence of the demo corpus."""
    for name, page in demo_pages().items():
        for text in sentences_of(page.text):
            yield Told(text, f"What is known of {page.title}?", _with_neighbours(name))


def sentences_of(text: str) -> list[str]:
    """The sentences of a text that stand on one line and are not too long."""
    found = (text[a:b].strip() for a, b in split_sentences(text))
    return [one for one in found if 20 <= len(one) <= LONGEST and "\n" not in one]


class Fact(NamedTuple):
    """What a passage of 2wiki says: `said` is its sentence that holds the object."""

    subject: str
    relation: str
    thing: str
    said: str
    passage: str


def load_facts(data: Path) -> list[Fact]:
    """A fixed sample of the facts whose sentence can be found."""
    corpus, found = load_passages(data), dict[str, Fact]()
    for question in read_rows(data / "multihop/questions.dev.jsonl"):
        pages = [corpus[key] for key in question["gold"] if key in corpus]
        for subject, relation, thing in question.get("evidences", ()):
            for page in pages:
                said = _find_sentence(thing, page["text"]) if page["title"] == subject else ""
                if said and thing.casefold() not in subject.casefold():
                    fact = Fact(subject, relation, thing, said, page["text"])
                    found[" ".join(fact[:3])] = fact
    return [found[key] for key in draw(found, str, FACTS)]


def _find_sentence(thing: str, text: str) -> str:
    spans = [text[a:b] for a, b in split_sentences(text)]
    return next((span for span in spans if thing in span and len(span) < LONGEST), "")


def fact_sentences(facts: Sequence[Fact]) -> Iterator[Told]:
    """The sentence of each fact, beside the passages of four others."""
    for i, fact in enumerate(facts):
        others = [facts[(i + step) % len(facts)] for step in (31, 57, 83, 107)]
        leaves = tuple(Leaf(one.subject, one.passage) for one in (fact, *others))
        topic = f"What is the {fact.relation} of {fact.subject}?"
        if "\n" not in fact.said:
            yield Told(fact.said, topic, leaves)


# --- matches of World Cups -----------------------------------------------------------------------


class Match(NamedTuple):
    """A match that one side won in the field, as its page tells it."""

    winner: str
    loser: str
    goals: tuple[int, int]  # the winner's first
    cup: str
    day: str
    referee: str
    stadium: str
    city: str
    scorers: tuple[str, ...]  # the winner's, each once

    @property
    def page(self) -> Leaf:
        said = (*match_sentences(self), "Many had travelled far to see it.")
        return Leaf(f"{self.cup}: {self.winner} v {self.loser}", " ".join(said))

    @property
    def topic(self) -> str:
        return f"What is known of {self.winner} against {self.loser} at the {self.cup}?"


def match_sentences(m: Match) -> tuple[str, ...]:
    """What the page of a match says."""
    day = date.fromisoformat(m.day)
    when = f"{day.day} {day:%B} {day.year}"
    high, low = m.goals
    scorers = join_names(m.scorers)
    return (
        f"{m.winner} beat {m.loser} {high}-{low} at the {m.cup} on {when}.",
        f"{m.winner} against {m.loser} was played at {m.stadium} in {m.city}.",
        f"{m.referee} was the referee of {m.winner} against {m.loser}.",
        f"The goals of {m.winner} against {m.loser} were scored by {scorers}.",
    )


def join_names(names: Sequence[str]) -> str:
    """Names as a sentence has them: "A, B and C"."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def load_matches(data: Path) -> list[Match]:
    """A fixed sample of matches that were won in the field, without own goals."""
    rows = draw(read_rows(data / "worldcup/matches.dev.jsonl"), lambda row: str(row["match_id"]))
    rows = [r for r in rows if r["winner"] and r["referee"] and not r["penalties"]]
    matches = (_match(row) for row in rows if not any(g["own_goal"] for g in row["goals"]))
    return [m for m in matches if m.goals[0] > m.goals[1]][:MATCHES]


def _match(row: dict[str, Any]) -> Match:
    loser = row["away"] if row["winner"] == row["home"] else row["home"]
    goals = sorted(map(int, row["score"].split("-")), reverse=True)
    scorers = dict.fromkeys(g["player"] for g in row["goals"] if g["team"] == row["winner"])
    cup = row["tournament"].replace("FIFA Men's", "FIFA")
    place = (row["date"], row["referee"][0], row["stadium"], row["city"])
    return Match(row["winner"], loser, (goals[0], goals[1]), cup, *place, tuple(scorers))


def _match_pages(matches: Sequence[Match], i: int) -> tuple[Leaf, ...]:
    return tuple(matches[(i + step) % len(matches)].page for step in (0, 7, 13, 29, 41))


def told_matches(matches: Sequence[Match]) -> Iterator[Told]:
    """Every sentence about every match."""
    for i, m in enumerate(matches):
        for text in match_sentences(m):
            yield Told(text, m.topic, _match_pages(matches, i))


NUMERALS = "no one two three four five six seven eight nine ten".split()


def retold_matches(matches: Sequence[Match]) -> Iterator[Pair]:
    """Each match in other words: counts, lists, differences, corrected premises."""
    for i, m in enumerate(matches):
        for kind, claim, at in _retell(m):
            quote = match_sentences(m)[at]
            yield Pair(kind, True, claim, quote, m.topic, _match_pages(matches, i))


def _retell(m: Match) -> Iterator[tuple[str, str, int]]:
    high, low = m.goals
    gap, count = NUMERALS[high - low], len(m.scorers)
    yield "words", f"{m.winner} defeated {m.loser} at the {m.cup}.", 0
    yield "words", f"{m.loser} lost to {m.winner} in {m.day[:4]}.", 0
    yield "premise", f"{m.loser} did not win; {m.winner} did, {high}-{low}.", 0
    yield "difference", f"{m.winner} won by {gap} goal{'s' * (high - low > 1)}.", 0
    yield "count", f"{NUMERALS[high + low].capitalize()} goals were scored in all.", 0
    yield "notation", f"The match took place on {m.day} and ended {high}:{low}.", 0
    yield "list", f"Scorers for {m.winner}: {', '.join(m.scorers)}.", 3
    if 1 < count <= 10:
        word = NUMERALS[count].capitalize()
        yield "count", f"{word} players scored for {m.winner}: {join_names(m.scorers)}.", 3


# --- in other words ------------------------------------------------------------------------------


def load_paraphrases() -> Iterator[Pair]:
    """The sentences of `paraphrases.toml`."""
    for row in tomllib.loads(PARAPHRASES.read_text("utf-8"))["fact"]:
        pages = _with_neighbours(row["page"])
        for language, claim in row.get("told", {}).items():
            yield Pair("language", True, claim, row["quote"], row["topic"], pages, "", language)
        for kind, claims in row["english"].items():
            for claim in claims:
                yield Pair(kind, True, claim, row["quote"], row["topic"], pages)


# --- false sentences -----------------------------------------------------------------------------


def swap(told: Told, known: Sequence[str]) -> Iterator[Pair]:
    """The false sentences that can be made of a true one; `known`: all that pages say."""
    made = (
        ("exchanged", _exchange(told.text), ""),
        ("another event's number", *_swap_quantity(told)),
        ("another year", *_swap_year(told, known)),
        ("another event's sentence", _borrow(told), ""),
        ("neighbouring name", _swap_name(told, known), ""),
        ("denied", _deny(told.text), ""),
        ("praised", _praise(told.text), ""),
    )
    said = set(known)
    for kind, claim, wrong in made:
        is_new = claim not in said or kind == "another event's sentence"
        if claim and is_new and len(sentences_of(claim)) == 1:
            yield Pair(kind, False, claim, told.text, told.topic, told.pages, wrong)
            if kind == "neighbouring name":
                yield Pair("the same in its quote", False, claim, claim, told.topic, told.pages)


def _exchange(text: str) -> str:
    """A sentence whose subject and object have changed places; "" where it has no such two."""
    for verb in ONE_WAY.finditer(text):
        before, after = _names(text[: verb.start()]), _names(text[verb.end() :])
        before, after = before[-1:], after[:1]
        near = after and text.find(after[0], verb.end()) - verb.end() < 60
        if before and near and not _overlap(before[0], after[0]):
            first = text[: verb.start()].replace(before[0], after[0], 1)
            return first + verb[0] + text[verb.end() :].replace(after[0], before[0], 1)
    return ""


def _names(text: str) -> list[str]:
    return [name for name in find_names(text) if "'" not in name and "’" not in name]


def _overlap(one: str, other: str) -> bool:
    return bool(set(one.casefold().split()) & set(other.casefold().split()))


def _swap_quantity(told: Told) -> tuple[str, str]:
    """With the same kind of number of another page; and that number."""
    for pattern in QUANTITIES:
        for match in pattern.finditer(told.text):
            if LOOSE.search(told.text[: match.start()]):
                continue
            for other in pattern.findall(" ".join(leaf.text for leaf in told.pages[1:])):
                if not _stands(other, told.text):
                    return _put(other, match, told)
    return "", ""


def _put(other: str, match: re.Match[str], told: Told) -> tuple[str, str]:
    """The sentence with another number; and that number, if nothing gives it by chance."""
    claim = told.text[: match.start()] + other + told.text[match.end() :]
    return claim, "" if _follows(other, f"{told.pages[0].title}. {told.text}") else other


def _stands(number: str, text: str) -> bool:
    return re.search(rf"(?<![\w.,]){re.escape(number)}(?!\w|[.,]\d)", text, re.I) is not None


NUMBER_WORDS = {
    word: n
    for names in (
        "zero one two three four five six seven eight nine ten eleven twelve",
        "- first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth",
    )
    for n, word in enumerate(names.split())
}


def _values(text: str) -> list[float]:
    """The numbers of a text, those in words too."""
    found = re.findall(r"\d[\d,]*(?:\.\d+)?|[a-z]+", text.casefold())
    numbers = (NUMBER_WORDS.get(one, one.replace(",", "")) for one in found)
    return [float(n) for n in numbers if isinstance(n, int) or n[0].isdigit()]


def _follows(number: str, text: str) -> bool:
    """Whether a number follows from a text by chance: a sum or difference of two, a count, one."""
    told, values = _values(number), _values(text)
    if len(told) != 1 or " " in number:  # a score, a date
        return False
    pairs = [(a, b) for i, a in enumerate(values) for b in values[i + 1 :]]
    listed = re.split(r",| and | or ", text)
    chance = {v for a, b in pairs for v in (a + b, abs(a - b))} | set(range(len(listed) + 2))
    return told[0] in chance or told[0] in values


def _swap_year(told: Told, known: Sequence[str]) -> tuple[str, str]:
    """With a year of another page, in which no page says the same of what the sentence names."""
    names = _names(told.text)
    for match in YEAR.finditer(told.text):
        if LOOSE.search(told.text[: match.start()]):
            continue
        for other in dict.fromkeys(YEAR.findall(" ".join(leaf.text for leaf in told.pages[1:]))):
            beside = other in told.pages[0].text or _is_said(known, (other, *names[:2]))
            if not beside and match[0] not in _compound(told.text, match):
                return _put(other, match, told)
    return "", ""


def _compound(text: str, match: re.Match[str]) -> str:
    """The word that a year is a part of, where it is one ("1966-70"); else ""."""
    near = text[max(0, match.start() - 1) : match.end() + 1]
    return near if re.search(r"[\w-]\d{4}|\d{4}[\w-]", near) and near.isascii() else ""


def _is_said(known: Sequence[str], parts: Sequence[str]) -> bool:
    return any(all(part in sentence for part in parts) for sentence in known)


def _swap_name(told: Told, known: Sequence[str]) -> str:
    """With a name of another page of which no page says the same."""
    names = _names(told.text)
    pool = [n for leaf in told.pages[1:] for s in sentences_of(leaf.text) for n in _names(s)]
    for name in names:
        rest = [other for other in names if other != name][:2]
        for other in dict.fromkeys(pool):
            if not _is_alike(name, other) or other in told.pages[0].text:
                continue
            if not rest or not _is_said(known, (other, *rest)):
                return told.text.replace(name, other)
    return ""


def _is_alike(name: str, other: str) -> bool:
    """Whether two names have as many words, in one script, and share none."""
    same = len(name.split()) == len(other.split()) and name.isascii() == other.isascii()
    return same and not _overlap(name, other)


def _borrow(told: Told) -> str:
    """A sentence of another page about what it calls "the" match, tower or company.

    None that opens with the title of its page: that one is true, wherever it is cited from.
    """
    title, text = told.pages[1]
    others = [one for one in sentences_of(text) if one.startswith("The ")]
    others = [one for one in others if one not in told.pages[0].text and not _opens(one, title)]
    return others[len(told.text) % len(others)] if others else ""


def _opens(sentence: str, title: str) -> bool:
    bare = title.partition(" (")[0]  # in brackets: what it is
    words, named = (re.findall(r"\w+", text.casefold()) for text in (sentence, bare))
    return set(named) <= set(words[: len(named) + 1])  # after an article


def _deny(text: str) -> str:
    return "" if DENIED.search(text) else DENIABLE.sub(_negate, text, count=1)[: 2 * LONGEST]


def _negate(verb: re.Match[str]) -> str:
    first, _, rest = verb[1].partition(" ")
    return f"{first} not {rest}".rstrip()


def _praise(text: str) -> str:
    return text[:-1] + PRAISE + "." if text.endswith(".") and text[0].isupper() else ""


# --- all -----------------------------------------------------------------------------------------


def build_pairs(data: Path) -> list[Pair]:
    """True and false sentences of the demo corpus, and of the shared data where it is there."""
    told = list(demo_sentences())
    pairs = list(load_paraphrases())
    if (data / "worldcup").is_dir():
        matches, facts = load_matches(data), list(fact_sentences(load_facts(data)))
        told += [*facts, *told_matches(matches)]
        pairs += [*retold_matches(matches), *(_alter_quote(one) for one in facts)]
    known = [s for one in told for leaf in one.pages for s in sentences_of(leaf.text)]
    pairs += [Pair("word for word", True, one.text, one.text, one.topic, one.pages) for one in told]
    return pairs + [pair for one in told for pair in swap(one, tuple(dict.fromkeys(known)))]


def _alter_quote(told: Told) -> Pair:
    """A true sentence with a quote that its page has not."""
    quote = told.text.replace(" ", " of the ", 1)
    return Pair("altered quote", True, told.text, quote, told.topic, told.pages)
