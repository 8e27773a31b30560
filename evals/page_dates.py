"""How many pages have a date, and how many of the dates are right, beside htmldate.

The 181 real articles and 135 pages of Wikipedia. *day known*: of the dated ones, those whose day
another mark names: the address of an article, the last change of a page of Wikipedia in its
JSON-LD. *right*: the same day or one beside it. *later* may be a change of an article; *earlier* is
wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from agent.documents.html.own_words import find_day
from agent.documents.html.reader import parse_page
from agent.documents.sniff import decode
from evals.harness import Bench, Evaluation, Table, count, main, size
from evals.page_kinds import load_articles
from evals.slots import read_pages

BESIDE = 2  # days by which a zone of time may be off
_IN_ADDRESS = re.compile(r"/(20\d\d)/(\d\d|[a-z]{3})/(\d\d)/")
_IN_JSON = re.compile(r'"dateModified":"(\d{4})-(\d\d)-(\d\d)')
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()


class Sample(NamedTuple):
    """A page and the day that is known of it; None where none is."""

    kind: str
    html: str
    truth: date | None


class Outcome(NamedTuple):
    """The day that a way found; empty where it found none."""

    sample: Sample
    way: str
    day: str

    @property
    def gap(self) -> int | None:
        """Days after the one that is known."""
        known = self.sample.truth if self.day else None
        return None if known is None else (date.fromisoformat(self.day) - known).days

    @property
    def right(self) -> bool:
        return self.gap is not None and abs(self.gap) <= BESIDE


def load(data: Path) -> Iterator[Sample]:
    """The pages, with the day that an address or a mark of the last change names."""
    for one in load_articles(data):
        yield Sample("articles", decode(one.html), _read_day(_IN_ADDRESS.search(one.url)))
    for row in read_pages(data):
        yield Sample("Wikipedia", row["html"], _read_day(_IN_JSON.search(row["html"])))


def _read_day(found: re.Match[str] | None) -> date | None:
    if found is None:
        return None
    year, month, day = found.groups()
    number = _MONTHS.index(month) + 1 if month in _MONTHS else int(month)
    return date(int(year), number, int(day))


def measure(sample: Sample, _: Bench) -> Iterator[Outcome]:
    """The day of a page by each way."""
    from htmldate import find_date

    tree: Any = parse_page(sample.html)
    yield Outcome(sample, "ours", find_day(tree))
    yield Outcome(sample, "htmldate", find_date(tree, url="") or "")


EVALUATION = Evaluation(
    title="Dates of pages",
    load=load,
    measure=measure,
    needs="pages",
    score=lambda one: one.right if one.way == "ours" else None,
    tables=(
        Table(
            {"pages": "sample.kind", "way": "way"},
            {
                "n": size,
                "dated": count(lambda one: bool(one.day)),
                "day known": count(lambda one: one.gap is not None),
                "right": count("right"),
                "later": count(lambda one: (one.gap or 0) > BESIDE),
                "earlier": count(lambda one: (one.gap or 0) < -BESIDE),
            },
        ),
    ),
)

if __name__ == "__main__":
    main("page_dates")
