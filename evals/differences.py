"""How often what a claim says otherwise than its page is shown, and how often where it does not.

Sentences of real articles, and the same with one fault: a negation, all for some, a hedge left out
or put in, another direction, another cause, two names exchanged, another number, an invented name.
*shown*: the differences have the words that were changed. True ones are the sentences as they are,
with a frame before them, without their last clause, and claims of WiCE that people found supported,
in words of their own. No judge is asked. The halves are of articles, by the SHA-1 of their address.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from agent.checking.differences import find_differences
from agent.checking.rules import QuotePlace
from agent.evidence import closest_sentences
from agent.evidence.names import find_names
from agent.evidence.words import PLAIN_WORD
from agent.state import Difference, Hit, Page, Source
from evals.check import change_number, half_of, load_claims, plain_sentences, swap_names, vary
from evals.harness import HALVES, Bench, Evaluation, Table, main, share
from evals.page_kinds import load_articles

AT = "2026-01-01T00:00:00Z"
EACH = 60  # of each kind and half
SHOWN = 3
#: Words of a sentence and what is put in their place, by kind.
CHANGES: dict[str, tuple[tuple[str, str], ...]] = {
    "negation": (
        (r"\b(is|was|are|were|has|have|had|will|can|could|would|did)\b", r"\1 not"),
        (r"\b(never|not|no longer) ", ""),
    ),
    "amount": (
        (r"\b[Ss]ome\b", "All"),
        (r"\b(many|most|several|a few)\b", "all"),
        (r"\b(all|every)\b", "some"),
        (r"\b(often|usually|sometimes|generally)\b", "always"),
    ),
    "hedge": (
        (r"\b(may|might|could) ", "will "),
        (r"\b(probably|possibly|perhaps|reportedly|allegedly|likely) ", ""),
        (r"\b(is|was) (?=\w+ed\b)", r"may have been "),
    ),
    "direction": (
        (r"\bincreas", "decreas"),
        (r"\bdecreas", "increas"),
        (r"\b(rose|grew)\b", "fell"),
        (r"\bfell\b", "rose"),
        (r"\bmore than\b", "less than"),
        (r"\bbefore\b", "after"),
        (r"\bafter\b", "before"),
        (r"\bhigher\b", "lower"),
        (r"\bfirst\b", "last"),
    ),
    "cause": (
        (r"\b(because of|due to)\b", "despite"),
        (r"\b(because|since)\b", "although"),
        (r"\b(led to|caused|resulted in)\b", "followed"),
        (r"\b(followed)\b", "caused"),
    ),
}
INVENTED = "Veltrane Osmund Karvik Tellowin Brasco Denholt Maristow Quimby Solvane Ruthven".split()


class Case(NamedTuple):
    """A claim, its page, and what was done to it: nothing for a true one."""

    half: str
    kind: str
    claim: str
    page: Page
    changed: frozenset[str] = frozenset()  # words that differ; none of a true one

    @property
    def true(self) -> bool:
        return not self.changed


class Outcome(NamedTuple):
    case: Case
    found: tuple[Difference, ...]

    @property
    def shown(self) -> bool:
        """Of a fault: whether it is; of a true claim: whether anything is."""
        told = {word for one in self.found for word in _words(f"{one.page} {one.claim}")}
        return bool(told & self.case.changed) if self.case.changed else bool(self.found)


def _words(text: str) -> list[str]:
    return PLAIN_WORD.findall(text.casefold())


def load(data: Path) -> Iterator[Case]:
    """As many of each kind in each half, the same each time."""
    articles = [one for one in load_articles(data) if len(one.text) > 800 and one.url]
    pages = sorted((Page.from_text(a.url, "", a.text, AT) for a in articles), key=lambda p: p.url)
    for name in reversed(HALVES):
        own = [page for page in pages if half_of(page.url) == name]
        made = [case for page in own for case in _plant(name, page, random.Random(page.url))]
        random.Random(5).shuffle(made)
        for kind in sorted({case.kind for case in made}):
            yield from islice((case for case in made if case.kind == kind), EACH)
        claims = load_claims(data, name)
        yield from (Case(name, "claim of WiCE", one.text, page) for page, one in claims)


def _plant(half: str, page: Page, dice: random.Random) -> Iterator[Case]:
    for sentence in plain_sentences(page):
        for kind, text in vary(sentence, dice):
            if kind != "quoted":
                yield Case(half, kind, text, page)
        for kind, text in _spoil(sentence, page, dice):
            changed = set(_words(text)) ^ set(_words(sentence))
            yield Case(
                half, kind, text, page, frozenset(changed or _words(" ".join(find_names(text))))
            )


def _spoil(sentence: str, page: Page, dice: random.Random) -> Iterator[tuple[str, str]]:
    for kind, changes in CHANGES.items():
        found = (one for one in changes if re.search(one[0], sentence))
        if change := next(found, None):
            yield kind, re.sub(change[0], change[1], sentence, count=1)
    for kind, text in (
        ("name", swap_names(sentence)),
        ("number", change_number(sentence, page, dice)),
    ):
        if text and text != sentence:
            yield kind, text
    if names := find_names(sentence[1:]):
        yield "invented name", sentence.replace(names[-1], dice.choice(INVENTED))


def measure(case: Case, _: Bench) -> Iterator[Outcome]:
    source = Source(n=1, page=case.page, hit=Hit(url=case.page.url))
    near = closest_sentences(case.claim, [source], SHOWN)
    places = [QuotePlace(case.page.text, "", one.start, one.end, source=1) for one in near]
    yield Outcome(case, find_differences(case.claim, places))


def tell_wrong(one: Outcome) -> str:
    shown = "; ".join(f"{d.kind}: {d.page} | {d.claim}" for d in one.found)
    is_right = one.shown != one.case.true
    return "" if is_right else f"{one.case.kind}: {one.case.claim} -> {shown}"


EVALUATION = Evaluation(
    title="What a claim says otherwise than its page",
    load=load,
    measure=measure,
    score=lambda one: not tell_wrong(one),
    tables=(
        Table(
            {
                "claims": lambda one: "true" if one.case.true else "false",
                "kind": "case.kind",
                "half": "case.half",
            },
            {"n": lambda outcomes: str(len(outcomes)), "shown": share("shown")},
        ),
    ),
    missed=tell_wrong,
)

if __name__ == "__main__":
    main("differences")
