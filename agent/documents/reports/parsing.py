"""From the bytes of a report in any form to its Markdown; the worker's part of reading one."""

from __future__ import annotations

import json
import re
from contextlib import suppress

from agent.documents import sniff
from agent.documents.body_text import MAX_REPORT, Body, BodyText, UnreadablePage
from agent.documents.format_registry import find_format
from agent.documents.plain_text import decode_text
from agent.documents.reports.service_answers import read_answer

#: Suffixes that name a form; of any other name it is detected from the content.
_NOTE_MARK = re.compile(r"\[\^\w{1,9}\](?!:)")
SUFFIXES = {f".{form}": form for form in ("html", "docx", "pdf", "json", "markdown")} | {
    **dict.fromkeys((".md", ".mdx"), "markdown"),
    **dict.fromkeys((".htm", ".xhtml"), "html"),
}


def parse_report(source: Body) -> BodyText:
    """A report as Markdown, with its form. Raises UnreadablePage."""
    form = detect_form(source.data, source.suffix)
    if form == "markdown":
        report = BodyText("", decode_text(source.data), form=form)
    elif form == "json":
        report = read_answer(decode_text(source.data))
    elif f".{form}" in (found := find_format(source._replace(suffix=f".{form}"))).suffixes:
        report = found.read(source)
        markdown = number_notes(report.text) if form == "docx" else report.text
        report = report._replace(text=markdown, form=form)
    else:
        raise UnreadablePage(f"is {found.name}", "unsupported")
    if not report.text.strip():
        raise UnreadablePage("has no text", "empty")
    return report._replace(text=report.text[:MAX_REPORT])


def number_notes(markdown: str) -> str:
    """Notes of Word by their numbers: the library writes their identifiers in the text, and
    their numbers behind the paragraph. A mark whose number is not known is taken out."""
    paragraphs = []
    for paragraph in markdown.split("\n\n"):
        marks = _NOTE_MARK.findall(paragraph)
        tail = "".join(marks[len(marks) // 2 :])
        is_doubled = len(marks) % 2 == 0 and paragraph.endswith(tail)
        numbers = iter(marks[len(marks) // 2 :] if is_doubled else ())
        body = paragraph.removesuffix(tail) if is_doubled else paragraph
        paragraphs.append(_NOTE_MARK.sub(lambda _, left=numbers: next(left, ""), body))  # type: ignore[misc]
    return "\n\n".join(paragraphs)


def detect_form(body: bytes, suffix: str = "") -> str:
    """The form of a report: by its first bytes, its name, its content."""
    if b"%PDF-" in body[:1024]:
        return "pdf"
    if body.startswith(b"PK\x03\x04"):
        return "docx"
    if named := SUFFIXES.get(suffix.lower()):
        return named
    kind = sniff.detect_kind(body)
    if kind == "json":
        with suppress(ValueError, RecursionError):  # Markdown may begin with a bracket too
            json.loads(decode_text(body))
            return kind
    return "html" if kind == "html" else "markdown"
