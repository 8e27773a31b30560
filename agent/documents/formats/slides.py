"""Presentations (PPTX): Office Open XML, ISO/IEC 29500-1, 19. Macros are not read."""

from __future__ import annotations

from collections.abc import Iterator

from agent.documents.body_text import BodyText, PlacedText, RawBody, normalize_title
from agent.documents.formats.archive import (
    Archive,
    Element,
    attribute,
    core_properties,
    find_all,
    local_name,
    main_part,
)
from agent.documents.formats.table import join_cells

#: Fields of a notes page that repeat what stands elsewhere.
_REPEATED = frozenset("sldNum dt hdr ftr sldImg".split())


def read_slides(source: RawBody) -> BodyText:
    """The text and tables of each slide in the order of the presentation, then its notes."""
    archive = Archive(source.data)
    part = main_part(archive)
    text = PlacedText(source, *core_properties(archive))
    for number, slide in enumerate(_slide_parts(archive, part), 1):
        lines = list(_lines_of(archive.read_xml(slide)))
        text.title = text.title or normalize_title(next(iter(lines), "")[:100])
        text.add("\n".join(lines), f"slide {number}")
        for kind, related in archive.relations(slide).values():
            if kind == "diagramData":
                text.add("\n".join(_lines_of(archive.read_xml(related))), f"slide {number}")
        for kind, related in archive.relations(slide).values():
            if kind == "notesSlide":
                notes = "\n".join(_lines_of(archive.read_xml(related)))
                text.add(notes, f"notes of slide {number}")
    return text.finish()


def _slide_parts(archive: Archive, part: str) -> Iterator[str]:
    """The names of the slides' parts, in the order in which they are shown."""
    root = archive.read_xml(part)
    relations = archive.relations(part)
    for slide in find_all(root, "sldId") if root is not None else ():
        identifier = next(
            (value for name, value in slide.attrib.items() if name.endswith("}id")), ""
        )
        if identifier in relations:
            yield relations[identifier][1]


def _lines_of(element: Element | None) -> Iterator[str]:
    """The paragraphs and table rows of a slide, without fields such as its number."""
    for child in element if element is not None else ():
        name = local_name(child)
        if name == "p":
            yield _paragraph_text(child)
        elif name == "tr":
            yield join_cells(
                "; ".join(filter(None, _lines_of(cell)))
                for cell in child
                if local_name(cell) == "tc"
            )
        elif name == "AlternateContent":  # one drawing in two forms
            yield from _lines_of(next(iter(child), None))
        elif name and not (name == "sp" and _is_repeated(child)):
            yield from _lines_of(child)


def _paragraph_text(paragraph: Element) -> str:
    pieces = []
    for element in paragraph.iter("{*}t", "{*}br", "{*}tab"):
        name = local_name(element)
        pieces.append((element.text or "") if name == "t" else " ")
    return "".join(pieces)


def _is_repeated(shape: Element) -> bool:
    """Whether a shape is the number, the date or the image of a slide."""
    holder = shape.find("./{*}nvSpPr/{*}nvPr/{*}ph")
    return holder is not None and attribute(holder, "type") in _REPEATED
