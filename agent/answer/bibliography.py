"""The cited sources as a bibliography: items of CSL-JSON, from which BibTeX and RIS are written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from agent.evidence.quantities import parse_date
from agent.state import Json, sanitize_line

if TYPE_CHECKING:
    from agent.answer.schema import Answer, Citation


MAX_VALUE = 2000  # characters
#: Type of CSL, of BibTeX (Patashnik, BibTeXing, 1988), of RIS. Any other is the last.
KINDS = {
    row.split()[0]: row.split()[1:]
    for row in (
        "article-journal article JOUR; article misc UNPB; paper-conference inproceedings CPAPER; "
        "book book BOOK; chapter incollection CHAP; report techreport RPRT; thesis phdthesis THES; "
        "dataset misc DATA; webpage misc ELEC; document misc GEN"
    ).split(";")
}
#: What TeX reads as a command -> how it is shown.
ESCAPES = {char: f"\\{char}" for char in "{}$&%#_"}
ESCAPES |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
#: Fields of BibTeX, and tags of RIS, that have a variable of CSL as it is.
BIBTEX = "publisher=publisher volume=volume number=issue pages=page doi=DOI"
RIS = "T2=container-title PB=publisher VL=volume IS=issue DO=DOI UR=URL"


def to_csl_json(answer: Answer) -> str:
    """A list of items: https://citationstyles.org/ (CSL 1.0.2)."""
    return json.dumps(list_items(answer), ensure_ascii=False, indent=2) + "\n"


def to_bibtex(answer: Answer) -> str:
    """An entry for each source."""
    return "\n".join(map(_write_bibtex, list_items(answer)))


def to_ris(answer: Answer) -> str:
    """A record for each source, with the line ends of the format (ResearchSoft, 2001)."""
    rows = (row for one in list_items(answer) for row in _ris_rows(one))
    lines = ((tag, sanitize_line(text, MAX_VALUE)) for tag, text in rows)
    return "".join(f"{tag}  - {text}\r\n" for tag, text in lines if text or tag == "ER")


def list_items(answer: Answer) -> list[Json]:
    """The cited sources in the order of their numbers, each once."""
    first = {one.id: one for one in reversed(answer.citations)}
    return [_make_item(first[number]) for number in sorted(first)]


def _make_item(citation: Citation) -> Json:
    """A source as the work that it is, else as a page; its key has name, year and number."""
    day = parse_date(citation.date) if citation.date else None
    issued = {"issued": {"date-parts": [[day.year, day.month, day.day]]}} if day else {}
    page = {"type": "webpage", "title": citation.title, "URL": citation.url, **issued}
    item = dict(citation.work or page)
    read = [int(part) for part in citation.retrieved_at[:10].split("-")]
    name = re.sub(
        "[^a-z]", "", next(iter(_names(item)), ("", True))[0].partition(",")[0].casefold()
    )
    key = f"{name or 'source'}{''.join(_day(item, 'issued')[:1])}-{citation.id}"
    return item | {"id": key, "accessed": {"date-parts": [read]}}


def _day(item: Json, name: str) -> list[str]:
    """The year, month and day of a date, as far as it has them."""
    return [f"{number:02}" for number in item.get(name, {}).get("date-parts", [[]])[0]]


def _names(item: Json) -> Iterator[tuple[str, bool]]:
    """The authors as `Family, Given`, and whether each is a person."""
    for one in item.get("author", ()):
        parts = (one.get("family"), one.get("given"))
        yield one.get("literal") or ", ".join(filter(None, parts)), "literal" not in one


def _write_bibtex(item: Json) -> str:
    kind = KINDS.get(item["type"], KINDS["document"])[0]
    venue = {"article": "journal", "misc": "howpublished"}.get(kind, "booktitle")
    names = (_escape(name) if person else f"{{{_escape(name)}}}" for name, person in _names(item))
    fields = {
        "title": f"{{{_escape(item['title'])}}}",
        "author": " and ".join(re.sub(r"\band\b", "{and}", name) for name in names),
        venue: _escape(item.get("container-title")),
        "year": "".join(_day(item, "issued")[:1]),
        **{a: _escape(item.get(b)) for a, b in _pairs(BIBTEX)},
        "url": re.sub(r"[{}\\\s]", lambda found: f"%{ord(found[0]):02X}", item["URL"]),
        "urldate": "-".join(_day(item, "accessed")),
        "note": item.get("status", "").capitalize(),
    }
    lines = "".join(f"  {name} = {{{text}}},\n" for name, text in fields.items() if text)
    return f"@{kind}{{{item['id']},\n{lines}}}\n"


def _pairs(table: str) -> Iterator[tuple[str, str]]:
    for pair in table.split():
        left, _, right = pair.partition("=")
        yield left, right


def _escape(text: object) -> str:
    """A text on one line, with what TeX would read as a command as it is shown."""
    return "".join(ESCAPES.get(char, char) for char in sanitize_line(text, MAX_VALUE))


def _ris_rows(item: Json) -> Iterator[tuple[str, object]]:
    yield "TY", KINDS.get(item["type"], KINDS["document"])[1]
    yield from (("AU", name) for name, _ in _names(item))
    first, _, last = str(item.get("page", "")).partition("-")
    yield from (("ID", item["id"]), ("TI", item["title"]), ("SP", first), ("EP", last))
    yield from ((tag, item.get(name)) for tag, name in _pairs(RIS))
    yield "PY", "".join(_day(item, "issued")[:1])
    yield from (("DA", "/".join(_day(item, "issued"))), ("Y2", "/".join(_day(item, "accessed"))))
    yield from (("N1", item.get("status", "").capitalize()), ("ER", ""))
