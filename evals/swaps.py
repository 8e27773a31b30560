"""What reaches the user of false sentences that are made of true ones, and of true ones retold.

The pairs of `evals/pairs.py` go as drafts of one sentence each through the product's own step, with
five pages read, four of them about things like it. Cells: per cent that reach the user as supported
/ quoted / partial / unchecked / not at all. *promises broken*: without a judge, a false one quoted
or a true one dropped; with a perfect judge, a false one supported or a true one that is not; with a
judge that is wrong about 5 % of the sentences, or agrees to all of them, a false one supported that
it did not call supported itself, one with a wrong number or date though it did, or a true one lost
that it called true. None is expected. *another event's sentence* stands on one of the other pages,
word for word, and cites the first. *the same in its quote*: a neighbouring name in sentence and
quote. *language*: ten languages over English pages. *altered quote* and *converted* (metres to
kilometres, a year to its century) are shown, not counted. In *another event's number*, a number
that is by chance a sum, a difference or a count of the quote's own, or 1, is left to the judge.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from agent.evidence.citing import compose_answer
from agent.state import HOLDING, Cited, Draft, Hit, Page, PageRead, Research, Verified
from agent.steps.verify import Verify
from evals.harness import Bench, Cell, Evaluation, Table, count, main, spread
from evals.knowing import KnowingJudge, Knows, err_at, tell_all
from evals.pairs import Leaf, Pair, build_pairs

ARMS = ("none", "perfect", "errs", "agrees")
NOT_COUNTED = ("converted", "altered quote")  # kinds that no rule promises to follow
DELIVERED = ("supported", "quoted", "partial", "unchecked", "dropped")


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
        kept = self.verdict in HOLDING or judged_so
        return "" if kept else "a true one is not supported"

    def _believed(self) -> str:
        if self.verdict not in HOLDING:
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


def measure(pair: Pair, _: Bench) -> Iterator[Outcome]:
    """A pair with every judge."""
    yield from (check_pair(pair, arm) for arm in ARMS)


def _with(arm: str) -> Cell:
    """What reached the user with one judge."""
    cell = spread("verdict", DELIVERED)
    return lambda outcomes: cell([one for one in outcomes if one.arm == arm])


def tell_broken(one: Outcome) -> str:
    """A line for a result that breaks a promise."""
    told = f"{one.arm}: {one.broken}: {one.pair.kind}: {one.pair.claim} <- {one.pair.quote}"
    return told if one.broken else ""


EVALUATION = Evaluation(
    title="False sentences made of true ones, and true ones in other words",
    load=build_pairs,
    measure=measure,
    score=lambda one: not one.broken,
    tables=(
        Table(
            {"sentence": lambda one: "true" if one.pair.true else "false"},
            {
                "n": lambda outcomes: str(len(outcomes) // len(ARMS)),
                "no judge": _with("none"),
                "perfect judge": _with("perfect"),
                "judge that errs": _with("errs"),
                "judge that agrees": _with("agrees"),
                "promises broken": count(lambda one: bool(one.broken)),
            },
            total=True,
        ),
    ),
    missed=tell_broken,
)

if __name__ == "__main__":
    main("swaps")
