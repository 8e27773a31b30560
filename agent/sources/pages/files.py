"""A user's file by its suffix: title, text, and for Markdown the URL in its front matter."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from agent.sources.pages.extract import OnPart, UnreadablePage, extract

#: Characters. A shorter line was not wrapped: it is an item of a list, an address, a heading.
MIN_WRAPPED_LINE = 60

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_HEADING = re.compile(r"^#[ \t]+(\S.*)$", re.MULTILINE)
#: A line that never continues the one before it: a heading, list item, table row, quote, fence,
#: indented code.
_NEW_BLOCK = re.compile(r"[ \t]*(?:[#>|*+•‣–-]|\d+[.)]|[A-Za-z][.)]\s|```|~~~|$)|\t| {4}")

FileText = tuple[str, str, str]  # title, text and URL


def read_file(body: bytes, suffix: str, on_part: OnPart) -> FileText:
    """Title, text and URL of a file; title and URL are "" where it has none.

    Raises UnreadablePage; KeyError for a suffix that is not in FILE_PARSERS.
    """
    return FILE_PARSERS[suffix](body, on_part)


def unwrap_paragraphs(text: str) -> str:
    """Join the lines of each hard-wrapped paragraph. Only blanks and line breaks change.

    A line break counts as the end of a sentence: a wrapped sentence could never be quoted whole.
    """
    return "\n".join(" ".join(paragraph) for paragraph in _split_paragraphs(text))


def _split_paragraphs(text: str) -> Iterator[list[str]]:
    """The lines of each paragraph; a line that is not wrapped is a paragraph of its own."""
    paragraph: list[str] = []
    in_code = False
    previous = ""  # the line before, if the next one may continue it
    for line in text.split("\n"):
        is_fence = line.lstrip().startswith(("```", "~~~"))
        # a line that ends a sentence stays a line of its own
        is_wrapped = len(previous) >= MIN_WRAPPED_LINE and previous[-1] not in ".!?:"
        if is_wrapped and not (is_fence or in_code or _NEW_BLOCK.match(line)):
            paragraph += filter(None, [line.strip()])
        else:
            yield from [paragraph] if paragraph else []
            paragraph = [line.rstrip()]
        in_code ^= is_fence
        is_heading_or_row = line.lstrip().startswith(("#", "|"))
        previous = "" if is_fence or in_code or is_heading_or_row else line.strip()
    yield paragraph


def _parse_markdown(body: bytes, _: OnPart) -> FileText:
    text = _decode(body)
    fields: dict[str, str] = {}
    if front := _FRONT_MATTER.match(text):
        text = text[front.end() :]
        pairs = (line.partition(":") for line in front[1].splitlines())
        fields = {key.strip().lower(): value.strip().strip("\"'") for key, _, value in pairs}
    title = fields.get("title") or _find_heading(text)
    return title, unwrap_paragraphs(text).strip(), fields.get("url", "")


def _find_heading(text: str) -> str:
    """The first heading of a text, without the marks that may close it; "" for none."""
    heading = _HEADING.search(text)
    return heading[1].rstrip("# \t") or heading[1][:1] if heading else ""


def _parse_text(body: bytes, _: OnPart) -> FileText:
    return "", unwrap_paragraphs(_decode(body)).strip(), ""


def _decode(body: bytes) -> str:
    has_utf16_mark = body.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        text = body.decode("utf-16" if has_utf16_mark else "utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadablePage("is not UTF-8 text", "invalid") from None
    if "\0" in text:
        raise UnreadablePage("is not text", "unsupported")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _parse_html(body: bytes, on_part: OnPart) -> FileText:
    title, text = extract(body, "text/html", on_part=on_part)
    return title, text, ""


def _parse_pdf(body: bytes, on_part: OnPart) -> FileText:
    title, text = extract(
        body,
        "application/pdf",
        on_part=lambda title, text: on_part(title, unwrap_paragraphs(text)),
    )
    return title, unwrap_paragraphs(text), ""


#: File suffix -> the parser of a file's bytes.
FILE_PARSERS: dict[str, Callable[[bytes, OnPart], FileText]] = {
    ".md": _parse_markdown,
    ".txt": _parse_text,
    ".html": _parse_html,
    ".htm": _parse_html,
    ".pdf": _parse_pdf,
}
