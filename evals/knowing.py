"""Judges that stand in for a model: what they say of each claim is known beforehand."""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from agent.calls import Reply, Task
from agent.errors import ModelFailed

ERRORS = 0.05  # the share of verdicts in which an erring judge is wrong
_SHOWN = re.compile(r'<source id="(\d+)"')
_CLAIM = re.compile(r'<claim id="(\d+)" cites="[\d,]*">(.*?)</claim>', re.S)


class Word(NamedTuple):
    """What a judge says of a claim: the verdict, the source that decides, and arithmetic."""

    verdict: str
    source: int | None = None
    calculation: str | None = None


#: From a claim's text and the numbers of the sources that are shown.
Knows = Callable[[str, set[int]], Word]


class KnowingJudge:
    """A model that is asked by `Verify`: it knows each verdict, and rewrites nothing.

    `said` has its last word on each claim. It reads the prompt alone, as a model does.
    """

    def __init__(self, knows: Knows) -> None:
        self._knows = knows
        self.said: dict[str, Word] = {}

    def __call__(self, task: Task[Any]) -> Reply[Any]:
        if task.name != "verify":
            raise ModelFailed("nothing to say", "", outcome="invalid")
        rows = judge_prompt(task.prompt(), self._knows, self.said)
        answer = task.answer_type.model_validate({"verdicts": rows})
        return Reply(answer=answer, model="scripted")

    def collect(self, tasks: Sequence[Task[Any]]) -> Iterator[Reply[Any]]:
        """Replies in the order of the tasks."""
        return map(self, tasks)


def judge_prompt(prompt: str, knows: Knows, said: dict[str, Word]) -> list[dict[str, Any]]:
    """The rows of a reply to a prompt of the task `verify`; `said` remembers them."""
    shown = {int(n) for n in _SHOWN.findall(prompt)}
    rows = []
    for number, told in _CLAIM.findall(prompt):
        text = html.unescape(told)
        word = said[text] = knows(text, shown)
        rows.append({"claim": int(number), **word._asdict()})
    return rows


def tell_all(true: bool, right: int = 1) -> Knows:
    """A judge that is shown one thing in some sentences: true, and on page `right`, or false."""

    def knows(_: str, shown: set[int]) -> Word:
        return Word("supported", right) if true and right in shown else Word("unsupported")

    return knows


def err_at(knows: Knows, seed: str = "swaps", share: float = ERRORS) -> Knows:
    """The same judge, wrong about a share of the claims, drawn by a hash of their text."""

    def errs(text: str, shown: set[int]) -> Word:
        word = knows(text, shown)
        if not is_drawn(text, seed, share):
            return word
        named = sorted(shown)[len(text) % len(shown)] if shown else None
        return Word("unsupported") if word.verdict == "supported" else Word("supported", named)

    return errs


def is_drawn(text: str, seed: str, share: float) -> bool:
    """Whether a text is among a share of all texts: the same texts for the same seed."""
    drawn = hashlib.sha1(f"{seed}:{html.unescape(text)}".encode(), usedforsecurity=False).digest()
    return int.from_bytes(drawn[:4], "big") < share * 2**32
