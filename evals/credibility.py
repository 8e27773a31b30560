"""Measures how well the domain part of the credibility score ranks reliable sources first.

Area under the ROC curve (AUC) of the plain formula and of ours on two public lists of ratings, in
two halves drawn by the SHA-1 of the domain: `tune` may be looked at while patterns and scores are
changed, `report` is unseen. `unlisted` are the domains on no list of ours, which are scored by
patterns alone. `blocked` is the share of reliable and of other domains that a report does not read
if it blocks hosts of a standing at or below a limit.
`python -m evals.credibility [--data DIR]` prints one JSON object.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from agent.evidence.credibility import host_kind, is_listed

DATA = Path(__file__).parents[2] / "shared" / "data" / "credibility"
RESAMPLES = 2000
LIMITS = (0.2, 0.3)  # of a host's standing, for blocking
RATINGS = {"reliable": True, "others": False}

#: Community ratings alone, and with the classes that the same project keeps by hand.
RATED = ("rspGenerallyReliable",)
DISCOURAGED = ("rspGenerallyUnreliable", "rspDeprecated", "rspBlacklisted")
NEWS = ("news",)
WEAK = ("predatory", "tabloids", "satire", "editable", "press", "social", "blogs", "community")

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


def auc(rows: Sequence[RatedDomain], score: Callable[[str], float]) -> float:
    """The chance that a reliable domain scores above an unreliable one; a tie counts half."""
    counts = Counter((score(row.domain), row.reliable) for row in rows)
    below = won = 0.0
    for value in sorted({value for value, _ in counts}):
        good, bad = counts[value, True], counts[value, False]
        won += good * (below + bad / 2)
        below += bad
    pairs = below * sum(row.reliable for row in rows)
    return won / pairs if pairs else 0.5


def share_blocked(rows: Sequence[RatedDomain], at: float, rating: str) -> float:
    """The share of the domains of a rating whose standing is not above a limit."""
    own = [our_score(row.domain) <= at for row in rows if row.reliable is RATINGS[rating]]
    return round(sum(own) / max(len(own), 1), 3)


def measure(rows: Sequence[RatedDomain]) -> dict[str, Any]:
    """Both scores on a set, and the difference with its bootstrap interval of 95%."""
    before = {row.domain: plain_score(row.domain) for row in rows}
    after = {row.domain: our_score(row.domain) for row in rows}
    rng, gains = random.Random(3), []
    for _ in range(RESAMPLES):
        drawn = rng.choices(rows, k=len(rows))
        gains.append(auc(drawn, after.__getitem__) - auc(drawn, before.__getitem__))
    gains.sort()
    first, second = auc(rows, before.__getitem__), auc(rows, after.__getitem__)
    ends = gains[int(0.025 * RESAMPLES)], gains[int(0.975 * RESAMPLES)]
    return {
        "n": len(rows),
        "reliable": sum(row.reliable for row in rows),
        "plain": round(first, 3),
        "ours": round(second, 3),
        "gain": round(second - first, 3),
        "interval": [round(end, 3) for end in ends],
        **{
            f"{name} blocked at {at}": share_blocked(rows, at, name)
            for at in LIMITS
            for name in RATINGS
        },
    }


def half(domain: str) -> str:
    """Return the half that a domain belongs to."""
    last = hashlib.sha1(domain.encode(), usedforsecurity=False).digest()[-1]
    return "tune" if last % 2 else "report"


def load_perennial(folder: Path) -> list[RatedDomain]:
    """Wikipedia's perennial sources: generally reliable, against unreliable and deprecated."""
    text = (folder / "wikipedia_perennial_sources.jsonl").read_text("utf-8")
    found = [json.loads(line) for line in text.splitlines()]
    labels = {"gr": True, "gu": False, "d": False}
    return _drop_contradictions(
        RatedDomain(row["domain"].strip("/"), labels[row["status"]])
        for row in found
        if row.get("domain") and row["status"] in labels
    )


def load_citeunseen(folder: Path, good: Sequence[str], bad: Sequence[str]) -> list[RatedDomain]:
    """CiteUnseen's domains of some classes against those of others."""
    lists = json.loads((folder / "citeunseen_domains.json").read_text("utf-8"))
    rows = [RatedDomain(domain, True) for name in good for domain in lists[name]]
    return _drop_contradictions(
        rows + [RatedDomain(domain, False) for name in bad for domain in lists[name]]
    )


def _drop_contradictions(rows: Any) -> list[RatedDomain]:
    """Return each domain once, without those that are rated both ways."""
    kept = set(rows)
    return sorted(row for row in kept if RatedDomain(row.domain, not row.reliable) not in kept)


def report(folder: Path) -> dict[str, Any]:
    """Measure every set: all of it, each half, and the unlisted domains of each half."""
    sets = {
        "perennial": load_perennial(folder),
        "citeunseen": load_citeunseen(folder, RATED, DISCOURAGED),
        "citeunseen_wide": load_citeunseen(folder, RATED + NEWS, DISCOURAGED + WEAK),
    }
    return {name: _parts(rows) for name, rows in sets.items()}


def _parts(rows: list[RatedDomain]) -> dict[str, Any]:
    parts = {name: [row for row in rows if half(row.domain) == name] for name in ("tune", "report")}
    for name in ("tune", "report"):
        parts[f"{name}_unlisted"] = [r for r in parts[name] if not is_listed(f"https://{r.domain}")]
    return {name: measure(part) for name, part in {"all": rows, **parts}.items()}


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the two lists")
    folder = parser.parse_args().data
    if not folder.is_dir():
        parser.error(f"{folder} is not a folder; name one with --data")
    print(json.dumps(report(folder), indent=2))


if __name__ == "__main__":
    main()
