"""Text without markup, or with that of Markdown; the character data of XML.

Of a user's file the lines stay as they are, but wrapped paragraphs are joined. Markdown keeps its
marks; what is escaped in it is read as it is shown, or no quote would be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent.characters import strip_controls
from agent.documents.body_text import MAX_RAW_TITLE, Body, BodyText, PlacedText, UnreadablePage
from agent.documents.own_date import read_day
from agent.documents.sniff import decode, unescape_entities

#: Characters. A shorter line was not wrapped: it is an item of a list, an address, a heading.
MIN_WRAPPED_LINE = 60

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_HEADING = re.compile(r"^#[ \t]+(\S.*)$", re.MULTILINE)
#: A line that never continues the one before it: a heading, list item, table row, quote, fence,
#: indented code.
_NEW_BLOCK = re.compile(r"[ \t]*(?:[#>|*+•‣–-]|\d+[.)]|[A-Za-z][.)]\s|```|~~~|$)|\t| {4}")
#: A code span, an escaped character, an entity.
_ESCAPED = re.compile(
    r"(?<!`)(`+)(?!`).{1,1000}?(?<!`)\1(?!`)|\\([!-/:-@\[-`{-~])|&(?:#\w{1,7}|[A-Za-z]\w{1,31});"
)


def read_markdown(source: Body) -> BodyText:
    """The text without its front matter, which may hold title, URL and date."""
    text = decode_text(source.data, source.content_type)
    fields, start = read_front_matter(text)
    text = text[start:]
    title = fields.get("title") or _find_heading(text)
    day = read_day(fields.get("updated"), fields.get("date"))
    return BodyText(title, plain_markdown(text).strip(), fields.get("url", ""), date=day)


def read_text(source: Body) -> BodyText:
    """The text, which has no title."""
    return BodyText("", unwrap_paragraphs(decode_text(source.data, source.content_type)).strip())


def read_plain_page(source: Body) -> BodyText:
    """The text of a page of the web that has no markup, or that of Markdown."""
    raw = decode(source.data, source.content_type)
    fields, start = read_front_matter(raw.lstrip())
    first = raw[: MAX_RAW_TITLE + start].lstrip()[start:].lstrip().partition("\n")[0]
    text = PlacedText(source, fields.get("title") or _find_heading(first))
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


def plain_markdown(text: str) -> str:
    """Markdown with its wrapped lines joined, escaped characters as they are shown, but in code.

    Format: https://spec.commonmark.org/0.31.2/, 2.4, 2.5 and 6.1.
    """
    lines = []
    in_fence = in_block = is_after_blank = False
    for line in unwrap_paragraphs(text).split("\n"):
        is_fence = line.lstrip().startswith(("```", "~~~"))
        in_fence ^= is_fence
        in_block = line.startswith(("    ", "\t")) and (in_block or is_after_blank)
        is_after_blank = not line.strip()
        lines.append(line if is_fence or in_fence or in_block else _ESCAPED.sub(_show, line))
    return strip_controls("\n".join(lines))


def _show(escaped: re.Match[str]) -> str:
    """What is shown of an escaped character or an entity; a code span as it is."""
    return escaped[2] or (unescape_entities(escaped[0]) if escaped[0][0] == "&" else escaped[0])


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


def _find_heading(text: str) -> str:
    """The first heading of a text, without the marks that may close it; "" for none."""
    heading = _HEADING.search(text)
    return (heading[1].rstrip("# \t") or heading[1][:1]) if heading else ""


def decode_text(data: bytes, content_type: str = "") -> str:
    """The characters of a text, with line feeds alone. Raises UnreadablePage."""
    text = decode(data, content_type)
    if "\0" in text:
        raise UnreadablePage("is not text", "unsupported")
    return strip_controls(text.replace("\r\n", "\n").replace("\r", "\n"))
