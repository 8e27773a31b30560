"""A page as Markdown with its links, for a report: each note is a line behind the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from agent.documents.html.element_lines import Element, prefix, render_lines, write_marks
from agent.documents.html.hidden import remove_elements, remove_hidden
from agent.documents.rendered_markdown import write_link

#: What is no prose of a report.
_NO_REPORT = (
    "descendant::*[self::head or self::nav or self::footer or self::aside or self::button"
    " or self::select or self::math or self::object or self::pre or self::script"
    " or self::form[not(descendant::p)]]"
)
#: Where the prose of a page is: the first of these that exists.
_MAIN = ("//main", "//article", "//body")
_NOTE = re.compile(r"[\[(^]*\s*(?:note |nb )?\d{1,4}\s*[\])]*")
_ADDRESS = re.compile(r"https?://|\b10\.\d{4,9}/")
_INLINE = ("a", "sup", "span", "cite", "b", "i", "em")
_NO_NOTES = frozenset("body section h1 h2 h3 h4 h5 h6".split())
_NOT_IN_CELL = "[not(ancestor::td or ancestor::th)]"
_ICONS = re.compile(r"(?:\W*\[\]\(<[^<>]*>\))+\W*")  # links that show no words
_ROW = re.compile(r"^(\||#+) \| ")
LONGEST_LINK = 300  # characters; a longer one is a part of the page
LONGEST_NOTE = 3000  # characters; a longer element is no note but a part of the page


def write_markdown(tree: Element) -> str:
    """The prose of a page and its notes, without its menus, code and hidden parts."""
    remove_hidden(tree)
    for raised in tree.xpath("//sup[not(*) and not(ancestor::a)]"):
        raised.text = f"<sup>{raised.text or ''}</sup>"
    _write_links(tree)
    notes = list(_take_notes(tree))
    root = next(element for path in _MAIN for element in tree.xpath(path))
    remove_elements(root.xpath(_NO_REPORT))
    write_marks(root, f"descendant::ul{_NOT_IN_CELL} | descendant::ol{_NOT_IN_CELL}")
    for level in range(1, 7):
        for heading in root.xpath(f"descendant::h{level}{_NOT_IN_CELL}"):
            prefix(heading, "#" * level)
    for row in root.xpath(f"descendant::tr{_NOT_IN_CELL}"):
        row.text = "|" if row.find("td") is not None else "######"
    lines = (_ROW.sub(r"\1 ", line) for line in render_lines(root).split("\n"))
    return "\n\n".join([*(line for line in lines if not _ICONS.fullmatch(line)), *notes])


def _write_links(tree: Element) -> None:
    for link in tree.xpath("//a[@href]"):
        url = link.get("href").strip()
        url = f"https:{url}" if url.startswith("//") else url
        is_source = url.startswith(("http://", "https://"))
        if is_source and len(words := _words_of(link)) <= LONGEST_LINK:
            _replace(link, write_link(words, url))


def _replace(element: Element, text: str) -> None:
    del element[:]
    element.text = text
    element.drop_tag()


def _take_notes(tree: Element) -> Iterator[str]:
    """Take the notes out that numbers lead to; those with an address become `[^n1]: its text`."""
    places = {e.get("name"): e for e in tree.xpath("//a[@name]")}
    places |= {e.get("id"): e for e in tree.xpath("//*[@id]")}
    notes: dict[Element, list[Element]] = {}  # with the links to each
    for link in tree.xpath("//a[starts-with(@href, '#')]"):
        note = _find_note(places, link) if _NOTE.fullmatch(_words_of(link)) else None
        if note is not None:
            notes.setdefault(note, []).append(link)
    for number, (note, links) in enumerate(notes.items(), 1):
        text = _words_of(note)
        others = (_find_note(places, link) for link in note.iter("a") if "://" not in text)
        further = (_words_of(one) for one in others if one is not None and one is not note)
        text = " ".join([text, *(words for words in further if "[" not in words)])[:LONGEST_NOTE]
        has_address = bool(_ADDRESS.search(text))
        for link in links:
            label = f"^n{number}" if has_address else _words_of(link).strip("[]()^ ")
            _replace(link, f"[{label}]")
        yield f"[^n{number}]: {text}" if has_address else ""
    remove_elements(notes)


def _find_note(places: dict[str, Element], link: Element) -> Element | None:
    """The block that a link within the page leads to, if it may be a note."""
    found = places.get(unquote(link.get("href", "").removeprefix("#")))
    while found is not None and found.tag in _INLINE:
        found = found.getparent()
    is_part = found is None or found.tag in _NO_NOTES or len(_words_of(found)) > LONGEST_NOTE
    return None if is_part else found


def _words_of(element: Element) -> str:
    return " ".join(render_lines(element).split()).lstrip("^↑ ")
