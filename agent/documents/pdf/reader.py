"""The text of a PDF. It is native code that is not thread-safe, so only a worker calls it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from ctypes import POINTER, c_ulong, c_ushort, cast, create_string_buffer
from functools import partial
from typing import Any, NamedTuple

from agent.documents.blocks import BlockBuilder
from agent.documents.body_text import Body, BodyText, PlacedText, UnreadablePage, normalize_title
from agent.documents.formats.archive import BOMB, MAX_PART
from agent.documents.formats.bundles import MAX_FILES, add_inner
from agent.documents.own_date import read_day
from agent.documents.pdf.lines import PageLine, lines_of_text, read_lines, read_upright
from agent.documents.pdf.links import PageLink, find_links, read_links
from agent.documents.pdf.ocr import NOISE, REMEDY, ImageReader, find_tesseract
from agent.documents.pdf.pages import PageJoiner

IMAGE = (3,)  # FPDF_PAGEOBJ_IMAGE
MAX_PAGES = 1000
MAX_CHARS = 1_000_000  # of a page
MAX_FIELDS = 2000  # of a form, on a page
_FIELD_KEYS = (b"TU", b"T", b"V")  # of a field: what it is called for people, and else; its value
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
    if document.get_formtype():
        document.init_forms()
    images, beside = _ImagePages(), _Beside(document.formenv)
    joiner = PageJoiner(min(MAX_PAGES, len(document)))
    pages = _read_pages(document, images, beside, is_report=source.is_report)
    for number, page in enumerate(pages, 1):
        joined = joiner.add(page.lines, number)
        text.title = text.title or normalize_title(_first_line(joined.text))
        _add_page(text, joined.text[:MAX_CHARS], page.links, f"page {number}", joined.joint)
        text.hand_over()
        if text.is_full:
            break
    for line, place in beside.lines.items():
        text.add(line, place)
    _add_attachments(text, source, document)
    text.lose("pages", len(document) - MAX_PAGES, f"only the first {MAX_PAGES} are")
    text.lose("pages that are images", images.unread, images.remedy)
    text.lose("pages that are images", images.noise, NOISE)
    return text.finish()


class _Beside:
    """What stands on pages beside their text: fields of a form that are filled in, and comments."""

    def __init__(self, form: Any) -> None:
        self.lines: dict[str, str] = {}  # each with its place
        self._form = form

    def read(self, page: Any, number: int) -> None:
        """Note the fields as `Name of owner: A. Berg`, and the comments."""
        from pypdfium2 import raw

        for n in range(min(MAX_FIELDS, raw.FPDFPage_GetAnnotCount(page))):
            note = raw.FPDFPage_GetAnnot(page, n)
            kind = raw.FPDFAnnot_GetSubtype(note)
            if kind == raw.FPDF_ANNOT_WIDGET:
                if line := self._read_field(note):
                    self.lines.setdefault(line, f"form on page {number}")
            elif kind not in (raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP, raw.FPDF_ANNOT_WIDGET):
                line = _read_text(partial(raw.FPDFAnnot_GetStringValue, note, b"Contents"))
                self.lines.setdefault(line, f"comment on page {number}")
            raw.FPDFPage_CloseAnnot(note)

    def _read_field(self, field: Any) -> str:
        from pypdfium2 import raw

        functions = [partial(raw.FPDFAnnot_GetStringValue, field, key) for key in _FIELD_KEYS]
        if self._form:  # else it is a page of a form that was cut out of it
            ways = (raw.FPDFAnnot_GetFormFieldAlternateName, raw.FPDFAnnot_GetFormFieldName,
                    raw.FPDFAnnot_GetFormFieldValue)  # fmt: skip
            functions = [partial(one, self._form, field) for one in ways]
        told, name, value = map(_read_text, functions)
        name = told or name
        return f"{name}: {value}" if name and value and value != "Off" else ""


def _read_text(function: Any) -> str:
    """A text in UTF-16, which PDFium gives in two steps: its size, then itself."""
    size = function(None, 0)
    if not 2 < size < 2 * MAX_CHARS:
        return ""
    buffer = create_string_buffer(size)
    function(cast(buffer, POINTER(c_ushort)), size)
    return " ".join(buffer.raw[: size - 2].decode("utf-16-le", "replace").split())


def _add_attachments(text: PlacedText, source: Body, document: Any) -> None:
    """Add the files that are attached to a document, each with its name."""
    from pypdfium2 import raw

    count = raw.FPDFDoc_GetAttachmentCount(document)
    for n in range(min(count, MAX_FILES)):
        file, size = raw.FPDFDoc_GetAttachment(document, n), c_ulong()
        name = _read_text(partial(raw.FPDFAttachment_GetName, file)) or f"attachment {n + 1}"
        raw.FPDFAttachment_GetFile(file, None, 0, size)
        if size.value > MAX_PART:
            text.lose(name, 1, BOMB)
            continue
        buffer = create_string_buffer(size.value)
        raw.FPDFAttachment_GetFile(file, buffer, size.value, size)
        add_inner(text, source, name, buffer.raw[: size.value], place=f"attachment {name}")
    text.lose("attachments", count - MAX_FILES, f"only the first {MAX_FILES} are")


def _read_pages(
    document: Any, images: _ImagePages, beside: _Beside, *, is_report: bool
) -> Iterator[_Page]:
    """The lines and links of each page; none of a broken one."""
    import pypdfium2

    for index in range(min(MAX_PAGES, len(document))):
        try:
            page = document[index]
            words = read_upright(page)
            lines = read_lines(words, is_report=is_report) or lines_of_text(images.read(page))
            beside.read(page, index + 1)
            yield _Page(lines, list(read_links(document, page, words)) if is_report else ())
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
        self.unread = self.noise = 0
        self.remedy = REMEDY
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
        if not self._reader:
            self.unread += 1
            return ""
        read = self._reader.read_page(page)
        self.noise += read is None
        return read or ""


def _first_line(text: str) -> str:
    first = next((line for line in map(str.strip, text.split("\n")) if len(line) > 3), "")
    return first if len(first) <= 200 else first[:199] + "…"
