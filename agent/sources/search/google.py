"""What Google's result page itself answers, as its resellers SerpAPI and Serper pass it on.

Formats: https://serpapi.com/direct-answer-box-api, https://serpapi.com/knowledge-graph,
https://serpapi.com/ai-overview; Serper writes the same names in camel case.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from agent.sources.search.hits import hit
from agent.state import Hit
from agent.state.plain import dig, rows

BLOCKS = 5  # of an AI overview: the rest repeats and would crowd out the results


def answers(body: dict[str, Any]) -> Iterator[Hit]:
    """The answer box, the knowledge graph and the AI overview, each with its own source link.

    What names no source, or only another search of Google's, is left out: it cannot be cited.
    """
    yield from _box(body.get("answer_box") or body.get("answerBox"))
    yield from _graph(body.get("knowledge_graph") or body.get("knowledgeGraph"))
    yield from _overview(body.get("ai_overview") or body.get("aiOverview"))


def _box(box: object) -> Iterator[Hit]:
    links = (("link",), ("organic_result", "link"), ("source", "link"), ("sources", 0, "link"))
    link = _source(*(dig(box, *path) for path in links))
    title = dig(box, "organic_result", "title") or dig(box, "title")
    listed = dig(box, "list")
    items = listed if isinstance(listed, list) else []
    texts = (dig(box, "answer") or dig(box, "result"), dig(box, "snippet"), *items)
    yield from _said(link, title, *texts, day=dig(box, "date"))


def _graph(graph: object) -> Iterator[Hit]:
    link = _source(dig(graph, "source", "link"), dig(graph, "descriptionLink"))
    yield from _said(link, dig(graph, "title"), dig(graph, "description"))


def _overview(overview: object) -> Iterator[Hit]:
    """A hit for each of the first blocks, at the first page that the block refers to.

    The words are Google's, not the page's, and the title says so.
    """
    references = rows(overview, "references")
    blocks = rows(overview, "text_blocks")
    if all(_referred(block) is None for block in blocks):  # the overview as a whole has sources
        blocks = [{"list": blocks, "reference_indexes": [dig(references, 0, "index")]}]
    for block in blocks[:BLOCKS]:
        named = [row for row in references if row.get("index") == _referred(block)]
        items = (item.get("snippet") or item.get("title") for item in rows(block, "list"))
        title = f"AI overview: {dig(named, 0, 'title') or ''}"
        yield from _said(_source(dig(named, 0, "link")), title, block.get("snippet"), *items)


def _referred(block: object) -> object:
    """The index of the first reference of a block, which in a list stands at its items."""
    own = dig(block, "reference_indexes", 0)
    return dig(block, "list", 0, "reference_indexes", 0) if own is None else own


def _said(link: str, title: object, *texts: object, day: object = None) -> Iterator[Hit]:
    said = ". ".join(text.rstrip(". ") for text in texts if isinstance(text, str) and text.strip())
    if said:
        yield from hit(link, title, said, day)


def _source(*links: object) -> str:
    """The first link to a page that is not one of Google's own searches."""
    return next((link for link in links if isinstance(link, str) and not _of_google(link)), "")


def _of_google(link: str) -> bool:
    try:
        parts = urlsplit(link)
        return ".google." in f".{parts.hostname or ''}" and parts.path in ("/search", "/url")
    except ValueError:
        return True
