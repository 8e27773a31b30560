"""What an office document holds beside its text: comments, diagrams, documents in it.

What is not read of it is told, such as charts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from agent.documents.body_text import Body, PlacedText
from agent.documents.formats.archive import Archive
from agent.documents.formats.bundles import MAX_FILES, add_inner
from agent.documents.formats.office import Part
from agent.documents.formats.xml import Element, attribute, find_all, local_name

CHARTS = "give their values as a table"
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
    charts = [name for name in parts if "/charts/chart" in name]
    objects = [x for x in parts if x.startswith("Object ") and x.endswith("/content.xml")]
    text.lose("charts", len(charts), CHARTS)
    roots = [root for one in objects if (root := archive.read_xml(one)) is not None]
    text.lose("charts and other objects", sum(local_name(x) != "math" for x in roots), CHARTS)
    owners = ("/commentAuthors", "/persons/", "ppt/authors")
    told = [name for name in parts if any(one in name for one in owners)]
    people = {attribute(x, "id"): x for name in told for x in _read_people(archive, name)}
    for name in parts:
        if "omment" in name and not name.startswith("word/"):
            _add_comments(text, archive.read_xml(name), people)
        for where, place in _SHAPES:
            if where in name and not name.startswith("ppt/"):  # a slide has its own
                text.add_block(Part(archive, name).read_note(), place)
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
