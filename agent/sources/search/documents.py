"""A user's files as documents: the list of files, and title and text of each document.

This module translates every failure to read a file (a broken PDF, a binary file) to
`UnreadableFile`.
"""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

MAX_BYTES = 50_000_000  # of a file; of one line where it is a .jsonl file, which has no limit
MAX_FALLBACK_TITLE = 80  # characters of a row's text, where the row has no title
#: Characters. A shorter line was not wrapped: it is an item of a list, an address, a heading.
MIN_WRAPPED_LINE = 60


class Document(NamedTuple):
    """A document. `key` identifies it in a file of many (`?row=7`); `url` is "" if it has none."""

    title: str
    text: str
    url: str = ""
    key: str = ""


class UnreadableFile(Exception):
    """A file that is left out of the corpus, with the reason."""


def scan_files(root: Path) -> dict[str, str]:
    """The supported files under a folder, in order: relative path -> stamp (size and change time).

    A `root` that is a file has the path "". Hidden files and folders are left out, and so are
    symbolic links to files outside the folder.
    """
    if root.is_file():
        return {"": _stamp_of(root)}
    stamps: dict[str, str] = {}
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = Path(folder, name)
            if _is_supported(file, root):
                stamps[file.relative_to(root).as_posix()] = _stamp_of(file)
    return stamps


def _is_supported(file: Path, root: Path) -> bool:
    if file.name.startswith(".") or file.suffix.lower() not in _PARSERS:
        return False
    if file.is_symlink() and not file.resolve().is_relative_to(root.resolve()):
        return False
    return file.is_file()


def _stamp_of(file: Path) -> str:
    status = file.stat()
    return f"{status.st_size}:{status.st_mtime_ns}"


def read_documents(file: Path, report_bad_rows: Callable[[int], None]) -> Iterator[Document]:
    """The documents of a file. Raises UnreadableFile.

    `report_bad_rows` is called with the number of unusable lines of a .jsonl file, if any.
    """
    if file.name.lower().endswith((".jsonl", ".jsonl.gz")):
        yield from _read_rows(file, report_bad_rows)
        return
    parse = _PARSERS.get(file.suffix.lower())
    if parse is None:
        raise UnreadableFile("is not a .md, .txt, .html, .pdf, .jsonl or .jsonl.gz file")
    try:
        if file.stat().st_size > MAX_BYTES:
            raise UnreadableFile(f"is larger than {MAX_BYTES // 1_000_000} MB")
        document = parse(file.read_bytes(), file.stem)
    except OSError as error:
        raise UnreadableFile(error.strerror or "cannot be read") from None
    if not document.text.strip():
        raise UnreadableFile("holds no text")
    yield document


# --- .jsonl: a document a row ------------------------------------------------------------------


def _read_rows(file: Path, report_bad_rows: Callable[[int], None]) -> Iterator[Document]:
    bad_rows = number = 0
    try:
        with _open_rows(file) as stream:
            while line := stream.readline(MAX_BYTES):
                number += 1
                if document := _parse_row(line, number):
                    yield document
                elif line.strip():
                    bad_rows += 1
    except (OSError, EOFError) as error:  # a truncated .gz file: the rows before it ends are used
        if number == 0:
            raise UnreadableFile(str(error) or "cannot be read") from None
        bad_rows += 1
    if bad_rows:
        report_bad_rows(bad_rows)


def _open_rows(file: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(file) if file.name.lower().endswith(".gz") else file.open("rb"))


def _parse_row(line: bytes, number: int) -> Document | None:
    try:
        row: Any = json.loads(line)
        text = row["text"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if not isinstance(text, str) or not text.strip():
        return None
    key = f"?id={row['id']}" if isinstance(row.get("id"), str | int) else f"?row={number}"
    title, url = row.get("title"), row.get("url")
    if not isinstance(title, str) or not title.strip():
        title = text.strip().split("\n")[0][:MAX_FALLBACK_TITLE]
    return Document(title, text, url if isinstance(url, str) else "", key)


# --- one document a file -----------------------------------------------------------------------

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_HEADING = re.compile(r"^#[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
#: A line that never continues the one before it: a heading, list item, table row, quote, fence,
#: indented code.
_NEW_BLOCK = re.compile(r"[ \t]*(?:[#>|*+•‣–-]|\d+[.)]|[A-Za-z][.)]\s|```|~~~|$)|\t| {4}")


def _decode(body: bytes) -> str:
    has_utf16_mark = body.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        text = body.decode("utf-16" if has_utf16_mark else "utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableFile("is not UTF-8 text") from None
    if "\0" in text:
        raise UnreadableFile("is not text")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def unwrap_paragraphs(text: str) -> str:
    """Join the lines of each hard-wrapped paragraph. Only blanks and line breaks change.

    A line break counts as the end of a sentence: a wrapped sentence could never be quoted whole.
    """
    lines: list[str] = []
    in_code = False
    previous = ""  # the line before, if the next one may continue it
    for line in text.split("\n"):
        is_fence = line.lstrip().startswith(("```", "~~~"))
        # a line that ends a sentence stays a line of its own
        is_wrapped = len(previous) >= MIN_WRAPPED_LINE and previous[-1] not in ".!?:"
        if is_wrapped and not (is_fence or in_code or _NEW_BLOCK.match(line)):
            lines[-1] = f"{lines[-1].rstrip()} {line.strip()}"
        else:
            lines.append(line.rstrip())
        in_code ^= is_fence
        is_heading_or_row = line.lstrip().startswith(("#", "|"))
        previous = "" if is_fence or in_code or is_heading_or_row else line.strip()
    return "\n".join(lines)


def _parse_markdown(body: bytes, name: str) -> Document:
    text = _decode(body)
    fields: dict[str, str] = {}
    if front := _FRONT_MATTER.match(text):
        text = text[front.end() :]
        pairs = (line.partition(":") for line in front[1].splitlines())
        fields = {key.strip().lower(): value.strip().strip("\"'") for key, _, value in pairs}
    heading = _HEADING.search(text)
    title = fields.get("title") or (heading[1] if heading else _title_of(name))
    return Document(title, unwrap_paragraphs(text).strip(), fields.get("url", ""))


def _parse_text(body: bytes, name: str) -> Document:
    return Document(_title_of(name), unwrap_paragraphs(_decode(body)).strip())


def _title_of(name: str) -> str:
    """A file name as a title: `travel_policy-2024` is `travel policy 2024`."""
    return re.sub(r"[_\-]+", " ", name).strip() or name


def _parse_page(body: bytes, name: str, content_type: str) -> Document:
    """A web page or a PDF, parsed like one from the web."""
    from agent.sources.pages.extract import extract  # a heavy import

    try:
        page = extract(body, content_type)
    except ValueError as error:
        raise UnreadableFile(str(error)) from None
    return Document(page.title.strip() or _title_of(name), page.text)


def _parse_html(body: bytes, name: str) -> Document:
    return _parse_page(body, name, "text/html")


def _parse_pdf(body: bytes, name: str) -> Document:
    document = _parse_page(body, name, "application/pdf")
    return document._replace(text=unwrap_paragraphs(document.text))


#: File suffix -> the parser of a file's bytes and stem.
_PARSERS: dict[str, Callable[[bytes, str], Document]] = {
    ".md": _parse_markdown,
    ".txt": _parse_text,
    ".html": _parse_html,
    ".htm": _parse_html,
    ".pdf": _parse_pdf,
}
