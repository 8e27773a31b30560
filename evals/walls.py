"""Whether pages shown instead of content are told from short pages that are honest.

The short pages of `tests/documents/walls.toml` in eleven languages (*tuned*: their words were
looked at; *unseen*: only counted), the recorded walls of a search engine, and honest texts: every
tenth passage of the multihop corpus, and the beginnings of 181 articles as if each were a page.
*right*: called the wall that it is, or none.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import NamedTuple

from evals.harness import ROOT, Bench, Evaluation, Table, count, main, share, size
from evals.questions import read_passages

SHORT_PAGES = ROOT / "tests/documents/walls.toml"
BEGINNING = 500  # characters of an article that are taken for a page


class Sample(NamedTuple):
    """A page, and the name of the wall that it is, "" for an honest one."""

    kind: str
    wall: str
    title: str
    text: str
    html: bytes = b""


class Outcome(NamedTuple):
    """What a page was called, and whether that is right."""

    sample: Sample
    called: bool
    right: bool


def load(data: Path) -> Iterator[Sample]:
    """Every page."""
    for languages in tomllib.loads(SHORT_PAGES.read_text("utf-8")).values():
        for name, cases in languages.items():
            for case in cases:
                field = b"<input type=password>" if "password" in case else b""
                kind = f"{'walls' if case['is'] else 'pages'}, {name}"
                yield Sample(kind, case["is"], case["title"], case["text"], field)
    for path in sorted((data / "search").glob("*_captcha*.html")):
        yield Sample("walls, recorded", "captcha", "", "few words", path.read_bytes())
    for row in list(read_passages(data))[::10]:
        yield Sample("passages", "", row["title"], row["text"], escape(row["text"]).encode())
    for row in json.loads((data / "pages/article_ground_truth.json").read_text("utf-8")).values():
        yield Sample("beginnings of articles", "", "", row["articleBody"][:BEGINNING])


def measure(sample: Sample, _: Bench) -> Iterator[Outcome]:
    """Call a page what it is."""
    from agent.documents.html.walls import WALLS, detect_wall

    found = detect_wall(sample.html, sample.title, sample.text)
    wanted = WALLS[sample.wall] if sample.wall else None
    yield Outcome(sample, found is not None, found == wanted)


EVALUATION = Evaluation(
    title="Pages shown instead of content",
    load=load,
    measure=measure,
    needs="multihop",
    tables=(
        Table(
            {"pages": lambda o: o.sample.kind},
            {"n": size, "called a wall": count("called"), "**right**": share("right")},
        ),
    ),
    missed=lambda o: "" if o.right else f"{o.sample.kind} {o.sample.wall}: {o.sample.text[:200]}",
)

if __name__ == "__main__":
    main("walls")
