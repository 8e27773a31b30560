"""A bibliography in BibTeX: each entry is a claim that its DOI or address has this title."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent.documents.blocks import Link, TextBlock
from agent.documents.body_text import MAX_REPORT, BodyText

_ENTRY = re.compile(r"@(?!(?i:comment|preamble|string)\b)\w+\s*\{\s*([^,\s{}]*)\s*,")
_FIELD = re.compile(r"[\s,]*(\w+)\s*=\s*")
_BARE = re.compile(r"[^,}\n]*")
_BRACE = re.compile(r"[{}\"]")
_MARKUP = re.compile(r"\\[a-zA-Z]+\s*|\\.|[{}$]")
MAX_FIELDS = 60


def parse_bibtex(text: str) -> BodyText:
    """The entries of a bibliography as blocks: “title” (year), which cite the entry's DOI."""
    text = text[:MAX_REPORT]
    return BodyText("", text, form="bibtex", blocks=tuple(_read_entries(text)))


def _read_entries(text: str) -> Iterator[TextBlock]:
    for entry in _ENTRY.finditer(text):
        fields, end = _read_fields(text, entry.end())
        title, year = fields.get("title", ""), fields.get("year") or fields.get("date", "")[:4]
        doi = fields.get("doi", "").rpartition("doi.org/")[2]
        url = f"https://doi.org/{doi}" if doi else fields.get("url", f"#{entry[1]}")
        claim = f"“{title}” ({year})" if year else f"“{title}”"
        link = Link(len(claim), len(claim), url, title[:300], is_note=True)
        origin = ((0, entry.start()), (len(claim) - 1, end - 1))
        if title:
            yield TextBlock("paragraph", claim, (link,), origin)


def _read_fields(text: str, at: int) -> tuple[dict[str, str], int]:
    """The fields of an entry in plain words, and where it ends."""
    fields: dict[str, str] = {}
    while len(fields) < MAX_FIELDS and (field := _FIELD.match(text, at)):
        value, at = _read_value(text, field.end())
        plain = _MARKUP.sub("", value.replace("\\&", "&").replace("--", "–"))
        fields[field[1].lower()] = " ".join(plain.split())
    close = text.find("}", at)
    return fields, close + 1 if close >= 0 else len(text)


def _read_value(text: str, at: int) -> tuple[str, int]:
    """A value in braces, in quotation marks, or bare, and where it ends."""
    end = {"{": "}", '"': '"'}.get(text[at : at + 1])
    if not end:
        bare = _BARE.match(text, at)
        return (bare[0], bare.end()) if bare else ("", at)
    depth = 0
    for brace in _BRACE.finditer(text, at):
        depth += (brace[0] == "{") - (brace[0] == "}")
        if brace.start() > at and brace[0] == end and not depth:
            return text[at + 1 : brace.start()], brace.end()
    return text[at + 1 :], len(text)
