"""Reports in PDF: the lines of its pages, with the links that lie over them."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from agent.documents.pdf.lines import HYPHEN, read_lines
from agent.documents.pdf.pages import PageJoiner
from agent.documents.pdf.reader import MAX_PAGES
from agent.documents.reports.blocks import (
    BlockBuilder,
    ParsedReport,
    ReportBlock,
    cut_blocks,
)

MAX_PAGE_LINKS = 500
MAX_URL = 4000  # bytes
#: Stand around a link while lines are joined: private characters, its number between them.
_MARK = re.compile("\ue000|\ue001(\\d+)\ue002")
_ITEM = re.compile(r"(?:[-–—•●▪◦‣*·\uf0b7\uf0a7]|\(?\d{1,3}[.)])\s+")


def parse_pdf(body: bytes) -> ParsedReport:
    """The lines of a PDF, those of a paragraph joined. Raises ValueError: encrypted, broken."""
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        fault = "needs a password" if "assword" in str(error) else "is broken"
        raise ValueError(f"is a PDF that {fault}") from None
    title = str(document.get_metadata_dict(skip_empty=True).get("Title", ""))[:300]
    joiner = PageJoiner(min(MAX_PAGES, len(document)))
    urls: list[str] = []
    text = ""
    for index in range(min(MAX_PAGES, len(document))):
        with suppress(pypdfium2.PdfiumError):
            page = document[index]
            textpage = page.get_textpage()
            joined = joiner.add(read_lines(textpage), index + 1)
            text += joined.joint + _mark_links(joined.text, page, document, textpage, urls)
    blocks = cut_blocks(_to_blocks(iter(text.split("\n")), urls))
    return ParsedReport("pdf", " ".join(title.split()), blocks)


def _mark_links(text: str, page: Any, document: Any, textpage: Any, urls: list[str]) -> str:
    """The text of a page, marked where a link begins and ends."""
    marks: list[tuple[int, str]] = []
    at = 0
    for words, url in _find_links(page, document, textpage):
        form = re.compile(r"[\s-]*".join(map(re.escape, re.split(rf"[\s{HYPHEN}]+", words))))
        found = (form.search(text, at) or form.search(text)) if words else None
        if found:
            at = found.end()
            marks += [(found.start(), "\ue000"), (at, f"\ue001{len(urls)}\ue002")]
            urls.append(url)
    for offset, mark in sorted(marks, key=lambda m: m[0], reverse=True):
        text = text[:offset] + mark + text[offset:]
    return text


def _find_links(page: Any, document: Any, textpage: Any) -> Iterator[tuple[str, str]]:
    """The words under each link of a page, and its address."""
    import pypdfium2.raw as raw

    position = ctypes.c_int(0)
    link = raw.FPDF_LINK()
    for _ in range(MAX_PAGE_LINKS):
        if not raw.FPDFLink_Enumerate(page, ctypes.byref(position), ctypes.byref(link)):
            return
        rectangle = raw.FS_RECTF()
        url = _read_address(link, document)
        if url and raw.FPDFLink_GetAnnotRect(link, ctypes.byref(rectangle)):
            sides = rectangle.left, rectangle.bottom, rectangle.right, rectangle.top
            yield str(textpage.get_text_bounded(*sides)).strip(), url


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


def _to_blocks(lines: Iterator[str], urls: list[str]) -> Iterator[ReportBlock | None]:
    for line in lines:
        builder = BlockBuilder()
        start = at = 0
        for mark in _MARK.finditer(line):
            builder.add(line[at : mark.start()])
            at = mark.end()
            if mark[1] is None:
                start = builder.length
            else:
                builder.link(start, urls[int(mark[1])])
        builder.add(line[at:])
        block = builder.build("item" if _ITEM.match(line) else "paragraph")
        yield block and _without_bullet(block)


def _without_bullet(block: ReportBlock) -> ReportBlock:
    """A block without the sign of its item; a number stays, since it may be a reference's."""
    sign = re.match(r"[-–—•●▪◦‣*·\uf0b7\uf0a7]\s+", block.text)
    if not sign:
        return block
    links = [link._replace(start=max(0, link.start - sign.end())) for link in block.links]
    links = [link._replace(end=max(0, link.end - sign.end())) for link in links]
    return block._replace(text=block.text[sign.end() :], links=tuple(links))
