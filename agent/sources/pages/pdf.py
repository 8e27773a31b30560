"""The text of a PDF. It is native code that is not thread-safe, so only a worker calls it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

MAX_PAGES = 50
MAX_CHARS = 1_000_000  # of all pages; the rest is not read
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


def extract_pdf(body: bytes, on_page: Callable[[str, str], None]) -> tuple[str, str]:
    """Title and text of a PDF's first fifty pages, with the lines of each paragraph joined.

    Invisible text is kept, since it is the only text of a scan with OCR. Takes 5 ms a page.
    `on_page` gets the title and each page as soon as it is read. Raises ValueError: encrypted,
    broken. The text is empty where all pages are images.
    """
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(body)
    except pypdfium2.PdfiumError as error:
        fault = "needs a password" if "assword" in str(error) else "is broken"
        raise ValueError(f"a PDF that {fault}") from None
    title = str(document.get_metadata_dict(skip_empty=True).get("Title", ""))[:MAX_RAW_TITLE]
    pages: list[str] = []
    for page in _read_pages(document):
        pages.append(join_wrapped_lines(page))
        on_page(_choose_title(title, pages[0]), pages[-1])
    text = "\n".join(pages)
    return _choose_title(title, text), text


def _read_pages(document: Any) -> Iterator[str]:
    """The text of each page; "" for a broken one."""
    import pypdfium2

    total = 0
    for index in range(min(MAX_PAGES, len(document))):
        try:
            text = extract_page_text(document[index].get_textpage())[:MAX_CHARS]
        except pypdfium2.PdfiumError:
            text = ""
        yield text
        total += len(text)
        if total >= MAX_CHARS:
            return


def extract_page_text(page: Any) -> str:
    """The text of a page, with each ligature of lam and alef in reading order.

    PDFium reverses right-to-left text character by character. That also reverses the two letters
    of this ligature, which is one glyph and very frequent in Arabic. The two letters have the same
    bounding box.
    """
    text = str(page.get_text_range())
    if not any(alef + LAM in text for alef in ALEFS):
        return text
    chars = list(text)
    if len(chars) != page.count_chars():  # characters beyond U+FFFF shift PDFium's indices
        return text
    for i in range(len(chars) - 1):
        if chars[i] in ALEFS and chars[i + 1] == LAM and is_one_glyph(page, i):
            chars[i : i + 2] = LAM, chars[i]
    return "".join(chars)


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
        joins = continues and line.strip() and not _LIST_ITEM.match(line.lstrip())
        if n:
            pieces.append(_joint(lines[n - 1], line) if joins else "\n")
        pieces.append(line)
        neighbours = lines[max(0, n - NEIGHBOURS) : n + NEIGHBOURS + 1]
        continues = len(line) >= max(0.75 * max(map(len, neighbours)), MIN_WRAPPED)
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
