"""What a worker does with the bytes of a page or of a file: `read_body`, for every format."""

from __future__ import annotations

import json
from typing import NamedTuple

from agent.sources.pages import sniff
from agent.sources.pages.extract import (
    OnPart,
    PageText,
    UnreadablePage,
    extract,
    ignore_part,
)

__all__ = ["BodyText", "UnreadablePage", "read_body", "warm"]


class BodyText(NamedTuple):
    """Title, text and URL that a body gives itself; title and URL are "" where it has none."""

    title: str
    text: str
    url: str = ""


def read_body(
    body: bytes,
    *,
    content_type: str = "",
    url: str = "",
    suffix: str = "",
    is_report: bool = False,
    on_part: OnPart = ignore_part,
) -> BodyText:
    """Title and text of a page of the web; with a `suffix` such as `.md`, those of a user's file.

    With `is_report` the text is a `ParsedReport` as JSON: its blocks with their links.

    `content_type` is what the server declared. `on_part` gets title and text of each part
    that is ready early. Raises UnreadablePage.
    """
    if is_report:
        from agent.sources.reports.parsing import parse_report

        report = parse_report(body, suffix)
        return BodyText(report.title, json.dumps(report._asdict(), ensure_ascii=False))
    if suffix:
        from agent.sources.pages.files import read_file

        return BodyText(*read_file(body, suffix, on_part))
    return BodyText(*_read_page(body, content_type, url, on_part))


def _read_page(body: bytes, content_type: str, url: str, on_part: OnPart) -> PageText:
    """A page of the web, unless it is a wall. Raises UnreadablePage."""
    from agent.sources.pages.walls import detect_wall

    kind = sniff.detect_kind(body, content_type)
    found, failure = PageText("", ""), None
    try:
        found = extract(body, content_type, url, kind=kind, on_part=on_part)
    except UnreadablePage as error:
        failure = error
    if kind == "html" and (wall := detect_wall(body, found.title, found.text)):
        raise UnreadablePage(f"it shows {wall} instead of a page", "blocked")
    if failure is not None:
        raise failure
    return found


def warm() -> None:
    """Import the libraries that pages in HTML need (0.2 s)."""
    from agent.sources.pages.extract import warm as warm_extraction

    warm_extraction()
