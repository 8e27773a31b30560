"""A world with a question for each number, and what was asked of it: for batches."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from tests.services import Asked, Services
from tests.thinker import Fact, Thinker

Call = tuple[str, str]  # its kind, and what is asked


def topic(n: int) -> str:
    return f"Who won cup number {n}?"


def lines(count: int) -> str:
    """The topics of a batch, as JSON lines with ids c1, c2, ..."""
    rows = [{"id": f"c{n}", "topic": topic(n)} for n in range(1, count + 1)]
    return "".join(json.dumps(row) + "\n" for row in rows)


def set_up(services: Services, count: int) -> None:
    """Services that know `count` cups: each has two queries, two pages and a winner of its own."""
    pages = {f"final-{n}": f"Team {n} won cup number {n}. It rained." for n in range(1, count + 1)}
    more = {f"other-{n}": f"Cats of {n} sleep most of the day." for n in range(1, count + 1)}
    services.pages = {**pages, **more}
    services.hits = hits
    services.think = think


def hits(query: str) -> list[str]:
    if "number" not in query:  # where the stand-in of a model that failed asks
        return []
    return [f"final-{number(query)}", f"other-{number(query)}"]


def think(asked: Asked) -> dict[str, Any]:
    n = number(asked.prompt)
    fact = Fact("winner", f"Team {n}", f"won cup number {n}.")
    return Thinker([fact], [f"cup number {n} final"])(asked)


def number(text: str) -> int:
    found = re.search(r"number (\d+)", text)
    assert found, text
    return int(found[1])


class Seen(NamedTuple):
    """How many requests of each kind services had got at a time."""

    asked: int
    searched: int
    read: int


def seen(services: Services) -> Seen:
    return Seen(len(services.asked), len(services.searched), len(services.read))


def since(services: Services, then: Seen) -> list[Call]:
    """What services were asked since."""
    return [
        *(("ask", asked.prompt) for asked in services.asked[then.asked :]),
        *(("search", query) for query in services.searched[then.searched :]),
        *(("read", services.url(name)) for name in services.read[then.read :]),
    ]


def finished(journals: Iterable[Path]) -> set[Call]:
    """The calls that journals hold: a whole line each."""
    found = set()
    for path in journals:
        for raw in path.read_bytes().splitlines(keepends=True)[1:]:
            if raw.endswith(b"\n") and "call" in (line := json.loads(raw)):
                request = line["request"]
                asked = request.get("prompt") or request.get("query") or request.get("url")
                found.add((line["call"], asked))
    return found
