"""The list of sources at the end of a report, and how its text names them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from agent.documents.blocks import TextBlock
from agent.evidence.words import strip_accents
from agent.state.urls import canonical_url, find_urls, is_web_url

_HEADING = re.compile(
    r"[\s#*_\d.:)–-]*(?:(?:list of |cited |key |main |all )?"
    r"(?:references?|sources?|bibliography|citations?|works cited|literature(?: cited)?"
    r"|foot ?notes|end ?notes|notes(?: and references)?|further reading"
    r"|external links|see also|links|source list|sources? (?:used|cited|consulted)"
    r"|quellen(?:verzeichnis|angaben)?|literatur(?:verzeichnis)?|einzelnachweise|weblinks"
    r"|références|bibliographie|referencias|bibliografía|fuentes|riferimenti|fonti|bibliografia"
    r"|referências|fontes|bronnen|referenties|источники|литература|примечания|ссылки"
    r"|参考文献|参考资料|来源|资料来源|出典|脚注|المراجع|المصادر)"
    r"(?: (?:and|&|und) (?:sources?|references?|notes|links|citations?))?)[\s*_:：]*",
    re.I,
)
#: How an entry begins: `[1]`, `[^1]:`, `1.`, `(1)`, `1 https://`, `【1】`.
_LABEL = re.compile(
    r"\s*(?:[-*•]\s+)?(?:[\[【(]\s*\^?(?P<marked>[\w-]{1,20})\s*[\]】)]\s*[:.]?"
    r"|(?P<bare>\d{1,3})[.):\s])\s*"
)
_DEFINITION = re.compile(r"\s*\[\^?(?P<label>[\w-]{1,30})\]\s*:?\s+(?=\S)")
DOI = re.compile(
    r"(?:\bdoi:?\s*|(?<![\w/.]))(10\.\d{4,9}/[^\s\"'<>«»“”()\[\]{},;]*"
    r"(?:\([^\s()]*\)[^\s\"'<>()\[\]{},;]*)*)",
    re.I,
)
_YEAR = re.compile(r"(?<!\d)(1[5-9]\d{2}|20\d{2})(?!\d)")
LONGEST_TITLE = 300  # characters
AUTHORS = 300  # characters of an entry in which its authors stand
MAX_ENTRIES = 2000


class CitedAddress(NamedTuple):
    """What a marker or a link leads to: an address, or "" where the report gives none."""

    key: str  # the same for every way in which the source is named
    url: str
    title: str = ""

    @classmethod
    def of(cls, url: str, title: str = "") -> CitedAddress:
        """The source at an address; a `#name` is a note that gives none."""
        if is_web_url(url):
            return cls(canonical_url(url), url, title)
        if stated := find_address(title):
            return cls(canonical_url(stated), stated, title)
        return cls(url, "", title)


class _Entry(NamedTuple):
    address: CitedAddress
    text: str


class References:
    """The sources that a report lists, by label, and by author and year."""

    def __init__(self, listed: Iterable[tuple[str, str, str]] = ()) -> None:
        self._by_label: dict[str, CitedAddress] = {}
        self._entries: list[_Entry] = []
        for label, url, title in listed:
            self._by_label.setdefault(label.casefold(), CitedAddress.of(url, title))

    def __bool__(self) -> bool:
        return bool(self._by_label or self._entries)

    def add_block(self, block: TextBlock) -> None:
        """Read the entries of a block: one a line, or one behind each label."""
        for number, text, start in _split_entries(block):
            if len(self._entries) < MAX_ENTRIES:
                self._add_entry(block, number, text, start)

    def _add_entry(self, block: TextBlock, number: int | None, text: str, start: int) -> None:
        label = _LABEL.match(text)
        named = (label["marked"] or label["bare"]) if label else None
        body = text[label.end() :] if label else text
        linked = (x.url for x in block.links if start <= x.start < start + len(text))
        url = next(filter(is_web_url, linked), "") or find_address(body)
        words = (word for word in body.split() if "://" not in word)
        title = " ".join(words)[:LONGEST_TITLE].strip(" :-–—(")
        self._entries.append(_Entry(CitedAddress.of(url or f"#{named or body[:80]}", title), body))
        name = named or str(number or len(self._entries))
        self._by_label.setdefault(name.casefold(), self._entries[-1].address)

    def find(self, label: str) -> CitedAddress | None:
        """The source with this label."""
        return self._by_label.get(label.casefold())

    def find_by_author(self, author: str, year: str) -> CitedAddress | None:
        """The source of these authors and this year: `Smith et al.`, `2020`."""
        first = re.match(r"[\w'’-]+", strip_accents(author))
        named = re.compile(rf"\b{re.escape(first[0])}\b" if first else r"(?!)")
        for address, text in self._entries:
            if named.search(strip_accents(text[:AUTHORS])) and year in _YEAR.findall(text):
                return address
        return None


def find_address(text: str) -> str:
    """The first address in a text, or that of its first DOI; "" for neither."""
    if url := next(find_urls(text), ""):
        return url
    doi = DOI.search(text)
    return f"https://doi.org/{unquote(doi[1]).rstrip('.')}" if doi else ""


def _split_entries(block: TextBlock) -> Iterator[tuple[int | None, str, int]]:
    """The entries of a block, with the number of its item and their offsets in it."""
    begins = re.finditer(r"\n|\s(?=\[\^?\d{1,4}\]:?\s)", block.text)
    starts = [0, *(begin.end() for begin in begins)]
    if sum(bool(_LABEL.match(block.text, start)) for start in starts) < len(starts) / 2:
        starts = [0]  # one entry on several lines
    for start, end in zip(starts, [*starts[1:], len(block.text)], strict=True):
        if block.text[start:end].strip():
            yield block.number if len(starts) == 1 else None, block.text[start:end], start


def split_references(blocks: Sequence[TextBlock]) -> tuple[list[TextBlock], list[TextBlock]]:
    """The blocks of the report's prose, and those of its list of sources."""
    prose: list[TextBlock] = []
    entries: list[TextBlock] = []
    level = 0  # of the heading of the list, while in it
    for block in blocks:
        if is_reference_heading(block):
            level = block.level or 7
        elif block.kind == "heading" and level and 0 < block.level <= level:
            level = 0
            prose.append(block)
        elif level or _is_definition(block):
            entries.append(block)
        else:
            prose.append(block)
    return prose, entries


def is_reference_heading(block: TextBlock) -> bool:
    """Whether a block stands above a list of sources: a heading, or a short line like one."""
    return len(block.text) < 60 and bool(_HEADING.fullmatch(block.text)) and block.kind != "row"


def _is_definition(block: TextBlock) -> bool:
    """Whether a block outside such a list defines a marker: `[1]: https://...`, `[^a]: Title`."""
    label = _DEFINITION.match(block.text)
    if not label or block.kind == "heading":
        return False
    has_link = any(is_web_url(link.url) for link in block.links)
    return bool(label[0].rstrip().endswith(":") or find_address(block.text) or has_link)
