"""Measures how much of what a model makes up reaches the user.

`python -m evals.lies [--data DIR] [--show KIND]`: for facts of 2WikiMultihopQA (subject, relation,
object, each in a passage), true and false sentences are written as drafts, as by a model that lies,
omits and miscites. The product's own step checks each of them. Five pages are read: that of the
fact and four of other questions. There are four judges: none, one that is right, one that calls
everything supported, and one that calls everything unsupported. The table has, for each kind of
sentence, the share that reaches the user as supported, partial, unchecked, and not at all. A true
claim counts as supported only if the right page is cited.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from agent.evidence.citing import compose_answer
from agent.state import Cited, Draft, Verified
from agent.steps.verify import Verify
from evals.extractive import ROOT
from evals.judges import KnowingJudge, Knows, Word, tell_all
from evals.pairs import Fact, Leaf, load_facts
from evals.swaps import DELIVERED, read_pages

DISTRACTORS = 4
JUDGES = ("none", "right", "supported", "unsupported")
NEGATED = re.compile(r"\b(is|was|were|are)\b(?! not)")
YEAR = re.compile(r"\b(1[5-9]\d\d|20[0-2]\d)\b")


class Lie(NamedTuple):
    """A sentence as a model writes it; `right` is the page that says it, None if none does."""

    kind: str
    true: bool
    text: str
    cited: tuple[int, ...]
    quote: str
    right: int | None


class Outcome(NamedTuple):
    """The result of a sentence with one judge."""

    lie: Lie
    judge: str
    reached: str  # one of DELIVERED


def write_lies(fact: Fact, others: Sequence[Fact], dice: random.Random) -> Iterator[Lie]:
    """Yield sentences about a fact; its passage is source 1, those of the others follow."""
    told = f"The {fact.relation} of {fact.subject} is"
    said, bare = fact.said, fact.said.rstrip(".")
    yield Lie("verbatim", True, said, (1,), said, 1)
    yield Lie("said in other words", True, f"{told} {fact.thing}.", (1,), said, 1)
    yield Lie("other words, part quoted", True, f"{told} {fact.thing}.", (1,), fact.thing, 1)
    yield Lie("cites another page", True, said, (2,), others[0].said, 1)
    yield Lie("cites at random", True, said, (dice.randint(2, 9),), "no such words", 1)
    yield Lie("no citation", True, said, (), "", 1)
    yield Lie("altered quote", True, said, (1,), said.replace(" ", " of the ", 1), 1)
    other = next((o for o in others if o.relation == fact.relation), others[0]).thing
    if other not in fact.passage:
        yield Lie("another object", False, f"{told} {other}.", (1,), said, None)
        yield Lie(
            "another object, verbatim", False, said.replace(fact.thing, other), (1,), said, None
        )
        altered = said.replace(fact.thing, other)
        yield Lie("another object in the quote too", False, altered, (1,), altered, None)
        yield Lie("another object, no citation", False, altered, (), "", None)
    near = _other_name(fact)
    if near:
        yield Lie("another name of the page", False, f"{told} {near}.", (1,), said, None)
    if YEAR.search(said):
        wrong = YEAR.sub(lambda m: str(int(m[0]) + dice.choice((-3, -1, 1, 10))), said, count=1)
        yield Lie("another year", False, wrong, (1,), said, None)
    if NEGATED.search(said):
        yield Lie("denied", False, NEGATED.sub(r"\1 not", said, count=1), (1,), said, None)
    stranger = others[-1].said
    if not any(stranger in one.passage for one in (fact, *others[:DISTRACTORS])):
        yield Lie("from a page not read", False, stranger, (1,), said, None)
    yield Lie(
        "made up",
        False,
        f"{fact.subject} was praised by all who knew {bare[:20]}.",
        (1,),
        said,
        None,
    )


def _other_name(fact: Fact) -> str:
    """Return another name in the same passage; "" where there is none."""
    names = re.findall(r"\b[A-Z]\w+(?: [A-Z]\w+)+", fact.passage)
    known = f"{fact.subject} {fact.thing}".casefold()
    return next((n for n in names if not set(n.casefold().split()) & set(known.split())), "")


def judge_of(judge: str, lie: Lie) -> Knows:
    """What a judge knows of a sentence."""
    if judge == "right":
        return tell_all(lie.true, lie.right or 0)
    return lambda _, shown: Word(judge, min(shown, default=None))


def check_lie(lie: Lie, read: Sequence[Fact], judge: str) -> Outcome:
    """Run one sentence through the product's step."""
    topic = f"What is the {read[0].relation} of {read[0].subject}?"
    research = read_pages(topic, [Leaf(fact.subject, fact.passage) for fact in read])
    markers = "".join(f"[{n}]" for n in lie.cited)
    cited = [Cited(source=n, quote=lie.quote) for n in lie.cited]
    draft = Draft(answer=f"{lie.text.rstrip('.')} {markers}.", citations=cited)
    research.grow(compose_answer(draft, research.sources)[0])
    mode: Literal["model", "rules"] = "rules" if judge == "none" else "model"
    for event in Verify(KnowingJudge(judge_of(judge, lie)), 1000, mode=mode)(research):
        research.grow(event)
    assert isinstance(research.answer, Verified)
    return Outcome(lie, judge, _outcome_of(research.answer, lie))


