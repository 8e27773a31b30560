"""A bibliography in BibTeX: each entry is a claim that its DOI or address has this title."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent.documents.blocks import BlockBuilder, TextBlock
from agent.documents.body_text import MAX_REPORT, BodyText

_ENTRY = re.compile(r"@(\w+)\s*\{\s*([^,\s{}]*)\s*,")
_FIELD = re.compile(r"(\w+)\s*=\s*")
_NO_ENTRIES = ("comment", "preamble", "string")
MAX_FIELDS = 60


def parse_bibtex(text: str) -> BodyText:
    """The entries of a bibliography as blocks: “title” (year), which cite the entry's DOI."""
    text = text[:MAX_REPORT]
    blocks = tuple(filter(None, _read_entries(text)))
    return BodyText("", text, form="bibtex", blocks=blocks)


def _read_entries(text: str) -> Iterator[TextBlock | None]:
    for entry in _ENTRY.finditer(text):
        if entry[1].lower() in _NO_ENTRIES:
            continue
        fields, end = _read_fields(text, entry.end())
        title, doi = fields.get("title", ""), fields.get("doi", "")
        doi = re.sub(r"^https?://(?:dx\.)?doi\.org/", "", doi)
        url = f"https://doi.org/{doi}" if doi else fields.get("url", "")
        if not title:
            continue
        builder = BlockBuilder()
        builder.add(f"“{title}”", entry.start())
        about = ", ".join(filter(None, (fields.get("year") or fields.get("date", "")[:4],)))
        builder.add(f" ({about})" if about else "", entry.start())
        builder.link(builder.length, url or f"#{entry[2]}", title[:300], is_note=True)
        block = builder.build("paragraph")
        yield block and block._replace(origin=((0, entry.start()), (len(block.text) - 1, end - 1)))


def _read_fields(text: str, at: int) -> tuple[dict[str, str], int]:
    """The fields of an entry in plain words, and where it ends."""
    fields: dict[str, str] = {}
    for _ in range(MAX_FIELDS):
        field = _FIELD.match(text, _skip(text, at))
        if not field:
            break
        value, at = _read_value(text, field.end())
        fields[field[1].lower()] = _plain(value)
    close = text.find("}", at)
    return fields, close + 1 if close >= 0 else len(text)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n,":
        at += 1
    return at


def _read_value(text: str, at: int) -> tuple[str, int]:
    """A value in braces, in quotation marks, or bare, and where it ends."""
    opens = text[at : at + 1]
    if opens not in ("{", '"'):
        bare = re.compile(r"[^,}\n]*").match(text, at)
        return (bare[0], bare.end()) if bare else ("", at)
    depth = 0
    for i in range(at, len(text)):
        if text[i] == "{":
            depth += 1
        elif text[i] == "}":
            depth -= 1
        if i > at and (
            (opens == "{" and not depth) or (opens == '"' and text[i] == '"' and not depth)
        ):
            return text[at + 1 : i], i + 1
    return text[at + 1 :], len(text)


def _plain(value: str) -> str:
    value = re.sub(r"\\[a-zA-Z]+\s*|\\.", "", value.replace("\\&", "&").replace("--", "–"))
    return " ".join(re.sub(r"[{}$]", "", value).split())
