"""Which strategy `--strategy auto` chooses for questions of one page, and of several.

nq and xquad need one page, the others two or more. Rules were written on the *tune* half.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from evals.harness import Bench, Evaluation, Table, main, share, size
from evals.questions import load_questions

KNOWN = ("slots", "loop", "report")
SETS = ("hotpotqa", "2wiki", "musique", "nq", "xquad")


class Choice(NamedTuple):
    """A question and the strategy that is chosen."""

    question: dict[str, Any]
    strategy: str

    @property
    def right(self) -> bool:
        """Whether a question of one page gets `slots`, and any other another one."""
        return (self.strategy == "slots") == (self.question["dataset"] in ("nq", "xquad"))


def measure(question: dict[str, Any], _: Bench) -> Iterator[Choice]:
    """Choose for a question."""
    from agent.strategies.choice import strategy_for_topic

    yield Choice(question, strategy_for_topic(question["question"], KNOWN).strategy)


def _is(strategy: str) -> Any:
    return lambda choice: choice.strategy == strategy


EVALUATION = Evaluation(
    title="The strategy that is chosen",
    load=lambda data: load_questions(data, *SETS),
    measure=measure,
    needs="multihop",
    tables=(
        Table(
            {"questions": lambda o: o.question["dataset"], "half": lambda o: o.question["half"]},
            {"n": size, **{name: share(_is(name)) for name in KNOWN}},
        ),
    ),
)

if __name__ == "__main__":
    main("auto")
