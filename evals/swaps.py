"""Measures what reaches the user of false sentences that are made of true ones.

`python -m evals.swaps [--data DIR] [--show KIND]`: the pairs of `evals/pairs.py` go as drafts of
one sentence each through the product's own step, with five pages read: without a judge, with a
judge that is always right, with one that is wrong about 5 % of the sentences, and with one that
agrees to everything. Every result that breaks a promise is printed: none is expected. Exit 1 if
there is one.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from agent.evidence.citing import compose_answer
from agent.state import Cited, Draft, Hit, Page, PageRead, Research, Verified
from agent.steps.verify import Verify
from evals.extractive import ROOT
from evals.judges import KnowingJudge, Knows, err_at, tell_all
from evals.pairs import Leaf, Pair, build_pairs

ARMS = ("none", "perfect", "errs", "agrees")
NOT_COUNTED = ("converted",)  # kinds that no rule promises to follow
DELIVERED = ("supported", "partial", "unchecked", "dropped")


class Outcome(NamedTuple):
    """What became of a pair's claim: its verdict (`dropped` if it did not reach the user).

    `said`: what the judge said of it; "" where it was not asked.
    """

    pair: Pair
    arm: str
    verdict: str
    said: str

    @property
    def broken(self) -> str:
        """The promise that this result breaks, in a few words; "" if none."""
        if self.pair.kind in NOT_COUNTED:
            return ""
        return self._lost() if self.pair.true else self._believed()

    def _lost(self) -> str:
        if self.arm == "none":
            return "a true one is dropped" if self.verdict == "dropped" else ""
        judged_so = self.said in ("unsupported", "contradicted")
        kept = self.verdict == "supported" or judged_so
        return "" if kept else "a true one is not supported"

    def _believed(self) -> str:
        if self.verdict != "supported":
            return ""
        if self.pair.wrong:
            return "a wrong number is supported"
        return "" if self.said == "supported" else "a false one is supported"


def judge_of(arm: str, pair: Pair) -> Knows:
    """What the judge of an arm knows: all that the draft of a pair says is as true as the pair."""
    knows = tell_all(pair.true or arm == "agrees")
    return err_at(knows) if arm == "errs" else knows


def check_pair(pair: Pair, arm: str) -> Outcome:
    """Run one sentence through the product's steps."""
    judge = KnowingJudge(judge_of(arm, pair))
    research = read_pages(pair.topic, pair.pages)
    cited = [Cited(source=1, quote=pair.quote)]
    draft = Draft(answer=f"{pair.claim} [1]", citations=cited)
    research.grow(compose_answer(draft, research.sources)[0])
    mode: Literal["model", "rules"] = "rules" if arm == "none" else "model"
    for event in Verify(judge, 1000, mode=mode)(research):
        research.grow(event)
    assert isinstance(research.answer, Verified)
    return Outcome(pair, arm, _verdict(research.answer, pair), _said(judge, pair))


def _said(judge: KnowingJudge, pair: Pair) -> str:
    """What the judge said; of several claims the word that an error would be in."""
    words = {word.verdict for word in judge.said.values()}
    wrong = "unsupported" if pair.true else "supported"
    return wrong if wrong in words else next(iter(words), "")


def read_pages(topic: str, pages: Sequence[Leaf]) -> Research:
    """A research that has read some pages."""
    research = Research(topic)
    for n, leaf in enumerate(pages, 1):
        url = f"https://example.org/{n}"
        page = Page.from_text(url, leaf.title, leaf.text, "2026-01-01T00:00:00Z")
        research.grow(PageRead(page=page, hit=Hit(url=url)))
    return research


def _verdict(answer: Verified, pair: Pair) -> str:
    """The worst verdict of what a true claim became, the best of a false one's."""
    order = DELIVERED if not pair.true else DELIVERED[::-1]
    own = [str(claim.verdict) for claim in answer.claims if claim.form == "sentence"]
    lost = ["dropped"] if answer.dropped or not own else []
    return min([*lost, *own], key=order.index)


