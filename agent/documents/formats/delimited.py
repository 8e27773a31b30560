"""Tables as text: comma-separated values (RFC 4180), with semicolons, tabs or bars too."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from io import StringIO
from itertools import islice

from agent.documents.body_text import Body, BodyText, PlacedText
from agent.documents.formats.grid import MAX_COLUMNS, Row, add_rows
from agent.documents.sniff import decode

DELIMITERS = ",;\t|"
SAMPLED = 100_000  # characters from which the delimiter is detected,
SAMPLED_ROWS = 50  # and rows


def read_delimited(source: Body) -> BodyText:
    """The rows, each with its number as a spreadsheet counts them."""
    data = decode(source.data, source.content_type).lstrip("\ufeff")
    csv.field_size_limit(max(csv.field_size_limit(), len(data) + 1))  # for a quote never closed
    text = PlacedText(source)
    add_rows(text, _rows(data, _find_delimiter(data)), "row")
    return text.finish()


def _rows(data: str, delimiter: str) -> Iterator[Row]:
    rows = csv.reader(StringIO(data, newline=""), delimiter=delimiter)
    for number, cells in enumerate(rows, 1):
        if any(cell.strip() for cell in cells[:MAX_COLUMNS]):
            yield number, cells[:MAX_COLUMNS]


def _find_delimiter(data: str) -> str:
    """The character that parts most rows into the same number of cells, more than one."""

    def score(delimiter: str) -> tuple[int, int]:
        sampled = islice(_rows(data[:SAMPLED], delimiter), SAMPLED_ROWS)
        widths = Counter(len(cells) for _, cells in sampled)
        return max(((rows, width) for width, rows in widths.items() if width > 1), default=(0, 0))

    return max(DELIMITERS, key=score)
