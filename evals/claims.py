"""Measures how well the deterministic checker separates supported claims from all others.

Three public sets of claims with what they cite. The SHA-1 of a claim's text puts it into one of two
halves: weights and thresholds were chosen on `tune`; `report` is unseen. Plain word overlap is
measured in the same run, as the baseline.
`python -m evals.claims [--data DIR]` prints one JSON object; `--fit` prints new weights.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from agent.checking import Checked, check_claim, claim_likeness
from agent.evidence import content_words, rank_texts, split_passages

DATA = Path(__file__).parents[2] / "shared" / "data" / "claims"
RESAMPLES = 500
PASSAGES = 6  # the best of a page for a claim, where a set names the page alone
STEPS, RATE, DECAY = 3000, 0.5, 0.02  # of gradient descent, on features of mean 0 and spread 1
SETS = ("attributionbench", "wice", "factcheck")


class Row(NamedTuple):
    """A claim, what it cites, and the label that people gave it."""

    claim: str
    quotes: tuple[str, ...]
    surroundings: tuple[str, ...]
    label: str

    @property
    def supported(self) -> bool:
        """Whether people found the whole claim supported."""
        return self.label in ("attributable", "supported", "completely-support")


class ScoredRow(NamedTuple):
    """A row with the checker's result and the overlap score."""

    row: Row
    checked: Checked
    overlap: float


# --- the sets -------------------------------------------------------------------------------------


def load_rows(folder: Path, name: str) -> list[Row]:
    """Load a set by its name."""
    file = {
        "attributionbench": "attributionbench",
        "wice": "wice_claim",
        "factcheck": "factcheck_stance",
    }
    text = (folder / f"{file[name]}.dev.jsonl").read_text("utf-8")
    return [_parse_row(name, json.loads(line)) for line in text.splitlines()]


def _parse_row(name: str, line: dict[str, Any]) -> Row:
    if name == "attributionbench":
        return Row(line["claim"], tuple(line["references"]), (), line["attribution_label"])
    if name == "factcheck":
        return Row(line["claim"], (line["evidence"],), (), line["stance"])
    page = "\n".join(line["evidence"])
    return Row(
        line["claim"], best_passages(page, line["claim"]), (line["evidence"][0],), line["label"]
    )


def best_passages(page: str, claim: str) -> tuple[str, ...]:
    """Return the passages of a page that fit a claim best, in page order."""
    pieces = [page[start:end] for start, end in split_passages(page)]
    scores = rank_texts(pieces, claim)
    order = sorted(range(len(pieces)), key=lambda i: -scores[i])[:PASSAGES]
    return tuple(pieces[i] for i in sorted(order))


def half(claim: str) -> str:
    """Return the half that a claim belongs to."""
    last = hashlib.sha1(claim.encode(), usedforsecurity=False).digest()[-1]
    return "tune" if last % 2 else "report"


def overlap(claim: str, quotes: Sequence[str]) -> float:
    """The share of a claim's content words that its evidence has."""
    claim_words, quote_words = set(content_words(claim)), set(content_words("\n".join(quotes)))
    return len(claim_words & quote_words) / max(1, len(claim_words))


# --- figures --------------------------------------------------------------------------------------

Pairs = Sequence[tuple[float, bool]]


def auc(pairs: Pairs) -> float:
    """Area under the ROC curve: the chance that a true claim scores above a false one.

    A tie counts half (the statistic of Mann and Whitney).
    """
    below = won = 0.0
    ordered: dict[float, list[int]] = {}
    for score, true in sorted(pairs):
        ordered.setdefault(score, [0, 0])[true] += 1
    for bad, good in ordered.values():
        won += good * (below + bad / 2)
        below += bad
    total = below * sum(true for _, true in pairs)
    return won / total if total else 0.5


