"""Reads the comments of a DOCX back."""

from __future__ import annotations

import io

import docx


def commented(data: bytes) -> list[tuple[str, str]]:
    """The words of each comment's range, and the comment."""
    document = docx.Document(io.BytesIO(data))
    body = document.element.body
    found = []
    for comment in document.comments:
        path = f"//w:commentRangeStart[@w:id='{comment.comment_id}']/following::w:t"
        ends = body.xpath(f"//w:commentRangeEnd[@w:id='{comment.comment_id}']/preceding::w:t")
        words = [part.text for part in body.xpath(path) if part in ends]
        found.append(("".join(words), comment.text))
    return found
