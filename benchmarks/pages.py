"""Quality and speed of text extraction from pages and PDF files.

`python -m benchmarks.pages [--data DIR]` prints one JSON object:

- `matches`: goal minutes, referees and managers of real matches. The page of a match is the
  Wikipedia page of its tournament and group, or knockout stage. A goal counts as kept if its minute
  follows the scorer's name within sixty characters of one cell. `shown` counts the facts that all
  the text of the page has: the others are spelled differently there.
- `pdf`: F1 of words (of characters for Korean) against the known text, by file.

Rates are per second of CPU, in one thread. The ratios are comparable between machines, the figures
are not.
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
from typing import Any

from agent.documents.body_reader import BodyReader
from agent.documents.body_text import Body
from agent.documents.reading import read_body

Reader = Callable[[bytes, str], str]
HERE = Path(__file__).resolve().parents[1]


def read_ours(body: bytes, url: str) -> str:
    try:
        return read_body(body, "text/html", url).text
    except ValueError:
        return ""


def read_plain(body: bytes, url: str) -> str:
    import trafilatura

    found: Any = trafilatura.bare_extraction(body, url=url, fast=True)
    return found.text or "" if found else ""


def normalize(text: str) -> str:
    plain = (c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return " ".join("".join(plain).casefold().replace("\u2032", "'").replace("\u2019", "'").split())


def fact_patterns(match: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The facts of a match that a text must have: kind and regular expression."""
    for goal in match["goals"]:
        minute = re.match(r"\d+", goal["minute"])
        name = normalize(goal["family_name"].split()[-1])
        if minute:
            yield "minutes", rf"{re.escape(name)}[^|]{{0,60}}?(?<!\d){minute[0]}(?:'|\+)"
    for referee in match["referee"]:
        yield "referees", rf"\b{re.escape(normalize(referee).split()[-1])}\b"
    for manager in match["managers"]:
        yield "managers", rf"\b{re.escape(normalize(manager['manager']).split()[-1])}\b"


def measure_matches(data: Path) -> dict[str, Any]:
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
    found = {
        "ours": _measure_match_reader(used, by_page, read_ours),
        "plain": _measure_match_reader(used, by_page, read_plain),
    }
    shown = _measure_match_reader(used, by_page, read_all_text)
    shown.pop("pages_per_second")
    return {"pages": len(used), "matches": sum(map(len, by_page.values())), **found, "shown": shown}


def read_all_text(body: bytes, url: str) -> str:
    """All text of a page, visible or not, without styles and scripts."""
    from lxml.html import document_fromstring

    tree = document_fromstring(body)
    for element in tree.xpath("//style | //script"):
        element.drop_tree()
    return "".join(tree.itertext())


def _measure_match_reader(
    pages: dict[str, Any], by_page: dict[str, list[dict[str, Any]]], reader: Reader
) -> dict[str, Any]:
    kept: Counter[str] = Counter()
    seconds = characters = 0.0
    for title, page in pages.items():
        start = time.process_time()
        text = reader(page["html"].encode(), page["url"])
        seconds += time.process_time() - start
        characters += len(text)
        text = normalize(text)
        for kind, pattern in (fact for match in by_page[title] for fact in fact_patterns(match)):
            kept[f"{kind}_of"] += 1
            kept[kind] += bool(re.search(pattern, text))
    rate = round(len(pages) / seconds, 1)
    return {**kept, "pages_per_second": rate, "characters": round(characters / len(pages))}


def count_words(text: str) -> Counter[Any]:
    hangul = re.search("[\uac00-\ud7af]", text)
    return Counter(re.findall(r"\w" if hangul else r"\w+", text.lower()))


def score(true: Counter[Any], found: Counter[Any]) -> float:
    """F1 of two counts."""
    return 2 * (true & found).total() / (true.total() + found.total())


def measure_pdfs(data: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    start = time.perf_counter()
    files = sorted((data / "pdf").glob("*.pdf"))
    reader = BodyReader()
    for path in files:
        text = reader.read(Body(path.read_bytes())).text
        known = path.with_suffix(".md")
        if known.exists():
            true = re.sub(r"<!--.*?-->|[|#*`_-]+", " ", known.read_text("utf-8"))
            found[path.stem] = round(score(count_words(true), count_words(text)), 3)
    seconds = time.perf_counter() - start
    mean = round(statistics.mean(found.values()), 3)
    return {"mean_f1": mean, "f1": found, "files_per_second": round(len(files) / seconds, 1)}


def main() -> None:
    """Measure everything and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=HERE.parent / "shared" / "data")
    data = parser.parse_args().data
    report = {"matches": measure_matches(data), "pdf": measure_pdfs(data)}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps({**report, "peak_rss_mb": peak}, indent=2))


if __name__ == "__main__":
    main()
