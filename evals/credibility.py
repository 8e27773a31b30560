"""How well the domain part of the credibility score ranks reliable sources first.

Area under the ROC curve (AUC) of three short lists of hosts (*plain*) and of ours, on public lists
of ratings, in two halves drawn by the SHA-1 of the domain: *tune* may be looked at while patterns
and scores are changed, *report* is unseen. *unlisted* are the domains on no list of ours, which are
scored by patterns alone. *blocked*: the share of reliable and of other domains that a report does
not read if it blocks hosts of a standing at or below a limit.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from agent.evidence.credibility import host_kind, is_listed
from evals.harness import Bench, Evaluation, Table, count, main, read_rows, share, size

#: Community ratings.
RATED = ("rspGenerallyReliable",)
DISCOURAGED = ("rspGenerallyUnreliable", "rspDeprecated", "rspBlacklisted")

#: The plain formula, which is the baseline: three short lists of hosts.
MAJOR = frozenset(
    "wikipedia.org britannica.com reuters.com apnews.com bbc.com bbc.co.uk nytimes.com "
    "theguardian.com washingtonpost.com wsj.com ft.com economist.com bloomberg.com npr.org pbs.org "
    "nature.com science.org sciencedirect.com springer.com arxiv.org nih.gov who.int un.org "
    "europa.eu ieee.org acm.org fifa.com olympics.com nobelprize.org kubernetes.io python.org "
    "mozilla.org w3.org ietf.org".split()
)
SOCIAL = frozenset(
    "facebook.com instagram.com tiktok.com twitter.com x.com reddit.com quora.com pinterest.com "
    "linkedin.com tumblr.com youtube.com medium.com".split()
)
OFFICIAL = re.compile(r"(^|\.)(edu|gov|ac|mil)(\.[a-z]{2})?$")


class RatedDomain(NamedTuple):
    """A domain (it may have a path) and whether the public list rates it reliable."""

    domain: str
    reliable: bool


class Outcome(NamedTuple):
    """A domain of a set, and both scores of it."""

    set: str
    rated: RatedDomain
    plain: float
    ours: float

    @property
    def half(self) -> str:
        return half(self.rated.domain)

    @property
    def reliable(self) -> bool:
        return self.rated.reliable

    @property
    def unlisted(self) -> bool:
        return not is_listed(f"https://{self.rated.domain}")


def plain_score(domain: str) -> float:
    """The domain part of the plain formula."""
    host = domain.split("/")[0]
    suffixes = {host.split(".", n)[-1] for n in range(host.count(".") + 1)}
    if OFFICIAL.search(host):
        return 0.9
    if suffixes & MAJOR:
        return 0.8
    if suffixes & SOCIAL:
        return 0.3
    return 0.7 if host.endswith(".org") else 0.4


def our_score(domain: str) -> float:
    """The domain part of the product's score."""
    return host_kind(f"https://{domain}").score


def auc(outcomes: Sequence[Any], score: Callable[[Any], float]) -> float:
    """The chance that a reliable domain scores above an unreliable one; a tie counts half."""
    counts = Counter((score(one), one.reliable) for one in outcomes)
    below = won = 0.0
    for value in sorted({value for value, _ in counts}):
        good, bad = counts[value, True], counts[value, False]
        won += good * (below + bad / 2)
        below += bad
    pairs = below * sum(one.reliable for one in outcomes)
    return won / pairs if pairs else 0.5


def half(domain: str) -> str:
    """The half that a domain belongs to."""
    last = hashlib.sha1(domain.encode(), usedforsecurity=False).digest()[-1]
    return "tune" if last % 2 else "report"


def load(data: Path) -> Iterator[tuple[str, RatedDomain]]:
    """The domains of each set."""
    folder = data / "credibility"
    for row in load_perennial(folder):
        yield "perennial", row
    for row in load_citeunseen(folder):
        yield "citeunseen", row


def load_perennial(folder: Path) -> list[RatedDomain]:
    """Wikipedia's perennial sources: generally reliable, against unreliable and deprecated."""
    found = read_rows(folder / "wikipedia_perennial_sources.jsonl")
    labels = {"gr": True, "gu": False, "d": False}
    return _drop_contradictions(
        RatedDomain(row["domain"].strip("/"), labels[row["status"]])
        for row in found
        if row.get("domain") and row["status"] in labels
    )


def load_citeunseen(folder: Path) -> list[RatedDomain]:
    """CiteUnseen's domains that are rated reliable against those that are discouraged."""
    lists = json.loads((folder / "citeunseen_domains.json").read_text("utf-8"))
    rows = [RatedDomain(domain, True) for name in RATED for domain in lists[name]]
    return _drop_contradictions(
        rows + [RatedDomain(domain, False) for name in DISCOURAGED for domain in lists[name]]
    )


def _drop_contradictions(rows: Any) -> list[RatedDomain]:
    """Return each domain once, without those that are rated both ways."""
    kept = set(rows)
    return sorted(row for row in kept if RatedDomain(row.domain, not row.reliable) not in kept)


def measure(question: tuple[str, RatedDomain], _: Bench) -> Iterator[Outcome]:
    """Both scores of a domain."""
    name, rated = question
    yield Outcome(name, rated, plain_score(rated.domain), our_score(rated.domain))


def _blocked(limit: float, reliable: bool) -> Any:
    return share(lambda one: one.ours <= limit if one.reliable is reliable else None)


FIGURES = {
    "n": size,
    "reliable": count("reliable"),
    "plain AUC": lambda rows: f"{auc(rows, lambda one: one.plain):.3f}",
    "our AUC": lambda rows: f"{auc(rows, lambda one: one.ours):.3f}",
    **{
        f"{'reliable' if reliable else 'others'} blocked at {limit}": _blocked(limit, reliable)
        for limit in (0.2, 0.3)
        for reliable in (True, False)
    },
}
KEYS = {"set": "set", "half": "half"}
EVALUATION = Evaluation(
    title="Credibility of domains",
    load=load,
    measure=measure,
    needs="credibility",
    score=lambda one: one.ours if one.reliable else 1 - one.ours,
    tables=(
        Table(KEYS, FIGURES),
        Table({**KEYS, "": lambda _: "unlisted"}, FIGURES, where=lambda one: one.unlisted),
    ),
)

if __name__ == "__main__":
    main("credibility")
