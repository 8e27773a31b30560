"""From the bytes of a report in any form to its blocks; the worker's part of reading one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from agent.characters import strip_controls
from agent.documents import sniff
from agent.documents.body_text import BodyText, RawBody, UnreadablePage
from agent.documents.registry import read_source

#: The form by the suffix of a file's name; any other name is told by the content.
SUFFIXES = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".mdx": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".docx": "docx",
    ".pdf": "pdf",
    ".json": "json",
    ".bib": "bibtex",
    ".wiki": "wikitext",
    ".wikitext": "wikitext",
    ".mediawiki": "wikitext",
}
_WIKITEXT = re.compile(r"<ref[\s>]|\{\{\s*(?:cite|sfn|short description)\b", re.I)
_BIBTEX = re.compile(r"\s*(?:%[^\n]*\n\s*)*@\w+\s*\{[^,{}]*,", re.I)


def parse_report(source: RawBody) -> BodyText:
    """The blocks of a report, with its form. Raises UnreadablePage."""
    form = detect_form(source.data, source.suffix)
    if parse := PARSERS.get(form):
        try:
            report = parse(_decode(source.data))
        except ValueError as error:
            raise UnreadablePage(str(error)[:200], "invalid") from None
    else:
        report = read_source(source._replace(suffix=f".{form}"))._replace(form=form)
    if not report.blocks:
        raise UnreadablePage("is no report" if report.text else "has no text", "empty")
    return report


def detect_form(body: bytes, suffix: str = "") -> str:
    """The form of a report, a key of `PARSERS`: by its first bytes, its name, its content."""
    if b"%PDF-" in body[:1024]:
        return "pdf"
    if body.startswith(b"PK\x03\x04"):
        return "docx"
    if named := SUFFIXES.get(suffix.lower()):
        return named
    kind = sniff.detect_kind(body)
    if kind == "html" or (kind == "json" and _is_json(body)):
        return kind
    text = sniff.decode(body[:200_000])
    if _BIBTEX.match(text):
        return "bibtex"
    return "wikitext" if _WIKITEXT.search(text) else "markdown"


def _is_json(body: bytes) -> bool:
    """Whether a text is JSON: Markdown and wikitext may begin with a bracket too."""
    try:
        json.loads(_decode(body))
    except (ValueError, RecursionError):
        return False
    return True


def _decode(body: bytes) -> str:
    text = sniff.decode(body)
    if "\0" in text[:10_000]:
        raise UnreadablePage("is not text", "unsupported")
    return strip_controls(text.replace("\r\n", "\n").replace("\r", "\n"))


def _parse_json(text: str) -> BodyText:
    from agent.documents.reports.answers import parse_answer

    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise UnreadablePage("is not JSON", "invalid") from None
    return parse_answer(value)


def _parse_markdown(text: str) -> BodyText:
    from agent.documents.reports.markdown import parse_markdown

    return parse_markdown(text)


def _parse_wikitext(text: str) -> BodyText:
    from agent.documents.reports.wikitext import parse_wikitext

    return parse_wikitext(text)


def _parse_bibtex(text: str) -> BodyText:
    from agent.documents.reports.bibtex import parse_bibtex

    return parse_bibtex(text)


#: The forms that are text, and no format of `registry.py`.
PARSERS: dict[str, Callable[[str], BodyText]] = {
    "markdown": _parse_markdown,
    "json": _parse_json,
    "wikitext": _parse_wikitext,
    "bibtex": _parse_bibtex,
}
