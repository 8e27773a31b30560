"""A shop whose price is watched: pages with advertisements, and a model that reads the price."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import Any

from tests.support.services import ModelRequest, Raw, Services, source_ids
from tests.support.thinker import support_all

QUESTION = "What does the Velmora pump cost?"
SAID = re.compile(r"[^.\n]*Velmora pump (?:costs|is sold for) (\d+) euros[^.\n]*\.")


def page(price: int, advertisement: str = "Try our soup.") -> str:
    """The text of the shop's page."""
    return f"{advertisement} Spare parts for forty countries. The Velmora pump costs {price} euros."


def think(asked: ModelRequest, wording: Sequence[str] = ("The price is {} euros [{}].",)) -> Any:
    """The price of the first source that tells one, in other words each time."""
    if asked.task == "verify":
        return support_all(asked)
    if asked.task == "generate_queries":
        slots = [{"name": "price", "description": "the price"}]
        return {"queries": ["Velmora pump price"], "slots": slots}
    shown = source_ids(asked.prompt).items()
    found = next(((n, said) for n, text in shown if (said := SAID.search(text))), None)
    if found is None:
        row: dict[str, Any] = {"name": "price", "value": None, "source": None, "quote": ""}
        return {"slots": [row], "need_more": False, "new_queries": [], "answer": ""}
    n, said = found
    words = Random(asked.prompt).choice(wording)  # noqa: S311 - another one for other pages
    cited = {"source": n, "quote": said[0].strip()}
    row = {"name": "price", "value": f"{said[1]} euros", **cited}
    answer = {"answer": words.format(said[1], n), "citations": [cited]}
    return {"slots": [row], "need_more": False, "new_queries": [], "answerable": True, **answer}


def open_shop(services: Services, **pages: str | Raw) -> None:
    """Serve these pages; every search finds all of them."""
    services.pages = dict(pages)
    services.default_hits = list(pages)
    services.think = think
