"""Word documents (DOCX): Office Open XML, ISO/IEC 29500-1, 17.

What Word does not show is not read: deleted text, hidden text, the code of fields, macros.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

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
)
from agent.documents.formats.table import join_cells

#: Elements whose content is not shown, or is shown by the element beside them.
_SKIPPED = frozenset("del moveFrom instrText delText delInstrText rPr pPr sectPr rubyBase".split())
_CHARACTERS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "softHyphen": ""}
#: Kinds of the parts beside the text: what one entry of them is called, and its element.
_NOTES = {
    "footnotes": ("footnote", "footnote"),
    "endnotes": ("endnote", "endnote"),
    "comments": ("comment", "comment"),
}
_MARGINS = {"header": "header", "footer": "footer"}


def read_word(source: RawBody) -> BodyText:
    """The paragraphs and tables, each in the section of the heading above it; then the notes."""
    archive = Archive(source.data)
    part = main_part(archive) or "word/document.xml"
    headings = _heading_styles(archive, part)
    text = PlacedText(source, *core_properties(archive))
    body = find_first(archive.read_xml(part), "body")
    place = ""
    for block in _blocks(body) if body is not None else ():
        if local_name(block) == "tbl":
            for row in _table_rows(block):
                text.add(row, place)
            continue
        line = _text_of(block)
        if line.strip() and _style_of(block) in headings:
            place = f"section {line}"
            text.title = text.title or normalize_title(line.strip())
        text.add(line, place)
    _add_margins(text, archive, part)
    _add_notes(text, archive, part)
    return text.finish()


def _blocks(parent: Element) -> Iterator[Element]:
    """The paragraphs and tables of a body, out of whatever contains them."""
    for child in parent:
        name = local_name(child)
        if name in ("p", "tbl"):
            yield child
        elif name and name not in _SKIPPED:
            yield from _blocks(child)


def _table_rows(table: Element) -> Iterator[str]:
    """The rows as lines. A table in a cell is part of that cell."""
    for row in _children(table, "tr"):
        yield join_cells(
            "; ".join(filter(None, map(_cell_text, _blocks(cell)))) for cell in _children(row, "tc")
        )


def _cell_text(block: Element) -> str:
    if local_name(block) == "p":
        return " ".join(_text_of(block).split())
    return "; ".join(_table_rows(block))


def _children(parent: Element, name: str) -> Iterator[Element]:
    """The children with a name, out of the content controls that may stand around them."""
    for child in parent:
        if local_name(child) == name:
            yield child
        elif local_name(child) in ("sdt", "sdtContent", "customXml", "ins"):
            yield from _children(child, name)


def _text_of(element: Element) -> str:
    """The text that is shown of a paragraph or a part of it."""
    pieces: list[str] = []
    _collect(element, pieces)
    return "".join(pieces)


def _collect(element: Element, pieces: list[str]) -> None:
    for child in element:
        name = local_name(child)
        if name == "t":
            pieces.append(child.text or "")
        elif name in _CHARACTERS:
            pieces.append(_CHARACTERS[name])
        elif name == "AlternateContent":  # one drawing in two forms
            _collect(next(iter(child), child), pieces)
        elif name == "txbxContent":
            pieces.append("\n" + "\n".join(map(_cell_text, _blocks(child))) + "\n")
        elif name and name not in _SKIPPED and not (name == "r" and _is_hidden(child)):
            _collect(child, pieces)


def _is_hidden(run: Element) -> bool:
    vanish = run.find("./{*}rPr/{*}vanish")
    return vanish is not None and attribute(vanish, "val") not in ("0", "false", "off")


def _style_of(paragraph: Element) -> str:
    style = paragraph.find("./{*}pPr/{*}pStyle")
    return attribute(style, "val") if style is not None else ""


def _heading_styles(archive: Archive, part: str) -> frozenset[str]:
    """The styles of headings: those with an outline level, or with the name of one."""
    styles = _read_related(archive, part, "styles")
    found = {"Title", "Heading1", "Heading2", "Heading3"}
    for style in find_all(styles[0], "style") if styles else ():
        name, level = style.find("./{*}name"), find_first(style, "outlineLvl")
        named = attribute(name, "val").lower() if name is not None else ""
        if level is not None or named.startswith("heading ") or named == "title":
            found.add(attribute(style, "styleId"))
    return frozenset(found)


def _add_margins(text: PlacedText, archive: Archive, part: str) -> None:
    """The headers and footers, each text once."""
    told: set[str] = set()
    for kind, place in _MARGINS.items():
        for root in _read_related(archive, part, kind):
            lines = "\n".join(map(_cell_text, _blocks(root)))
            if lines not in told:
                told.add(lines)
                text.add(lines, place)


def _add_notes(text: PlacedText, archive: Archive, part: str) -> None:
    """Footnotes, endnotes and comments, numbered as Word numbers them."""
    for kind, (word, name) in _NOTES.items():
        for root in _read_related(archive, part, kind):
            notes = [note for note in find_all(root, name) if not attribute(note, "type")]
            for n, note in enumerate(notes, 1):
                text.add("\n".join(map(_cell_text, _blocks(note))), f"{word} {n}")


def _read_related(archive: Archive, part: str, kind: str) -> Sequence[Any]:
    """The root elements of the parts of a kind that belong to a part."""
    names = sorted({name for of, name in archive.relations(part).values() if of == kind})
    roots = (archive.read_xml(name) for name in names)
    return [root for root in roots if root is not None]
