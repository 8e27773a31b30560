"""What an office document holds beside its text: charts, comments, diagrams, documents in it.

What is not read of it is told. Charts: ISO/IEC 29500-1, 21.2. They have the values that they show.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from agent.documents.body_text import Body, PlacedText
from agent.documents.formats.archive import Archive
from agent.documents.formats.bundles import MAX_FILES, add_inner
from agent.documents.formats.number_format import EPOCHS, MAX_DECIMALS, show_number
from agent.documents.formats.office import Part
from agent.documents.formats.table import Row, add_rows, column_of
from agent.documents.formats.xml import Element, attribute, find_all, find_first, local_name, to_int

MAX_CHARTS = 200
MAX_POINTS = 10_000  # of a series
_OPEN_FORMATS = ("number-style", "percentage-style", "currency-style")
#: Parts that are read as they are, by where they lie, and what they are.
_SHAPES = (("/drawings/drawing", "text box"), ("/diagrams/data", "diagram"))
#: What has no text: where it lies, and why it is not read.
_NOT_READ = (
    ("pictures", ("/media/", "Pictures/"), "only text is read"),
    ("macros", ("vbaProject.bin", "Basic/"), "no program is run"),
)


def add_beside(text: PlacedText, source: Body, archive: Archive) -> None:
    """Add charts as tables, comments, text boxes of sheets, and documents; tell what is no text."""
    names = sorted(archive.names, key=lambda name: (len(name), name))
    parts = [name for name in names if name.endswith(".xml") and not name.endswith("document.xml")]
    _add_charts(text, archive, [name for name in parts if "/charts/chart" in name])
    kinds = ("/commentAuthors", "/persons/", "ppt/authors")
    told = [name for name in parts if any(kind in name for kind in kinds)]
    people = {attribute(x, "id"): x for name in told for x in _read_people(archive, name)}
    for name in parts:
        if "omment" in name and not name.startswith("word/"):
            _add_comments(text, archive.read_xml(name), people)
        for where, place in _SHAPES:
            if where in name and not name.startswith("ppt/"):  # a slide has its own
                text.add_block(Part(archive, name).read_note(), place)
        if name.startswith("Object ") and name.endswith("/content.xml"):
            _add_object(text, archive, name)
    _add_documents(text, source, archive, names)
    for what, places, why in _NOT_READ:
        text.lose(what, sum(any(one in name for one in places) for name in names), why)


def _add_documents(text: PlacedText, source: Body, archive: Archive, names: Sequence[str]) -> None:
    """Add the documents that are embedded, without the values of charts, which are read."""
    owners = [name for name in names if name.endswith(".rels") and "/charts/" in name]
    charts = (archive.relations(name.replace("_rels/", "")[:-5]) for name in owners)
    of_charts = {target for chart in charts for _, target in chart.values()}
    found = [name for name in names if "/embeddings/" in name and name not in of_charts]
    for name in found[:MAX_FILES]:
        place = f"embedded {name.rpartition('/')[2]}"
        add_inner(text, source, name, archive.read(name), place=place)
    text.lose("embedded documents", len(found[MAX_FILES:]), f"only the first {MAX_FILES} are")


def _add_object(text: PlacedText, archive: Archive, name: str) -> None:
    """Add what an object of OpenDocument shows: the values of a chart, a sheet."""
    place = name.partition("/")[0].lower()
    part = Part(archive, name)
    if (chart := find_first(part.root, "chart")) is not None:
        text.add(_words(chart.find("./{*}title"), "p"), place)
        _show_values(chart, part.root)
    for block in part.read_blocks():
        text.add_block(block, place)


def _show_values(chart: Element, root: Element | None) -> None:
    """Write the values of a chart of OpenDocument in the formats of their series.

    Its table holds them bare, a column for each series. ISO/IEC 26300-1, 19.
    """
    formats = {attribute(one, "name"): _read_code(one)
               for kind in _OPEN_FORMATS for one in find_all(root, kind)}  # fmt: skip
    styles = {attribute(one, "name"): attribute(one, "data-style-name")
              for one in find_all(root, "style")}  # fmt: skip
    codes: dict[int, str] = {}
    for series in find_all(chart, "series"):
        ends = attribute(series, "values-cell-range-address").replace("$", "").split(":")
        columns = {column_of(one.rpartition(".")[2], -1) for one in ends}
        style = styles.get(attribute(series, "style-name"), "")
        codes |= dict.fromkeys(columns if len(columns) == 1 else (), formats.get(style, ""))
    for row in find_all(chart, "table-row"):
        for n, cell in enumerate(row.iterchildren("{*}table-cell")):
            value, shown = attribute(cell, "value"), find_first(cell, "p")
            if value and codes.get(n) and shown is not None:
                shown.text = show_number(value, codes[n], EPOCHS[False])


def _read_code(style: Element) -> str:
    """The format code of a style of numbers; "" for one that such a code does not tell whole."""
    code = ""
    for one in style:
        kind, decimals = local_name(one), attribute(one, "decimal-places")
        words = "".join(one.itertext()).replace('"', "")
        is_scaled = attribute(one, "display-factor") not in ("", "1")
        if kind == "number" and decimals.isdecimal() and not words and not is_scaled:
            whole = "#,##0" if attribute(one, "grouping") == "true" else "0"
            code += f"{whole}.{'0' * min(int(decimals), MAX_DECIMALS)}".rstrip(".")
        elif kind in ("text", "currency-symbol"):
            is_percent = words.strip() == "%" and local_name(style) == "percentage-style"
            code += words if is_percent else f'"{words}"'
        else:
            return ""
    return code


def _add_charts(text: PlacedText, archive: Archive, names: Sequence[str]) -> None:
    for n, name in enumerate(names[:MAX_CHARTS], 1):
        chart = archive.read_xml(name)
        text.add(_words(find_first(chart, "title"), "t"), f"chart {n}")
        add_rows(text, _read_points(chart), f"chart {n}, row")
        most = max((to_int(attribute(x, "val"), 0) for x in find_all(chart, "ptCount")), default=0)
        text.lose("points of a chart", most - MAX_POINTS, f"only the first {MAX_POINTS} are")
        text.lose("charts", find_first(chart, "ser") is None, "they are of a newer kind")
    text.lose("charts", len(names[MAX_CHARTS:]), f"only the first {MAX_CHARTS} are")


def _read_points(chart: Element | None) -> Iterator[Row]:
    """The values of all series, a row for each category, below the names of the series."""
    series = list(find_all(chart, "ser"))
    is_1904 = attribute(find_first(chart, "date1904"), "val") in ("1", "true")
    columns = [_points(one, "val", "yVal", is_1904=is_1904) for one in series]
    names = (_points(one, "cat", "xVal", is_1904=is_1904) for one in series)
    labels = next(filter(None, names), {})
    yield 1, ["", *(_words(find_first(one, "tx"), "v") for one in series)]
    for n in sorted({n for column in columns for n in column}):
        yield n + 2, [labels.get(n, ""), *(column.get(n, "") for column in columns)]


def _points(series: Element, *names: str, is_1904: bool) -> dict[int, str]:
    """The points of a series as they are shown, by their number.

    A category may have several levels, the last one first: the upper ones go on until the next.
    """
    found = next((one for name in names for one in find_all(series, name)), None)
    code = "".join(one.text or "" for one in find_all(found, "formatCode"))
    points: dict[int, str] = {}
    for level in list(find_all(found, "lvl")) or [found]:
        given = {
            to_int(attribute(one, "idx"), 0): _words(one, "v")
            for one in islice(find_all(level, "pt"), MAX_POINTS)
        }
        above = ""
        for n in sorted(points or given):
            above = given.get(n, above)
            points[n] = f"{above}, {points[n]}" if n in points else above
    epoch = EPOCHS[is_1904]
    return {n: show_number(one, code, epoch) if code else one for n, one in points.items()}


def _read_people(archive: Archive, name: str) -> Iterator[Element]:
    root = archive.read_xml(name)
    return (one for kind in ("cmAuthor", "author", "person") for one in find_all(root, kind))


def _add_comments(text: PlacedText, part: Element | None, people: Mapping[str, Element]) -> None:
    """Add the comments of a sheet or a slide, with who wrote each, and its cell if any."""
    listed = {str(n): one.text or "" for n, one in enumerate(find_all(part, "author"))}
    for kind in ("comment", "cm", "threadedComment", "reply"):
        for comment in find_all(part, kind):
            cell = attribute(comment, "ref")
            body = comment.find("./{*}txBody")  # beside which its replies stand
            words = _words(comment if body is None else body, "t") or _words(comment, "text")
            own = attribute(comment, "authorId") or attribute(comment, "personId")
            known = people.get(own)
            name = listed.get(own) or attribute(known, "name") or attribute(known, "displayName")
            if not words.startswith("[Threaded comment]"):  # for older programs: it is read there
                place = f"comment on {cell}" if cell else "comment"
                text.add(f"{name}: {words}" if name and words else words, place)


def _words(element: Element | None, name: str) -> str:
    """The words of all elements with a name in an element."""
    return " ".join("".join(one.text or "" for one in find_all(element, name)).split())
