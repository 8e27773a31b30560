"""What a worker does with the bytes of a page or of a file: `read_body`, for every format."""

from __future__ import annotations

from agent.documents.body_text import Body, BodyText, OnPart, UnreadablePage, ignore_part

__all__ = ["BodyText", "UnreadablePage", "read_body", "warm"]


def read_body(
    body: bytes,
    content_type: str = "",
    url: str = "",
    *,
    suffix: str = "",
    is_report: bool = False,
    on_part: OnPart = ignore_part,
) -> BodyText:
    """Title and text of a page of the web; with a `suffix` such as `.md`, those of a user's file.

    `content_type`: as the server declared it. `is_report`: the text is Markdown with its links.
    `on_part` gets each part that is ready early. Raises UnreadablePage.
    """
    source = Body(body, content_type, url, suffix.lower(), is_report, on_part)
    if source.suffix == ".table-query":
        from agent.documents.table_query import run_query

        return run_query(source)
    if is_report:
        from agent.documents.reports.parsing import parse_report

        return parse_report(source)
    from agent.documents.format_registry import read_source

    return read_source(source)


def warm() -> None:
    """Import the libraries that pages in HTML need (0.2 s)."""
    import trafilatura  # noqa: F401

    from agent.documents import format_registry  # noqa: F401
    from agent.documents.html import reader

    reader.silence_trafilatura()
