"""What comes out of real documents.

The files of docling's tests with their Markdown, and the PDF of `pdf`: lay the tests' `tests/data`
into the data folder as `docling`. *words*: of the Markdown that come out; *in
order*: of its runs of four words; *cells*: of its tables that stand on a line with the name of
their row and that of their column (a Markdown table names them in its head); *silent*: files that
lack more than a twentieth of the different words of four letters, and the reader tells of no loss.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple
from unicodedata import normalize

from agent.documents.body_text import UnreadablePage
from agent.documents.reading import read_body
from evals.harness import Bench, Evaluation, Table, count, main, share, size

FORMATS = "docx pptx xlsx odt ods odp doc ppt xls eml msg csv nxml pdf".split()
MIN_LOST = 0.05  # of the words
_MARKUP = re.compile(r"<!--.*?-->|<[^<>]{1,200}>|!?\[([^\[\]]*)\]\([^()]*\)|[*`#\\]", re.S)


class Sample(NamedTuple):
    """A file and its Markdown."""

    file: Path
    truth: str


class Outcome(NamedTuple):
    """What a reader gives of a file; shares from 0 to 1, `cells` None where it has no table."""

    format: str
    reader: str
    words: float
    order: float
    cells: float | None
    is_silent: bool


def load(data: Path) -> Iterator[Sample]:
    """The files that have a Markdown."""
    files = {
        file.name: file for file in [*data.glob("docling/*/sources/**/*"), *data.glob("pdf/*")]
    }
    for name, file in sorted(files.items()):
        folder = file.parent if file.parent.name == "pdf" else file.parent.parent / "groundtruth"
        named = (folder / f"{name}.md", folder / f"{file.stem}.md")
        truth = next((one for one in named if one.is_file()), None)
        if file.suffix[1:] in FORMATS and truth:
            yield Sample(file, _MARKUP.sub(r"\1 ", truth.read_text("utf-8")))


def measure(sample: Sample, _: Bench) -> Iterator[Outcome]:
    """What each reader gives of a file."""
    try:
        read = read_body(sample.file.read_bytes(), suffix=sample.file.suffix)
        text, told = read.text, bool(read.not_read)
    except UnreadablePage:
        text, told = "", True
    yield score(sample, "ours", text, is_told=told)


def score(sample: Sample, reader: str, text: str, *, is_told: bool) -> Outcome:
    """How much of the Markdown a text has."""
    true, found = _words(sample.truth), _words(text)
    runs, held = (Counter(zip(*(one[n:] for n in range(4)), strict=False)) for one in (true, found))
    words = (Counter(true) & Counter(found)).total() / max(1, len(true))
    order = (runs & held).total() / max(1, runs.total())
    told = {word for word in true if len(word) > 3 and word.isalpha()}
    is_silent = len(told - {*found}) > MIN_LOST * len(told) and not is_told
    kind = sample.file.suffix[1:]
    return Outcome(kind, reader, words, order, _share_cells(sample.truth, text), is_silent)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", normalize("NFKC", text).lower())


def _tables(text: str) -> Iterator[list[list[str]]]:
    """The tables of a Markdown, each with its head as the first row."""
    lines = text.split("\n")
    for n, line in enumerate(lines):
        if n and re.fullmatch(r"\s*\|[|\s:-]*-[|\s:-]*", line) and "|" in lines[n - 1]:
            below = takewhile(lambda row: row.lstrip().startswith("|"), lines[n + 1 :])
            yield [[" ".join(cell.split()) for cell in row.strip(" |").split("|")]
                   for row in (lines[n - 1], *below)]  # fmt: skip


def _share_cells(truth: str, text: str) -> float | None:
    """The share of cells that stand on a line with the names of their row and their column."""
    lines = [f" {' '.join(_words(line))} " for line in text.split("\n")]
    found: list[bool] = []
    for head, *rows in _tables(truth):
        for row in rows:
            named = [line for line in lines if _holds(line, row[0])]
            cells = [(name, cell) for name, cell in zip(head[1:], row[1:], strict=False) if cell]
            found += [
                any(_holds(x, name) and _holds(x, cell) for x in named) for name, cell in cells
            ]
    return sum(found) / len(found) if found else None


def _holds(line: str, words: str) -> bool:
    return f" {' '.join(_words(words))} ".replace("  ", " ") in line


def _average_cells(outcomes: Sequence[Outcome]) -> str:
    told = [one.cells for one in outcomes if one.cells is not None]
    return f"{sum(told) / len(told):.1%} of {len(told)} files" if told else "-"


EVALUATION = Evaluation(
    title="What comes out of documents",
    load=load,
    measure=measure,
    needs="pdf",
    score=lambda one: one.words if one.reader == "ours" else None,
    tables=(
        Table(
            {"format": "format", "reader": "reader"},
            {
                "n": size,
                "words": share("words"),
                "in order": share("order"),
                "cells": _average_cells,
                "silent": count("is_silent"),
            },
        ),
    ),
    missed=lambda o: json.dumps(o) if o.is_silent and o.reader == "ours" else "",
)

if __name__ == "__main__":
    main("documents")
