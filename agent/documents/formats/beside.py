"""What an office document holds beside its text: charts and comments, and what is not read of it.

Charts: ISO/IEC 29500-1, 21.2. They have the values that they show.
"""

from __future__ import annotations

from collections.abc import Iterator

from agent.documents.body_text import PlacedText
from agent.documents.formats.archive import Archive
from agent.documents.formats.table import Row, add_rows
from agent.documents.formats.xml import Element, attribute, find_all, find_first, to_int

MAX_CHARTS = 200
MAX_POINTS = 10_000  # of a series
#: Where it lies in the archive, and why it is not read.
_NOT_READ = (
    ("pictures", ("/media/", "Pictures/"), "only text is read", False),
    ("embedded documents", ("/embeddings/",), "save them as files of their own", True),
    ("macros", ("vbaProject.bin", "Basic/"), "no program is run", False),
)


def add_beside(text: PlacedText, archive: Archive) -> None:
    """Add charts as tables, and comments; tell what is no text."""
    names = sorted(archive.names, key=lambda name: (len(name), name))
    parts = [name for name in names if name.endswith(".xml") and not name.endswith("document.xml")]
    charts = [name for name in parts if "/charts/chart" in name]
    for n, name in enumerate(charts[:MAX_CHARTS], 1):
        chart = archive.read_xml(name)
        text.add(_words(find_first(chart, "title"), "t"), f"chart {n}")
        add_rows(text, _read_points(chart), f"chart {n}, row")
    for name in parts:
        if "omment" in name and not name.startswith("word/"):
            _add_comments(text, archive.read_xml(name))
    for what, places, why, has_text in _NOT_READ:
        count = sum(any(one in name for one in places) for name in names)
        text.lose(what, count, why, has_text=has_text)


def _read_points(chart: Element | None) -> Iterator[Row]:
    """The values of all series, a row for each category, below the names of the series."""
    series = list(find_all(chart, "ser"))
    columns = [_points(one, "val", "yVal") for one in series]
    labels = next(filter(None, (_points(one, "cat", "xVal") for one in series)), {})
    yield 1, ["", *(_words(find_first(one, "tx"), "v") for one in series)]
    for n in sorted({n for column in columns for n in column}):
        yield n + 2, [labels.get(n, ""), *(column.get(n, "") for column in columns)]


def _points(series: Element, *names: str) -> dict[int, str]:
    """The points of a series, by their number."""
    for name in names:
        if (found := find_first(series, name)) is not None:
            points = list(find_all(found, "pt"))[:MAX_POINTS]
            return {to_int(attribute(one, "idx"), 0): _words(one, "v") for one in points}
    return {}


def _add_comments(text: PlacedText, part: Element | None) -> None:
    """Add the comments of a sheet or a slide, each with the cell that it is about, if it is."""
    for kind in ("comment", "cm", "threadedComment"):
        for comment in find_all(part, kind):
            cell = attribute(comment, "ref")
            words = _words(comment, "t") or _words(comment, "text")
            text.add(words, f"comment on {cell}" if cell else "comment")


def _words(element: Element | None, name: str) -> str:
    """The words of all elements with a name in an element."""
    return " ".join("".join(one.text or "" for one in find_all(element, name)).split())
