"""How well and how fast pages are read: `python -m benchmarks.pages [--data DIR]`, one JSON object.

- `articles`: 181 real pages against their body text, by the F1 of shingles of four words as in
  scrapinghub's article-extraction-benchmark; plain trafilatura in the same run, and ratios.
- `matches`: goal minutes, referees and managers of real matches. A match is looked for on the
  Wikipedia page of its tournament and group, or knockout stage. A goal counts as kept if its minute
  follows the scorer's name within sixty characters of one cell; `shown` counts those for which the
  same holds in all the words of the page: the rest are spelled otherwise there.
- `pdf`: F1 of words (of characters for Korean) against the known text, by file.
- `hostile`: milliseconds of CPU for pages of one to five megabytes made to cost a reader most.

Rates are per second of CPU, in one thread; read ratios, not figures.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import resource
import statistics
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from agent.sources.pages.extract import extract
from agent.sources.pages.pdf import extract_pdf
from tests.hostile_pages import HOSTILE

Reader = Callable[[bytes, str], str]
HERE = Path(__file__).resolve().parents[1]


class Count(NamedTuple):
    """Shingles in both texts, only in the found one, only in the true one."""

    both: int
    found: int
    true: int

    @classmethod
    def of(cls, true: Counter[Any], found: Counter[Any]) -> Count:
        both = (true & found).total()
        return cls(both, found.total() - both, true.total() - both)


def ours(body: bytes, url: str) -> str:
    try:
        return extract(body, "text/html", url).text
    except ValueError:
        return ""


def plain(body: bytes, url: str) -> str:
    import trafilatura

    found: Any = trafilatura.bare_extraction(body, url=url, fast=True)
    return found.text or "" if found else ""


def shingles(text: str) -> Counter[Any]:
    words = re.findall(r"\w+", text)
    if not words:
        return Counter()
    return Counter(tuple(words[i : i + 4]) for i in range(max(1, len(words) - 3)))


def mean_f1(counts: list[Count]) -> dict[str, float]:
    precision = statistics.mean(c.both / (c.both + c.found) for c in counts if c.both + c.found)
    recall = statistics.mean(c.both / (c.both + c.true) for c in counts if c.both + c.true)
    f1 = 2 * precision * recall / (precision + recall)
    return {"f1": round(f1, 4), "precision": round(precision, 4), "recall": round(recall, 4)}


def articles(data: Path) -> dict[str, Any]:
    truth = json.loads((data / "pages" / "article_ground_truth.json").read_text("utf-8"))
    folder = data / "pages" / "article_html"
    pages = [
        (gzip.decompress((folder / f"{key}.html.gz").read_bytes()), a["url"], a["articleBody"])
        for key, a in truth.items()
    ]
    ours(pages[0][0], pages[0][1])  # imports are not measured
    found = {"ours": _articles(pages, ours), "plain": _articles(pages, plain)}
    return {"pages": len(pages), **found}


def _articles(pages: list[tuple[bytes, str, str]], reader: Reader) -> dict[str, float]:
    counts, seconds = [], []
    for body, url, true in pages:
        start = time.process_time()
        text = reader(body, url)
        seconds.append(time.process_time() - start)
        counts.append(Count.of(shingles(true), shingles(text)))
    return {
        **mean_f1(counts),
        "pages_per_second": round(len(pages) / sum(seconds), 1),
        "p95_ms": round(1000 * sorted(seconds)[int(len(seconds) * 0.95)], 1),
    }


def fold(text: str) -> str:
    plain = (c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return " ".join("".join(plain).casefold().replace("\u2032", "'").replace("\u2019", "'").split())


def facts(match: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What a text must hold for a match: kind and pattern."""
    for goal in match["goals"]:
        minute = re.match(r"\d+", goal["minute"])
        name = fold(goal["family_name"].split()[-1])
        if minute:
            yield "minutes", rf"{re.escape(name)}[^|]{{0,60}}?(?<!\d){minute[0]}(?:'|\+)"
    for referee in match["referee"]:
        yield "referees", rf"\b{re.escape(fold(referee).split()[-1])}\b"
    for manager in match["managers"]:
        yield "managers", rf"\b{re.escape(fold(manager['manager']).split()[-1])}\b"


