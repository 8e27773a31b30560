"""What share of a document's text and table cells comes out, by format.

Three documents of 16 paragraphs under headings, each with a table of 12 rows, are written as HTML
and CSV, and made into every other format by pandoc and LibreOffice, which have to be installed;
sheets have the table alone. A PDF in two columns has a head, a foot, footnotes and divided words,
and columns too narrow for the table, whose cells are wrapped. *words*: of the document that come
out; *not in it*: of those that come out; *paragraphs*: word for word on one line; *table rows*: all
cells in order on one line.
"""

from __future__ import annotations

import csv
import html
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from agent.documents.body_text import UnreadablePage
from agent.documents.reading import read_body
from evals.harness import Bench, Evaluation, Table, main, read_rows, share, size
from evals.questions import read_passages

DOCUMENTS, SECTIONS, PARAGRAPHS, ROWS = 3, 4, 4, 12
COLUMNS = ("Match", "Date", "Home", "Away", "Score")
MATCHES = "worldcup/matches.dev.jsonl"
PROGRAMS = ("soffice", "pandoc")
#: Format -> what makes it.
MAKERS = {
    **dict.fromkeys("docx odt epub rtf ipynb md pptx".split(), "pandoc"),
    "odp (LibreOffice)": "slides",
    "html": "html",
    **{f"{name} (LibreOffice)": "soffice" for name in ("docx", "odt", "rtf", "pdf")},
    "pdf (two columns)": "columns",
    **dict.fromkeys(("csv", "xlsx", "ods"), "sheet"),
}
_MARKUP = re.compile(r"[\\`*_<>|$^~\[\]]")  # which Markdown would escape
#: Words of the files that are not in the truth.
_NAMES = frozenset(
    [*COLUMNS, *"123456789"]
    + "Section Matches A document sheet From Subject a example title paragraphs matches row "
    "Annual report of the society Page note on number series".split()
)
#: A text of OpenDocument in one file: two columns, a head, a foot, words that may be divided.
_COLUMNS = """<?xml version="1.0"?>
<office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"
 xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"
 xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0" office:version="1.2"
 office:mimetype="application/vnd.oasis.opendocument.text">
<office:styles><style:style style:name="Standard" style:family="paragraph">
<style:paragraph-properties fo:text-align="justify" fo:text-indent="0.5cm"/>
<style:text-properties fo:font-size="10pt" fo:language="en" fo:country="US" fo:hyphenate="true"
 fo:hyphenation-remain-char-count="2" fo:hyphenation-push-char-count="2"/></style:style>
<style:style style:name="Footnote" style:family="paragraph"><style:text-properties
 fo:font-size="8pt"/></style:style></office:styles>
<office:automatic-styles><style:page-layout style:name="page">
<style:page-layout-properties fo:page-width="21cm" fo:page-height="29.7cm" fo:margin="2cm">
<style:columns fo:column-count="2" fo:column-gap="0.7cm"/></style:page-layout-properties>
<style:header-style/><style:footer-style/></style:page-layout></office:automatic-styles>
<office:master-styles><style:master-page style:name="Standard" style:page-layout-name="page">
<style:header><text:p>Annual report of the society</text:p></style:header>
<style:footer><text:p>Page <text:page-number/></text:p></style:footer></style:master-page>
</office:master-styles><office:body><office:text>{}</office:text></office:body></office:document>
"""
_NOTE = (
    '<text:note text:note-class="footnote"><text:note-citation>{0}</text:note-citation>'
    '<text:note-body><text:p text:style-name="Footnote">A note on number {0} of the series.'
    "</text:p></text:note-body>"
    "</text:note>"
)


class Truth(NamedTuple):
    """What a document says."""

    paragraphs: Sequence[str]
    rows: Sequence[Sequence[str]]


class Question(NamedTuple):
    """A document in a format."""

    format: str
    truth: Truth


class Outcome(NamedTuple):
    """Shares, from 0 to 1, of a document in a format."""

    format: str
    words: float
    extra: float
    paragraphs: float
    rows: float


def load(data: Path) -> Iterator[Question]:
    """The documents in each format; none where a program is missing."""
    if all(shutil.which(program) for program in PROGRAMS):
        truths = make_truths(data)
        for name in MAKERS:
            yield from (Question(name, truth) for truth in truths)


def make_truths(data: Path) -> list[Truth]:
    """The documents."""
    size_of_one = SECTIONS * PARAGRAPHS
    plain = (" ".join(r["text"].split()) for r in read_passages(data) if r["text"].isascii())
    texts = (text for text in plain if not _MARKUP.search(text))
    names = ("match_id", "date", "home", "away", "score")
    rows = ([str(row[name]) for name in names] for row in read_rows(data / MATCHES))
    return [
        Truth(list(islice(texts, size_of_one)), list(islice(rows, ROWS))) for _ in range(DOCUMENTS)
    ]


# --- files ---------------------------------------------------------------------------------------