def balanced_accuracy(pairs: Pairs, least: float) -> float:
    """The mean recall of both classes, where scores of at least `least` mean supported."""
    good = [score >= least for score, true in pairs if true]
    bad = [score < least for score, true in pairs if not true]
    return (sum(good) / max(1, len(good)) + sum(bad) / max(1, len(bad))) / 2


def best_threshold(pairs: Pairs) -> float:
    """Return the median of the thresholds within 0.005 of the best balanced accuracy."""
    scores = sorted({round(score, 2) for score, _ in pairs})
    told = {score: balanced_accuracy(pairs, score) for score in scores}
    good = [score for score in scores if told[score] >= max(told.values()) - 0.005]
    return good[len(good) // 2]


def bootstrap_interval(parts: Sequence[Pairs], figure: Any) -> list[float]:
    """Return the bootstrap interval of 95% of a figure of one or two scorings of the rows."""
    rng, found = random.Random(3), []
    for _ in range(RESAMPLES):
        drawn = rng.choices(range(len(parts[0])), k=len(parts[0]))
        found.append(figure(*([part[i] for i in drawn] for part in parts)))
    found.sort()
    return [round(found[int(at * RESAMPLES)], 3) for at in (0.025, 0.975)]


def measure(folder: Path = DATA) -> dict[str, Any]:
    """Every figure of every set."""
    return {name: _measure_set(folder, name) for name in SETS}


def _measure_set(folder: Path, name: str) -> dict[str, Any]:
    began = time.perf_counter()
    scored = [_score_row(row) for row in load_rows(folder, name)]
    seconds = time.perf_counter() - began
    halves = {h: [s for s in scored if half(s.row.claim) == h] for h in ("tune", "report")}
    ends = [best_threshold(pairs) for pairs in _pairs(halves["tune"])]
    found: dict[str, Any] = {h: _figures(part, ends) for h, part in halves.items()}
    return {**found, "milliseconds": round(1000 * seconds / len(scored), 1)}


def _score_row(row: Row) -> ScoredRow:
    checked = check_claim(row.claim, row.quotes, row.surroundings)
    return ScoredRow(row, checked, overlap(row.claim, row.quotes))


def _pairs(part: Sequence[ScoredRow]) -> tuple[Pairs, Pairs]:
    """Our scores and plain overlap's, each with the truth."""
    ours = [(s.checked.score, s.row.supported) for s in part]
    return ours, [(s.overlap, s.row.supported) for s in part]


def _figures(part: Sequence[ScoredRow], ends: Sequence[float]) -> dict[str, Any]:
    ours, plain = _pairs(part)
    first, second = balanced_accuracy(ours, ends[0]), balanced_accuracy(plain, ends[1])

    def gain(a: Pairs, b: Pairs) -> float:
        return balanced_accuracy(a, ends[0]) - balanced_accuracy(b, ends[1])

    return {
        "n": len(part),
        "supported": sum(s.row.supported for s in part),
        "balanced": round(first, 3),
        "balanced_interval": bootstrap_interval([ours], lambda a: balanced_accuracy(a, ends[0])),
        "overlap_balanced": round(second, 3),
        "gain_interval": bootstrap_interval([ours, plain], gain),
        "auc": round(auc(ours), 3),
        "overlap_auc": round(auc(plain), 3),
        **_verdict_figures(part),
        **_refutation_figures(part),
    }


def _verdict_figures(part: Sequence[ScoredRow]) -> dict[str, Any]:
    """Precision and recall of the verdict "supported", at the product's thresholds."""
    called = [s.row.supported for s in part if s.checked.verdict == "supported"]
    right, wanted = sum(called), sum(s.row.supported for s in part)
    return {
        "called_supported": len(called),
        "precision": round(right / max(1, len(called)), 3),
        "recall": round(right / max(1, wanted), 3),
    }


def _refutation_figures(part: Sequence[ScoredRow]) -> dict[str, Any]:
    """Support against refutation, where a set has refutations."""
    kept = [s for s in part if s.row.supported or s.row.label == "refute"]
    if len(kept) == sum(s.row.supported for s in part):
        return {}
    ours, plain = _pairs(kept)
    refuted = [s.checked.verdict for s in kept if s.row.label == "refute"]
    return {
        "refuted": len(refuted),
        "refuted_called_supported": refuted.count("supported"),
        "refute_auc": round(auc(ours), 3),
        "refute_auc_interval": bootstrap_interval([ours], auc),
        "overlap_refute_auc": round(auc(plain), 3),
    }


def table(found: dict[str, Any]) -> str:
    """The figures as a Markdown table."""
    head = (
        "set | half | n | balanced accuracy | overlap | gain, 95% | AUC | overlap "
        "| precision of supported | recall | support against refute | overlap"
    )
    lines = [f"| {head} |", "|" + "---|" * 12]
    for name, parts in found.items():
        for h in ("report", "tune"):
            f = parts[h]
            low, high = f["gain_interval"]
            refute = (f.get("refute_auc", ""), f.get("overlap_refute_auc", ""))
            cells = [name, h, f["n"], f"**{f['balanced']}**", f["overlap_balanced"]]
            cells += [f"{low:+.3f} to {high:+.3f}", f["auc"], f["overlap_auc"]]
            cells += [f["precision"], f["recall"], *refute]
            lines.append(f"| {' | '.join(str(cell) for cell in cells)} |")
    return "\n".join(lines)


# --- fitting --------------------------------------------------------------------------------------

Example = tuple[Sequence[float], bool, float]  # features, supported, weight


def examples(folder: Path) -> list[Example]:
    """The tune halves as features; each set weighs a third, each of its classes half of it."""
    found: list[Example] = []
    for name in SETS:
        part = [row for row in load_rows(folder, name) if half(row.claim) == "tune"]
        good = sum(row.supported for row in part)
        counts = {True: good, False: len(part) - good}
        for row in part:
            share = 1 / (2 * len(SETS) * counts[row.supported])
            found.append((claim_likeness(row.claim, row.quotes), row.supported, share))
    return found


def fit(found: Sequence[Example]) -> tuple[list[float], float]:
    """Logistic regression by gradient descent: the weights of the features and what is added."""
    columns = list(zip(*(features for features, _, _ in found), strict=True))
    means = [sum(column) / len(column) for column in columns]
    spreads = [_spread(column) for column in columns]
    rows_ = [[(x - m) / s for x, m, s in zip(f, means, spreads, strict=True)] for f, _, _ in found]
    weights, added = [0.0] * len(columns), 0.0
    for _ in range(STEPS):
        slopes, slope = [DECAY * w for w in weights], 0.0
        for row, (_, true, share) in zip(rows_, found, strict=True):
            total = added + sum(w * x for w, x in zip(weights, row, strict=True))
            off = share * (1 / (1 + math.exp(-total)) - true)
            slopes = [s + off * x for s, x in zip(slopes, row, strict=True)]
            slope += off
        weights = [w - RATE * s for w, s in zip(weights, slopes, strict=True)]
        added -= RATE * slope
    plain = [w / s for w, s in zip(weights, spreads, strict=True)]
    return plain, added - sum(w * m for w, m in zip(plain, means, strict=True))


def _spread(column: Sequence[float]) -> float:
    mean = sum(column) / len(column)
    return math.sqrt(sum((x - mean) ** 2 for x in column) / len(column)) or 1.0


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA, help="the folder of the three sets")
    parser.add_argument("--fit", action="store_true", help="print new weights instead of figures")
    parser.add_argument("--table", action="store_true", help="print Markdown instead of JSON")
    chosen = parser.parse_args()
    if not chosen.data.is_dir():
        parser.error(f"{chosen.data} is not a folder; name one with --data")
    if chosen.fit:
        weights, added = fit(examples(chosen.data))
        print(json.dumps({"weights": [round(w, 3) for w in weights], "added": round(added, 3)}))
    else:
        found = measure(chosen.data)
        print(table(found) if chosen.table else json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