def matches(data: Path) -> dict[str, Any]:
    with gzip.open(data / "worldcup" / "wikipedia_pages.jsonl.gz", "rt", encoding="utf-8") as file:
        pages = {page["title"]: page for page in map(json.loads, file)}
    by_page: dict[str, list[dict[str, Any]]] = {}
    lines = (data / "worldcup" / "matches.dev.jsonl").read_text("utf-8").splitlines()
    for match in map(json.loads, lines):
        cup = match["tournament"].replace("Men's ", "")
        grouped = match["stage"] == "group stage"
        title = f"{cup} {match['group']}" if grouped else f"{cup} knockout stage"
        if title in pages:
            by_page.setdefault(title, []).append(match)
    used = {title: pages[title] for title in by_page}
    found = {"ours": _matches(used, by_page, ours), "plain": _matches(used, by_page, plain)}
    shown = _matches(used, by_page, everything)
    shown.pop("pages_per_second")
    return {
        "pages": len(used),
        "matches": sum(map(len, by_page.values())),
        **found,
        "shown": shown,
        "ratios": {
            kind: round(found["ours"][kind] / shown[kind], 4)
            for kind in ("minutes", "referees", "managers")
        },
    }


def everything(body: bytes, url: str) -> str:
    """All words that stand anywhere in a page, seen or not."""
    from lxml.html import document_fromstring

    tree = document_fromstring(body)
    for element in tree.xpath("//style | //script"):
        element.drop_tree()
    return "".join(tree.itertext())


def _matches(
    pages: dict[str, Any], by_page: dict[str, list[dict[str, Any]]], reader: Reader
) -> dict[str, Any]:
    kept: Counter[str] = Counter()
    seconds = characters = 0.0
    for title, page in pages.items():
        start = time.process_time()
        text = reader(page["html"].encode(), page["url"])
        seconds += time.process_time() - start
        characters += len(text)
        text = fold(text)
        for kind, pattern in (fact for match in by_page[title] for fact in facts(match)):
            kept[f"{kind}_of"] += 1
            kept[kind] += bool(re.search(pattern, text))
    rate = round(len(pages) / seconds, 1)
    return {**kept, "pages_per_second": rate, "characters": round(characters / len(pages))}


def words(text: str) -> Counter[Any]:
    hangul = re.search("[\uac00-\ud7af]", text)
    return Counter(re.findall(r"\w" if hangul else r"\w+", text.lower()))


def pdfs(data: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    start = time.perf_counter()
    files = sorted((data / "pdf").glob("*.pdf"))
    for path in files:
        _, text = extract_pdf(path.read_bytes())
        known = path.with_suffix(".md")
        if known.exists():
            true = re.sub(r"<!--.*?-->|[|#*`_-]+", " ", known.read_text("utf-8"))
            count = Count.of(words(true), words(text))
            found[path.stem] = round(
                2 * count.both / (2 * count.both + count.found + count.true), 3
            )
    seconds = time.perf_counter() - start
    mean = round(statistics.mean(found.values()), 3)
    return {"mean_f1": mean, "f1": found, "files_per_second": round(len(files) / seconds, 1)}


def hostile() -> dict[str, float]:
    seconds = {}
    for name, page in HOSTILE.items():
        start = time.process_time()
        ours(page.encode(), "")
        seconds[name] = round(1000 * (time.process_time() - start))
    return seconds


def main() -> None:
    """Measure everything and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=HERE.parent / "shared" / "data")
    data = parser.parse_args().data
    report = {
        "articles": articles(data),
        "matches": matches(data),
        "pdf": pdfs(data),
        "hostile": {"ms": hostile()},
    }
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps({**report, "peak_rss_mb": peak}, indent=2))


if __name__ == "__main__":
    main()
