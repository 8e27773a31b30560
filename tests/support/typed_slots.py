"""A schema of slots, a text that fills it, and sources and statements made by hand."""

from __future__ import annotations

from typing import Any

from agent.state import Hit, Page, Quote, Scalar, Source, Statement
from agent.state.json_data import Json

TOPIC = "Who won the cup of 1987?"
SCHEMA: Json = {
    "type": "object",
    "properties": {
        "winner": {"type": "string", "description": "who won the final"},
        "day": {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
        "stage": {"enum": ["Final", "Group"]},
        "venue": {"$ref": "#/$defs/Venue"},
        "goalscorers": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "player": {"type": "string"},
                    "minute": {"type": "integer", "minimum": 1, "maximum": 130},
                },
                "required": ["player"],
            },
        },
    },
    "$defs": {"Venue": {"type": "object", "properties": {"capacity": {"type": "integer"}}}},
}
TEXT = (
    "Argentina won the cup. The final was on 29 June 1987 before 114,600 people, the whole "
    "capacity. Messi scored in the 23rd minute and Di Maria in the 36th minute."
)


def build_source(n: int, text: str, url: str = "") -> Source:
    """Build a source; without a URL it has a host of its own."""
    url = f"{url or f'https://site{n}.net/'}{n}"
    page = Page(url=url, title="", text=text, sha256=str(n), retrieved_at="")
    return Source(n=n, page=page, hit=Hit(url=page.url))


def build_statement(
    n: int, value: Scalar, sources: list[Source], slot: str = "winner"
) -> Statement:
    text = sources[n - 1].page.text
    return Statement(
        slot=slot,
        value=value,
        quote=Quote(source=n, text=text, start=0, end=len(text), match="exact"),
    )


def object_schema(**properties: Any) -> Json:
    return {"type": "object", "properties": properties}
