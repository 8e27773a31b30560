"""From the bytes of a report in any form to its blocks; the worker's part of reading one."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import cast

from agent.documents import sniff
from agent.documents.body_text import Body, BodyText, UnreadablePage
from agent.documents.files import decode_text
from agent.documents.registry import find_format

#: The forms that are text and no format of `registry.py`: what parses each.
PARSERS = {
    "markdown": "markdown:parse_markdown",
    "json": "answers:parse_answer",
}
#: Suffixes that name a form; of any other name it is told by the content.
_FORMS = "html docx pdf json markdown".split()
SUFFIXES = {f".{form}": form for form in _FORMS} | {
    **dict.fromkeys((".md", ".mdx"), "markdown"),
    **dict.fromkeys((".htm", ".xhtml"), "html"),
}


def parse_report(source: Body) -> BodyText:
    """The blocks of a report, with its form. Raises UnreadablePage."""
    form = detect_form(source.data, source.suffix)
    if form in PARSERS:
        report = _parse_text(form, decode_text(source.data))
    elif f".{form}" in (found := find_format(source._replace(suffix=f".{form}"))).suffixes:
        report = found.read(source)._replace(form=form)
    else:
        raise UnreadablePage(f"is {found.name}", "unsupported")
    if not report.blocks:
        raise UnreadablePage("has no text", "empty")
    return report


def _parse_text(form: str, text: str) -> BodyText:
    module, _, function = PARSERS[form].partition(":")
    parser = getattr(import_module(f"agent.documents.reports.{module}"), function)
    try:
        return cast(Callable[[str], BodyText], parser)(text)
    except (ValueError, RecursionError) as error:
        raise UnreadablePage(str(error)[:200], "invalid") from None


def detect_form(body: bytes, suffix: str = "") -> str:
    """The form of a report, a key of `PARSERS`: by its first bytes, its name, its content."""
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
