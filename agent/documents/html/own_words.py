"""What a page says of itself: its date, and that it is not free to read.

A date counts where it is said to programs: JSON-LD (https://schema.org), `meta` elements,
microdata, `time`. Dates in the text may be of anything.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from itertools import islice
from typing import Any, NamedTuple

from agent.documents.own_date import read_day

Element = Any  # lxml has no type hints
Json = dict[str, Any]

MAX_SCRIPTS = 20  # of JSON-LD
MAX_SCRIPT = 500_000  # characters of one
MAX_ITEMS = 1000  # elements that are looked at for a date, or for a part with a price
MAX_DATE = 40  # characters
#: Names of a date, in lower case: Open Graph, schema.org, Dublin Core, Google Scholar, publishers.
_CHANGED = frozenset(
    "datemodified article:modified_time og:updated_time dcterms.modified dc.date.modified "
    "last-modified article.updated".split()
)
_PUBLISHED = frozenset(
    "datepublished article:published_time og:published_time article:published article.published "
    "dcterms.date dcterms.created dcterms.issued dc.date dc.date.issued dc.date.created date "
    "pubdate publishdate publish-date publish_date parsely-pub-date sailthru.date "
    "citation_publication_date citation_online_date citation_date".split()
)
_PARTS = ("Review", "UserReview", "CriticReview", "Comment", "Answer")  # types of schema.org
#: Microdata with a date, outside of what is only a part of the page.
_DATED_ITEMS = (
    "//*[@itemprop='dateModified' or @itemprop='datePublished'][not(ancestor::*["
    "@itemprop='review' or @itemprop='reviews' or @itemprop='comment' or @itemprop='answer'])]"
)
#: https://developers.google.com/search/docs/appearance/structured-data/paywalled-content
_NOT_FREE = re.compile(r'"isAccessibleForFree"\s*:\s*"?(?:https?://schema\.org/)?false\b', re.I)
_PAID_PART = re.compile(r'"cssSelector"\s*:\s*"([^"]{1,200})"')
_PAID_META = (("isaccessibleforfree", "false"), ("article:content_tier", "locked"))
_CLASS = re.compile(r"[.#]([\w-]{1,100})")
#: Characters of a part for subscribers from which on it is there, and not only its first lines.
MIN_PAID_PART = 1000
#: Characters of text below which a page that calls itself paid is a teaser, where it does not name
#: the paid part. Right on all articles of data/pages; run test_own_words.py after changing it.
MAX_TEASER = 5000
MAX_PAID_PARTS = 5  # that are looked for
MIN_NOTICE, MAX_NOTICE = 4, 250  # characters of a text that may be a notice
TEASER = "only its teaser was read; the rest is for subscribers"


def find_day(tree: Element) -> str:
    """The day on which a page was last changed, or else published, as YYYY-MM-DD; "" for none."""
    named = list(_named_dates(tree))
    for names in (_CHANGED, _PUBLISHED):
        if day := read_day(*(value for name, value in named if name in names)):
            return day
    return read_day(*tree.xpath("//article//time/@datetime | //main//time/@datetime")[:1])


def _named_dates(tree: Element) -> Iterator[tuple[str, str]]:
    """Dates with their names in lower case, the ones of the page as a whole first."""
    for node in json_nodes(json_ld(tree)):
        for name in ("dateModified", "datePublished"):
            yield name.lower(), str(node.get(name))[:MAX_DATE]
    for meta in tree.iter("meta"):
        for key in ("property", "name", "itemprop", "http-equiv"):
            yield (meta.get(key) or "").lower(), meta.get("content") or ""
    for element in tree.xpath(_DATED_ITEMS)[:MAX_ITEMS]:
        value = element.get("datetime") or element.get("content") or element.text or ""
        yield (element.get("itemprop") or "").lower(), value


def json_nodes(scripts: Iterable[str]) -> Iterator[Json]:
    """What JSON-LD says of the page, and not of what is in it: reviews, comments, other pages."""
    for script in scripts:
        try:
            value = json.loads(script, strict=False)
        except (ValueError, RecursionError):
            continue
        for top in value if isinstance(value, list) else [value]:
            graph = top.get("@graph") if isinstance(top, dict) else None
            nodes = [top, *(graph if isinstance(graph, list) else ())]
            yield from (node for node in nodes if isinstance(node, dict) and not _is_part(node))


def _is_part(node: Json) -> bool:
    """Whether a node of JSON-LD is of a part of the page."""
    kinds = node.get("@type")
    return any(kind in _PARTS for kind in (kinds if isinstance(kinds, list) else [kinds]))


def json_ld(tree: Element) -> list[str]:
    """The scripts of JSON-LD of a page."""
    scripts = tree.xpath("//script[@type='application/ld+json']/text()")
    return [str(script)[:MAX_SCRIPT] for script in scripts[:MAX_SCRIPTS]]


class Paywall(NamedTuple):
    """What a page says of its price: to programs, and in short texts to readers.

    `parts` are the classes and IDs of what has a price, `lacks_parts` whether they are not there.
    """

    is_paid: bool
    parts: tuple[str, ...]
    lacks_parts: bool = False
    short_texts: tuple[str, ...] = ()

    def look_at(self, body: Element) -> Paywall:
        """The same, with what the body of the page shows, which is without what is hidden."""
        texts = (text for text in body.itertext() if MIN_NOTICE <= len(text) <= MAX_NOTICE)
        path = "descendant-or-self::*[contains(concat(' ', @class, ' ', @id, ' '), $name)]"
        parts = (body.xpath(path, name=f" {name} ")[:MAX_ITEMS] for name in self.parts)
        lengths = (sum(len(one.text_content()) for one in part) for part in parts)
        lacks_parts = bool(self.parts) and max(lengths) < MIN_PAID_PART
        return self._replace(lacks_parts=lacks_parts, short_texts=tuple(texts))

    def hides_rest(self, text: str) -> bool:
        """Whether the text of the page is only a teaser."""
        if self.parts:
            return self.lacks_parts
        texts = (short.strip().lower() for short in self.short_texts)
        return (self.is_paid or any(map(_notice().match, texts))) and len(text) < MAX_TEASER


def find_paywall(tree: Element) -> Paywall:
    """What a page says to programs of its price, in hidden elements too."""
    scripts = [script for script in json_ld(tree) if _NOT_FREE.search(script)]
    selectors = (selector for script in scripts for selector in _PAID_PART.findall(script))
    names = (name for selector in selectors for name in _CLASS.findall(selector)[-1:])
    return Paywall(bool(scripts) or _has_paid_meta(tree), tuple(islice(names, MAX_PAID_PARTS)))


def _has_paid_meta(tree: Element) -> bool:
    """Whether microdata or Open Graph says that a page is not free."""
    names = ("itemprop", "property")
    told = ((meta.get(n), meta.get("content") or "") for meta in tree.iter("meta") for n in names)
    pairs = {(name.lower(), value.lower()) for name, value in told if name}
    return not pairs.isdisjoint(_PAID_META)


@cache
def _notice() -> re.Pattern[str]:
    words = files("agent.documents.html").joinpath("own_words.toml").read_text("utf-8")
    lines = (line for text in tomllib.loads(words).values() for line in text.strip().split("\n"))
    return re.compile("|".join(lines))
