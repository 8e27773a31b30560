"""Reports in HTML: prose with its links; notes are followed to the address that they name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urlsplit

from agent.characters import strip_controls
from agent.documents import sniff
from agent.documents.blocks import BlockBuilder, TextBlock
from agent.documents.body_text import BodyText, PlacedText, RawBody, normalize_title

SKIPPED = frozenset(
    "script style noscript template head nav footer aside form button select svg math iframe "
    "object pre".split()
)
BLOCKS = frozenset(
    "p div li ul ol dl dd dt table thead tbody tfoot tr caption blockquote section article main "
    "header figure figcaption h1 h2 h3 h4 h5 h6 hr body address details summary".split()
)
#: Where the prose of a page stands, the first that there is.
MAIN = ("//*[@id='mw-content-text']", "//main", "//article", "//body")
HIDDEN = re.compile(r"\b(?:navbox|mw-editsection|reference-accessdate|toc|mw-jump-link|infobox)\b")
NOTE = re.compile(r"^[\[(^]*\s*(?:note |nb )?\d{1,4}\s*[\])]*$")
LONGEST_NOTE = 3000  # characters; a longer element is no note but a part of the report
_HEADING = re.compile(r"h[1-6]")
#: Where links of a wiki's own prose lead: these are no sources.
_WIKIS = re.compile(r"^(?:https?:)?//[\w.-]*\b(?:wikipedia|wikimedia|wiktionary|wikidata)\.org")


def read_html_report(source: RawBody) -> BodyText:
    """The blocks of a page in HTML. Hidden parts, menus and code are left out."""
    page = _parse(sniff.decode(source.data, source.content_type))
    text = PlacedText(source, page.findtext(".//title") or "" if page is not None else "")
    for block in () if page is None else _Walker(page).walk():
        if block and block.kind == "heading":
            text.title = text.title or normalize_title(block.text)
        text.add_block(block)
        if text.is_full:
            break
    return text.finish()


def read_fragment(html: str) -> Iterator[TextBlock]:
    """The blocks of a piece of HTML."""
    page = _parse(f"<body>{html}</body>")
    return iter(()) if page is None else filter(None, _Walker(page).walk())


def _parse(text: str) -> Any:
    import lxml.html

    parser = lxml.html.HTMLParser(no_network=True, huge_tree=False)
    try:
        return lxml.html.document_fromstring(strip_controls(text) or "<p></p>", parser=parser)
    except (ValueError, lxml.etree.LxmlError):
        return None


def _find_all(page: Any, path: str) -> list[Any]:
    return list(page.xpath(path))


class _Notes:
    """The notes of a page by their id: the elements that markers in its text lead to."""

    def __init__(self, page: Any) -> None:
        self._ids = {e.get("id"): e for e in page.xpath("//*[@id]")}
        self._ids |= {e.get("name"): e for e in page.xpath("//a[@name]")}
        self.elements = {
            note
            for link in page.xpath("//a[starts-with(@href, '#')]")
            if NOTE.match(_text_of(link)) and (note := self.find(link.get("href"))) is not None
        }

    def find(self, href: str) -> Any:
        """The block that a link within the page leads to, if it may be a note."""
        found = self._ids.get(unquote(href[1:]))
        while found is not None and found.tag in ("a", "sup", "span", "cite", "b", "i", "em"):
            found = found.getparent()
        if found is None or _HEADING.match(str(found.tag)) or found.tag in ("body", "section"):
            return None
        return found if len(_text_of(found)) <= LONGEST_NOTE else None

    def address(self, note: Any, *, follow: bool = True) -> str:
        """The first address in a note that leads out of the page; by a second note if need be."""
        urls = [link.get("href") for link in note.xpath(".//a[@href]")]
        outside = [_absolute(url) for url in urls if _is_outside(url)]
        if outside:
            return next((u for u in outside if "archive.org" not in u), outside[0])
        inner = (self.find(url) for url in urls if url.startswith("#"))
        if follow:
            others = (other for other in inner if other is not None and other is not note)
            found = (self.address(other, follow=False) for other in others)
            return next(filter(None, found), "")
        return ""


class _Walker:
    """Goes through the elements of a page once."""

    def __init__(self, page: Any) -> None:
        found: list[Any] = [element for path in MAIN for element in _find_all(page, path)[:1]]
        self._root = found[0] if found else page
        self._notes = _Notes(page)
        self._builder = BlockBuilder()
        self._links: dict[Any, int] = {}
        self._is_wiki = bool(page.xpath("//*[contains(@class, 'mw-parser-output')]"))

    def walk(self) -> Iterator[TextBlock | None]:
        from lxml import etree

        walker = etree.iterwalk(self._root, events=("start", "end", "comment", "pi"))
        for event, element in walker:
            if event in ("comment", "pi") or not isinstance(element.tag, str):
                self._builder.add(element.tail or "")
            elif event == "start":
                yield from self._enter(element, walker)
            else:
                yield from self._leave(element)

    def _enter(self, element: Any, walker: Any) -> Iterator[TextBlock | None]:
        tag = element.tag
        if tag in BLOCKS:
            yield self._flush(element.getparent())
        if self._is_skipped(element):
            walker.skip_subtree()
            return
        if tag in ("td", "th") and self._builder.length:
            self._builder.add(" | ")
        if tag == "br":
            self._builder.add("\n")
        if tag == "a" and element.get("href"):
            self._links[element] = self._builder.length
        self._builder.add(_inline(element.text))

    def _leave(self, element: Any) -> Iterator[TextBlock | None]:
        if element in self._links:
            self._end_link(element)
        if element.tag in BLOCKS:
            yield self._flush(element)
        if element is not self._root:
            self._builder.add(_inline(element.tail))

    def _is_skipped(self, element: Any) -> bool:
        if element.tag in SKIPPED or element in self._notes.elements:
            return True
        is_hidden = element.get("hidden") is not None or "display:none" in (
            element.get("style") or ""
        ).replace(" ", "")
        return is_hidden or bool(HIDDEN.search(element.get("class") or ""))

    def _end_link(self, element: Any) -> None:
        href, start = element.get("href").strip(), self._links.pop(element)
        if href.startswith("#"):
            note = self._notes.find(href) if NOTE.match(_text_of(element)) else None
            if note is not None:
                url = self._notes.address(note) or f"#{href[1:]}"
                self._builder.link(start, url, _text_of(note)[:300], is_note=True)
        elif _is_outside(href) and not (self._is_wiki and _WIKIS.search(href)):
            self._builder.link(start, _absolute(href))

    def _flush(self, element: Any) -> TextBlock | None:
        tag = element.tag if element is not None and isinstance(element.tag, str) else ""
        if _HEADING.fullmatch(tag):
            return self._builder.build("heading", level=int(tag[1]))
        if tag == "tr":
            has_cells = element.find("td") is not None
            return self._builder.build("row" if has_cells else "heading", level=9)
        item = next((e for e in _lineage(element) if e.tag == "li"), None)
        if item is not None:
            return self._builder.build("item", _number_of(item))
        return self._builder.build("paragraph")


def _lineage(element: Any) -> Iterator[Any]:
    for _ in range(3):
        if element is None:
            return
        yield element
        element = element.getparent()


def _number_of(item: Any) -> int | None:
    """The number of an item in an ordered list."""
    parent = item.getparent()
    if parent is None or parent.tag != "ol":
        return None
    start = str(parent.get("start") or "1")
    return int(start if start.isdecimal() else 1) + sum(
        1 for e in item.itersiblings("li", preceding=True)
    )


def _inline(text: str | None) -> str:
    return re.sub(r"\s+", " ", text or "")


def _text_of(element: Any) -> str:
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
