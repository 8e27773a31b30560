"""Text without markup; the character data of XML.

Of a user's file the lines stay as they are, but wrapped paragraphs are joined.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from agent.documents.body_text import (
    MAX_RAW_TITLE,
    Body,
    BodyText,
    PlacedText,
    UnreadablePage,
)
from agent.documents.sniff import decode, unescape_entities
from agent.state.characters import strip_controls

#: Characters. A shorter line was not wrapped: it is an item of a list, an address, a heading.
MIN_WRAPPED_LINE = 60

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_HEADING = re.compile(r"^#[ \t]+(\S.*)$", re.MULTILINE)
_MARKER = r"(?:[*+•‣–-]|\d+[.)]|[A-Za-z][.)](?=\s))"  # of a list item
#: A line that never continues the one before it: a heading, list item, table row, quote, fence.
_NEW_BLOCK = re.compile(rf"[ \t]*(?:{_MARKER}|[#>|]|```|~~~|$)")
_BEFORE_TEXT = re.compile(rf"\s*(?:{_MARKER}\s+(?=\S))?")
_BEFORE_CODE = 4  # columns from which on a line may be code
_NO_PROSE = re.compile(r"[{}<|\\]| = |\S {4}")  # justified lines have three blanks
_SENTENCE_END = re.compile(r"[.!?:。！？][\"')\]”’»]*\s*$")


def read_text(source: Body) -> BodyText:
    """The text, which has no title."""
    return BodyText("", unwrap_paragraphs(decode_text(source.data, source.content_type)).strip())


def read_plain_page(source: Body) -> BodyText:
    """The text of a page of the web that has no markup, or that of Markdown."""
    raw = decode(source.data, source.content_type)
    fields, start = read_front_matter(raw.lstrip())
    first = raw[: MAX_RAW_TITLE + start].lstrip()[start:].lstrip().partition("\n")[0]
    text = PlacedText(source, fields.get("title") or find_heading(first))
    text.add(raw)
    return text.finish()


def read_xml(source: Body) -> BodyText:
    """Title and character data of an XML document or a feed.

    Tags are removed twice, since the items of a feed often hold escaped HTML.
    """
    raw = decode(source.data, source.content_type)
    title = re.search(r"<title[^<>]*>(?:<!\[CDATA\[)?([^<]*)", raw[:20_000])
    content = raw.replace("<![CDATA[", "").replace("]]>", "")
    for _ in range(2):
        content = unescape_entities(re.sub(r"<[^<>]*>", "\n", content))
    text = PlacedText(source, unescape_entities(title[1]) if title else "")
    text.add(content)
    return text.finish()


def read_front_matter(text: str) -> tuple[dict[str, str], int]:
    """The fields at the beginning of a text in Markdown, and where they end."""
    front = _FRONT_MATTER.match(text)
    pairs = (line.partition(":") for line in front[1].splitlines()) if front else ()
    fields = {key.strip().lower(): value.strip().strip("\"'") for key, _, value in pairs}
    return fields, front.end() if front else 0


def unwrap_paragraphs(text: str) -> str:
    """Join the lines of each hard-wrapped paragraph. Only blanks and line breaks change.

    A line break counts as the end of a sentence: a wrapped sentence could never be quoted whole.
    """
    return "\n".join(" ".join(paragraph) for paragraph in _split_paragraphs(text))


def _split_paragraphs(text: str) -> Iterator[list[str]]:
    """The lines of each paragraph; a line that is not wrapped is a paragraph of its own."""
    paragraph: list[str] = []
    in_code = False
    previous = ""  # the line before with its indent, if the next one may continue it
    lines = text.split("\n")
    for line, goes_on in zip(lines, _find_going_on(lines), strict=True):
        is_fence = line.lstrip().startswith(("```", "~~~"))
        # a line that ends a sentence stays a line of its own
        is_wrapped = len(previous) >= MIN_WRAPPED_LINE and previous[-1] not in ".!?:"
        is_block = is_fence or in_code or _NEW_BLOCK.match(line) or not goes_on
        if is_wrapped and not is_block:
            paragraph += filter(None, [line.strip()])
        else:
            yield from [paragraph] if paragraph else []
            paragraph = [line.rstrip()]
        in_code ^= is_fence
        is_heading_or_row = line.lstrip().startswith(("#", "|"))
        previous = "" if is_fence or in_code or is_heading_or_row else line.expandtabs().rstrip()
    yield paragraph


def _find_going_on(lines: Sequence[str]) -> Iterator[bool]:
    """Whether each line may go on with the one before it: code and tables are indented.

    Lines further in are prose where most end because the next word would not have fitted, and the
    last one ends a sentence.
    """
    for indent, group in groupby(map(str.expandtabs, lines), _find_indent):
        block = [*group]
        width = max(map(len, block))
        breaks = [
            len(line) + len(after.split()[0]) >= width
            for line, after in pairwise(block)
            if after.strip() and not _NEW_BLOCK.match(after)
        ]
        is_full = 4 * sum(breaks) >= 3 * len(breaks) and bool(_SENTENCE_END.search(block[-1]))
        is_prose = is_full and not any(map(_NO_PROSE.search, block))
        yield indent < _BEFORE_CODE  # the first line goes on with no other indent
        yield from [indent < _BEFORE_CODE or is_prose] * (len(block) - 1)


def _find_indent(line: str) -> int:
    """The columns before the text of a line; that of an item is behind its mark."""
    return len(before[0]) if line.strip() and (before := _BEFORE_TEXT.match(line)) else 0


def find_heading(text: str) -> str:
    """The first heading of a text, without the marks that may close it; "" for none."""
    heading = _HEADING.search(text)
    return (heading[1].rstrip("# \t") or heading[1][:1]) if heading else ""


def decode_text(data: bytes, content_type: str = "") -> str:
    """The characters of a text, with line feeds alone. Raises UnreadablePage."""
    text = decode(data, content_type)
    if "\0" in text:
        raise UnreadablePage("is not text", "unsupported")
    return strip_controls(text.replace("\r\n", "\n").replace("\r", "\n"))
