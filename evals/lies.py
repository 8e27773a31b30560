"""Measures how much of what a model makes up reaches the user.

`python -m evals.lies [--data DIR] [--show KIND]`: for facts of 2WikiMultihopQA (subject, relation,
object, each in a passage), true and false sentences are written as drafts, as by a model that lies,
omits and miscites. The product's own steps check each of them. Five pages are read: that of the
fact and four of other questions. There are three judges of claims: rules alone, a model that calls
everything supported, and one that calls everything unsupported. The table has, for each kind of
sentence, the share that reaches the user as supported, as partial, and not at all. A true claim
counts as supported only if the right page is cited.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from agent.errors import ModelFailed
from agent.evidence import split_sentences
from agent.evidence.citing import Cited, Draft, compose_answer
from agent.outside import Reply, Task
from agent.state import Hit, Page, PageRead, Research, Verified
from agent.steps.verify import Judgements, MendClaims, Verify
from evals.extractive import ROOT

FACTS = 150  # sampled, by the SHA-1 of their words
DISTRACTORS = 4
JUDGES = ("rules", "supported", "unsupported")
NEGATED = re.compile(r"\b(is|was|were|are)\b(?! not)")
YEAR = re.compile(r"\b(1[5-9]\d\d|20[0-2]\d)\b")


class Fact(NamedTuple):
    """What a passage says: `said` is its sentence that holds the object."""

    subject: str
    relation: str
    thing: str
    said: str
    passage: str


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
    reached: str  # supported, partial, flagged or gone


def load_facts(data: Path) -> list[Fact]:
    """Load a fixed sample of the facts whose sentence can be found."""
    with gzip.open(data / "multihop/corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        corpus = {row["id"]: row for row in map(json.loads, lines)}
    found: dict[str, Fact] = {}
    text = (data / "multihop/questions.dev.jsonl").read_text("utf-8")
    for question in map(json.loads, text.splitlines()):
        pages = [corpus[key] for key in question["gold"] if key in corpus]
        for subject, relation, thing in question.get("evidences", ()):
            for page in pages:
                said = _find_sentence(thing, page["text"]) if page["title"] == subject else ""
                if said and thing.casefold() not in subject.casefold():
                    fact = Fact(subject, relation, thing, said, page["text"])
                    found[" ".join(fact[:3])] = fact
    order = sorted(found, key=lambda key: hashlib.sha1(key.encode()).hexdigest())
    return [found[key] for key in order[:FACTS]]


def _find_sentence(thing: str, text: str) -> str:
    spans = [text[a:b] for a, b in split_sentences(text)]
    return next((span for span in spans if thing in span and len(span) < 400), "")


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


class Judge:
    """A model that gives every claim the same verdict and corrects none."""

    def __init__(self, says: str) -> None:
        self._says = says

    def __call__(self, task: Task[Any]) -> Reply[Any]:
        if isinstance(task, MendClaims):
            raise ModelFailed("nothing to say", "", outcome="invalid")
        rows = [{"claim": n, "verdict": self._says} for n in range(1, 50)]
        return Reply(answer=Judgements.model_validate({"verdicts": rows}), model="scripted")


def check_lie(lie: Lie, read: Sequence[Fact], judge: str) -> Outcome:
    """Run one sentence through the product's steps."""
    research = Research(f"What is the {read[0].relation} of {read[0].subject}?")
    for n, fact in enumerate(read, 1):
        research.grow(PageRead(page=_page(n, fact), hit=Hit(url=f"https://example.org/{n}")))
    markers = "".join(f"[{n}]" for n in lie.cited)
    cited = [Cited(source=n, quote=lie.quote) for n in lie.cited]
    draft = Draft(answer=f"{lie.text.rstrip('.')} {markers}.", citations=cited)
    research.grow(compose_answer(draft, research.sources)[0])
    by = "rules" if judge == "rules" else "all"
    for event in Verify(Judge(judge), 1000, mode=by)(research):
        research.grow(event)
    assert isinstance(research.answer, Verified)
    return Outcome(lie, judge, _outcome_of(research.answer, lie))


def _outcome_of(answer: Verified, lie: Lie) -> str:
    if not answer.claims:
        return "gone"
    worst = min(answer.claims, key=lambda c: ("partial", "supported").index(str(c.verdict)))
    rightly = lie.right is None or lie.right in worst.citations
    return str(worst.verdict) if rightly else "partial"


def _page(n: int, fact: Fact) -> Page:
    sha = hashlib.sha256(fact.passage.encode()).hexdigest()
    url = f"https://example.org/{n}"
    return Page(url=url, title=fact.subject, text=fact.passage, sha256=sha, retrieved_at="")


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
    note = "Cells: per cent that reach the user as supported / as partial / not at all."
    return "\n".join([*lines, "", note])


def _cell(found: Counter[str], n: int) -> str:
    return " / ".join(f"{100 * found[name] / n:.0f}" for name in ("supported", "partial", "gone"))


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
        wrong = reached != "gone" if not lie.true else reached != "supported"
        if lie.kind == given.show and wrong:
            print(f"{judge}: {reached}: {lie.text} <- {lie.quote}")


if __name__ == "__main__":
    main()
