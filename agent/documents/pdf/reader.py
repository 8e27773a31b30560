"""The text of a PDF. It is native code that is not thread-safe, so only a worker calls it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from ctypes import POINTER, c_ushort, cast, create_string_buffer
from functools import partial
from typing import Any, NamedTuple

from agent.documents.blocks import BlockBuilder
from agent.documents.body_text import Body, BodyText, PlacedText, UnreadablePage, normalize_title
from agent.documents.own_date import read_day
from agent.documents.pdf.lines import PageLine, lines_of_text, read_lines
from agent.documents.pdf.links import PageLink, find_links, read_links
from agent.documents.pdf.ocr import ImageReader, find_tesseract, render_page
from agent.documents.pdf.pages import PageJoiner

IMAGE = (3,)  # FPDF_PAGEOBJ_IMAGE
MAX_PAGES = 1000
MAX_CHARS = 1_000_000  # of a page
MAX_FIELDS = 2000  # of a form, on a page
#: Titles that a program filled in.
_GENERATED_TITLE = re.compile(
    r"^(?:untitled|title|powerpoint presentation|slide \d+|document\d*|microsoft word.*|"
    r".*\.(?:docx?|pdf|pptx?|xlsx?|indd|tex|dvi|qxd|rtf))$",
    re.IGNORECASE,
)


Links = Sequence[PageLink]


class _Page(NamedTuple):
    lines: Sequence[PageLine] = ()
    links: Links = ()


def read_pdf(source: Body) -> BodyText:
    """The pages, each with its number, with the lines of each paragraph joined.

    Invisible text is kept, since it is the only text of a scan with OCR. Takes 5 ms a page. Each
    page is handed over as soon as it is read: what crashes later costs only the rest. Raises
    UnreadablePage: encrypted, broken, without text.
    """
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(source.data)
    except pypdfium2.PdfiumError as error:
        fault = "needs a password" if "assword" in str(error) else "is broken"
        raise UnreadablePage(f"it is a PDF that {fault}", "invalid") from None
    properties = document.get_metadata_dict(skip_empty=True)
    title = " ".join(str(properties.get("Title", "")).split())
    text = PlacedText(source, "" if _GENERATED_TITLE.match(title) else title)
    text.date = read_day(properties.get("ModDate"), properties.get("CreationDate"))
    form = _read_form(document)
    images = _ImagePages()
    joiner = PageJoiner(min(MAX_PAGES, len(document)))
    for number, page in enumerate(_read_pages(document, images, has_links=source.is_report), 1):
        joined = joiner.add(page.lines, number)
        text.title = text.title or normalize_title(_first_line(joined.text))
        _add_page(text, joined.text[:MAX_CHARS], page.links, f"page {number}", joined.joint)
        text.hand_over()
        if text.is_full:
            break
    for number, line in form:
        text.add(line, f"form on page {number}")
    text.lose("attachments", _count_attachments(document), "save them as files of their own")
    text.lose("pages", max(0, len(document) - MAX_PAGES), f"only the first {MAX_PAGES} are")
    text.lose("pages that are images", images.unread, images.remedy)
    if text.note and not text.has_text:
        raise UnreadablePage(f"it has no text: {text.note}", "empty")
    return text.finish()


def _read_form(document: Any) -> list[tuple[int, str]]:
    """The fields of a form that are filled in, each with its page: `Name of owner: A. Berg`."""
    from pypdfium2 import raw

    if not document.get_formtype():
        return []
    document.init_forms()
    found: dict[str, tuple[int, str]] = {}
    for index in range(min(MAX_PAGES, len(document))):
        page = document[index]
        for n in range(min(MAX_FIELDS, raw.FPDFPage_GetAnnotCount(page))):
            field = raw.FPDFPage_GetAnnot(page, n)
            ask = partial(_read_field, document.formenv, field)
            names = raw.FPDFAnnot_GetFormFieldAlternateName, raw.FPDFAnnot_GetFormFieldName
            name = next(filter(None, map(ask, names)), "")
            value = ask(raw.FPDFAnnot_GetFormFieldValue)
            if name and value and value != "Off":
                found.setdefault(f"{name}: {value}", (index + 1, f"{name}: {value}"))
            raw.FPDFPage_CloseAnnot(field)
    return list(found.values())


def _read_field(form: Any, field: Any, function: Any) -> str:
    """A text of a field of a form, in UTF-16, which PDFium gives in two steps: size, then text."""
    size = function(form, field, None, 0)
    if not 2 < size < 2 * MAX_CHARS:
        return ""
    buffer = create_string_buffer(size)
    function(form, field, cast(buffer, POINTER(c_ushort)), size)
    return " ".join(buffer.raw[: size - 2].decode("utf-16-le", "replace").split())


def _count_attachments(document: Any) -> int:
    from pypdfium2 import raw

    return int(raw.FPDFDoc_GetAttachmentCount(document))


def _read_pages(document: Any, images: _ImagePages, *, has_links: bool) -> Iterator[_Page]:
    """The lines and links of each page; none of a broken one."""
    import pypdfium2

    for index in range(min(MAX_PAGES, len(document))):
        try:
            page = document[index]
            words = page.get_textpage()
            lines = read_lines(words) or lines_of_text(images.read(page))
            yield _Page(lines, list(read_links(document, page, words)) if has_links else ())
        except pypdfium2.PdfiumError:
            yield _Page()


def _add_page(text: PlacedText, page: str, links: Links, place: str, joint: str) -> None:
    """Add the lines of a page, each a block with the links that begin in it."""
    found = find_links(page, links)
    at = 0
    for line in page.split("\n"):
        builder, end = BlockBuilder(), at + len(line)
        for start, stop, url in (link for link in found if at <= link[0] < end):
            builder.add(page[at:start])
            at, begun = min(stop, end), builder.length
            builder.add(page[start:at])
            builder.link(begun, url)
        builder.add(page[at:end])
        block = builder.build("paragraph")
        text.add_block(block, place, joint=joint)
        joint, at = ("\n" if block else joint), end + 1


class _ImagePages:
    """The pages of a document that have no text: their text is read from their image, if it can."""

    def __init__(self) -> None:
        self.unread = 0
        self.remedy = "install tesseract-ocr to read them"
        self._reader: ImageReader | None = None

    def read(self, page: Any) -> str:
        """The text of a page that is an image; "" for one that is empty, or cannot be read."""
        if not any(True for _ in page.get_objects(filter=IMAGE, max_depth=2)):
            return ""
        try:
            if not self._reader and (tesseract := find_tesseract()):
                self._reader = ImageReader(tesseract)
        except OSError:
            self.remedy = "tesseract does not start"
        self.unread += self._reader is None
        return self._reader.read(render_page(page)) if self._reader else ""


def _first_line(text: str) -> str:
    first = next((line for line in map(str.strip, text.split("\n")) if len(line) > 3), "")
    return first if len(first) <= 200 else first[:199] + "…"