def measure(data: Path, arms: Iterable[str] = ARMS) -> list[Outcome]:
    """Every pair with every judge, on two processes."""
    pairs = build_pairs(data)
    with ProcessPoolExecutor(2) as pool:
        return [
            outcome
            for arm in arms
            for outcome in pool.map(partial(check_pair, arm=arm), pairs, chunksize=100)
        ]


# --- the table -----------------------------------------------------------------------------------

HEAD = (
    "| sentence | n | no judge | perfect judge | judge that errs | judge that agrees "
    "| promises broken |\n|---|---|---|---|---|---|---|"
)
NOTES = """
Cells: per cent that reach the user as supported / partial / unchecked / not at all. *promises
broken*: without a judge, a false one supported or a true one dropped; with a perfect judge, a false
one supported or a true one that is not; with a judge that is wrong about 5 % of the sentences, or
agrees to all of them, a false one supported that it did not call supported itself, one with a wrong
number or date though it did, or a true one lost that it called true. *another event's sentence*
stands on one of the other pages, word for word, cites the first, and does not open with the title
of its own, which would make it true by itself. *language*: ten languages over English pages.
*converted* (metres to kilometres, a year to its century) is shown, not counted. In *another event's
number*, a number that is by chance a sum, a difference or a count of the quote's own, or 1, is left
to the judge. One sentence is one draft; five pages are read, four of them about things like it."""


def report(outcomes: Sequence[Outcome]) -> str:
    """The part of RESULTS.md."""
    return "\n".join([*_summary(outcomes), "", HEAD, *_rows(outcomes), NOTES])


def _summary(outcomes: Sequence[Outcome]) -> Iterator[str]:
    pairs = {o.pair for o in outcomes}
    false = [pair for pair in pairs if not pair.true]
    languages = {pair.language for pair in pairs if pair.language != "en"}
    retold = sum(pair.true and pair.kind != "word for word" for pair in pairs)
    yield (
        f"{len(false)} false sentences made of {len({pair.quote for pair in false})} true ones, "
        f"and {retold} true ones in other words, in English and {len(languages)} other languages: "
        f"{sum(bool(o.broken) for o in outcomes)} promises broken."
    )


def _rows(outcomes: Sequence[Outcome]) -> Iterator[str]:
    kinds = sorted({(o.pair.true, o.pair.kind) for o in outcomes}, key=lambda k: (not k[0], k[1]))
    for true, kind in kinds:
        rows = [o for o in outcomes if (o.pair.true, o.pair.kind) == (true, kind)]
        arms = [[o for o in rows if o.arm == arm] for arm in ARMS]
        cells = " | ".join(map(_cell, arms))
        broken = sum(bool(o.broken) for o in rows)
        name = f"{'true' if true else 'false'}: {kind}"
        yield f"| {name} | {max(map(len, arms))} | {cells} | {broken} |"


def _cell(rows: Sequence[Outcome]) -> str:
    found = Counter(o.verdict for o in rows)
    shares = (100 * found[name] / max(1, len(rows)) for name in DELIVERED)
    return " / ".join(f"{share:.0f}" for share in shares)


def violations(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """A line for each result that breaks a promise."""
    for o in outcomes:
        if o.broken:
            yield f"{o.arm}: {o.broken}: {o.pair.kind}: {o.pair.claim} <- {o.pair.quote}"


def main() -> None:
    """Print the table and every broken promise; with --show, all sentences of a kind."""
    parser = argparse.ArgumentParser(prog="python -m evals.swaps")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--arm", action="append", choices=ARMS, help="only with this judge")
    parser.add_argument("--show", default="", help="a kind whose results are shown")
    given = parser.parse_args()
    outcomes = measure(given.data, given.arm or ARMS)
    print(report(outcomes))
    for o in outcomes:
        if o.pair.kind == given.show:
            print(f"{o.arm}: {o.verdict} ({o.said}): {o.pair.claim} <- {o.pair.quote}")
    broken = list(violations(outcomes))
    print("\n".join(broken))
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
