"""How many pages have a date, and how many of the dates are right.

`python -m evals.page_dates [--data DIR]`: the 181 real articles and 135 pages of Wikipedia. A date
is *right* where the address of an article names the same day or one beside it; a later change is
counted apart. Of a page of Wikipedia it is right where its JSON-LD names it as the last change.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import time
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from agent.documents.html.own_words import find_day
from agent.documents.html.reader import parse_page
from agent.documents.sniff import decode
from evals.extractive import ROOT

BESIDE = 2  # days by which a zone of time may be off
_IN_ADDRESS = re.compile(r"/(20\d\d)/(\d\d|[a-z]{3})/(\d\d)/")
_IN_JSON = re.compile(r'"dateModified":"(\d{4})-(\d\d)-(\d\d)')
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()


class Sample(NamedTuple):
    """A page and the day that is known of it; None where none is."""

    html: str
    truth: date | None


class Score(NamedTuple):
    """Counts of one kind of page and one way to find dates."""

    pages: int
    dated: int
    known: int  # of the dated ones, those whose day is known
    right: int
    later: int
    milliseconds: float  # for a page


def load_articles(data: Path) -> Iterator[Sample]:
    """Real articles, with the day that their address names."""
    truth = json.loads((data / "pages" / "article_ground_truth.json").read_text("utf-8"))
    for key, row in truth.items():
        body = gzip.decompress((data / "pages" / "article_html" / f"{key}.html.gz").read_bytes())
        yield Sample(decode(body), _read_day(_IN_ADDRESS.search(row["url"])))


def load_wikipedia(data: Path) -> Iterator[Sample]:
    """Pages of Wikipedia, with the day of their last change."""
    path = data / "worldcup" / "wikipedia_pages.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            yield Sample(row["html"], _read_day(_IN_JSON.search(row["html"])))


def _read_day(found: re.Match[str] | None) -> date | None:
    if found is None:
        return None
    year, month, day = found.groups()
    number = _MONTHS.index(month) + 1 if month in _MONTHS else int(month)
    return date(int(year), number, int(day))


def ways() -> dict[str, Callable[[Any], str]]:
    """How to find the day of a page that is parsed, by name."""
    from htmldate import find_date

    return {
        "ours": find_day,
        "htmldate, fast": lambda tree: find_date(tree, extensive_search=False, url="") or "",
        "htmldate, extensive": lambda tree: find_date(tree, url="") or "",
    }


def score(samples: list[Sample], find: Callable[[Any], str]) -> Score:
    """What a way finds in pages."""
    trees = [parse_page(sample.html) for sample in samples]
    started = time.process_time()
    days = [find(tree) for tree in trees]
    spent = 1000 * (time.process_time() - started) / len(samples)
    pairs = zip(days, samples, strict=True)
    gaps = [(date.fromisoformat(day) - s.truth).days for day, s in pairs if day and s.truth]
    right = sum(abs(gap) <= BESIDE for gap in gaps)
    later = sum(gap > BESIDE for gap in gaps)
    return Score(len(samples), sum(map(bool, days)), len(gaps), right, later, spent)


def measure(data: Path) -> Iterator[tuple[str, str, Score]]:
    """The score of each way on each kind of page."""
    for kind, load in (("articles", load_articles), ("Wikipedia", load_wikipedia)):
        samples = list(load(data))
        for name, find in ways().items():
            yield kind, name, score(samples, find)


def report(rows: Iterator[tuple[str, str, Score]]) -> str:
    """The figures as Markdown."""
    head = "| pages | n | way | dated | day known | right | later | earlier | ms a page |"
    lines = [head, f"|{'---|' * 9}"]
    for kind, name, s in rows:
        counts = (s.dated, s.known, s.right, s.later, s.known - s.right - s.later)
        shown = " | ".join(map(str, counts))
        lines.append(f"| {kind} | {s.pages} | {name} | {shown} | {s.milliseconds:.1f} |")
    return "\n".join(
        [
            *lines,
            "",
            "*day known*: of the dated ones, those whose day another mark names: the address of",
            "an article, the last change of a page of Wikipedia. *later* may be a change of an",
            "article; *earlier* is wrong.",
        ]
    )


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    print(report(measure(parser.parse_args().data)))


if __name__ == "__main__":
    main()
