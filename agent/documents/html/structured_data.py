"""Structured data of a page: its date, whether it is free, products and events in JSON-LD.

Vocabulary: https://schema.org. It is bounded, and marked with its place, since no reader sees it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from typing import Any

from agent.documents.formats.structured import write_value
from agent.documents.html.hidden import remove_elements
from agent.documents.page_date import read_day
from agent.documents.sniff import unescape_entities

Element = Any  # lxml has no type hints

PLACE = "data of the page"
TEASER = "only its teaser was read; the rest is for subscribers"
MAX_TEASER = 5000  # characters of text below which a page that calls itself paid is a teaser
MAX_DATA = 20_000  # characters of the data of a page
MAX_SCRIPTS, MAX_SCRIPT = 20, 500_000  # of JSON-LD, and characters of one
KINDS = re.compile(r"Product|Offer|\w*Event|Recipe|FAQPage|JobPosting")
#: https://developers.google.com/search/docs/appearance/structured-data/paywalled-content
_NOT_FREE = re.compile(r'"isAccessibleForFree"\s*:\s*"?(?:https?://schema\.org/)?false\b', re.I)
#: Names of values that say nothing of the thing, in schema.org and in JSON-LD.
_WITHOUT_CONTENT = re.compile(
    r"@|url$|image|logo|sameAs|review$|mainEntityOfPage|breadcrumb|publisher", re.I
)
_ADDRESS = re.compile(r"https?://schema\.org/(\w+)|(?:https?:)?//\S+|data:\S+")
#: Where a date may be of anything.
_PROSE = (
    "//body//p[string-length(normalize-space()) > 80] | //body//td | //body//th"
    " | //script[not(contains(@type, 'json'))]"
    " | //body//*[@itemprop='review' or @itemprop='comment' or @itemprop='answer']"
)
_TAG = re.compile(r"<[^<>]*>")


def find_day(tree: Element, url: str = "") -> str:
    """The day on which a page was last changed, or else published, as YYYY-MM-DD; "" for none."""
    from htmldate import find_date

    tree = deepcopy(tree)
    remove_elements(tree.xpath(_PROSE))
    try:
        return read_day(find_date(tree, url=url))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return ""  # a fault of the library


def calls_itself_paid(tree: Element) -> bool:
    """Whether a page says to programs that it is not free to read."""
    return any(map(_NOT_FREE.search, _scripts(tree)))


def read_data(tree: Element) -> list[str]:
    """The lines of JSON-LD about products, events, recipes, questions."""
    lines: list[str] = []
    for script in _scripts(tree):
        with suppress(ValueError, RecursionError):
            for node in _nodes(json.loads(script, strict=False)):
                lines += write_value(_prune(node), "")
    return lines


def lacking_data(text: str, lines: list[str]) -> str:
    """The lines with a value that a text lacks."""
    known = " ".join(text.split())
    missing = (line for line in lines if not all(one in known for one in _values(line)))
    return "\n".join(missing)[:MAX_DATA]


def _scripts(tree: Element) -> list[str]:
    scripts = tree.xpath("//script[@type='application/ld+json']/text()")
    return [str(script)[:MAX_SCRIPT] for script in scripts[:MAX_SCRIPTS]]


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    """The nodes of the kinds above in a script, without those in them."""
    for node in value if isinstance(value, list) else [value]:
        kinds = node.get("@type") if isinstance(node, dict) else None
        if any(
            KINDS.fullmatch(str(one)) for one in (kinds if isinstance(kinds, list) else [kinds])
        ):
            yield node
        elif isinstance(node, dict):
            yield from _nodes(node.get("@graph"))


def _values(line: str) -> list[str]:
    return [one.rpartition(": ")[2] for one in line.split(" | ")]


def _prune(value: Any, depth: int = 0) -> Any:
    """A value without what says nothing: addresses, identifiers, markup."""
    if isinstance(value, str):
        address = _ADDRESS.fullmatch(value.strip())
        return (address[1] or "") if address else _TAG.sub(" ", unescape_entities(value))
    if depth > 8 or not isinstance(value, dict | list):
        return value if depth <= 8 else ""
    if isinstance(value, list):
        kept = [one for part in value if (one := _prune(part, depth + 1)) not in ("", {}, [])]
        return kept[0] if len(kept) == 1 else kept
    named = {name: part for name, part in value.items() if not _WITHOUT_CONTENT.search(name)}
    pruned = ((name, _prune(part, depth + 1)) for name, part in named.items())
    return {name: part for name, part in pruned if part not in ("", {}, [], None)}
