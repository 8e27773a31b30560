"""How fast evidence is chosen, copies are found and claims are checked, each beside a plain way.

Pages are made of the texts of the evaluation's corpus, claims are those of `claims/`.
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

from agent.checking import check
from agent.evidence import copies, passages, select
from agent.state import Hit, Page, Source
from benchmarks.index import ROOT, rows

PAGES, SIZE, BUDGET, CLAIMS = 20, 100_000, 3000, 400
TIMES = 5


def plain_words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def bm25(texts: Sequence[str], question: str) -> list[float]:
    """Scores of texts as any textbook has them, over lower-case words."""
    bags = [Counter(plain_words(text)) for text in texts]
    mean = sum(bag.total() for bag in bags) / len(bags)
    asked = set(plain_words(question))
    holding = {word: sum(word in bag for bag in bags) for word in asked}
    rarity = {w: math.log(1 + (len(bags) - n + 0.5) / (n + 0.5)) for w, n in holding.items()}
    return [
        sum(
            rarity[word] * bag[word] * 2.2 / (bag[word] + 1.2 * (0.25 + 0.75 * bag.total() / mean))
            for word in asked
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
    texts = [row["text"] for row in rows(data / "multihop/corpus.jsonl.gz")]
    topics = [row["question"] for row in rows(data / "multihop/questions.dev.jsonl")][:TIMES]
    found = {
        "selecting": selecting(texts, topics),
        "copies_among_20_pages": copying(texts),
        "checking": checking(data / "claims/attributionbench.dev.jsonl"),
    }
    print(json.dumps(found, indent=2))


def selecting(texts: list[str], topics: list[str]) -> dict[str, Any]:
    """Passages for a question out of pages never seen, and once more for another question."""
    first, again, plain = [], [], []
    for seed, topic in enumerate(topics):
        sources = pages(texts, seed)
        pieces = [s.page.text[a:b] for s in sources for a, b in passages(s.page.text)]
        plain.append(milliseconds(lambda p=pieces, t=topic: bm25(p, t)))
        fresh = pages(texts, seed + 100)
        first.append(milliseconds(lambda s=fresh, t=topic: select(s, t, BUDGET)))
        again.append(milliseconds(lambda s=fresh: select(s, "Where was it first seen?", BUDGET)))
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


def copying(texts: list[str]) -> dict[str, Any]:
    """Every fourth page repeats the one before it, one word in fifty changed."""
    sources = pages(texts, 7)
    for i in range(3, PAGES, 4):
        words = sources[i - 1].page.text.split(" ")
        words[::50] = ["another"] * len(words[::50])
        sources[i] = source(i + 1, " ".join(words))
    ours: dict[int, int] = copies(sources)
    pairs = plain_copies(sources)
    assert {n for n, first in ours.items() if n != first} == {b for _, b in pairs}
    return {
        "ours": {"ms": _often(lambda: copies(sources)), "found": len(pairs)},
        "every_pair_of_sets": {"ms": _often(lambda: plain_copies(sources)), "found": len(pairs)},
    }


def plain_copies(sources: Sequence[Source]) -> list[tuple[int, int]]:
    """Pairs of pages that share half of their five-word shingles, each pair compared."""
    held = {}
    for one in sources:
        words = plain_words(one.page.text)
        held[one.n] = {tuple(words[i : i + 5]) for i in range(len(words) - 4)}
    return [
        (a, b)
        for a, b in combinations(held, 2)
        if len(held[a] & held[b]) >= 0.5 * min(len(held[a]), len(held[b]))
    ]


def checking(file: Path) -> dict[str, Any]:
    """Claims against what they cite, beside the share of words that both have."""
    claims = [(row["claim"], row["references"]) for row in rows(file)][:CLAIMS]
    check(*claims[0])  # tables are read once

    def overlap() -> None:
        for claim, quotes in claims:
            own = set(plain_words(claim))
            len(own & set(plain_words(" ".join(quotes)))) / max(1, len(own))

    plain = milliseconds(overlap) / len(claims)
    ours = milliseconds(lambda: [check(claim, quotes) for claim, quotes in claims]) / len(claims)
    size = sum(len(" ".join(quotes)) for _, quotes in claims) / len(claims)
    return {
        "claims": len(claims),
        "characters_cited_each": round(size),
        "ms_a_claim": round(ours, 3),
        "ms_of_plain_overlap": round(plain, 4),
        "ratio": round(ours / plain, 1),
        "claims_a_second": round(1000 / ours),
    }


def pages(texts: list[str], seed: int) -> list[Source]:
    """Pages of `SIZE` characters, of texts drawn the same way every time."""
    chance = random.Random(seed)
    made = []
    for n in range(1, PAGES + 1):
        text = ""
        while len(text) < SIZE:
            text += chance.choice(texts) + "\n"
        made.append(source(n, text[:SIZE]))
    return made


def source(n: int, text: str) -> Source:
    url = f"https://example.org/{n}"
    page = Page(
        url=url, title=f"Page {n}", text=text, sha256="", retrieved_at="2026-01-01T00:00:00Z"
    )
    return Source(n=n, page=page, hit=Hit(url=url, title=f"Page {n}"))


def _often(work: Callable[[], Any]) -> float:
    return round(median(milliseconds(work) for _ in range(TIMES)), 1)


def milliseconds(work: Callable[[], Any]) -> float:
    """Of this process's own time: what others do on the machine does not count."""
    begun = time.process_time()
    work()
    return 1000 * (time.process_time() - begun)


if __name__ == "__main__":
    main()
