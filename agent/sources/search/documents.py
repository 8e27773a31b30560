"""A user's files as documents: which files there are, and the title and text of each.

Foreign failures (a broken PDF, a file that is not text) become `Unreadable`, here and nowhere else.
"""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

LIMIT = 50_000_000  # bytes of a file, and of a line of a .jsonl file, which itself has no limit
WRAPPED = 60  # characters: a shorter line was ended on purpose (a list, an address, a heading)


class Document(NamedTuple):
    """A document: `key` tells it apart from the others of its file (`?row=7`), if there are."""

    title: str
    text: str
    url: str = ""
    key: str = ""


class Unreadable(Exception):
    """A file that is left out of the corpus, and why."""


def stamps(root: Path) -> dict[str, str]:
    """The readable files under a folder (or the one file), in order, with size and time of change.

    Hidden files and folders are left out, and so is every link that leads out of the folder.
    """
    if root.is_file():
        return {"": _stamp(root)}
    found: dict[str, str] = {}
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = Path(folder, name)
            if _wanted(file, root):
                found[file.relative_to(root).as_posix()] = _stamp(file)
    return found


def _wanted(file: Path, root: Path) -> bool:
    if file.name.startswith(".") or file.suffix.lower() not in _READERS:
        return False
    if file.is_symlink() and not file.resolve().is_relative_to(root.resolve()):
        return False
    return file.is_file()


def _stamp(file: Path) -> str:
    status = file.stat()
    return f"{status.st_size}:{status.st_mtime_ns}"


def documents(file: Path, bad: Callable[[int], None]) -> Iterator[Document]:
    """The documents of a file. Raises Unreadable.

    `bad` is told how many lines of a .jsonl file were left out, if any.
    """
    if file.name.lower().endswith((".jsonl", ".jsonl.gz")):
        yield from _rows(file, bad)
        return
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        raise Unreadable("is not a .md, .txt, .html, .pdf, .jsonl or .jsonl.gz file")
    try:
        if file.stat().st_size > LIMIT:
            raise Unreadable(f"is larger than {LIMIT // 1_000_000} MB")
        document = reader(file.read_bytes(), file.stem)
    except OSError as error:
        raise Unreadable(error.strerror or "cannot be read") from None
    if not document.text.strip():
        raise Unreadable("holds no text")
    yield document


# --- rows --------------------------------------------------------------------------------------


def _rows(file: Path, bad: Callable[[int], None]) -> Iterator[Document]:
    wrong = number = 0
    try:
        with _opened(file) as stream:
            while line := stream.readline(LIMIT):
                number += 1
                if document := _row(line, number):
                    yield document
                elif line.strip():
                    wrong += 1
    except (OSError, EOFError) as error:  # a cut .gz file ends here: what came before is kept
        if number == 0:
            raise Unreadable(str(error) or "cannot be read") from None
        wrong += 1
    if wrong:
        bad(wrong)


def _opened(file: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(file) if file.name.lower().endswith(".gz") else file.open("rb"))


def _row(line: bytes, number: int) -> Document | None:
    try:
        row: Any = json.loads(line)
        text = row["text"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if not isinstance(text, str) or not text.strip():
        return None
    key = f"?id={row['id']}" if isinstance(row.get("id"), str | int) else f"?row={number}"
    title, url = row.get("title"), row.get("url")
    shown = title if isinstance(title, str) and title.strip() else text.strip().split("\n")[0][:80]
    return Document(shown, text, url if isinstance(url, str) else "", key)


# --- one document a file -----------------------------------------------------------------------

_FRONT = re.compile(r"\A---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_HEADING = re.compile(r"^#[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
#: What begins a line of its own: headings, list items, table rows, quotes, fences, indented code.
_OWN_LINE = re.compile(r"[ \t]*(?:[#>|*+•‣–-]|\d+[.)]|[A-Za-z][.)]\s|```|~~~|$)|\t| {4}")


def _decoded(body: bytes) -> str:
    marked = body.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        text = body.decode("utf-16" if marked else "utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable("is not UTF-8 text") from None
    if "\0" in text:
        raise Unreadable("is not text")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def unwrapped(text: str) -> str:
    """A text whose paragraphs were broken into lines, one line a paragraph again.

    A line break ends a sentence, so that a wrapped one could never be quoted whole.
    """
    lines: list[str] = []
    fenced = False
    last = ""
    for line in text.split("\n"):
        fence = line.lstrip().startswith(("```", "~~~"))
        runs_on = len(last) >= WRAPPED and last[-1] not in ".!?:"  # a sentence's end is kept
        if runs_on and not (fence or fenced or _OWN_LINE.match(line)):
            lines[-1] = f"{lines[-1].rstrip()} {line.strip()}"
        else:
            lines.append(line.rstrip())
        fenced ^= fence
        alone = line.lstrip().startswith(("#", "|"))  # a heading or a row of a table
        last = "" if fence or fenced or alone else line.strip()
    return "\n".join(lines)


def _markdown(body: bytes, name: str) -> Document:
    text = _decoded(body)
    fields: dict[str, str] = {}
    if front := _FRONT.match(text):
        text = text[front.end() :]
        pairs = (line.partition(":") for line in front[1].splitlines())
        fields = {key.strip().lower(): value.strip().strip("\"'") for key, _, value in pairs}
    heading = _HEADING.search(text)
    title = fields.get("title") or (heading[1] if heading else _spelled(name))
    return Document(title, unwrapped(text).strip(), fields.get("url", ""))


def _plain(body: bytes, name: str) -> Document:
    return Document(_spelled(name), unwrapped(_decoded(body)).strip())


def _spelled(name: str) -> str:
    """A file name as a title: `travel_policy-2024` is `travel policy 2024`."""
    return re.sub(r"[_\-]+", " ", name).strip() or name


def _page(body: bytes, name: str, content_type: str) -> Document:
    """A web page or a PDF, read as one that was fetched."""
    from agent.sources.pages.extract import extract  # heavy: only where there is one to read

    try:
        found = extract(body, content_type)
    except ValueError as error:
        raise Unreadable(str(error)) from None
    return Document(found.title.strip() or _spelled(name), found.text)


def _html(body: bytes, name: str) -> Document:
    return _page(body, name, "text/html")


def _pdf(body: bytes, name: str) -> Document:
    document = _page(body, name, "application/pdf")
    return document._replace(text=unwrapped(document.text))


_READERS: dict[str, Callable[[bytes, str], Document]] = {
    ".md": _markdown,
    ".txt": _plain,
    ".html": _html,
    ".htm": _html,
    ".pdf": _pdf,
}
