"""Documents, slides and sheets by Xberg: DOCX, PPTX, ODF, EPUB, RTF, Office 97, Outlook.

Its Markdown becomes lines with places. What it leaves out is read from the parts of the archive
where that is plain text, and else reported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from agent.documents.body_text import (
    TEXT,
    Body,
    BodyText,
    PlacedText,
    UnreadablePage,
    normalize_title,
)
from agent.documents.formats.bundles import MAX_FILES, add_inner
from agent.documents.formats.grid import Sheet, add_sheets
from agent.documents.formats.xberg_adapter import extract
from agent.documents.formats.xml import Element, attribute, find_all, find_first, local_name, to_int
from agent.documents.formats.xml_archive import Archive
from agent.documents.page_date import read_day
from agent.documents.rendered_markdown import add_sections, read_lines

ZIP = b"PK\x03\x04"
#: What of its Markdown is not the document's: marks of notes and comments, underlines, places of
#: pictures, links within a book.
_NOISE = re.compile(
    r"\\<\\?/?u\\>|\[cmt:\w*\]|\[\^[^\]\s]{1,30}\](?!:)|\\?!\[[^\[\]\n]*\]\([^()\n]*\)"
    r"|\[[^\[\]\n]{0,9}\]\(#[^()\n]*\)"
)
_SCRIPT = re.compile(r"(?<![\\~^])([\^~])([^\s^~\[\]]{1,20})\1(?![~^])")
_NOTE = re.compile(r"^\[\^(cmt:?)?(\w*)\]:(.*(?:\n+ {4,}.*)*)", re.M)
_WORD = re.compile(r"[^\W_]+")
_SLIDE = re.compile(r"(?:^|\n)-----\n")
#: Parts that are read as plain text, by where they lie, and what they are.
_PLAIN = (
    *(("/header", "header"), ("/footer", "footer"), ("/diagrams/data", "diagram")),
    ("xl/drawings/drawing", "text box"),
)
#: Parts without text: what they are, where they lie, and why they are not read.
_NOT_READ = (
    ("charts", ("/charts/chart",), "only a table of their values would be read"),
    ("charts and other objects", ("/content.xml",), "only a table of their values would be read"),
    ("pictures", ("/media/", "Pictures/"), "only text is read"),
    ("macros", ("vbaProject.bin", "Basic/"), "no program is run"),
)
REMEDY = "save it as .docx, .xlsx or .pptx, without a password"  # of what is not read
#: What the name of a stream says of a file of Office 97: [MS-CFB], 2.6. The first one counts, but
#: for the one that the suffix names: others may be in it.
_KINDS = (
    ("WordDocument", "doc dot", "application/msword"),
    ("PowerPoint Document", "ppt pps", "application/vnd.ms-powerpoint"),
    ("Workbook", "xls xlt", "application/vnd.ms-excel"),
    ("Book", "xls xlt", "application/vnd.ms-excel"),
    ("__properties_version1.0", "msg", "application/vnd.ms-outlook"),
)
#: What is left out of these, by the bytes with which each begins: `FtCmo` of [MS-XLS], containers
#: of [MS-PPT] (`Comment10`, `ExOleEmbed`), storages of objects, `ObjInfo` of [MS-DOC]; and of RTF.
_MARKS = {
    "comments": (rb"\x5d\0..\x15\0\x12\0\x19\0", rb"\x0f\0\xe0\x2e", rb"\{\\\*\\annotation\b"),
    "text boxes": (rb"\x5d\0..\x15\0\x12\0\x06\0",),
    "charts": (rb"\x5d\0..\x15\0\x12\0\x05\0",),
    "headers and footers": (rb"\{\\(?:header|footer)[lrf]?\b",),
    "embedded objects": (
        *(rb"\x0f\0\xcc\x0f", rb"M\0B\0D\0(?:[0-9A-F]\0){8}", rb"\{\\\*\\objdata\b"),
        re.escape("\x03ObjInfo".encode("utf-16-le")),
    ),
}
#: Where the head of a Word document, at the beginning of a sector, has the characters of
#: other parts than the text, and how many where there are none: `FibRgLw97` of [MS-DOC].
_HEAD, _SECTOR = b"\xec\xa5", 512
_BESIDE = (("headers and footers", 0x54, 25), ("comments", 0x5C, 0), ("text boxes", 0x64, 0))


def read_office(source: Body) -> BodyText:
    """The text with its sections, slides or sheets; of a report its Markdown alone.

    Raises UnreadablePage.
    """
    archive = Archive(source.data) if source.data.startswith(ZIP) else None
    data, kind = source.data, ""
    if archive:
        data, kind = _without_hidden(data, archive), archive.declared_type()
    elif not data.startswith(b"{"):
        kind = _find_kind(source)
    found = extract(data, kind or None)
    metadata = found.metadata
    markdown = _SCRIPT.sub(_write_script, found.content)
    if source.is_report:
        return BodyText(metadata.title or "", markdown)
    day = read_day(metadata.modified_at, metadata.created_at)
    text = PlacedText(source, metadata.title or metadata.subject or "", day)
    form = json.loads(str(metadata.format)) if metadata.format else {}
    if names := form.get("sheet_names"):
        add_sheets(text, _read_sheets(text, found, names, archive))
    elif "presentation" in found.mime_type or "powerpoint" in found.mime_type:
        _add_slides(text, found)
    else:
        _add_text(text, markdown)
    if archive:
        if "opendocument" in kind and not names:
            _add_left_out(text, archive.read_xml("content.xml"), found.content)
        add_parts(text, source, archive)
    elif "outlook" not in found.mime_type:  # in a message these are marks of its attachments
        for what, count in find_left_out(data):
            text.lose(what, count, REMEDY)
        text.lose(TEXT, rb"\deleted" in data, "text that is marked as deleted is read, too")
    _add_warnings(text, found, form.get("attachments", ()))
    return text.finish()


def find_left_out(data: bytes) -> Iterator[tuple[str, int]]:
    """What a file that is no archive holds besides its text, by the marks of each."""
    for what, marks in _MARKS.items():  # an object in a sheet has two
        yield what, max(len(re.findall(mark, data, re.DOTALL)) for mark in marks)
    for head in (at for at in range(0, len(data), _SECTOR) if data.startswith(_HEAD, at)):
        for what, at, least in _BESIDE:
            number = data[head + at : head + at + 4]
            yield what, int.from_bytes(number, "little", signed=True) > least


def _add_text(text: PlacedText, markdown: str) -> None:
    add_sections(text, _NOISE.sub("", _NOTE.sub("", markdown)))
    for kind, name, note in _NOTE.findall(markdown):
        text.add(" ".join(note.split()), f"{'comment' if kind else 'footnote'} {name}")


def _add_left_out(text: PlacedText, root: Element | None, read: str) -> None:
    """Add the paragraphs of OpenDocument that the library leaves out, as those of shapes."""
    words = set(_WORD.findall(read))
    for changes in find_all(root, "tracked-changes"):
        changes.clear()
    for one in () if root is None else root.iter("{*}p", "{*}h"):
        pieces = [*one.itertext()]
        sets = ({*_WORD.findall(joint.join(pieces))} for joint in ("", " "))
        if next(one.iterdescendants("{*}p"), None) is None and not any(x <= words for x in sets):
            text.add(" ".join("".join(pieces).split()), "beside the text")


def _write_script(match: re.Match[str]) -> str:
    tag = "sup" if match[1] == "^" else "sub"
    return f"<{tag}>{match[2]}</{tag}>"


def _add_slides(text: PlacedText, found: Any) -> None:
    is_open = "opendocument" in found.mime_type  # whose pages are the notes alone
    pages = () if is_open else found.pages or ()
    slides = [(page.content, page.speaker_notes or "") for page in pages]
    slides = slides or [(one, "") for one in _SLIDE.split(found.content)]
    for n, (content, notes) in enumerate(filter(lambda one: any(map(str.strip, one)), slides), 1):
        for line in read_lines(_NOISE.sub("", content), is_made=True):
            text.title = text.title or normalize_title(line.text)
            text.add(line.text, f"slide {n}")
        text.add(notes, f"notes of slide {n}")
    for one in found.revisions or ():
        if str(one.kind) == "comment":
            words = " ".join(json.loads(str(part)).get("text", "") for part in one.delta.content)
            text.add(f"{one.author}: {words}" if one.author else words, "comment")


def _read_sheets(
    text: PlacedText, found: Any, names: list[str], archive: Archive | None
) -> Iterator[Sheet]:
    """The sheets; the library leaves out the empty rows above the first one with a value."""
    root = archive.read_xml("content.xml") if archive else None
    tables = list(find_all(root, "table"))
    grids = {table.page_number: table.cells for table in found.tables}
    for n, name in enumerate(names, 1):
        table = tables[n - 1] if n <= len(tables) else None
        is_lost = n not in grids and find_first(table, "p") is not None
        text.lose(f"sheet {name}", is_lost, "it has too many cells")
        first = _count_empty(table)
        rows = enumerate(grids.get(n, ()), first + 1)
        yield Sheet(name, ((number, row) for number, row in rows if any(map(str.strip, row))))


def _count_empty(table: Element | None) -> int:
    """The rows of a sheet of OpenDocument above the first one with a value."""
    rows = 0
    for row in find_all(table, "table-row"):
        if find_first(row, "p") is not None:
            break
        rows += to_int(attribute(row, "number-rows-repeated"), 1)
    return rows


def add_parts(text: PlacedText, source: Body, archive: Archive) -> None:
    """Add the parts with text and the embedded documents; report the other parts."""
    names = sorted(archive.names, key=lambda name: (len(name), name))
    for name in names:
        for where, place in _PLAIN:
            if where in name and name.endswith(".xml"):
                text.add(_show_paragraphs(archive.read_xml(name)), place)
    inner = [name for name in names if "/embeddings/" in name or "/afchunk" in name.lower()]
    for name in inner[:MAX_FILES]:
        place = f"embedded {name.rpartition('/')[2]}"
        add_inner(text, source, name, archive.read(name), place=place)
    text.lose("embedded documents", len(inner[MAX_FILES:]), f"only the first {MAX_FILES} are")
    hidden = [n for n in names if "slides/slide" in n and b'show="0"' in archive.read(n)[:1000]]
    text.lose(TEXT, len(hidden), "hidden slides are read like the others")
    for what, places, why in _NOT_READ:
        text.lose(what, sum(any(one in name for one in places) for name in names), why)


def _show_paragraphs(root: Element | None) -> str:
    paragraphs = ("".join(one.itertext("{*}t")) for one in find_all(root, "p"))
    return "\n".join(paragraphs)


def _without_hidden(data: bytes, archive: Archive) -> bytes:
    """A document without what its program does not show, which the library gives.

    Hidden text of Word, and the masters of slides of OpenDocument.
    """
    from lxml import etree

    main = "word/document.xml"
    if archive.declared_type().endswith("opendocument.presentation"):
        return archive.replace({"styles.xml": b""})
    if b"vanish" not in archive.read(main):
        return data
    root: Any = archive.read_xml(main)
    for hidden in [*find_all(root, "vanish")]:
        run = hidden.getparent().getparent()
        if attribute(hidden, "val") not in ("0", "false", "off") and local_name(run) == "r":
            run.clear(keep_tail=True)
    return archive.replace({main: etree.tostring(root)})


def _add_warnings(text: PlacedText, found: Any, attached: list[str]) -> None:
    """Report what the library did not read, with the attachments that it does not return."""
    warned = [warning.message.partition("\n")[0][:200] for warning in found.processing_warnings]
    for message in warned:
        text.lose("parts", 1, message)
    read = {child.path for child in found.children or ()}
    for name in attached:
        if name not in read and not any(name in message for message in warned):
            text.lose(f"attachment {name}", 1, "save it as a file of its own")


def _find_kind(source: Body) -> str:
    """The media type of a file of Office 97. Raises UnreadablePage."""
    kinds = [one for one in _KINDS if one[0].encode("utf-16-le") in source.data]
    kinds.sort(key=lambda one: source.suffix[1:] not in one[1].split())
    marks = (name.encode("utf-16-le") for name in ("EncryptedPackage", "EncryptedSummary"))
    if not kinds or any(mark in source.data for mark in marks):
        raise UnreadablePage(f"it is encrypted, or of an unknown kind: {REMEDY}", "invalid")
    return kinds[0][2]
