"""JATS: the XML of articles in open archives. Format: https://jats.nlm.nih.gov/archiving/."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent.documents.body_text import Body, BodyText, PlacedText
from agent.documents.formats.xml import Element, find_all, find_first, local_name
from agent.documents.formats.xml_archive import parse_xml

#: Elements that say something in another name than those of HTML, and those that say nothing.
NAMES = {"article-title": "h1", "title": "h2", "sec": "section", "list": "ul", "list-item": "li"}
NAMES |= {"body": "div", "back": "div", "abstract": "div"}
LEFT_OUT = "ref-list tex-math journal-meta contrib-group permissions".split()
_NUMBER = re.compile(r"[\W\d_]*")  # of a reference or a note, which would read like a citation


def is_jats(data: bytes) -> bool:
    """Whether a body is an article in JATS, by its beginning."""
    head = data[:4096].lstrip(b"\xef\xbb\xbf \r\n\t")
    is_xml = head.startswith((b"<?xml", b"<!DOCTYPE article", b"<article "))
    is_named = b"article-type=" in head or b"<front>" in head or b"<journal-meta" in head
    return is_xml and b"<article" in head and is_named


def read_jats(source: Body) -> BodyText:
    """Title, abstract and body, as a page in HTML that has them; then authors and references.

    Raises UnreadablePage.
    """
    from lxml import etree

    from agent.documents.html.reader import read_html

    root = parse_xml(source.data)
    title = find_first(find_first(root, "article-meta"), "article-title")
    named = (find_first(root, one) for one in ("body", "floats-group", "back"))
    parts = [title, *find_all(root, "abstract"), *named]
    authors = ", ".join(_read_authors(find_first(root, "contrib-group")))
    appended = [
        (" ".join(" ".join(one.itertext()).split()), place)
        for name, place in (("aff", "authors"), ("ref", "references"))
        for one in find_all(root, name)
    ]
    name = "" if title is None else " ".join("".join(title.itertext()).split())
    marks = (one for name in ("xref", "label") for one in find_all(root, name))
    numbers = [one for one in marks if _NUMBER.fullmatch("".join(one.itertext()))]
    for element in [*numbers, *(one for name in LEFT_OUT for one in find_all(root, name))]:
        element.clear(keep_tail=True)
    for element in root.iter("{*}*"):
        element.tag = NAMES.get(local_name(element), local_name(element))
    etree.cleanup_namespaces(root)
    written = [etree.tostring(part, encoding="unicode") for part in parts if part is not None]
    page = f"<html><body><main>{''.join(written)}</main></body></html>"
    read = read_html(source._replace(data=page.encode(), content_type="text/html; charset=utf-8"))
    text = PlacedText(source, name or read.title)
    text.add(read.text)
    text.add(authors, "authors")
    for words, place in appended:
        text.add(words, place)
    return text.finish()


def _read_authors(group: Element | None) -> Iterator[str]:
    for contributor in find_all(group, "contrib"):
        names = (find_first(contributor, one) for one in ("given-names", "surname", "collab"))
        yield " ".join("".join(one.itertext()).strip() for one in names if one is not None)
