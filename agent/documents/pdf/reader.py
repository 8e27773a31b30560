"""The text of a PDF. PDFium is native code that is not thread-safe, so only a worker calls it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ctypes import POINTER, c_ushort, cast, create_string_buffer
from functools import partial
from typing import Any

from agent.documents.body_text import Body, BodyText, PlacedText, UnreadablePage, normalize_title
from agent.documents.formats.bundles import MAX_FILES, add_inner
from agent.documents.page_date import read_day
from agent.documents.pdf import joiner
from agent.documents.pdf.ocr import NOISE, REMEDY, ImageReader, find_tesseract
from agent.documents.pdf.page_links import read_links, write_links

IMAGE = (3,)  # FPDF_PAGEOBJ_IMAGE
MAX_PAGES = 1000
MAX_CHARS = 1_000_000  # of a page
MAX_NOTES = 2000  # comments and fields of a form, on a page
#: Titles that a program filled in.
_GENERATED_TITLE = re.compile(
    r"^(?:untitled|title|powerpoint presentation|slide \d+|document\d*|microsoft word.*|"
    r".*\.(?:docx?|pdf|pptx?|xlsx?|indd|tex|dvi|qxd|rtf))$",
    re.IGNORECASE,
)


def read_pdf(source: Body) -> BodyText:
    """The pages, each with its number, with the lines of each paragraph joined.

    Invisible text is kept: it is the only text of a scan with OCR. A crash costs only the pages
    behind it. Raises UnreadablePage: encrypted, broken, without text.
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
    reader = _PageReader(document, text, is_report=source.is_report)
    for number in range(1, min(MAX_PAGES, len(document)) + 1):
        try:
            reader.read(number)
        except pypdfium2.PdfiumError:
            text.lose("pages", 1, "they are broken")
        text.hand_over()
        if text.is_full:
            break
    reader.finish()
    text.lose("pages", len(document) - MAX_PAGES, f"only the first {MAX_PAGES} are")
    _add_attachments(text, source, document)
    return text.finish()


class _PageReader:
    """Adds the pages of a document one by one, and their comments and fields at its end."""

    def __init__(self, document: Any, text: PlacedText, *, is_report: bool) -> None:
        self._document, self._text, self._is_report = document, text, is_report
        self._joint = "\n\n" if is_report else "\n"
        if document.get_formtype():
            document.init_forms()
        self._images = _ImagePages()
        self._notes: dict[str, str] = {}  # comments and fields, each with its place
        self._last = ""  # line of the page before
        self._number: int | None = None  # that is printed on the page before
        self._rows = self._reversed = 0

    def read(self, number: int) -> None:
        """Add a page. Raises PdfiumError."""
        page = self._document[number - 1]
        raw_text = joiner.read_text(page, is_report=self._is_report) or self._images.read(page)
        lines = self._drop_number(joiner.split_lines(raw_text[:MAX_CHARS]), number)
        self._rows += sum(map(joiner.is_row, lines))
        self._reversed += joiner.count_reversed(lines)
        if lines:
            joint = self._joint
            if self._last and joiner.goes_on(self._last, lines[0]):
                joint = joiner.find_joint(self._last, lines[0])
            joined = "\n".join(joiner.join_lines(lines)).removesuffix(joiner.HYPHEN)
            self._text.title = self._text.title or normalize_title(_first_line(joined))
            if self._is_report:
                joined = write_links(joined, read_links(self._document, page))
            for line in filter(str.strip, joined.split("\n")):
                self._text.add(line, f"page {number}", joint=joint)
                joint = self._joint
            self._last = lines[-1]
        for note in read_notes(page, self._document.formenv, number):
            self._notes.setdefault(*note)

    def finish(self) -> None:
        """Add the comments and fields, and report what was not read or may be wrong."""
        for line, place in self._notes.items():
            self._text.add(line, place)
        images = self._images
        self._text.lose("pages that are images", images.unread, images.remedy)
        self._text.lose("pages that are images", images.noise, NOISE)
        self._text.lose("columns of rows of numbers", self._rows, "a PDF does not name them")
        self._text.lose(
            "order of right-to-left lines", self._reversed, "a PDF does not record it reliably"
        )

    def _drop_number(self, lines: list[str], number: int) -> list[str]:
        """The lines without the first or last one, where that is the number of the page."""
        due = {number, number if self._number is None else self._number + 1}
        for n in (0, -1) if lines else ():
            if lines[n].isdecimal() and len(lines[n]) < 6:
                self._number = int(lines[n])
                if self._number in due:
                    return lines[1:] if n == 0 else lines[:-1]
        return lines


def read_notes(page: Any, form: Any, number: int) -> Iterator[tuple[str, str]]:
    """The fields that are filled in, as `Name of owner: A. Berg`, and the comments, with places."""
    from pypdfium2 import raw

    skipped = (raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP)
    for n in range(min(MAX_NOTES, raw.FPDFPage_GetAnnotCount(page))):
        note = raw.FPDFPage_GetAnnot(page, n)
        kind = raw.FPDFAnnot_GetSubtype(note)
        read = partial(raw.FPDFAnnot_GetStringValue, note)
        if kind == raw.FPDF_ANNOT_WIDGET:
            if line := _read_field(note, form):
                yield line, f"form on page {number}"
        elif kind not in skipped and (line := _read_wide(partial(read, b"Contents"))):
            yield line, f"comment on page {number}"
        raw.FPDFPage_CloseAnnot(note)


def _read_field(field: Any, form: Any) -> str:
    from pypdfium2 import raw

    keys = (b"TU", b"T", b"V")  # what it is called for people, and else; its value
    functions = [partial(raw.FPDFAnnot_GetStringValue, field, key) for key in keys]
    if form:  # else it is a page of a form that was cut out of it
        ways = (raw.FPDFAnnot_GetFormFieldAlternateName, raw.FPDFAnnot_GetFormFieldName,
                raw.FPDFAnnot_GetFormFieldValue)  # fmt: skip
        functions = [partial(one, form, field) for one in ways]
    label, name, value = map(_read_wide, functions)
    name = label or name
    return f"{name}: {value}" if name and value and value != "Off" else ""


def _read_wide(function: Any) -> str:
    """A text in UTF-16, which PDFium gives in two steps: its size, then itself."""
    size = function(None, 0)
    if not 2 < size < 2 * MAX_CHARS:
        return ""
    buffer = create_string_buffer(size)
    function(cast(buffer, POINTER(c_ushort)), size)
    return " ".join(buffer.raw[: size - 2].decode("utf-16-le", "replace").split())


def _add_attachments(text: PlacedText, source: Body, document: Any) -> None:
    count = document.count_attachments()
    for n in range(min(count, MAX_FILES)):
        file = document.get_attachment(n)
        name = file.get_name() or f"attachment {n + 1}"
        add_inner(text, source, name, bytes(file.get_data()), place=f"attachment {name}")
    text.lose("attachments", count - MAX_FILES, f"only the first {MAX_FILES} are")


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
