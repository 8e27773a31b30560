"""The links of a page of a PDF: the words that lie under each, and their positions in its text."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable, Iterator
from typing import Any

from agent.documents.pdf.joiner import HYPHEN
from agent.documents.rendered_markdown import write_link

MAX_PAGE_LINKS = 500
MAX_URL = 4000  # bytes

PageLink = tuple[str, str]  # the words under a link, and its address


def read_links(document: Any, page: Any) -> Iterator[PageLink]:
    """The links of a page, in their order in the file."""
    import pypdfium2.raw as raw

    words = page.get_textpage()
    position, link = ctypes.c_int(0), raw.FPDF_LINK()
    for _ in range(MAX_PAGE_LINKS):
        if not raw.FPDFLink_Enumerate(page, ctypes.byref(position), ctypes.byref(link)):
            return
        box, url = raw.FS_RECTF(), _read_address(link, document)
        if url and raw.FPDFLink_GetAnnotRect(link, ctypes.byref(box)):
            under = words.get_text_bounded(box.left, box.bottom, box.right, box.top)
            yield str(under).strip(), url


def _read_address(link: Any, document: Any) -> str:
    import pypdfium2.raw as raw

    action = raw.FPDFLink_GetAction(link)
    if not action:
        return ""
    size = raw.FPDFAction_GetURIPath(document, action, None, 0)
    if not 1 < size <= MAX_URL:
        return ""
    buffer = ctypes.create_string_buffer(size)
    raw.FPDFAction_GetURIPath(document, action, buffer, size)
    return buffer.value.decode("utf-8", "replace")


def write_links(text: str, links: Iterable[PageLink]) -> str:
    """The text of a page, with the words of its links as links of Markdown."""
    found: list[tuple[int, int, str]] = []
    at = 0
    for words, url in links:
        form = re.compile(r"[ -]*".join(map(re.escape, words.replace(HYPHEN, " ").split())))
        if words and (match := form.search(text, at) or form.search(text)):
            at = match.end()
            found.append((*match.span(), url))
    end = len(text)
    for start, stop, url in sorted(found, reverse=True):
        if stop <= end and url.startswith(("http://", "https://")):
            text = text[:start] + write_link(text[start:stop], url) + text[stop:]
            end = start
    return text
