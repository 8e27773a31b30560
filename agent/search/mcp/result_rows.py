"""What a tool of an MCP server returned, as rows: structured, linked, embedded, or plain text.

The usual forms are `{"results": [{"id", "title", "url"}]}` and `{"id", "title", "text", "url"}`;
nothing is trusted to have them.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from agent.pages.fetch import PLAIN_TEXT
from agent.state import InvalidJson, Json, find_urls, parse_json

if TYPE_CHECKING:
    from mcp.types import CallToolResult, ReadResourceResult

#: The first fields of a row, in their order -> their names in an object: the first one counts.
NAMES = {
    "url": "url uri link href source_url web_url permalink".split(),
    "id": "id document_id doc_id documentId".split(),
    "title": "title name".split(),
    "text": "text content page_content markdown body snippet description summary excerpt".split(),
    "date": "date published_date publishedDate published updated_at last_modified".split(),
}
MAX_ROWS = 20
_MARKDOWN = re.compile(r"\]\((?:https?:|/)|\*\*\S|^#{1,6} ", re.M)
MAX_DEPTH = 4  # levels at which the list of results is looked for


class Row(NamedTuple):
    """One result. `data` is its text where it is given whole, and `text` may be a part of it."""

    url: str = ""  # an address of any scheme
    id: str = ""
    title: str = ""
    text: str = ""
    date: str = ""
    data: bytes = b""
    media_type: str = PLAIN_TEXT
    is_resource: bool = False

    @property
    def body(self) -> bytes:
        """Its text as bytes of its type."""
        return self.data or self.text.encode("utf-8", "replace")

    @property
    def type(self) -> str:
        """The media type of its body: servers seldom say that a text is Markdown."""
        is_marked = not self.data and _MARKDOWN.search(self.text)
        return "text/markdown; charset=utf-8" if is_marked else self.media_type


def read_rows(result: CallToolResult) -> list[Row]:
    """The results of a search, in their order."""
    rows = _rows_of_value(result.structured_content) or [
        row for block in result.content for row in _rows_of_block(block)
    ]
    return rows[:MAX_ROWS]


def read_document(result: CallToolResult) -> Row:
    """What a fetch returned, as one row: its first text, or all of its plain texts."""
    for value in (result.structured_content, *map(_parse, _texts_of(result))):
        if rows := [row for row in _rows_of_value(value) if row.text]:
            return rows[0]
    embedded = [row for block in result.content for row in _rows_of_block(block) if row.data]
    if embedded:
        return embedded[0]
    return Row(text="\n\n".join(_texts_of(result)))


def read_resource(result: ReadResourceResult) -> Row:
    """The first part of a resource that has something."""
    rows = (_row_of_resource(content) for content in result.contents)
    return next((row for row in rows if row.data), Row())


def _texts_of(result: CallToolResult) -> list[str]:
    return [block.text for block in result.content if block.type == "text"]


def _rows_of_block(block: Any) -> Iterable[Row]:
    if block.type == "resource_link":
        title, uri = block.title or block.name, str(block.uri)
        return [Row(uri, title=title, text=block.description or "", is_resource=True)]
    if block.type == "resource":
        return [_row_of_resource(block.resource)]
    if block.type != "text":
        return []
    return _rows_of_value(_parse(block.text)) or _rows_of_text(block.text)


def _row_of_resource(resource: Any) -> Row:
    data = getattr(resource, "text", "").encode("utf-8", "replace")
    with suppress(ValueError):
        data = data or b64decode(getattr(resource, "blob", ""), validate=True)
    kind = resource.mime_type or PLAIN_TEXT
    return Row(str(resource.uri), data=data, media_type=kind, is_resource=True)


def _rows_of_text(text: str) -> Iterator[Row]:
    rows = [
        Row(url, title=_title_of(part, url), text=part)
        for part in text.split("\n\n")
        for url in list(find_urls(part))[:1]
    ]
    yield from rows or ([Row(text=text, title=_title_of(text, ""))] if text.strip() else [])


def _title_of(part: str, url: str) -> str:
    lines = (line.strip(" #*-") for line in part.splitlines())
    first = next((line for line in lines if line and not (url and url in line)), "")
    return first.removeprefix("Title:").strip()


def _parse(text: str) -> Any:
    with suppress(InvalidJson):
        return parse_json(text)
    return None


def _rows_of_value(value: Any) -> list[Row]:
    return [row for item in _find_objects(value, MAX_DEPTH) if (row := _row_of_object(item))]


def _find_objects(value: Any, depth: int) -> list[Json]:
    """The objects of the first list that has some; else the object itself."""
    if isinstance(value, list):
        return [item for item in value[:MAX_ROWS] if isinstance(item, dict)]
    if not isinstance(value, dict) or not depth:
        return []
    for child in value.values():
        objects = _find_objects(child, depth - 1)
        if any(map(_row_of_object, objects)):
            return objects
    return [value]


def _row_of_object(item: Json) -> Row | None:
    url, own_id, title, text, date = (_first(item, names) for names in NAMES.values())
    row = Row(url, own_id, title, text, date)
    return row if row.url or row.id or row.text else None


def _first(item: Json, names: Iterable[str]) -> str:
    values = (item.get(name) for name in names)
    return next((str(one) for one in values if isinstance(one, str | int) and one), "")
