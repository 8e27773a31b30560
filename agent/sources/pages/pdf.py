"""The text of a PDF, read by a process of its own (`pdf_worker.py` says why)."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

TIMEOUT = 10.0  # seconds; a page takes 5 milliseconds, so 50 dense ones are done long before
NEAR = 3  # lines above and below that tell how wide a column is
FULL = 20  # characters: shorter lines are cells and headings
_CJK = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
_GLUED = re.compile(rf"[{_CJK}]$")
_ITEM = re.compile(r"(?:[-–—•●▪◦‣*·]|\(?\d{1,2}[.)]|\(?[a-z][.)])\s")
#: Titles that programs write and no one meant.
_NO_TITLE = re.compile(
    r"^(?:untitled|title|powerpoint presentation|slide \d+|document\d*|microsoft word.*|"
    r".*\.(?:docx?|pdf|pptx?|xlsx?|indd|tex|dvi|qxd|rtf))$",
    re.IGNORECASE,
)


def extract_pdf(body: bytes, timeout: float = TIMEOUT) -> tuple[str, str]:
    """Title and text of a PDF's first fifty pages; lines that were only wrapped are joined.

    Text that a scanner put invisibly over its image is kept: a scan has no other. Takes 0.1 s and
    5 ms a page. What could be read before a crash or the time-out is returned. Raises ValueError:
    encrypted, broken, too slow. An image without text has an empty text.
    """
    lines, ended = _ask(body, timeout)
    if not lines:
        why = "it took too long" if ended == "timeout" else "it cannot be read"
        raise ValueError(f"a PDF that is broken: {why}")
    if isinstance(lines[0], dict):
        protected = lines[0].get("error") == "password"
        raise ValueError("a PDF that needs a password" if protected else "a PDF that is broken")
    text = "\n".join(unwrapped(str(page)) for page in lines[1:])
    return _title(str(lines[0]), text), text


def _ask(body: bytes, timeout: float) -> tuple[list[object], str]:
    """What the process said, and how it ended."""
    command = [sys.executable, "-I", str(Path(__file__).with_name("pdf_worker.py"))]
    try:
        done = subprocess.run(
            command,
            input=body,
            capture_output=True,
            timeout=timeout,
            check=False,
            start_new_session=True,  # Ctrl-C is not meant for it
        )
        said, ended = done.stdout, "done"
    except subprocess.TimeoutExpired as late:
        said, ended = late.stdout or b"", "timeout"
    whole = said.decode("ascii", "replace").split("\n")[:-1]  # the last was cut, or is empty
    return [json.loads(line) for line in whole], ended


def unwrapped(page: str) -> str:
    """A page with the lines of a paragraph joined.

    A line goes on in the next one, unless that begins an item, if it fills three quarters of the
    longest line near by and is no short one, like a table's. Found by looking at data/pdf.
    """
    # U+0002 and U+FFFE: PDFium's sign for a hyphen that only divides a word
    page = re.sub("[\x02\ufffe]\\s*", "", page.replace("\r\n", "\n").replace("\r", "\n"))
    lines = page.split("\n")
    out: list[str] = []
    goes_on = False
    for n, line in enumerate(lines):
        if goes_on and line.strip() and not _ITEM.match(line.lstrip()):
            out[-1] = _glued(out[-1], line)
        else:
            out.append(line)
        near = max(len(other) for other in lines[max(0, n - NEAR) : n + NEAR + 1])
        goes_on = len(line) >= max(0.75 * near, FULL)
    return "\n".join(out)


def _glued(left: str, right: str) -> str:
    if left[-1:] == "-" and right[:1].islower():
        return left + right
    if left[-1:].isspace() or (_GLUED.search(left) and _GLUED.match(right[:1])):
        return left + right
    return f"{left} {right}"


def _title(given: str, text: str) -> str:
    """The title that a PDF carries, unless a program wrote it; else its first line."""
    given = " ".join(given.split())
    if given and not _NO_TITLE.match(given):
        return given
    first = next((line.strip() for line in text.split("\n") if len(line.strip()) > 3), "")
    return first if len(first) <= 200 else first[:199] + "…"