def _outcome_of(answer: Verified, lie: Lie) -> str:
    """The worst of what came of it; a true one that cites another page is partial at best."""
    if not answer.claims:
        return "dropped"
    worst = max(answer.claims, key=lambda c: DELIVERED.index(str(c.verdict)))
    wrongly = lie.right is not None and lie.right not in worst.citations
    return "partial" if wrongly and worst.verdict == "supported" else str(worst.verdict)


def measure(data: Path) -> list[Outcome]:
    """Every kind of sentence, with every judge."""
    known = load_facts(data)
    dice = random.Random(4)
    found = []
    for i, fact in enumerate(known):
        others = [known[(i + step) % len(known)] for step in (31, 57, 83, 107, 131)]
        for lie in write_lies(fact, others, dice):
            read = [fact, *others[:DISTRACTORS]]
            found += [check_lie(lie, read, judge) for judge in JUDGES]
    return found


def report(outcomes: Sequence[Outcome]) -> str:
    """A table: for each kind and judge, what reached the user."""
    counts: dict[tuple[bool, str], dict[str, Counter[str]]] = defaultdict(
        lambda: defaultdict(Counter)
    )
    for lie, judge, reached in outcomes:
        for kind in (lie.kind, "all"):
            counts[not lie.true, kind][judge][reached] += 1
    heads = ["sentence", "n", *(f"judge: {judge}" for judge in JUDGES)]
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for (false, kind), judges in sorted(counts.items(), key=lambda row: row[0][0]):
        n = sum(judges[JUDGES[0]].values())
        cells = [_cell(judges[judge], n) for judge in JUDGES]
        lines.append(f"| {'false' if false else 'true'}: {kind} | {n} | {' | '.join(cells)} |")
    note = "Cells: per cent that reach the user as supported / partial / unchecked / not at all."
    return "\n".join([*lines, "", note])


def _cell(found: Counter[str], n: int) -> str:
    return " / ".join(f"{100 * found[name] / n:.0f}" for name in DELIVERED)


def main() -> None:
    """Print the table; with --show, the sentences of a kind that went wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m evals.lies", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--show", default="")
    given = parser.parse_args()
    outcomes = measure(given.data)
    print(report(outcomes))
    for lie, judge, reached in outcomes:
        wrong = (reached == "supported") != lie.true
        if lie.kind == given.show and wrong:
            print(f"{judge}: {reached}: {lie.text} <- {lie.quote}")


if __name__ == "__main__":
    main()
