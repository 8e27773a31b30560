"""The text of a PDF. It is native code that is not thread-safe, so only a worker calls it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from agent.sources.formats.body_text import PlacedText, normalize_title
from agent.sources.pages.ocr import ImageReader, find_tesseract, render_page

CELL_BREAK = "\x1f"
IMAGE = (3,)  # FPDF_PAGEOBJ_IMAGE
MAX_PAGES = 1000
MIN_GAP = 0.8  # heights of a letter: a blank has 0.4 at most, in type of one width 0.7
MIN_COLUMN_LINES = 4
MIN_COLUMN_CHARS = 20
MAX_CHARS = 1_000_000  # of a page
MAX_RAW_TITLE = 10_000  # characters of the title in the metadata
NEIGHBOURS = 3  # lines above and below that tell the width of a column
MIN_WRAPPED = 20  # characters: shorter lines are cells and headings
#: Scripts without spaces between words: a space is inserted neither between two such characters
#: nor at their punctuation. Chinese, Japanese and Korean, their symbols and full-width forms.
_UNSPACED_CHAR = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
_LIST_ITEM = re.compile(r"(?:[-–—•●▪◦‣*·]|\(?\d{1,2}[.)]|\(?[a-z][.)])\s")
#: Titles that a program filled in.
_GENERATED_TITLE = re.compile(
    r"^(?:untitled|title|powerpoint presentation|slide \d+|document\d*|microsoft word.*|"
    r".*\.(?:docx?|pdf|pptx?|xlsx?|indd|tex|dvi|qxd|rtf))$",
    re.IGNORECASE,
)
ALEFS = "\u0627\u0622\u0623\u0625"
LAM = "\u0644"


def add_pages(text: PlacedText, body: bytes) -> None:
    """Add the pages of a PDF, with the lines of each paragraph joined; set the title.

    Invisible text is kept, since it is the only text of a scan with OCR. Takes 5 ms a page. Each
    page is handed over as soon as it is read: what crashes later costs only the rest. Raises
    ValueError: encrypted, broken.
    """
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        fault = "needs a password" if "assword" in str(error) else "is broken"
        raise ValueError(f"a PDF that {fault}") from None
    title = str(document.get_metadata_dict(skip_empty=True).get("Title", ""))[:MAX_RAW_TITLE]
    images = _ImagePages()
    last_line = ""  # of the page before
    for number, raw in enumerate(_read_pages(document, images), 1):
        page = _drop_page_number(join_wrapped_lines(raw).strip(), number)
        text.title = text.title or normalize_title(_choose_title(title, page))
        goes_on = len(last_line) >= MIN_WRAPPED and last_line[-1] not in ".!?:;"
        is_joined = goes_on and page[:1].islower()
        text.add(page, f"page {number}", joint=_joint(last_line, page) if is_joined else "\n")
        text.hand_over()
        last_line = page.rpartition("\n")[2]
        if text.is_full:
            break
    if (count := len(document)) > MAX_PAGES:
        text.note = f"only the first {MAX_PAGES} of its {count} pages were read"
    elif images.unread:
        text.note = f"{images.unread} of its {count} pages are images; {images.remedy}"


def _drop_page_number(page: str, number: int) -> str:
    """A page without a last line that is its number alone."""
    start, _, last = page.rpartition("\n")
    return start if re.fullmatch(rf"(?i)(?:page )?{number}(?: ?(?:of|/) ?\d+)?", last) else page


def _read_pages(document: Any, images: _ImagePages) -> Iterator[str]:
    """The text of each page; "" for a broken one."""
    import pypdfium2

    for index in range(min(MAX_PAGES, len(document))):
        try:
            page = document[index]
            text = extract_page_text(page.get_textpage())[:MAX_CHARS]
            yield text if text.strip() else images.read(page)
        except pypdfium2.PdfiumError:
            yield ""


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
            self._reader = self._reader or self._open()
        except OSError:
            self.remedy = "tesseract does not start"
        if self._reader is None:
            self.unread += 1
            return ""
        return self._reader.read(render_page(page))

    def _open(self) -> ImageReader | None:
        tesseract = find_tesseract()
        return ImageReader(tesseract) if tesseract else None


def extract_page_text(page: Any) -> str:
    """The text of a page: cells of a table parted by ` | `, columns one after the other, and each
    ligature of lam and alef in reading order.

    PDFium reverses right-to-left text character by character. That also reverses the two letters
    of this ligature, which is one glyph and very frequent in Arabic. The two letters have the same
    bounding box.
    """
    text = str(page.get_text_range())
    if len(text) != page.count_chars():  # characters beyond U+FFFF shift PDFium's indices
        return text
    chars = list(text)
    for i in range(len(chars) - 1):
        if chars[i] in ALEFS and chars[i + 1] == LAM and is_one_glyph(page, i):
            chars[i : i + 2] = LAM, chars[i]
        elif chars[i] == " " and i and is_wide_gap(page, i):
            chars[i] = CELL_BREAK
    lines = "".join(chars).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(map(_format_cells, order_columns(lines)))


def _format_cells(line: str) -> str:
    """A line with ` | ` between its cells. What marks an item of a list is no cell."""
    line = line.replace(CELL_BREAK, " ", bool(_LIST_ITEM.match(line.replace(CELL_BREAK, " "))))
    return line.replace(CELL_BREAK, " | ")


def is_wide_gap(page: Any, index: int) -> bool:
    """Whether the blank at an index parts two cells: it is wider than a letter is high."""
    import pypdfium2

    try:
        left, right = (page.get_charbox(i, loose=True) for i in (index - 1, index + 1))
    except (pypdfium2.PdfiumError, IndexError):  # at the end, or beside what has no place
        return False
    height = max(left[3] - left[1], right[3] - right[1])
    is_one_line = left[1] < right[3] and right[1] < left[3]
    return bool(is_one_line and height > 0 and right[0] - left[2] > MIN_GAP * height)


def order_columns(lines: Sequence[str]) -> Iterator[str]:
    """The lines with columns of prose one after the other, where a file has them side by side.

    Such are several lines in a row of two long parts each; shorter parts are cells of a table.
    """
    start = 0
    while start < len(lines):
        end = start
        while end < len(lines) and _is_two_columns(lines[end]):
            end += 1
        if end - start >= MIN_COLUMN_LINES:
            for side in (0, 1):
                yield from (line.split(CELL_BREAK)[side] for line in lines[start:end])
        else:
            end = max(end, start + 1)
            yield from lines[start:end]
        start = end


def _is_two_columns(line: str) -> bool:
    parts = line.split(CELL_BREAK)
    return len(parts) == 2 and min(map(len, parts)) >= MIN_COLUMN_CHARS


def is_one_glyph(page: Any, index: int) -> bool:
    """Whether a character and the next one have the same bounding box."""
    first, second = page.get_charbox(index), page.get_charbox(index + 1)
    return all(abs(a - b) < 0.01 for a, b in zip(first, second, strict=True))


def join_wrapped_lines(page: str) -> str:
    """A page with the lines of each paragraph joined. Takes linear time.

    A line continues in the next one if it has at least 20 characters and three quarters of the
    longest line near by, unless the next one is a list item. The numbers were found on data/pdf.
    """
    # U+0002 and U+FFFE: what PDFium writes for a hyphen at which a word was divided
    page = re.sub("[\x02\ufffe]\\s*", "", page.replace("\r\n", "\n").replace("\r", "\n"))
    lines = page.split("\n")
    pieces: list[str] = []  # of all lines, with what stands between them
    continues = False
    for n, line in enumerate(lines):
        is_row = " | " in line
        joins = continues and line.strip() and not is_row and not _LIST_ITEM.match(line.lstrip())
        if n:
            pieces.append(_joint(lines[n - 1], line) if joins else "\n")
        pieces.append(line)
        neighbours = lines[max(0, n - NEIGHBOURS) : n + NEIGHBOURS + 1]
        longest = max(map(len, neighbours))
        continues = len(line) >= max(0.75 * longest, MIN_WRAPPED) and not is_row
    return "".join(pieces)


def _joint(left: str, right: str) -> str:
    """What joins two lines: a space, except after a hyphen or between unspaced characters."""
    if left[-1:] == "-" and right[:1].islower():
        return ""
    if left[-1:].isspace() or (_UNSPACED_CHAR.match(left[-1:]) and _UNSPACED_CHAR.match(right[:1])):
        return ""
    return " "


def _choose_title(metadata_title: str, text: str) -> str:
    """The title in the metadata, unless a program filled it in; else the first line of text."""
    title = " ".join(metadata_title.split())
    if title and not _GENERATED_TITLE.match(title):
        return title
    first = next((line.strip() for line in text.split("\n") if len(line.strip()) > 3), "")
    return first if len(first) <= 200 else first[:199] + "…"
