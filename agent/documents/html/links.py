"""The links of a page that lead out of it; notes are followed to the address that they name."""

from __future__ import annotations

import re
from itertools import chain
from urllib.parse import unquote, urlsplit

from agent.documents.blocks import RAISED
from agent.documents.html.blocks import Element, LinkTarget

_NOTE = re.compile(r"^[\[(^]*\s*(?:note |nb )?\d{1,4}\s*[\])]*$")
_INLINE = ("a", "sup", "span", "cite", "b", "i", "em")
_NO_NOTES = frozenset("body section h1 h2 h3 h4 h5 h6".split())
LONGEST_NOTE = 3000  # characters; a longer element is no note but a part of the page
#: Where links of a wiki's own prose lead: these are no sources.
_WIKIS = re.compile(r"^(?:https?:)?//[\w.-]*\b(?:wikipedia|wikimedia|wiktionary|wikidata)\.org")


def read_links(page: Element) -> tuple[dict[Element, LinkTarget], list[Element]]:
    """What the links of a page lead to, and the elements that are its notes."""
    notes = _Notes(page)
    is_wiki = bool(page.xpath("//*[contains(@class, 'mw-parser-output')]"))
    links: dict[Element, LinkTarget] = {}
    for link in page.iter("a"):
        href = (link.get("href") or "").strip()
        if (note := notes.by_link.get(link)) is not None:
            url = notes.address(note) or href
            links[link] = LinkTarget(url, _text_of(note)[:LONGEST_NOTE], is_note=True)
        elif _is_outside(href) and not (is_wiki and _WIKIS.search(href)):
            links[link] = LinkTarget(_absolute(href))
    raised = (sup for sup in page.iter("sup") if not len(sup))
    return links | dict.fromkeys(raised, LinkTarget(RAISED)), list(notes.by_link.values())


class _Notes:
    """The notes of a page: the elements that markers in its text lead to."""

    def __init__(self, page: Element) -> None:
        self._ids = {e.get("id"): e for e in page.xpath("//*[@id]")}
        self._ids |= {e.get("name"): e for e in page.xpath("//a[@name]")}
        self.by_link = {
            link: note
            for link in page.xpath("//a[starts-with(@href, '#')]")
            if _NOTE.match(_text_of(link)) and (note := self._find(link.get("href"))) is not None
        }

    def _find(self, href: str) -> Element | None:
        """The block that a link within the page leads to, if it may be a note."""
        found = self._ids.get(unquote(href[1:]))
        while found is not None and found.tag in _INLINE:
            found = found.getparent()
        is_part = found is None or found.tag in _NO_NOTES or len(_text_of(found)) > LONGEST_NOTE
        return None if is_part else found

    def address(self, note: Element, *, follow: bool = True) -> str:
        """The first address in a note that leads out of the page; by a second note if need be."""
        urls = [link.get("href") for link in note.xpath(".//a[@href]")]
        outside = [_absolute(one) for one in urls if _is_outside(one)]
        outside.sort(key=lambda one: "archive.org" in one)
        others = (self._find(one) for one in urls if one.startswith("#") and follow)
        notes = (other for other in others if other is not None and other is not note)
        further = (self.address(other, follow=False) for other in notes)
        return next(filter(None, chain(outside, further)), "")


def _text_of(element: Element) -> str:
    pieces = element.xpath(".//text()[not(ancestor::style) and not(ancestor::script)]")
    return " ".join("".join(pieces).split()).lstrip("^↑ ")


def _absolute(url: str) -> str:
    return f"https:{url}" if url.startswith("//") else url


def _is_outside(url: str) -> bool:
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return False
    return parts.scheme in ("http", "https", "") and bool(parts.netloc)
