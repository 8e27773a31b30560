"""The text of a PDF, extracted by a separate process (`pdf_worker.py` says why)."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from agent.evidence import CJK

TIMEOUT = 10.0  # seconds; a page takes 5 ms, so that 50 dense ones take far less
NEIGHBOURS = 3  # lines above and below that tell the width of a column
MIN_WRAPPED = 20  # characters: shorter lines are cells and headings
#: Scripts without spaces between words: a space is inserted neither between two such characters
#: nor at their punctuation. CJK has letters only, so symbols, punctuation and full-width forms are
#: added here.
_UNSPACED = rf"{CJK}\u2fe0-\u303f\u3100-\u33ff\u4dc0-\u4dff\uff00-\uffef"
_UNSPACED_CHAR = re.compile(rf"[{_UNSPACED}]$")
_LIST_ITEM = re.compile(r"(?:[-–—•●▪◦‣*·]|\(?\d{1,2}[.)]|\(?[a-z][.)])\s")
#: Titles that a program filled in.
_GENERATED_TITLE = re.compile(
    r"^(?:untitled|title|powerpoint presentation|slide \d+|document\d*|microsoft word.*|"
    r".*\.(?:docx?|pdf|pptx?|xlsx?|indd|tex|dvi|qxd|rtf))$",
    re.IGNORECASE,
)


def extract_pdf(body: bytes, timeout: float = TIMEOUT) -> tuple[str, str]:
    """Title and text of a PDF's first fifty pages, with the lines of each paragraph joined.

    Invisible text is kept, since it is the only text of a scan with OCR. Takes 0.1 s and 5 ms a
    page. After a crash or at the time-out, the pages read so far are returned. Raises ValueError:
    encrypted, broken, too slow. The text is empty where all pages are images.
    """
    lines, is_timed_out = _run_worker(body, timeout)
    if not lines:
        cause = "it took too long" if is_timed_out else "it cannot be read"
        raise ValueError(f"a PDF that is broken: {cause}")
    if isinstance(lines[0], dict):
        is_encrypted = lines[0].get("error") == "password"
        raise ValueError("a PDF that needs a password" if is_encrypted else "a PDF that is broken")
    text = "\n".join(join_wrapped_lines(str(page)) for page in lines[1:])
    return _choose_title(str(lines[0]), text), text


def _run_worker(body: bytes, timeout: float) -> tuple[list[object], bool]:
    """The JSON lines that the worker wrote, and whether it was ended by the time-out."""
    command = [sys.executable, "-I", str(Path(__file__).with_name("pdf_worker.py"))]
    try:
        process = subprocess.run(
            command,
            input=body,
            capture_output=True,
            timeout=timeout,
            check=False,
            start_new_session=True,  # Ctrl-C is not meant for it
        )
        output, is_timed_out = process.stdout, False
    except subprocess.TimeoutExpired as error:
        output, is_timed_out = error.stdout or b"", True
    complete_lines = output.decode("ascii", "replace").split("\n")[:-1]
    return [json.loads(line) for line in complete_lines], is_timed_out


def join_wrapped_lines(page: str) -> str:
    """A page with the lines of each paragraph joined.

    A line continues in the next one if it has at least 20 characters and three quarters of the
    longest line near by, unless the next one is a list item. The numbers were found on data/pdf.
    """
    # U+0002 and U+FFFE: what PDFium writes for a hyphen at which a word was divided
    page = re.sub("[\x02\ufffe]\\s*", "", page.replace("\r\n", "\n").replace("\r", "\n"))
    lines = page.split("\n")
    joined: list[str] = []
    continues = False
    for n, line in enumerate(lines):
        if continues and line.strip() and not _LIST_ITEM.match(line.lstrip()):
            joined[-1] = _join_lines(joined[-1], line)
        else:
            joined.append(line)
        neighbours = lines[max(0, n - NEIGHBOURS) : n + NEIGHBOURS + 1]
        continues = len(line) >= max(0.75 * max(map(len, neighbours)), MIN_WRAPPED)
    return "\n".join(joined)


def _join_lines(left: str, right: str) -> str:
    """Two lines with a space between them, except after a hyphen or between unspaced characters."""
    if left[-1:] == "-" and right[:1].islower():
        return left + right
    if left[-1:].isspace() or (_UNSPACED_CHAR.search(left) and _UNSPACED_CHAR.match(right[:1])):
        return left + right
    return f"{left} {right}"


def _choose_title(metadata_title: str, text: str) -> str:
    """The title in the metadata, unless a program filled it in; else the first line of text."""
    title = " ".join(metadata_title.split())
    if title and not _GENERATED_TITLE.match(title):
        return title
    first = next((line.strip() for line in text.split("\n") if len(line.strip()) > 3), "")
    return first if len(first) <= 200 else first[:199] + "…"
