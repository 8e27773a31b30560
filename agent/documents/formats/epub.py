"""Books in EPUB: a ZIP archive of pages in XHTML, in the order of the book's spine.

Format: https://www.w3.org/TR/epub-33/. Scripts are not run; encrypted books are not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import dirname

from agent.documents.blocks import TextBlock
from agent.documents.body_text import Body, BodyText, PlacedText, UnreadablePage
from agent.documents.formats.archive import Archive, read_properties, resolve_part
from agent.documents.formats.xml import Element, attribute, find_all, find_first

LOWEST_HEADING = 3  # level of a heading that may be that of a chapter
CONTAINER = "META-INF/container.xml"
#: Parts of a book that are no chapters, by their `epub:type`.
_NO_CHAPTERS = frozenset("cover titlepage toc landmarks copyright-page imprint".split())


def read_epub(source: Body) -> BodyText:
    """The text of each page, in its chapter: they are counted from 1, by pages with a heading."""
    archive = Archive(source.data)
    if "META-INF/rights.xml" in archive.names:
        raise UnreadablePage("it is protected against copying", "unsupported")
    package = attribute(find_first(archive.read_xml(CONTAINER), "rootfile"), "full-path")
    root = archive.read_xml(package)
    if root is None:
        raise UnreadablePage("it is damaged: it has no list of pages", "invalid")
    text = PlacedText(source, *read_properties(root, "title", "date"))
    chapter, place = 0, ""
    for name in dict.fromkeys(_page_names(root, dirname(package))):
        for block, begins_chapter in _read_page(archive.read(name)):
            if begins_chapter:
                chapter += 1
                place = f"chapter {chapter}, {block.text}"
            text.add_block(block, place)
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


def _read_page(page: bytes) -> Iterator[tuple[TextBlock, bool]]:
    """The blocks of a page, and whether each is a heading that begins a chapter."""
    from agent.documents.html.blocks import read_blocks
    from agent.documents.html.reader import parse_visible, write_marks
    from agent.documents.sniff import decode

    tree = parse_visible(decode(page))
    if tree is None:
        return
    write_marks(tree, "//ol | //ul")
    body = tree.find("body")
    blocks = list(read_blocks(body))
    types = (one.get("epub:type") or one.get("type") or "" for one in (body, *body))
    is_chapter = _NO_CHAPTERS.isdisjoint(" ".join(types).split())
    levels = (block.level for block in blocks if block.kind == "heading")
    main = min((level for level in levels if level <= LOWEST_HEADING), default=0)
    begun = False
    for block in blocks:
        begins = is_chapter and block.kind == "heading" and block.level == main
        yield block, begins and (main == 1 or not begun)
        begun |= begins
