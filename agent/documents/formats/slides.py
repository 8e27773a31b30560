"""Presentations (PPTX): Office Open XML, ISO/IEC 29500-1, 19. Macros are not read."""

from __future__ import annotations

from collections.abc import Iterator

from agent.documents.body_text import BodyText, PlacedText, RawBody, normalize_title
from agent.documents.formats.archive import Archive, core_properties, find_all, main_part
from agent.documents.formats.office import Part

#: Kinds of the parts that belong to a slide, and what they are of it.
_BESIDE = {"diagramData": "slide", "notesSlide": "notes of slide"}


def read_slides(source: RawBody) -> BodyText:
    """The text and tables of each slide in the order of the presentation, then its notes."""
    archive = Archive(source.data)
    text = PlacedText(source, *core_properties(archive))
    for number, slide in enumerate(_slide_parts(archive, main_part(archive)), 1):
        content = Part(archive, slide).read_note()
        first = content.text.partition("\n")[0] if content else ""
        text.title = text.title or normalize_title(first[:100])
        text.add_block(content, f"slide {number}")
        for wanted, place in _BESIDE.items():
            for kind, related in archive.relations(slide).values():
                if kind == wanted:
                    text.add_block(Part(archive, related).read_note(), f"{place} {number}")
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
