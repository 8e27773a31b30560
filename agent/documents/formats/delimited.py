"""Tables as text: comma-separated values (RFC 4180), with semicolons, tabs or bars too."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from io import StringIO
from itertools import islice

from agent.documents.body_text import BodyText, PlacedText, RawBody
from agent.documents.formats.table import MAX_COLUMNS, Row, format_rows
from agent.documents.sniff import decode

DELIMITERS = ",;\t|"
SAMPLED = 100_000  # characters that tell the delimiter,
SAMPLED_ROWS = 50  # and rows


def read_delimited(source: RawBody) -> BodyText:
    """The rows, each with its number as a spreadsheet counts them."""
    data = decode(source.data, source.content_type).lstrip("\ufeff")
    whole = max(csv.field_size_limit(), len(data) + 1)  # for a quote that is never closed
    csv.field_size_limit(whole)
    text = PlacedText(source)
    for number, line in format_rows(_rows(data, _find_delimiter(data))):
        text.add_line(line, "row", number)
        if text.is_full:
            break
    return text.finish()


def _rows(data: str, delimiter: str) -> Iterator[Row]:
    """The rows that are not empty, with their numbers."""
    rows = csv.reader(StringIO(data, newline=""), delimiter=delimiter)
    for number, cells in enumerate(rows, 1):
        if any(cell.strip() for cell in cells[:MAX_COLUMNS]):
            yield number, cells[:MAX_COLUMNS]


def _find_delimiter(data: str) -> str:
    """The character that parts most rows into the same number of cells, more than one."""

    def score(delimiter: str) -> tuple[int, int]:
        widths = Counter(
            len(cells) for _, cells in islice(_rows(data[:SAMPLED], delimiter), SAMPLED_ROWS)
        )
        width, rows = max(
            ((width, rows) for width, rows in widths.items() if width > 1),
            key=lambda pair: (pair[1], pair[0]),
            default=(0, 0),
        )
        return rows, width

    return max(DELIMITERS, key=score)
