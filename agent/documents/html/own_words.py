"""What a page says of itself: its date, and that it is not free to read.

A date counts where it is said to programs: JSON-LD (https://schema.org), `meta` elements,
microdata, `time`. Dates in the text may be of anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from agent.documents.own_date import read_day

Element = Any  # lxml has no type hints
Json = dict[str, Any]

MAX_SCRIPTS = 20  # of JSON-LD
MAX_SCRIPT = 500_000  # characters of one
MAX_ITEMS = 1000  # elements that are looked at for a date, or for a part with a price
MAX_DATE = 40  # characters
#: Names of a date, in lower case: Open Graph, schema.org, Dublin Core, Google Scholar, publishers.
_CHANGED = frozenset("datemodified article:modified_time og:updated_time".split())
_PUBLISHED = frozenset(
    "datepublished article:published_time dc.date date publishdate sailthru.date "
    "citation_publication_date citation_date".split()
)
#: Microdata with a date, outside of what is only a part of the page.
_DATED_ITEMS = (
    "//*[@itemprop='dateModified' or @itemprop='datePublished'][not(ancestor::*["
    "@itemprop='review' or @itemprop='reviews' or @itemprop='comment' or @itemprop='answer'])]"
)
#: https://developers.google.com/search/docs/appearance/structured-data/paywalled-content
_NOT_FREE = re.compile(r'"isAccessibleForFree"\s*:\s*"?(?:https?://schema\.org/)?false\b', re.I)
_PAID_PART = re.compile(r'"cssSelector"\s*:\s*"([^"]{1,200})"')
_CLASS = re.compile(r"[.#]([\w-]{1,100})")
#: Characters of a part for subscribers from which on it is there, and not only its first lines.
MIN_PAID_PART = 1000
#: Characters of text below which a page that calls itself paid is a teaser, where it does not name
#: the paid part. Right on all articles of data/pages; run test_own_words.py after changing it.
MAX_TEASER = 5000
MAX_PAID_PARTS = 5  # that are looked for
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
    """The nodes of JSON-LD, without those in them, which are of parts: reviews, comments."""
    for script in scripts:
        try:
            value = json.loads(script, strict=False)
        except (ValueError, RecursionError):
            continue
        for top in value if isinstance(value, list) else [value]:
            graph = top.get("@graph") if isinstance(top, dict) else None
            nodes = [top, *(graph if isinstance(graph, list) else ())]
            yield from (node for node in nodes if isinstance(node, dict))


def json_ld(tree: Element) -> list[str]:
    """The scripts of JSON-LD of a page."""
    scripts = tree.xpath("//script[@type='application/ld+json']/text()")
    return [str(script)[:MAX_SCRIPT] for script in scripts[:MAX_SCRIPTS]]


def find_paid_parts(tree: Element) -> tuple[str, ...] | None:
    """Classes and IDs of what has a price, as a page says to programs; None where all is free."""
    scripts = [script for script in json_ld(tree) if _NOT_FREE.search(script)]
    selectors = (selector for script in scripts for selector in _PAID_PART.findall(script))
    names = (name for selector in selectors for name in _CLASS.findall(selector)[-1:])
    return tuple(islice(names, MAX_PAID_PARTS)) if scripts else None


def measure_parts(body: Element, parts: tuple[str, ...]) -> int:
    """Characters of the largest of the parts in a body, which is without what is hidden."""
    path = "descendant-or-self::*[contains(concat(' ', @class, ' ', @id, ' '), $name)]"
    found = (body.xpath(path, name=f" {name} ")[:MAX_ITEMS] for name in parts)
    return max((sum(len(one.text_content()) for one in part) for part in found), default=0)
