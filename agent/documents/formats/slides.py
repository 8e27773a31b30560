"""Presentations (PPTX): Office Open XML, ISO/IEC 29500-1, 19. Macros are not read."""

from __future__ import annotations

from collections.abc import Iterator

from agent.documents.body_text import Body, BodyText, PlacedText
from agent.documents.formats.archive import Archive, core_properties, main_part
from agent.documents.formats.beside import add_beside
from agent.documents.formats.office import Part, add_slide
from agent.documents.formats.xml import find_all

#: Kinds of the parts that belong to a slide, and what they are of it.
_BESIDE = {"diagramData": "slide", "notesSlide": "notes of slide"}


def read_slides(source: Body) -> BodyText:
    """The text and tables of each slide in the order of the presentation, then its notes."""
    archive = Archive(source.data)
    text = PlacedText(source, *core_properties(archive))
    for number, slide in enumerate(_slide_parts(archive, main_part(archive)), 1):
        add_slide(text, Part(archive, slide).read_note(), number)
        for wanted, place in _BESIDE.items():
            for kind, related in archive.relations(slide).values():
                if kind == wanted:
                    text.add_block(Part(archive, related).read_note(), f"{place} {number}")
    add_beside(text, archive)
    return text.finish()


def _slide_parts(archive: Archive, part: str) -> Iterator[str]:
    """The names of the slides' parts, in the order in which they are shown."""
    relations = archive.relations(part)
    for slide in find_all(archive.read_xml(part), "sldId"):
        named = (value for name, value in slide.attrib.items() if name.endswith("}id"))
        yield from (relations[one][1] for one in named if one in relations)
