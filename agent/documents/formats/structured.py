"""Texts with a structure: JSON, notebooks of Jupyter, source code."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from agent.documents.body_text import Body, BodyText, PlacedText, UnreadablePage, normalize_title
from agent.documents.plain_text import find_heading, read_plain_page
from agent.documents.rendered_markdown import add_markdown
from agent.documents.sniff import decode, detect_kind
from agent.state.characters import strip_controls

MAX_DEPTH = 50  # of values in values; what is deeper is written as JSON
_TAG = re.compile(r"<[^<>]{0,100}>|\{\\[^{}]{0,100}\}")
_VOICE = re.compile(r"<v(?:\.[\w.]{1,50})? ([^<>]{1,100})>")  # who speaks
MAX_ROW = 500  # characters of a record that is one line


def read_json(source: Body) -> BodyText:
    """A line for each record and each value, with its path; an item of a list is a place.

    A notebook is read as one. Other JSON of the web, and what is no JSON, stays as it is.
    """
    raw = decode(source.data, source.content_type)
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return read_code(source)
    cells = value.get("cells") if isinstance(value, dict) and "nbformat" in value else None
    if isinstance(cells, list):
        return _read_notebook(source, [cell for cell in cells if isinstance(cell, dict)])
    if not source.suffix:
        return read_plain_page(source)
    title = value.get("title") or value.get("name") if isinstance(value, dict) else ""
    text = PlacedText(source, title if isinstance(title, str) else "")
    is_list = isinstance(value, list)
    for n, item in enumerate(value if is_list else [value], 1):
        text.add("\n".join(write_value(item, "")), f"item {n}" if is_list else "")
    return text.finish()


def write_value(value: Any, path: str, depth: int = 0) -> Iterator[str]:
    """The lines of a value. A record of plain values is one line, if that is short."""
    if not isinstance(value, dict | list) or not value or depth > MAX_DEPTH:
        yield f"{path}: {_plain(value)}" if path else _plain(value)
        return
    pairs = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
    if not any(isinstance(one, dict | list) for _, one in pairs):
        is_record = isinstance(value, dict)
        cells = [f"{name}: {_plain(one)}" if is_record else _plain(one) for name, one in pairs]
        line = (" | " if is_record else ", ").join(cells)
        if len(line) <= MAX_ROW and (depth or not is_record):
            yield f"{path}: {line}" if path else line
            return
    for name, one in pairs:
        part = f"[{name}]" if isinstance(value, list) else f".{name}" if path else str(name)
        yield from write_value(one, path + part, depth + 1)


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return " ".join(value.split())
    return json.dumps(value, ensure_ascii=False)


def _read_notebook(source: Body, cells: list[dict[str, Any]]) -> BodyText:
    """The cells and what they wrote. Format: https://nbformat.readthedocs.io."""
    text = PlacedText(source)
    for n, cell in enumerate(cells, 1):
        content = _join_texts(cell.get("source"))
        if cell.get("cell_type") == "markdown":
            text.title = text.title or normalize_title(find_heading(content))
            add_markdown(text, content, f"cell {n}")
        else:
            text.add(content, f"cell {n}")
        outputs = cell.get("outputs")
        for output in outputs if isinstance(outputs, list) else ():
            text.add(_output_text(output), f"output of cell {n}")
    return text.finish()


def _output_text(output: Any) -> str:
    """What a cell wrote, as plain text; "" for an image."""
    data = output.get("data") if isinstance(output, dict) else None
    plain = data.get("text/plain") if isinstance(data, dict) else None
    texts = (output.get("text"), plain, output.get("evalue")) if isinstance(output, dict) else ()
    return next(filter(None, map(_join_texts, texts)), "")


def _join_texts(value: Any) -> str:
    lines = value if isinstance(value, list) else [value]
    return "".join(line for line in lines if isinstance(line, str))


def read_code(source: Body) -> BodyText:
    """The lines as they are, with their numbers."""
    if detect_kind(source.data, source.content_type) == "binary":
        raise UnreadablePage("it is not text", "unsupported")
    text = strip_controls(decode(source.data, source.content_type).replace("\r\n", "\n"))
    text = text[: source.max_chars].rstrip()
    if not text.strip():
        raise UnreadablePage("it has no text", "empty")
    return BodyText("", text, marks=((0, "line", 1),))


def read_subtitles(source: Body) -> BodyText:
    """What is said in subtitles (WebVTT, SubRip), each piece at its time: `00:12:05`.

    In WebVTT a blank line ends a piece, and notes and names of pieces may follow.
    """
    text = PlacedText(source)
    time, last_words = "", ""
    lines = decode(source.data).splitlines()
    is_web = "".join(lines[:1]).startswith("WEBVTT")
    for line in lines:
        if "-->" in line:
            time = line.partition("-->")[0].strip().replace(",", ".").partition(".")[0]
        elif is_web and not line.strip():
            time = ""
        elif time and line.strip() and not line.strip().isdigit():
            words = _TAG.sub("", line).strip()
            if words != last_words:  # the next piece may repeat the last line
                text.add(_TAG.sub("", _VOICE.sub(r"\1: ", line)).strip(), time)
            last_words = words
    return text.finish()
