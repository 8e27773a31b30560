"""A world for batches: a question for each number, and the requests that were made."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.services import ModelRequest, Services
from tests.support.thinker import Fact, Thinker

Call = tuple[str, str]  # its kind and its subject


def cup_topic(n: int) -> str:
    return f"Who won cup number {n}?"


def topic_lines(count: int) -> str:
    """The topics of a batch, as JSON lines with ids c1, c2, ..."""
    rows = [{"id": f"c{n}", "topic": cup_topic(n)} for n in range(1, count + 1)]
    return "".join(json.dumps(row) + "\n" for row in rows)


def serve_cups(services: Services, count: int) -> None:
    """Set services up with `count` cups: each has its own two queries, two pages and winner."""
    pages = {f"final-{n}": f"Team {n} won cup number {n}. It rained." for n in range(1, count + 1)}
    more = {f"other-{n}": f"Cats of {n} sleep most of the day." for n in range(1, count + 1)}
    services.pages = {**pages, **more}
    services.hits = hits
    services.think = think


def hits(query: str) -> list[str]:
    if "number" not in query:  # a query of the extractive backend, after a model has failed
        return []
    return [f"final-{cup_number(query)}", f"other-{cup_number(query)}"]


def think(request: ModelRequest) -> dict[str, Any]:
    n = cup_number(request.prompt)
    fact = Fact("winner", f"Team {n}", f"won cup number {n}.")
    return Thinker([fact], [f"cup number {n} final"])(request)


def cup_number(text: str) -> int:
    found = re.search(r"number (\d+)", text)
    assert found, text
    return int(found[1])


class RequestCounts(NamedTuple):
    """The number of requests of each kind that services had got at a point in time."""

    model: int
    search: int
    page: int


def count_requests(services: Services) -> RequestCounts:
    return RequestCounts(
        len(services.model_requests), len(services.search_queries), len(services.page_requests)
    )


def requests_since(services: Services, before: RequestCounts) -> list[Call]:
    """Return the calls that services have got since the counts were taken."""
    return [
        *(("ask", request.prompt) for request in services.model_requests[before.model :]),
        *(("search", query) for query in services.search_queries[before.search :]),
        *(("read", services.url(name)) for name in services.page_requests[before.page :]),
    ]


def finished_calls(journals: Iterable[Path]) -> set[Call]:
    """Return the calls that journals hold in complete lines."""
    found = set()
    for path in journals:
        for raw in path.read_bytes().splitlines(keepends=True)[1:]:
            if raw.endswith(b"\n") and "call" in (line := json.loads(raw)):
                request = line["request"]
                subject = request.get("prompt") or request.get("query") or request.get("url")
                found.add((line["call"], subject))
    return found