def write_html(truth: Truth, file: Path) -> None:
    """A document as a page that the other programs convert."""

    def cells(row: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row) + "</tr>"

    parts = ["<html><head><meta charset=utf-8><title>A document</title></head><body>"]
    for n, text in enumerate(truth.paragraphs):
        if n % PARAGRAPHS == 0:
            parts.append(f"<h1>Section {n // PARAGRAPHS + 1}</h1>")
        parts.append(f"<p>{html.escape(text)}</p>")
    table = "".join(cells(row, "td") for row in truth.rows)
    parts.append(f"<h1>Matches</h1><table>{cells(COLUMNS, 'th')}{table}</table></body></html>")
    file.write_text("\n".join(parts), encoding="utf-8")


def write_columns(truth: Truth, file: Path) -> None:
    """A document in two columns; every fifth paragraph has a footnote."""
    parts = []
    for n, text in enumerate(truth.paragraphs):
        note = _NOTE.format(n) if n % 5 == 2 else ""
        parts.append(f"<text:p>{html.escape(text)}{note}</text:p>")
    cell = "<table:table-cell><text:p>{}</text:p></table:table-cell>"
    rows = ("".join(cell.format(html.escape(one)) for one in row) for row in truth.rows)
    table = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    columns = f'<table:table-column table:number-columns-repeated="{len(COLUMNS)}"/>'
    parts.append(f"<table:table>{columns}{table}</table:table>")
    file.write_text(_COLUMNS.format("".join(parts)), encoding="utf-8")


def convert(program: str, source: Path, suffix: str, folder: Path) -> Path:
    """A file in another format. Raises CalledProcessError."""
    target = folder / f"{source.stem}.{suffix.partition(':')[0]}"
    if program == "pandoc":
        _run("pandoc", "-s", str(source), "-o", str(target), "--wrap=none")
    else:
        _run(
            *("soffice", "--headless", "--convert-to", suffix),
            *("--outdir", str(folder), str(source)),
        )
    return target


def _run(*command: str) -> str:
    """What a program prints. Raises CalledProcessError."""
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    return done.stdout


def make_file(question: Question, folder: Path) -> Path:
    """A document in its format."""
    maker, suffix = MAKERS[question.format], question.format.split()[0]
    truth = question.truth
    if maker == "sheet":
        return _make_sheet(truth, suffix, folder)
    if maker == "columns":
        write_columns(truth, source := folder / "columns.fodt")
        return convert("soffice", source, suffix, folder)
    write_html(truth, source := folder / "document.html")
    return _convert_page(maker, source, suffix, folder)


def _convert_page(maker: str, page: Path, suffix: str, folder: Path) -> Path:
    if maker == "html":
        return page
    if maker == "slides":
        return convert("soffice", convert("pandoc", page, "pptx", folder), suffix, folder)
    if maker == "pandoc":
        return convert("pandoc", page, suffix, folder)
    # of a page LibreOffice makes a document for the web: another one is between
    return convert("soffice", convert("pandoc", page, "odt", folder), suffix, folder / "made")


def _make_sheet(truth: Truth, suffix: str, folder: Path) -> Path:
    source = folder / "document.csv"
    with source.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *truth.rows])
    return source if suffix == "csv" else convert("soffice", source, suffix, folder)


# --- figures -------------------------------------------------------------------------------------


def measure(question: Question, _: Bench) -> Iterator[Outcome]:
    """What comes out of a document."""
    truth, suffix = question.truth, question.format.split()[0]
    if MAKERS[question.format] == "sheet":
        truth = Truth((), truth.rows)
    with tempfile.TemporaryDirectory() as name:
        file = make_file(question, Path(name))
        try:
            text = read_body(file.read_bytes(), suffix=f".{suffix}").text
        except UnreadablePage:
            text = ""
    yield Outcome(question.format, *score(text, truth))


def score(text: str, truth: Truth) -> tuple[float, float, float, float]:
    """How much of the truth a text has."""
    lines = [" ".join(line.split()) for line in text.split("\n")]
    told = " ".join([*truth.paragraphs, *map(" ".join, truth.rows)])
    true, found = (Counter(re.findall(r"\w+", one)) for one in (told, text))
    extra = sum(count for word, count in (found - true).items() if word not in _NAMES)
    joined = "\n".join(lines)
    return (
        (true & found).total() / max(1, true.total()),
        extra / max(1, found.total()),
        _share(paragraph in joined for paragraph in truth.paragraphs),
        _share(any(_holds_row(line, row) for line in lines) for row in truth.rows),
    )


def _share(found: Iterator[bool]) -> float:
    values = list(found)
    return sum(values) / len(values) if values else 1.0


def _holds_row(line: str, row: Sequence[str]) -> bool:
    position = 0
    for cell in row:
        position = line.find(cell, position)
        if position < 0:
            return False
        position += len(cell)
    return True


EVALUATION = Evaluation(
    title="What comes out of documents",
    load=load,
    measure=measure,
    needs="worldcup",
    score="words",
    tables=(
        Table(
            {"format": "format"},
            {
                "n": size,
                "words": share("words"),
                "not in it": share("extra"),
                "paragraphs": share("paragraphs"),
                "table rows": share("rows"),
            },
        ),
    ),
)

if __name__ == "__main__":
    main("documents")
