"""What share of a document's text and table cells comes out, by format, beside other converters.

`python -m evals.documents [--data DIR]`: three documents of paragraphs (passages of the multihop
corpus) under headings, each with a table (matches of the World Cup), are written as HTML and CSV
and made into every other format by pandoc and LibreOffice, which have to be installed. Ours is
beside pandoc or LibreOffice or poppler, whichever reads that format as text.
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
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from email.message import EmailMessage
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from agent.sources.formats.body_text import UnreadablePage
from agent.sources.pages.reading import read_body
from evals.extractive import ROOT

DOCUMENTS, SECTIONS, PARAGRAPHS, ROWS = 3, 4, 4, 12
COLUMNS = ("Match", "Date", "Home", "Away", "Score")
SOFFICE = ("soffice", "--headless", "--convert-to")
PROGRAMS = ("soffice", "pandoc", "pdftotext")
#: Suffix -> the program that makes it, and the one that reads it for comparison.
TEXTS = {
    "docx": ("pandoc", "pandoc"),
    "odt": ("pandoc", "pandoc"),
    "epub": ("pandoc", "pandoc"),
    "rtf": ("pandoc", "pandoc"),
    "ipynb": ("pandoc", "pandoc"),
    "md": ("pandoc", "pandoc"),
    "pptx": ("pandoc", ""),
    "odp (LibreOffice)": ("slides", ""),
    "html": ("", "pandoc"),
    "eml": ("mail", ""),
    "docx (LibreOffice)": ("soffice", "pandoc"),
    "odt (LibreOffice)": ("soffice", "pandoc"),
    "rtf (LibreOffice)": ("soffice", "soffice"),
    "pdf (LibreOffice)": ("soffice", "pdftotext"),
}
_MARKUP = re.compile(r"[\\`*_<>|$^~\[\]]")  # which Markdown would escape
SHEETS = {"csv": "", "xlsx": "csv", "ods": "csv"}


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
        texts = list(
            islice((text for text in plain if not re.search(r"[\\`*_<>|$^~\[\]]", text)), count)
        )
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


def convert(program: str, source: Path, suffix: str, folder: Path) -> Path:
    """A file in another format. Raises CalledProcessError."""
    target = folder / f"{source.stem}.{suffix}"
    commands = {
        "pandoc": ["pandoc", "-s", str(source), "-o", str(target), "--wrap=none"],
        "soffice": [
            "soffice",
            "--headless",
            "--convert-to",
            suffix,
            "--outdir",
            str(folder),
            str(source),
        ],
    }
    subprocess.run(commands[program], check=True, capture_output=True, timeout=120)
    return target


def read_elsewhere(program: str, file: Path, folder: Path) -> str:
    """The text of a file by another program."""
    if program == "pandoc":
        command = ["pandoc", "-t", "plain", "--wrap=none", str(file)]
    elif program == "pdftotext":
        command = ["pdftotext", "-layout", str(file), "-"]
    else:
        suffix = "csv" if program == "csv" else "txt:Text (encoded):UTF8"
        command = [
            "soffice",
            "--headless",
            "--convert-to",
            suffix,
            "--outdir",
            str(folder),
            str(file),
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        return (folder / f"{file.stem}.{suffix[:3]}").read_text("utf-8")
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


def score(text: str, truth: Truth, milliseconds: float) -> Figures:
    """How much of the truth a text has."""
    lines = [" ".join(line.split()) for line in text.split("\n")]
    true_words = Counter(
        re.findall(r"\w+", " ".join([*truth.paragraphs, *map(" ".join, truth.rows)]))
    )
    heads = Counter(re.findall(r"\w+", text)) - true_words
    found = Counter(re.findall(r"\w+", text))
    names = {
        *COLUMNS,
        "Section",
        "Matches",
        "A",
        "document",
        "sheet",
        "From",
        "Subject",
        "a",
        "example",
        *"123456789",
    }
    extra = sum(count for word, count in heads.items() if word not in names)
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
            found[label] = _measure_format(Path(name), truths, label, _make_text(maker), reader)
        tables = [Truth((), truth.rows) for truth in truths]
        for suffix, reader in SHEETS.items():
            found[suffix] = _measure_format(Path(name), tables, suffix, _make_sheet, reader)
    return found


def _make_text(maker: str) -> Callable[[Truth, str, Path], Path]:
    def make(truth: Truth, suffix: str, folder: Path) -> Path:
        source = folder / "document.html"
        write_html(truth, source)
        if not maker:
            return source
        if maker == "mail":
            return write_mail(source)
        if maker == "slides":
            return convert("soffice", convert("pandoc", source, "pptx", folder), suffix, folder)
        if maker == "soffice":  # of a page it makes a document for the web: another one is between
            source = convert("pandoc", source, "odt", folder)
            folder = folder / "made"
        return convert(maker, source, suffix, folder)

    return make


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
            "line. Pages of a PDF end within paragraphs; Markdown keeps its escaped quotes.",
            "The columns behind *read by* are of that program (`pdftotext` with `-layout`).",
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
