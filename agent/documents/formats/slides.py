"""Presentations (PPTX): Office Open XML, ISO/IEC 29500-1, 19. Macros are not read."""

from __future__ import annotations

from collections.abc import Iterator

from agent.documents.blocks import TextBlock
from agent.documents.body_text import Body, BodyText, PlacedText
from agent.documents.formats.archive import Archive, core_properties, main_part
from agent.documents.formats.beside import add_beside
from agent.documents.formats.office import Part, add_slide
from agent.documents.formats.table import HIDDEN
from agent.documents.formats.xml import attribute, find_all, find_first

#: Kinds of the parts that belong to a slide, and what they are of it.
_BESIDE = {"diagramData": "slide", "notesSlide": "notes of slide"}


def read_slides(source: Body) -> BodyText:
    """The text and tables of each slide in the order of the presentation, then its notes."""
    archive = Archive(source.data)
    text = PlacedText(source, *core_properties(archive))
    feet: dict[str, TextBlock] = {}
    masters: dict[str, None] = {}
    for number, slide in enumerate(_slide_parts(archive, main_part(archive)), 1):
        part = Part(archive, slide)
        mark = HIDDEN if attribute(part.root, "show") in ("0", "false") else ""
        add_slide(text, part.read_note(), number, mark)
        feet |= _read_margins(part)
        masters |= dict.fromkeys(_masters(archive, slide))
        for wanted, place in _BESIDE.items():
            for kind, related in archive.relations(slide).values():
                if kind == wanted:
                    beside = Part(archive, related)
                    text.add_block(beside.read_note(), f"{place} {number}")
                    feet |= _read_margins(beside)
    for master in masters:
        feet |= _read_margins(Part(archive, master), is_master=True)
    for foot in feet.values():
        text.add_block(foot, "header or footer")
    add_beside(text, source, archive)
    return text.finish()


def _masters(archive: Archive, slide: str) -> Iterator[str]:
    """The layout of a slide, and the master of that."""
    for wanted in ("slideLayout", "slideMaster"):
        found = (target for kind, target in archive.relations(slide).values() if kind == wanted)
        slide = next(found, "")
        yield from [slide] if slide else []


def _read_margins(part: Part, *, is_master: bool = False) -> dict[str, TextBlock]:
    """Heads and feet of a slide, or all that a master shows on each slide; by their text.

    A day is one of them where it is written, and not that on which the slide is shown.
    """
    found: dict[str, TextBlock] = {}
    for shape in find_all(part.root, "sp"):
        place = find_first(shape, "ph")
        is_day = attribute(place, "type") == "dt" and not is_master
        is_written = is_day and find_first(shape, "fld") is None
        is_margin = is_written or attribute(place, "type") in ("ftr", "hdr")
        shown = is_margin or (is_master and place is None)
        if shown and (block := part.read_note(find_first(shape, "txBody"))):
            found[block.text] = block
    return found


def _slide_parts(archive: Archive, part: str) -> Iterator[str]:
    """The names of the slides' parts, in the order in which they are shown."""
    relations = archive.relations(part)
    for slide in find_all(archive.read_xml(part), "sldId"):
        named = (value for name, value in slide.attrib.items() if name.endswith("}id"))
        yield from (relations[one][1] for one in named if one in relations)
