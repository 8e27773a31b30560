"""Word documents (DOCX): Office Open XML, ISO/IEC 29500-1, 17.

What Word does not show is not read: deleted text, hidden text, the code of fields, macros.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from posixpath import dirname

from agent.documents.blocks import LINE, BlockBuilder, TextBlock
from agent.documents.body_text import BodyText, PlacedText, RawBody, normalize_title
from agent.documents.formats.archive import (
    Archive,
    Element,
    attribute,
    core_properties,
    find_all,
    find_first,
    local_name,
    main_part,
    resolve_part,
)

#: Elements whose content is not shown, or is shown by the element beside them.
_SKIPPED = frozenset("del moveFrom delText delInstrText rPr pPr sectPr rubyBase".split())
_CHARACTERS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "softHyphen": ""}
#: Kinds of the parts beside the text, and what one entry of them is called.
_NOTES = {"footnotes": "footnote", "endnotes": "endnote", "comments": "comment"}
_MARGINS = ("header", "footer")
_LINKED_FIELD = re.compile(r"HYPERLINK\s+\"([^\"]+)\"")
_LONGEST_NOTE = 3000  # characters of what is told of a note where the text refers to it
_ROW_LEVEL = 9  # of the head of a table, as a heading


def read_word(source: RawBody) -> BodyText:
    """The paragraphs and tables, each in the section of the heading above it; then the notes."""
    archive = Archive(source.data)
    part = main_part(archive)
    text = PlacedText(source, *core_properties(archive))
    notes = {kind: list(_read_notes(archive, part, kind)) for kind in _NOTES}
    named = {(kind, key): block for kind, found in notes.items() for key, block in found}
    place = ""
    for block in _Part(archive, part, _heading_levels(archive, part), named).read_blocks():
        if block.kind == "heading" and block.level < _ROW_LEVEL:
            place = f"section {block.text}"
            text.title = text.title or normalize_title(block.text)
        text.add_block(block, place)
    margins = ((kind, block) for kind in _MARGINS for block in _read_margins(archive, part, kind))
    for kind, block in {block.text: (kind, block) for kind, block in margins}.values():
        text.add_block(block, kind)
    for kind, word in _NOTES.items():
        for n, (_, block) in enumerate(notes[kind], 1):
            text.add_block(block, f"{word} {n}")
    return text.finish()


def _read_margins(archive: Archive, part: str, kind: str) -> Iterator[TextBlock]:
    for name in _related_parts(archive, part, kind):
        margin = _Part(archive, name)
        yield from filter(None, [margin.read_note(margin.root)])


def _read_notes(archive: Archive, part: str, kind: str) -> Iterator[tuple[str, TextBlock]]:
    """The notes of a kind, each with its id, in the order in which Word numbers them."""
    for name in _related_parts(archive, part, kind):
        notes = _Part(archive, name)
        for note in find_all(notes.root, _NOTES[kind]):
            if not attribute(note, "type") and (block := notes.read_note(note)):
                yield attribute(note, "id"), block


def _related_parts(archive: Archive, part: str, kind: str) -> list[str]:
    """The parts of a kind that belong to a part, also where it is not said that they do."""
    names = {name for of, name in archive.relations(part).values() if of == kind}
    names.add(resolve_part(dirname(part), f"{kind}.xml"))
    return sorted(names & archive.names)


def _heading_levels(archive: Archive, part: str) -> dict[str, int]:
    """The styles of headings: those with an outline level, or with the name of one."""
    found = {"Title": 1} | {f"Heading{level}": level for level in range(1, _ROW_LEVEL)}
    for name in _related_parts(archive, part, "styles"):
        for style in find_all(archive.read_xml(name), "style"):
            outline, named = find_first(style, "outlineLvl"), _child_value(style, "name").lower()
            heading = re.fullmatch(r"(?:heading |title)(\d?).*", named)
            if outline is not None or heading:
                level = attribute(outline, "val") if outline is not None else ""
                number = int(level) + 1 if level.isdecimal() else int((heading and heading[1]) or 1)
                found[attribute(style, "styleId")] = min(number, _ROW_LEVEL - 1)
    return found


def _child_value(element: Element, path: str) -> str:
    """The value of a descendant, by its path; "" for none."""
    found = element.find("./" + "/".join(f"{{*}}{name}" for name in path.split("/")))
    return attribute(found, "val") if found is not None else ""


class _Part:
    """Reads a part of a document: its text, its notes, its headers."""

    def __init__(
        self,
        archive: Archive,
        name: str,
        levels: Mapping[str, int] | None = None,
        notes: Mapping[tuple[str, str], TextBlock] | None = None,
    ) -> None:
        self.root = archive.read_xml(name)
        self._targets = {key: target for key, (_, target) in archive.relations(name).items()}
        self._levels = levels or {}
        self._notes = notes or {}
        self._counts: Counter[str] = Counter()  # of the items of each list
        self._field = ""  # the address of a field whose result is being read,
        self._field_start = 0  # and where that begins

    def read_blocks(self) -> Iterator[TextBlock]:
        """The blocks of the body."""
        body = find_first(self.root, "body")
        for element in _blocks(body) if body is not None else ():
            is_table = local_name(element) == "tbl"
            blocks = self._read_table(element) if is_table else [self._read_paragraph(element)]
            yield from filter(None, blocks)

    def read_note(self, parent: Element) -> TextBlock | None:
        """All that is in an element as one block, a line each."""
        builder = BlockBuilder()
        self._add_blocks(parent, builder, "\n")
        return builder.build("note")

    def _read_paragraph(self, paragraph: Element) -> TextBlock | None:
        builder = BlockBuilder()
        self._add_content(paragraph, builder)
        style = _child_value(paragraph, "pPr/pStyle")
        if level := self._levels.get(style):
            return builder.build("heading", level=level)
        if number := _child_value(paragraph, "pPr/numPr/numId"):
            self._counts[number] += 1
            return builder.build("item", self._counts[number])
        return builder.build("item" if style.startswith("List") else "paragraph")

    def _read_table(self, table: Element) -> Iterator[TextBlock | None]:
        for n, row in enumerate(_children(table, "tr")):
            builder = BlockBuilder(is_row=True)
            self._add_cells(row, builder)
            is_head = n == 0 and row.find("./{*}trPr/{*}tblHeader") is not None
            yield builder.build("heading" if is_head else "row", level=_ROW_LEVEL)

    def _add_cells(self, row: Element, builder: BlockBuilder) -> None:
        for n, cell in enumerate(_children(row, "tc")):
            if n:
                builder.next_cell()
            self._add_blocks(cell, builder, LINE)

    def _add_blocks(self, parent: Element, builder: BlockBuilder, mark: str) -> None:
        """Paragraphs and rows within a block. A table in a cell is part of that cell."""
        for element in _blocks(parent):
            is_table = local_name(element) == "tbl"
            for part in _children(element, "tr") if is_table else [element]:
                builder.separate(mark)
                self._add_cells(part, builder) if is_table else self._add_content(part, builder)

    def _add_content(self, element: Element, builder: BlockBuilder) -> None:
        """What is shown of a paragraph or a part of it."""
        for child in element:
            name = local_name(child)
            if name == "t":
                builder.add(child.text or "")
            elif name in _CHARACTERS:
                builder.add(_CHARACTERS[name])
            elif name == "AlternateContent":  # one drawing in two forms
                self._add_content(next(iter(child), child), builder)
            elif name == "txbxContent":
                builder.separate("\n")
                self._add_blocks(child, builder, "\n")
                builder.separate("\n")
            elif name == "hyperlink":
                start = builder.length
                self._add_content(child, builder)
                builder.link(start, self._targets.get(attribute(child, "id"), ""))
            elif name in ("instrText", "fldChar"):
                self._read_field(child, builder)
            elif name in ("footnoteReference", "endnoteReference"):
                self._refer((f"{name[:-9]}s", attribute(child, "id")), builder)
            elif name and name not in _SKIPPED and not (name == "r" and _is_hidden(child)):
                self._add_content(child, builder)

    def _read_field(self, element: Element, builder: BlockBuilder) -> None:
        """Note the address of a field, and where the words that it shows begin and end."""
        kind = attribute(element, "fldCharType")
        if found := _LINKED_FIELD.search(element.text or ""):
            self._field = found[1]
        elif kind == "separate":
            self._field_start = builder.length
        elif kind == "end":
            builder.link(self._field_start, self._field)
            self._field = ""

    def _refer(self, key: tuple[str, str], builder: BlockBuilder) -> None:
        """Link a note where the text refers to it: to its first address, if it has one."""
        note = self._notes.get(key) or TextBlock("note", "")
        url = note.links[0].url if note.links else f"#{key[0]}{key[1]}"
        builder.link(builder.length, url, note.text[:_LONGEST_NOTE], is_note=True)


def _blocks(parent: Element) -> Iterator[Element]:
    """The paragraphs and tables of a body, out of whatever contains them."""
    for child in parent:
        name = local_name(child)
        if name in ("p", "tbl"):
            yield child
        elif name and name not in _SKIPPED:
            yield from _blocks(child)


def _children(parent: Element, name: str) -> Iterator[Element]:
    """The children with a name, out of the content controls that may stand around them."""
    for child in parent:
        if local_name(child) == name:
            yield child
        elif local_name(child) in ("sdt", "sdtContent", "customXml", "ins"):
            yield from _children(child, name)


def _is_hidden(run: Element) -> bool:
    vanish = run.find("./{*}rPr/{*}vanish")
    return vanish is not None and attribute(vanish, "val") not in ("0", "false", "off")
