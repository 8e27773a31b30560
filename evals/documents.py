"""What share of a document's text and table cells comes out, by format, beside other converters.

`python -m evals.documents [--data DIR]`: three documents of paragraphs (passages of the multihop
corpus) under headings, each with a table (matches of the World Cup), are written as HTML, CSV, JSON
and source code, and made into every other format by pandoc and LibreOffice, which have to be
installed. A PDF in two columns has a head, a foot, footnotes and divided words; a scanned one is
made of images of its pages. Ours is beside pandoc or LibreOffice or poppler or Tesseract, whichever
reads that format as text; JSON, code and mail are measured by what was written alone.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import html
import json
import re
import shutil
import subprocess
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from email.message import EmailMessage
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from agent.documents.body_text import UnreadablePage
from agent.documents.reading import read_body
from evals.extractive import ROOT

DOCUMENTS, SECTIONS, PARAGRAPHS, ROWS = 3, 4, 4, 12
COLUMNS = ("Match", "Date", "Home", "Away", "Score")
SCANNED, DPI = 1, 150  # documents that are scanned: reading one takes half a minute; its resolution
PROGRAMS = ("soffice", "pandoc", "pdftotext", "pdftoppm", "tesseract")
#: Suffix -> what makes it, and the program that reads it for comparison.
TEXTS = {
    "docx": ("pandoc", "pandoc"),
    "odt": ("pandoc", "pandoc"),
    "epub": ("pandoc", "pandoc"),
    "rtf": ("pandoc", "pandoc"),
    "ipynb": ("pandoc", "pandoc"),
    "md": ("pandoc", "pandoc"),
    "pptx": ("pandoc", ""),
    "odp (LibreOffice)": ("slides", ""),
    "html": ("html", "pandoc"),
    "eml": ("mail", ""),
    "json": ("json", ""),
    "py": ("code", ""),
    "docx (LibreOffice)": ("soffice", "pandoc"),
    "odt (LibreOffice)": ("soffice", "pandoc"),
    "rtf (LibreOffice)": ("soffice", "soffice"),
    "pdf (LibreOffice)": ("soffice", "pdftotext"),
    "pdf (two columns)": ("columns", "pdftotext"),
    "pdf (scanned)": ("scan", "tesseract"),
}
SHEETS = {"csv": "", "xlsx": "csv", "ods": "csv"}
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


class Figures(NamedTuple):
    """Shares from 0 to 1, and the milliseconds of processor time for a document.

    `words`: of the truth that come out; `extra`: of those that come out and are not in the truth;
    `paragraphs`: word for word on one line; `rows`: with all cells in order on one line.
    """

    words: float
    extra: float
    paragraphs: float
    rows: float
    milliseconds: float


def make_truths(data: Path) -> list[Truth]:
    """The documents."""
    with gzip.open(data / "multihop" / "corpus.jsonl.gz", "rt", encoding="utf-8") as file:
        count = DOCUMENTS * SECTIONS * PARAGRAPHS
        rows = (json.loads(line) for line in islice(file, 40 * count))
        plain = (" ".join(row["text"].split()) for row in rows if row["text"].isascii())
        texts = list(islice((text for text in plain if not _MARKUP.search(text)), count))
    with (data / "worldcup" / "matches.dev.jsonl").open(encoding="utf-8") as file:
        matches = [json.loads(line) for line in islice(file, DOCUMENTS * ROWS)]
    size = SECTIONS * PARAGRAPHS
    names = ("match_id", "date", "home", "away", "score")
    return [
        Truth(
            texts[n * size : (n + 1) * size],
            [[str(match[name]) for name in names] for match in matches[n * ROWS : (n + 1) * ROWS]],
        )
        for n in range(DOCUMENTS)
    ]


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


def write_mail(page: Path) -> Path:
    """A page as the only text of a message, by the standard library."""
    message = EmailMessage()
    message["From"], message["Subject"] = "a@a.example", "A document"
    message.set_content(page.read_text("utf-8"), subtype="html")
    target = page.with_suffix(".eml")
    target.write_bytes(message.as_bytes())
    return target


def write_json(truth: Truth, file: Path) -> None:
    """A document as one value: its title, its paragraphs, a record for each row."""
    matches = [dict(zip(COLUMNS, row, strict=True)) for row in truth.rows]
    value = {"title": "A document", "paragraphs": list(truth.paragraphs), "matches": matches}
    file.write_text(json.dumps(value, indent=2), encoding="utf-8")


def write_code(truth: Truth, file: Path) -> None:
    """A document as source code: comments, and a tuple for each row."""
    lines = [f"# {text}" for text in truth.paragraphs] + [f"row = {tuple(r)}" for r in truth.rows]
    file.write_text("\n".join(lines), encoding="utf-8")


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


def scan(file: Path) -> None:
    """Replace the pages of a PDF by images of them."""
    images = [read_pixels(page) for page in draw_pages(file)]
    objects = [b"<</Type/Catalog/Pages 2 0 R>>"]
    kids = " ".join(f"{3 + 3 * n} 0 R" for n in range(len(images)))
    objects.append(f"<</Type/Pages/Kids[{kids}]/Count {len(images)}>>".encode())
    for n, (width, height, pixels) in enumerate(images):
        size = f"{72 * width / DPI:.0f} {72 * height / DPI:.0f}"
        draws = f"q {size.replace(' ', ' 0 0 ')} 0 0 cm /I Do Q".encode()
        data = zlib.compress(pixels)
        objects += [
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 {size}]/Contents {4 + 3 * n} 0 R"
            f"/Resources<</XObject<</I {5 + 3 * n} 0 R>>>>>>".encode(),
            b"<</Length %d>>stream\n%s\nendstream" % (len(draws), draws),
            b"<</Type/XObject/Subtype/Image/Width %d/Height %d/ColorSpace/DeviceGray"
            b"/BitsPerComponent 8/Filter/FlateDecode/Length %d>>stream\n%s\nendstream"
            % (width, height, len(data), data),
        ]
    body = b"".join(b"%d 0 obj\n%s\nendobj\n" % pair for pair in enumerate(objects, 1))
    file.write_bytes(b"%PDF-1.4\n" + body + b"trailer<</Root 1 0 R>>\n%%EOF")


def draw_pages(file: Path) -> list[Path]:
    """An image of each page of a PDF, in shades of grey (PGM)."""
    folder = file.parent / "drawn"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    _run("pdftoppm", "-gray", "-r", str(DPI), str(file), str(folder / "page"))
    return sorted(folder.iterdir())


def read_pixels(page: Path) -> tuple[int, int, bytes]:
    """Width, height and pixels of an image."""
    head = re.match(rb"P5\s+(\d+)\s+(\d+)\s+255\s", data := page.read_bytes())
    if head is None:
        raise ValueError(f"{page.name} is no grey image")
    return int(head[1]), int(head[2]), data[head.end() :]


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


def read_elsewhere(program: str, file: Path, folder: Path) -> str:
    """The text of a file by another program."""
    if program == "pandoc":
        return _run("pandoc", "-t", "plain", "--wrap=none", str(file))
    if program == "pdftotext":
        return _run("pdftotext", "-layout", str(file), "-")
    if program == "tesseract":
        return "\n".join(_run("tesseract", str(page), "-") for page in draw_pages(file))
    suffix = "csv" if program == "csv" else "txt:Text (encoded):UTF8"
    return convert("soffice", file, suffix, folder).read_text("utf-8")


def score(text: str, truth: Truth, milliseconds: float) -> Figures:
    """How much of the truth a text has."""
    lines = [" ".join(line.split()) for line in text.split("\n")]
    true_words = Counter(
        re.findall(r"\w+", " ".join([*truth.paragraphs, *map(" ".join, truth.rows)]))
    )
    found = Counter(re.findall(r"\w+", text))
    extra = sum(count for word, count in (found - true_words).items() if word not in _NAMES)
    joined = "\n".join(lines)
    return Figures(
        (true_words & found).total() / max(1, true_words.total()),
        extra / max(1, found.total()),
        _share(paragraph in joined for paragraph in truth.paragraphs),
        _share(any(_holds_row(line, row) for line in lines) for row in truth.rows),
        milliseconds,
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


def measure(data: Path) -> dict[str, tuple[Figures, Figures | None]]:
    """By format, the means of ours and of the other program."""
    found: dict[str, tuple[Figures, Figures | None]] = {}
    truths = make_truths(data)
    with tempfile.TemporaryDirectory() as name:
        for label, (maker, reader) in TEXTS.items():
            some = truths[:SCANNED] if maker == "scan" else truths
            found[label] = _measure_format(Path(name), some, label, _make_text(maker), reader)
        tables = [Truth((), truth.rows) for truth in truths]
        for suffix, reader in SHEETS.items():
            found[suffix] = _measure_format(Path(name), tables, suffix, _make_sheet, reader)
    return found


def _make_text(maker: str) -> Callable[[Truth, str, Path], Path]:
    def make(truth: Truth, suffix: str, folder: Path) -> Path:
        if write := {"json": write_json, "code": write_code}.get(maker):
            write(truth, target := folder / f"document.{suffix}")
            return target
        if maker == "columns":
            write_columns(truth, source := folder / "columns.fodt")
            return convert("soffice", source, suffix, folder)
        source = folder / "document.html"
        write_html(truth, source)
        return _convert_page(maker, source, suffix, folder)

    return make


def _convert_page(maker: str, page: Path, suffix: str, folder: Path) -> Path:
    if maker == "html":
        return page
    if maker == "mail":
        return write_mail(page)
    if maker == "slides":
        return convert("soffice", convert("pandoc", page, "pptx", folder), suffix, folder)
    if maker == "pandoc":
        return convert("pandoc", page, suffix, folder)
    # of a page LibreOffice makes a document for the web: another one is between
    target = convert("soffice", convert("pandoc", page, "odt", folder), suffix, folder / "made")
    if maker == "scan":
        scan(target)
    return target


def _make_sheet(truth: Truth, suffix: str, folder: Path) -> Path:
    source = folder / "document.csv"
    with source.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *truth.rows])
    return source if suffix == "csv" else convert("soffice", source, suffix, folder)


def _measure_format(
    folder: Path,
    truths: Sequence[Truth],
    label: str,
    make: Callable[[Truth, str, Path], Path],
    reader: str,
) -> tuple[Figures, Figures | None]:
    suffix = label.split()[0]
    ours, others = list[Figures](), list[Figures]()
    for truth in truths:
        file = make(truth, suffix, folder)
        started = time.process_time()
        try:
            text = read_body(file.read_bytes(), suffix=f".{suffix}").text
        except UnreadablePage:
            text = ""
        ours.append(score(text, truth, 1000 * (time.process_time() - started)))
        if reader:
            (folder / "read").mkdir(exist_ok=True)
            others.append(score(read_elsewhere(reader, file, folder / "read"), truth, 0.0))
    return _mean(ours), _mean(others) if others else None


def _mean(rows: Sequence[Figures]) -> Figures:
    return Figures(*(sum(column) / len(column) for column in zip(*rows, strict=True)))


def report(found: dict[str, tuple[Figures, Figures | None]]) -> str:
    """The figures as Markdown."""
    lines = [
        "| format | words | not in it | paragraphs | table rows | ms | read by | words | "
        "paragraphs | table rows |",
        f"|{'---|' * 10}",
    ]
    readers = {**{label: reader for label, (_, reader) in TEXTS.items()}, **SHEETS}
    readers |= {"xlsx": "LibreOffice", "ods": "LibreOffice"}
    for label, (ours, other) in found.items():
        cells = [label, *map(_percent, ours[:4]), f"{ours.milliseconds:.0f}", readers[label] or "-"]
        cells += map(_percent, (other.words, *other[2:4])) if other else ["-"] * 3
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(
        [
            *lines,
            "",
            f"{DOCUMENTS} documents a format, of {SECTIONS * PARAGRAPHS} paragraphs and a table of "
            f"{ROWS} rows; sheets have the table alone.",
            "*words*: of the document that come out; *not in it*: of those that come out;",
            "*paragraphs*: word for word on one line; *table rows*: all cells in order on one",
            "line. The columns behind *read by* are of that program (`pdftotext` with `-layout`,",
            "which keeps the lines of a page; `tesseract` at its defaults, on images of pages).",
            f"One document is scanned, at {DPI} dots an inch. A column of a page is too narrow for",
            "the table: its cells are wrapped.",
        ]
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%"


def report_or_skip(data: Path) -> str:
    """The section of the page; the programs that are missing where it cannot be measured."""
    if missing := [program for program in PROGRAMS if shutil.which(program) is None]:
        return f"Skipped: not installed: {', '.join(missing)}."
    return report(measure(data))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m evals.documents", description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    print(report_or_skip(parser.parse_args().data))


if __name__ == "__main__":
    main()
