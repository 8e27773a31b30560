"""Markdown as the lines that it shows: CommonMark 0.31 with tables and text struck through."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from agent.documents.body_text import Body, BodyText, PlacedText, normalize_title
from agent.documents.formats.grid import format_rows
from agent.documents.formulas import STRUCK, lower_text, raise_text
from agent.documents.page_date import read_day
from agent.documents.plain_text import (
    decode_text,
    find_heading,
    read_front_matter,
    unwrap_paragraphs,
)

if TYPE_CHECKING:
    from markdown_it.token import Token

_TAGS = re.compile(r"<!--.*?-->|<(script|style)\b.*?</\1\s*>|</?[a-zA-Z][^<>]*>", re.S)
_SCRIPTS = {"<sup>": raise_text, "<sub>": lower_text}
_STRUCK = ("<del>", "</del>", "<s>", "</s>")
_BREAKS = ("softbreak", "hardbreak")


class MarkdownLine(NamedTuple):
    """What a block of Markdown shows; `level` is a heading's, else 0."""

    text: str
    level: int = 0


def read_markdown(source: Body) -> BodyText:
    """What is shown of a text in Markdown. Its front matter may hold title, URL and date."""
    text = decode_text(source.data, source.content_type)
    fields, start = read_front_matter(text)
    day = read_day(fields.get("updated"), fields.get("date"))
    read = PlacedText(source, fields.get("title") or find_heading(text[start:]), day)
    add_markdown(read, text[start:])
    return read.finish(fields.get("url", ""))


def add_markdown(text: PlacedText, markdown: str, place: str = "") -> None:
    """Add the lines of Markdown that somebody wrote: headings and items keep their marks."""
    for line in read_lines(unwrap_paragraphs(markdown)):
        text.add(f"{'#' * line.level} {line.text}", place)


def add_sections(text: PlacedText, markdown: str) -> None:
    """Add the lines of Markdown that a library made, each in the section of its heading."""
    place = ""
    for line in read_lines(markdown, is_made=True):
        if line.level:
            place = f"section {line.text}"
            text.title = text.title or normalize_title(line.text)
        text.add(line.text, place)


def read_lines(markdown: str, *, is_made: bool = False) -> Iterator[MarkdownLine]:
    """The blocks of Markdown, the rows of a table each, in order.

    `is_made`: by a library, which writes the first row of a table as its head, whatever it is.
    """
    from markdown_it import MarkdownIt

    mark, level, rows = "", 0, list[list[str]]()
    is_in_table = False
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    for token in parser.parse(markdown):
        kind = token.type
        if kind == "list_item_open":
            mark = f"{token.info}{token.markup} " if token.info else "- "
        elif kind == "heading_open":
            level = int(token.tag[1])
        elif kind == "tr_open":
            rows.append([])
        elif kind == "inline" and is_in_table:
            rows[-1].append(_show(token.children or ()))
        elif kind in ("table_open", "table_close"):
            is_in_table = kind == "table_open"
            flagged = None if is_made and len(rows[:1] and rows[0]) == 2 else 1
            table = format_rows(enumerate(rows, 1), flagged)
            yield from (MarkdownLine(line) for _, line in table)
            rows = []
        elif kind in ("inline", "fence", "code_block", "html_block"):
            is_code = kind in ("fence", "code_block")
            shown = token.content if is_code else _show(token.children or (token,))
            yield MarkdownLine(mark + shown, level)
            mark, level = "", 0


def _show(tokens: Sequence[Token]) -> str:
    """The text of a line without its markup; pictures are left out."""
    shown, script = "", ""
    for token in tokens:
        if token.type == "html_inline" and token.content.lower() in _SCRIPTS:
            script = token.content.lower()
        elif token.type in ("s_open", "s_close") or token.content.lower() in _STRUCK:
            shown += STRUCK
        elif token.type == "html_inline":
            is_break = token.content.lower().startswith("<br")
            script, shown = "", shown + "\n" * is_break
        elif token.type in ("text", "code_inline", "html_block"):
            is_html = token.type == "html_block"
            content = _TAGS.sub(_show_tag, token.content) if is_html else token.content
            shown += _SCRIPTS[script](content) if script else content
        elif token.type in _BREAKS:
            shown += "\n"
    return shown


def _show_tag(tag: re.Match[str]) -> str:
    return STRUCK if tag[0].lower() in _STRUCK else ""


def write_link(shown: str, url: str) -> str:
    """A link in Markdown; behind words that have brackets of their own, its address alone."""
    url = url.replace(" ", "%20").strip("<>")
    return f"{shown} <{url}>" if "]" in shown[:-1] else f"[{shown}](<{url}>)"
