"""Google's result page as JSON, which its resellers SerpAPI and Serper pass on.

Formats: https://serpapi.com/organic-results, https://serpapi.com/direct-answer-box-api,
https://serpapi.com/knowledge-graph, https://serpapi.com/related-questions. Serper writes most names
in camel case.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from agent.search.hits import parse_hit
from agent.state import Hit, Json, get_objects, get_path

MAX_QUESTIONS = 4  # that people also ask


def parse_page(body: Json, results: Iterable[Json]) -> tuple[Hit, ...]:
    """Google's own answers, the organic results, and the boxes next to them."""
    names = ("link", "title", "snippet", "date")
    organic = (hit for row in results for hit in parse_hit(*map(row.get, names)))
    return (*parse_answers(body), *organic, *parse_website(body), *parse_questions(body))


def parse_answers(body: Json) -> Iterator[Hit]:
    """The answer box and the knowledge graph, each with its own source link.

    One that names no source, or only another Google search, is left out: it cannot be cited.
    """
    yield from _parse_answer_box(body.get("answer_box") or body.get("answerBox"))
    graph = body.get("knowledge_graph") or body.get("knowledgeGraph")
    link = _first_page_link(get_path(graph, "source", "link"), get_path(graph, "descriptionLink"))
    yield from _join_to_hit(link, get_path(graph, "title"), get_path(graph, "description"))


def parse_website(body: Json) -> Iterator[Hit]:
    """The website that the knowledge graph names; what the graph says of it are not its words."""
    graph = body.get("knowledge_graph") or body.get("knowledgeGraph")
    link = _first_page_link(get_path(graph, "website"))
    texts = (get_path(graph, "type"), get_path(graph, "description"))
    for hit in _join_to_hit(link, get_path(graph, "title"), *texts):
        yield hit.model_copy(update={"generated": True})


def parse_questions(body: Json) -> Iterator[Hit]:
    """What people also ask: the words of a page that answer each question, with its link."""
    for name in ("related_questions", "peopleAlsoAsk"):
        for row in get_objects(body, name)[:MAX_QUESTIONS]:
            texts = (row.get("snippet") or row.get("answer"), *_get_list(row))
            title = row.get("title") or row.get("question")
            link = _first_page_link(row.get("link"), get_path(row, "source", "link"))
            yield from _join_to_hit(link, title, *texts, day=row.get("date"))


def _parse_answer_box(box: object) -> Iterator[Hit]:
    paths = (("link",), ("organic_result", "link"), ("source", "link"), ("sources", 0, "link"))
    link = _first_page_link(*(get_path(box, *path) for path in paths))
    title = get_path(box, "organic_result", "title") or get_path(box, "title")
    answer = get_path(box, "answer") or get_path(box, "result")
    texts = (answer, get_path(box, "snippet"), *_get_list(box))
    yield from _join_to_hit(link, title, *texts, day=get_path(box, "date"))


def _get_list(value: object) -> list[object]:
    items = get_path(value, "list")
    return items if isinstance(items, list) else []


def _join_to_hit(link: str, title: object, *texts: object, day: object = None) -> Iterator[Hit]:
    sentences = [text.rstrip(". ") for text in texts if isinstance(text, str) and text.strip()]
    if snippet := ". ".join(sentences):
        yield from parse_hit(link, title, snippet, day)


def _first_page_link(*links: object) -> str:
    return next((a for a in links if isinstance(a, str) and not _is_google_search(a)), "")


def _is_google_search(link: str) -> bool:
    try:
        parts = urlsplit(link)
        return ".google." in f".{parts.hostname or ''}" and parts.path in ("/search", "/url")
    except ValueError:
        return True
