"""arXiv: preprints of physics, mathematics and computer science. It needs no key, but patience."""

from __future__ import annotations

from collections.abc import Iterator

from agent.documents.body_text import UnreadablePage
from agent.documents.formats.xml import Element, attribute, find_all, find_first
from agent.documents.formats.xml_archive import parse_xml
from agent.search.scholar.bibliographic import ScholarService
from agent.search.scholar.records import ARXIV_DOI, make_name
from agent.state import Json


class Arxiv(ScholarService):
    """Atom: https://info.arxiv.org/help/api/user-manual.html; rates: /help/api/tou.html there.

    Where a preprint names the DOI of its published version, that is the work.
    """

    name = "arxiv"

    def read(self, data: bytes) -> Iterator[Json]:
        try:
            feed = parse_xml(data)
        except UnreadablePage:
            feed = None
        if feed is None or not str(feed.tag).endswith("}feed"):
            raise self.endpoint.build_error("invalid", "no feed in Atom")
        for entry in find_all(feed, "entry"):
            if "/api/errors" in _read(entry, "id"):
                raise self.endpoint.error_from_message(_read(entry, "summary"))
            yield _read_entry(entry)


def _read_entry(entry: Element) -> Json:
    number, _, version = _read(entry, "id").rpartition("/abs/")[2].rpartition("v")
    number = number if number and version.isdecimal() else number + version
    links = (attribute(one, "href") for one in find_all(entry, "link"))
    return {
        "title": _read(entry, "title"),
        "DOI": _read(entry, "doi") or f"{ARXIV_DOI}{number}",
        "type": "preprint",
        "author": [make_name(_read(one, "name")) for one in find_all(entry, "author")][:50],
        "day": _read(entry, "published"),
        "publisher": "arXiv",
        "abstract": _read(entry, "summary"),
        # the author's own word, for a preprint that was taken back
        "retracted": "withdrawn" in _read(entry, "comment").casefold(),
        "place": next((url for url in links if "/pdf/" in url), None),
    }


def _read(element: Element, name: str) -> str:
    child = find_first(element, name)
    return " ".join((child.text or "").split()) if child is not None else ""
