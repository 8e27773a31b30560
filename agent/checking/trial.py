"""What a judge is worth: planted faults of each kind, and what it missed of them.

A judge is shown short pages that nobody else has, each with sentences that turn what it says and
with sentences that are true (`trial.toml`). It misses a kind of fault where it called most of them
supported, and a language where it did so with most faults of that language.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from agent.checking.rules import FAILING
from agent.state import Verdict

#: Kinds of faults in words that a judge may be told to miss. Numbers are proved by rules.
TRIED: frozenset[str] = frozenset({"negation", "amount", "hedge", "direction", "cause", "name"})


class Planted(NamedTuple):
    """A sentence about a page of the trial: false in one way, or true."""

    kind: str  # "" for a true one
    text: str


class TrialPage(NamedTuple):
    """A page of the trial, and what is said of it."""

    language: str
    title: str
    text: str
    planted: tuple[Planted, ...]


@cache
def trial_pages() -> tuple[TrialPage, ...]:
    """The pages of the trial, one in each of some languages."""
    rows = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["pages"]
    return tuple(
        TrialPage(
            row["language"],
            row["title"],
            row["text"].strip(),
            (
                *(Planted(kind, text) for kind, text in row["false"].items()),
                *(Planted("", text) for text in row["true"]),
            ),
        )
        for row in rows
    )


class Worth(NamedTuple):
    """How a judge did in its trial: of each kind and language of fault, how many it missed."""

    missed: Mapping[str, tuple[int, int]]  # missed, and all; none where it missed nothing
    refused: tuple[int, int]  # of the true ones: called unsupported or contradicted, and all

    @property
    def blind_to(self) -> frozenset[str]:
        """The kinds and languages of which it missed most."""
        return frozenset(name for name, (lost, all_) in self.missed.items() if 2 * lost > all_)

    def describe(self) -> str:
        """In words: `misses hedge (3 of 3), amount (2 of 3); refuses 1 of 6 true ones`."""
        blind = sorted(self.blind_to, key=lambda name: (-self.missed[name][0], name))
        lost = ", ".join("{} ({} of {})".format(name, *self.missed[name]) for name in blind)
        refused = "; refuses {} of {} true ones".format(*self.refused) if self.refused[0] else ""
        return f"misses {lost or 'no kind of fault'}{refused}"


def weigh_verdicts(told: Mapping[str, Verdict]) -> Worth:
    """The worth of a judge, by its verdicts on planted sentences."""
    lost, shown = Counter[str](), Counter[str]()
    for page in trial_pages():
        for kind, text in page.planted:
            if verdict := told.get(text):
                names = (kind, page.language) if kind else ("",)
                shown.update(names)
                fails = verdict == "supported" if kind else verdict in FAILING
                lost.update(names if fails else ())
    missed = {name: (lost[name], shown[name]) for name in shown if name and lost[name]}
    return Worth(missed, (lost[""], shown[""]))
