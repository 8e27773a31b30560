"""Books in EPUB: a ZIP archive of pages in XHTML, in the order of the book's spine.

Format: https://www.w3.org/TR/epub-33/. Scripts are not run; encrypted books are not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import dirname

from agent.documents.body_text import BodyText, PlacedText, RawBody, UnreadablePage
from agent.documents.formats.archive import (
    Archive,
    Element,
    attribute,
    find_all,
    find_first,
    read_properties,
    resolve_part,
)

CONTAINER = "META-INF/container.xml"
#: Parts of a book that are no chapters, by their `epub:type`.
_NO_CHAPTERS = frozenset("cover titlepage toc landmarks copyright-page imprint".split())


def read_epub(source: RawBody) -> BodyText:
    """The text of each page, in its chapter: they are counted from 1, by pages with a heading."""
    archive = Archive(source.data)
    if "META-INF/rights.xml" in archive.names:
        raise UnreadablePage("it is protected against copying", "unsupported")
    found = find_first(archive.read_xml(CONTAINER), "rootfile")
    package = attribute(found, "full-path") if found is not None else ""
    root = archive.read_xml(package)
    if root is None:
        raise UnreadablePage("it is damaged: it has no list of pages", "invalid")
    text = PlacedText(source, *read_properties(root, "title", "date"))
    chapter, place = 0, ""
    for name in dict.fromkeys(_page_names(root, dirname(package))):
        for heading, lines in _split_chapters(archive.read(name)):
            if heading:
                chapter += 1
                place = f"chapter {chapter}, {heading}"
            text.add("\n".join(lines), place)
        if text.is_full:
            break
    return text.finish()


def _page_names(package: Element, folder: str) -> Iterator[str]:
    """The pages of the spine, without the one with the table of contents."""
    items = {attribute(item, "id"): item for item in find_all(package, "item")}
    for reference in find_all(package, "itemref"):
        item = items.get(attribute(reference, "idref"))
        if item is not None and "nav" not in attribute(item, "properties").split():
            yield resolve_part(folder, attribute(item, "href"))


def _split_chapters(page: bytes) -> Iterator[tuple[str, list[str]]]:
    """The lines of a page from one main heading to the next, and that heading; "" for none."""
    from agent.documents.html.reader import parse_visible
    from agent.documents.sniff import decode

    tree = parse_visible(decode(page))
    if tree is None:
        return
    body = tree.find("body")
    if _types(body) & _NO_CHAPTERS or any(_types(child) & _NO_CHAPTERS for child in body):
        yield "", _lines(body)
        return
    headings = {" ".join(one.text_content().split()) for one in _main_headings(body)}
    heading, lines = "", list[str]()
    for line in _lines(body):
        if line in headings:
            yield heading, lines
            heading, lines = line, []
        lines.append(line)
    yield heading, lines


def _main_headings(body: Element) -> list[Element]:
    """The headings of the highest level that the page has."""
    for level in ("h1", "h2", "h3"):
        if found := list(body.iter(level)):
            return found if level == "h1" else found[:1]
    return []


def _types(element: Element) -> set[str]:
    return set((element.get("epub:type") or element.get("type") or "").split())


def _lines(body: Element) -> list[str]:
    from agent.documents.html.boxes import render_lines

    return render_lines(body, has_rows_of_blocks=False)
