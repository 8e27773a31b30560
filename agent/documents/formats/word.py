"""Word documents (DOCX): Office Open XML, ISO/IEC 29500-1, 17."""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import dirname

from agent.documents.blocks import TextBlock
from agent.documents.body_text import Body, BodyText, PlacedText
from agent.documents.formats.archive import (
    Archive,
    core_properties,
    main_part,
    resolve_part,
)
from agent.documents.formats.beside import add_beside
from agent.documents.formats.bundles import add_inner
from agent.documents.formats.numbering import Numbering
from agent.documents.formats.office import (
    ROW_LEVEL,
    Part,
    add_sections,
    child_value,
    read_sign,
)
from agent.documents.formats.xml import attribute, find_all, find_first, to_int

#: Kinds of the parts beside the text, and what one entry of them is called.
_NOTES = {"footnotes": "footnote", "endnotes": "endnote", "comments": "comment"}
#: What is in the text and not shown.
_NOT_SHOWN = {
    "delText": ("deleted passages", "Word hides them"),
    "vanish": ("hidden passages", "Word hides them"),
    "subDoc": ("parts of the document", "they are files of their own"),
}
_MARGINS = ("header", "footer")


def read_word(source: Body) -> BodyText:
    """The paragraphs and tables, each in the section of the heading above it; then the notes."""
    archive = Archive(source.data)
    part = main_part(archive)
    text = PlacedText(source, *core_properties(archive))
    notes = {
        kind: list(_read_notes(archive, part, kind, names_authors=not source.is_report))
        for kind in _NOTES
    }
    named = {(kind, key): block for kind, found in notes.items() for key, block in found}
    levels = _heading_levels(archive, part)
    numbering = Numbering(archive, part)
    body = Part(archive, part, levels, named, is_report=source.is_report, numbering=numbering)
    add_sections(text, body.read_blocks())
    margins = ((k, name) for k in _MARGINS for name in _related_parts(archive, part, k))
    blocks = ((Part(archive, name).read_note(), kind) for kind, name in margins)
    for block, kind in {block and block.text: (block, kind) for block, kind in blocks}.values():
        text.add_block(block, kind)
    for kind, word in _NOTES.items():
        for n, (_, block) in enumerate(notes[kind], 1):
            text.add_block(block, f"{word} {n}")
    for kind, name in archive.relations(part).values():
        if kind == "aFChunk":
            add_inner(text, source, name, archive.read(name), place="inserted document")
    for name, (what, why) in _NOT_SHOWN.items():
        text.lose(what, sum(1 for _ in find_all(body.root, name)), why)
    signs = sum(not read_sign(one) for one in find_all(body.root, "sym"))
    text.lose("signs", signs, "their font is not known")
    add_beside(text, source, archive)
    return text.finish()


def _read_notes(
    archive: Archive, part: str, kind: str, *, names_authors: bool
) -> Iterator[tuple[str, TextBlock]]:
    """The notes of a kind, each with its id, in the order in which Word numbers them."""
    for name in _related_parts(archive, part, kind):
        notes = Part(archive, name)
        for note in find_all(notes.root, _NOTES[kind]):
            if not attribute(note, "type") and (block := notes.read_note(note)):
                author = attribute(note, "author") if names_authors else ""
                named = TextBlock("note", author).join(block, ": ") if author else block
                yield attribute(note, "id"), named


def _related_parts(archive: Archive, part: str, kind: str) -> list[str]:
    """The parts of a kind that belong to a part, also where it is not said that they do."""
    names = {name for of, name in archive.relations(part).values() if of == kind}
    names.add(resolve_part(dirname(part), f"{kind}.xml"))
    return sorted(names & archive.names)


def _heading_levels(archive: Archive, part: str) -> dict[str, int]:
    """The styles of headings: those with an outline level, or with the name of one."""
    found = {"Title": 1} | {f"Heading{level}": level for level in range(1, ROW_LEVEL)}
    for name in _related_parts(archive, part, "styles"):
        for style in find_all(archive.read_xml(name), "style"):
            outline, named = find_first(style, "outlineLvl"), child_value(style, "name").lower()
            if outline is not None or named.startswith(("heading ", "title")):
                told = to_int(named.removeprefix("heading ")[:1], 1)
                level = to_int(attribute(outline, "val"), told - 1) + 1
                found[attribute(style, "styleId")] = min(level, ROW_LEVEL - 1)
    return found
