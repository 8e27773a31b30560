"""A separate process that reads one PDF: bytes on stdin, one JSON line a page on stdout.

The first line is the title, or an object with the key `error`. It is a process because the PDF
library is C code that parses hostile input: a crash, a hang or a leak must not end a run. The
library is not thread-safe either (six threads crash it); as processes, several PDFs are read at
once. This file is run as a script and imports nothing of the package.
"""

import json
import sys
from typing import Any

MAX_PAGES = 50
MAX_MEMORY = 2 * 2**30  # bytes of address space
MAX_CPU_SECONDS = 20
ALEFS = "\u0627\u0622\u0623\u0625"
LAM = "\u0644"


def main() -> None:
    """Read stdin and write each page as soon as it is read, so that a crash loses only the rest."""
    limit_resources()
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(sys.stdin.buffer.read())
    except pypdfium2.PdfiumError as error:
        write_line({"error": "password" if "assword" in str(error) else "broken"})
        return
    write_line(document.get_metadata_dict(skip_empty=True).get("Title", ""))
    for index in range(min(MAX_PAGES, len(document))):
        try:
            write_line(extract_page_text(document[index].get_textpage()))
        except pypdfium2.PdfiumError:
            write_line("")


def limit_resources() -> None:
    """Make the system end this process at its limits. Windows has no such limits."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_CPU_SECONDS, MAX_CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def write_line(value: Any) -> None:
    """Write one JSON line to stdout at once."""
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


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


if __name__ == "__main__":
    main()
