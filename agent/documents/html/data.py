"""What a page says to programs and not in its text: JSON-LD, and the data of pages made by Next.js.

Vocabulary: https://schema.org. It is bounded, and marked with its place, since no reader sees it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from agent.documents.formats.structured import write_value
from agent.documents.html.own_words import Element, json_ld, json_nodes
from agent.documents.sniff import unescape_entities

PLACE = "data of the page"
KINDS = re.compile(r"Product|Offer|\w*Event|Recipe|FAQPage|JobPosting")
#: Names of values that say nothing of the thing, in schema.org and in JSON-LD.
_UNTOLD = re.compile(
    r"@|url$|image|logo|sameAs|review$|mainEntityOfPage|breadcrumb|publisher", re.I
)
_ADDRESS = re.compile(r"https?://schema\.org/(\w+)|(?:https?:)?//\S+|data:\S+|[\w-]{0,40}/[\w/-]+")
_TELLING = re.compile(r"price|start_?date", re.I)  # names of values of products and events
_TAG = re.compile(r"<[^<>]*>")
MAX_DATA = 20_000  # characters of what is told of a page
MIN_TOLD = 250  # characters of the text of a page that needs no data of Next.js
MIN_SENTENCE = 25  # characters of a text that is one, in such data


def read_data(tree: Element) -> tuple[list[str], list[str]]:
    """The lines of JSON-LD about products, events, recipes, questions; the texts of Next.js."""
    nodes = [node for node in json_nodes(json_ld(tree)) if _is_told(node)]
    lines = [line for node in nodes for line in write_value(_prune(node), "")]
    found: list[str] = []
    for script in tree.xpath("//script[@id='__NEXT_DATA__']/text()")[:1]:
        with suppress(ValueError, RecursionError, AttributeError):
            props = json.loads(script).get("props")
            records = "\n".join(dict.fromkeys(_records(props)))
            lacking = (one for one in dict.fromkeys(_sentences(props)) if one not in records)
            found = [*filter(None, [records]), *lacking]
    return lines, found


def add_data(text: str, data: tuple[list[str], list[str]]) -> str:
    """What of the data of a page its text lacks."""
    lines, sentences = data
    known = " ".join(text.split())
    lacking = [line for line in lines if not all(one in known for one in _values(line))]
    if len(text) < MIN_TOLD:
        lacking += [one for one in sentences if one not in known]
    return "\n".join(lacking)[:MAX_DATA]


def _is_told(node: dict[str, Any]) -> bool:
    kinds = node.get("@type")
    return any(KINDS.fullmatch(str(one)) for one in (kinds if isinstance(kinds, list) else [kinds]))


def _values(line: str) -> list[str]:
    """The values of a line, without their names."""
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
    told = {name: part for name, part in value.items() if not _UNTOLD.search(name)}
    pruned = ((name, _prune(part, depth + 1)) for name, part in told.items())
    return {name: part for name, part in pruned if part not in ("", {}, [], None)}


def _records(value: Any, depth: int = 0) -> Iterator[str]:
    """What in a value has a name and a price or a day: its plain values, a line each."""
    if isinstance(value, dict) and ("name" in value or "title" in value):
        plain = {name: one for name, one in value.items() if not isinstance(one, dict | list)}
        if any(_TELLING.search(name) for name in plain):
            yield from write_value(_prune(plain), "")
    if isinstance(value, dict | list) and depth < 20:
        for part in value.values() if isinstance(value, dict) else value:
            yield from _records(part, depth + 1)


def _sentences(value: Any, depth: int = 0) -> Iterator[str]:
    """The texts in a value that are more than a word or a name."""
    if isinstance(value, str):
        text = " ".join(_TAG.sub(" ", unescape_entities(value)).split())
        if len(text) >= MIN_SENTENCE and " " in text and not _ADDRESS.match(text):
            yield text
    elif isinstance(value, dict | list) and depth < 20:
        for part in value.values() if isinstance(value, dict) else value:
            yield from _sentences(part, depth + 1)
