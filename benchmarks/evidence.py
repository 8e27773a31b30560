"""Speed of passage selection, copy detection and claim checking, each beside a plain baseline.

Pages are made from the texts of the evaluation's corpus; claims are those of its `claims/` folder.
`python -m benchmarks.evidence [--data DIR]` prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

from agent.evidence import find_copies, select_passages, split_passages
from agent.evidence.quantities.quantity import missing_quantities
from agent.state import Hit, Page, Source
from benchmarks.index import ROOT, read_rows

PAGES, SIZE, BUDGET, CLAIMS = 20, 100_000, 3000, 400
TIMES = 5


def plain_words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def bm25(texts: Sequence[str], question: str) -> list[float]:
    """Textbook BM25 scores (k1 = 1.2, b = 0.75) over lower-case words."""
    bags = [Counter(plain_words(text)) for text in texts]
    mean = sum(bag.total() for bag in bags) / len(bags)
    query = set(plain_words(question))
    counts = {word: sum(word in bag for bag in bags) for word in query}
    idf = {w: math.log(1 + (len(bags) - n + 0.5) / (n + 0.5)) for w, n in counts.items()}
    return [
        sum(
            idf[word] * bag[word] * 2.2 / (bag[word] + 1.2 * (0.25 + 0.75 * bag.total() / mean))
            for word in query
            if word in bag
        )
        for bag in bags
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.evidence")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    data = parser.parse_args().data.resolve()
    if not data.is_dir():
        print(json.dumps({"skipped": f"{data} is not there; name it with --data"}))
        return
    texts = [row["text"] for row in read_rows(data / "multihop/corpus.jsonl.gz")]
    topics = [row["question"] for row in read_rows(data / "multihop/questions.dev.jsonl")][:TIMES]
    found = {
        "selecting": measure_selection(texts, topics),
        "copies_among_20_pages": measure_copies(texts),
        "checking": measure_checks(data / "claims/attributionbench.dev.jsonl"),
    }
    print(json.dumps(found, indent=2))


def measure_selection(texts: list[str], topics: list[str]) -> dict[str, Any]:
    """Select passages from new pages for a question, then from the same pages for another one."""
    first, again, plain = [], [], []
    for seed, topic in enumerate(topics):
        sources = make_pages(texts, seed)
        pieces = [s.page.text[a:b] for s in sources for a, b in split_passages(s.page.text)]
        plain.append(cpu_ms(lambda p=pieces, t=topic: bm25(p, t)))
        fresh = make_pages(texts, seed + 100)
        first.append(cpu_ms(lambda s=fresh, t=topic: select_passages(s, t, BUDGET)))
        again.append(cpu_ms(lambda s=fresh: select_passages(s, "Where was it first seen?", BUDGET)))
    baseline = median(plain)
    return {
        "pages": PAGES,
        "characters_each": SIZE,
        "plain_bm25_ms_passages_given": round(baseline, 1),
        "select_ms_cutting_too": round(median(first), 1),
        "ratio": round(median(first) / baseline, 2),
        "select_ms_same_pages_again": round(median(again), 1),
        "ratio_again": round(median(again) / baseline, 2),
    }


def measure_copies(texts: list[str]) -> dict[str, Any]:
    """Find copies, where every fourth page repeats the one before it with 2% of words changed."""
    sources = make_pages(texts, 7)
    for i in range(3, PAGES, 4):
        words = sources[i - 1].page.text.split(" ")
        words[::50] = ["another"] * len(words[::50])
        sources[i] = make_source(i + 1, " ".join(words))
    ours: dict[int, int] = find_copies(sources)
    pairs = find_copies_by_pairs(sources)
    assert {n for n, first in ours.items() if n != first} == {b for _, b in pairs}
    return {
        "ours": {"ms": _median_ms(lambda: find_copies(sources)), "found": len(pairs)},
        "every_pair_of_sets": {
            "ms": _median_ms(lambda: find_copies_by_pairs(sources)),
            "found": len(pairs),
        },
    }


def find_copies_by_pairs(sources: Sequence[Source]) -> list[tuple[int, int]]:
    """Compare every pair of pages; those that share half of their five-word shingles are copies."""
    shingles = {}
    for source in sources:
        words = plain_words(source.page.text)
        shingles[source.n] = {tuple(words[i : i + 5]) for i in range(len(words) - 4)}
    return [
        (a, b)
        for a, b in combinations(shingles, 2)
        if len(shingles[a] & shingles[b]) >= 0.5 * min(len(shingles[a]), len(shingles[b]))
    ]


def measure_checks(file: Path) -> dict[str, Any]:
    """Compare quantities of claims with their texts; the baseline is the share of common words."""
    claims = [(row["claim"], row["references"]) for row in read_rows(file)][:CLAIMS]
    missing_quantities(*claims[0])  # tables are read once

    def overlap() -> None:
        for claim, quotes in claims:
            words = set(plain_words(claim))
            len(words & set(plain_words(" ".join(quotes)))) / max(1, len(words))

    plain = cpu_ms(overlap) / len(claims)
    ours = cpu_ms(lambda: [missing_quantities(claim, quotes) for claim, quotes in claims]) / len(
        claims
    )
    size = sum(len(" ".join(quotes)) for _, quotes in claims) / len(claims)
    return {
        "claims": len(claims),
        "characters_cited_each": round(size),
        "ms_a_claim": round(ours, 3),
        "ms_of_plain_overlap": round(plain, 4),
        "ratio": round(ours / plain, 1),
        "claims_a_second": round(1000 / ours),
    }


def make_pages(texts: list[str], seed: int) -> list[Source]:
    """Pages of `SIZE` characters of randomly drawn texts, always the same for a seed."""
    chance = random.Random(seed)
    sources = []
    for n in range(1, PAGES + 1):
        text = ""
        while len(text) < SIZE:
            text += chance.choice(texts) + "\n"
        sources.append(make_source(n, text[:SIZE]))
    return sources


def make_source(n: int, text: str) -> Source:
    url = f"https://example.org/{n}"
    page = Page(
        url=url, title=f"Page {n}", text=text, sha256="", retrieved_at="2026-01-01T00:00:00Z"
    )
    return Source(n=n, page=page, hit=Hit(url=url, title=f"Page {n}"))


def _median_ms(work: Callable[[], Any]) -> float:
    return round(median(cpu_ms(work) for _ in range(TIMES)), 1)


def cpu_ms(work: Callable[[], Any]) -> float:
    """Milliseconds of CPU of this process, which other processes do not affect."""
    started = time.process_time()
    work()
    return 1000 * (time.process_time() - started)


if __name__ == "__main__":
    main()
