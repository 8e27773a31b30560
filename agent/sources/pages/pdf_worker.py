"""A process of its own that reads one PDF: bytes on stdin, one JSON line a page on stdout.

The first line is the title, or an object with `error`. It is a process because the reader is C
code on hostile input: a crash, a hang or a leak must not end a run, and it is not thread-safe
(six threads crash it), so that as a process several PDFs are read at once. Started as a file: it
imports nothing of this program.
"""

import json
import sys
from typing import Any

PAGES = 50
MEMORY = 2 * 2**30  # bytes of address space
SECONDS = 20  # of CPU
ALEFS = "\u0627\u0622\u0623\u0625"
LAM = "\u0644"


def main() -> None:
    """Read stdin, write pages as they come, so that those before a crash are kept."""
    limit_resources()
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(sys.stdin.buffer.read())
    except pypdfium2.PdfiumError as error:
        say({"error": "password" if "assword" in str(error) else "broken"})
        return
    say(document.get_metadata_dict(skip_empty=True).get("Title", ""))
    for index in range(min(PAGES, len(document))):
        try:
            say(page_text(document[index].get_textpage()))
        except pypdfium2.PdfiumError:
            say("")


def limit_resources() -> None:
    """Let the system end this process when it takes too much. Windows has no such limits."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def say(line: Any) -> None:
    """One line of the answer."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def page_text(page: Any) -> str:
    """The text of a page, with the ligature of lam and alef in the order in which it is read.

    PDFium turns text that runs from right to left around letter by letter, and so the two letters
    of this one glyph, which every other Arabic word has: they stand in the same box.
    """
    text = str(page.get_text_range())
    if not any(alef + LAM in text for alef in ALEFS):
        return text
    chars = list(text)
    if len(chars) != page.count_chars():  # characters beyond 16 bits: places cannot be told
        return text
    for i in range(len(chars) - 1):
        if chars[i] in ALEFS and chars[i + 1] == LAM and same_box(page, i):
            chars[i : i + 2] = LAM, chars[i]
    return "".join(chars)


def same_box(page: Any, index: int) -> bool:
    """Whether a character and the next are one glyph."""
    first, second = page.get_charbox(index), page.get_charbox(index + 1)
    return all(abs(a - b) < 0.01 for a, b in zip(first, second, strict=True))


if __name__ == "__main__":
    main()
