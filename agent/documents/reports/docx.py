"""Reports in DOCX: paragraphs, headings, items and rows with hyperlinks and footnotes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from agent.documents.formats.archive import Archive, core_properties
from agent.documents.reports.blocks import BlockBuilder, ParsedReport, ReportBlock, cut_blocks

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_FIELD = re.compile(r"HYPERLINK\s+\"([^\"]+)\"")
_URL = re.compile(r"https?://[^\s<>\"]+")


def parse_docx(body: bytes) -> ParsedReport:
    """The blocks of a document of Word. Raises ValueError."""
    package = Archive(body)
    document = package.read_xml("word/document.xml")
    if document is None:
        raise ValueError("is not a document of Word")
    reader = _Reader(
        _read_relations(package, "document"),
        _read_notes(package, "footnotes") | _read_notes(package, "endnotes"),
    )
    title = " ".join(core_properties(package).title.split())
    blocks = cut_blocks(reader.read(document))
    heading = next((b.text for b in blocks if b.kind == "heading"), "")
    return ParsedReport("docx", title or heading, blocks)


def _read_relations(package: Archive, part: str) -> dict[str, str]:
    tree = package.read_xml(f"word/_rels/{part}.xml.rels")
    links = () if tree is None else tree.iter("{*}Relationship")
    return {str(link.get("Id")): str(link.get("Target")) for link in links}


def _read_notes(package: Archive, kind: str) -> dict[tuple[str, str], tuple[str, str]]:
    """The address and the text of each footnote or endnote, by kind and id."""
    tree = package.read_xml(f"word/{kind}.xml")
    if tree is None:
        return {}
    relations = _read_relations(package, kind)
    notes = {}
    for note in tree.iter(f"{W}{kind[:-1]}"):
        text = " ".join("".join(t.text or "" for t in note.iter(f"{W}t")).split())
        linked = (relations.get(link.get(f"{R}id", ""), "") for link in note.iter(f"{W}hyperlink"))
        stated = _URL.search(text)
        url = next(filter(None, linked), stated[0].rstrip(".,;)") if stated else "")
        notes[kind, str(note.get(f"{W}id"))] = url, text[:300]
    return notes


class _Reader:
    def __init__(
        self, relations: dict[str, str], notes: dict[tuple[str, str], tuple[str, str]]
    ) -> None:
        self._relations = relations
        self._notes = notes
        self._counts: dict[str, int] = {}
        self._field = ""  # the address of a field whose result is being read
        self._field_start = 0

    def read(self, document: Any) -> Iterator[ReportBlock | None]:
        body = document.find(f"{W}body")
        for element in () if body is None else body:
            if element.tag == f"{W}p":
                yield self._read_paragraph(element)
            elif element.tag == f"{W}tbl":
                yield from self._read_table(element)
            elif element.tag == f"{W}sdt":
                yield from map(self._read_paragraph, element.iter(f"{W}p"))

    def _read_table(self, table: Any) -> Iterator[ReportBlock | None]:
        for n, row in enumerate(table.iter(f"{W}tr")):
            builder = BlockBuilder()
            for cell in row.iter(f"{W}tc"):
                if builder.length:
                    builder.add(" | ")
                for paragraph in cell.iter(f"{W}p"):
                    self._add_runs(paragraph, builder)
            is_head = n == 0 and row.find(f"{W}trPr/{W}tblHeader") is not None
            yield builder.build("heading" if is_head else "row", level=9)

    def _read_paragraph(self, paragraph: Any) -> ReportBlock | None:
        builder = BlockBuilder()
        self._add_runs(paragraph, builder)
        style = _attribute(paragraph, "pPr/pStyle")
        if heading := re.match(r"(?:Heading|Title|berschrift|Titre)\s?(\d?)", style):
            return builder.build("heading", level=int(heading[1] or 1))
        if number := _attribute(paragraph, "pPr/numPr/numId"):
            self._counts[number] = self._counts.get(number, 0) + 1
            return builder.build("item", self._counts[number])
        return builder.build("item" if style.startswith("List") else "paragraph")

    def _add_runs(self, paragraph: Any, builder: BlockBuilder) -> None:
        starts: dict[Any, int] = {}
        from lxml import etree

        for event, element in etree.iterwalk(paragraph, events=("start", "end")):
            if event == "start":
                if element.tag == f"{W}hyperlink":
                    starts[element] = builder.length
                self._add_piece(element, builder)
            elif element in starts:
                url = self._relations.get(element.get(f"{R}id", ""), "")
                builder.link(starts.pop(element), url)

    def _add_piece(self, element: Any, builder: BlockBuilder) -> None:
        name = element.tag.removeprefix(W) if isinstance(element.tag, str) else ""
        if name == "t":
            builder.add(element.text or "")
        elif name in ("tab", "br", "cr"):
            builder.add(" ")
        elif name == "noBreakHyphen":
            builder.add("-")
        elif name == "instrText" and (field := _FIELD.search(element.text or "")):
            self._field = field[1]
        elif name == "fldChar":
            self._read_field(element.get(f"{W}fldCharType"), builder)
        elif name in ("footnoteReference", "endnoteReference"):
            note = (f"{name[:-9]}s", str(element.get(f"{W}id")))
            url, text = self._notes.get(note, ("", ""))
            builder.link(builder.length, url or f"#{note[0]}{note[1]}", text, is_note=True)

    def _read_field(self, kind: str | None, builder: BlockBuilder) -> None:
        if kind == "separate":
            self._field_start = builder.length
        elif kind == "end" and self._field:
            builder.link(self._field_start, self._field)
            self._field = ""


def _attribute(element: Any, path: str) -> str:
    found = element.find("/".join(W + part for part in path.split("/")))
    return str(found.get(f"{W}val") or "") if found is not None else ""
