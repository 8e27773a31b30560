"""The text of a part of an office document: Office Open XML and OpenDocument.

Formats: ISO/IEC 29500-1, 17 and 19; ISO/IEC 26300. What their programs do not show is not read:
deleted text, hidden text, the code of fields, macros.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from posixpath import dirname

from agent.documents.blocks import LINE, RAISED, BlockBuilder, TextBlock
from agent.documents.body_text import PlacedText, normalize_title
from agent.documents.formats.archive import Archive, resolve_part
from agent.documents.formats.numbering import Numbering, ShapeNumbers
from agent.documents.formats.table import TableCell, format_table
from agent.documents.formats.xml import Element, attribute, find_all, find_first, local_name, to_int
from agent.documents.formulas import STRUCK, lower_text, raise_text, strike_text, write_formula

#: Elements of OpenDocument by the names of their like in Office Open XML.
_SAME = {
    "h": "p",
    "table": "tbl",
    "table-row": "tr",
    "table-cell": "tc",
    **dict.fromkeys(("text-box", "custom-shape", "rect", "ellipse"), "txbxContent"),
    "line-break": "br",
    "a": "hyperlink",
}
#: Elements whose content is not shown, or is shown by the element beside them.
_SKIPPED = frozenset(
    "del moveFrom delText delInstrText rPr pPr sectPr rubyBase tracked-changes forms "
    "event-listeners settings desc title annotation-end sequence-decls variable-decls "
    "user-field-decls page-number".split()
)
_CHARACTERS = {"tab": "\t", "br": "\n", "cr": "\n", "s": " ", "noBreakHyphen": "-"}
#: What may stand between a table and its rows, or a row and its cells.
_AROUND = "sdt sdtContent customXml ins table-header-rows table-rows table-row-group".split()
#: Shapes of a slide that repeat what stands elsewhere.
_REPEATED = frozenset("sldNum dt hdr ftr sldImg".split())
_NOTES = ("footnoteReference", "endnoteReference", "note")
#: What signs of fonts of signs are, by the last two digits of their codes.
_SIGNS = {
    "Symbol": {
        **dict(zip(range(0x41, 0x5B), "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ", strict=True)),
        **dict(zip(range(0x61, 0x7B), "αβχδεφγηιϕκλμνοπθρστυϖωξψζ", strict=True)),
        **dict(zip(b"\xa3\xa5\xae\xb0\xb1\xb3\xb4\xb7\xb9\xbb\xd6", "≤∞→°±≥×•≠≈√", strict=True)),
    },
    "Wingdings": dict(zip(b"\x6f\x78\xa8\xe0\xfb\xfc\xfd\xfe", "☐☒☐→✗✓☒☑", strict=True)),
}
_OFF = ("0", "false", "off")
_LINKED_FIELD = re.compile(r"HYPERLINK\s+\"([^\"]+)\"")
#: How a text is written above the line, and below it.
_SCRIPTS = {"super": raise_text, "sub": lower_text}
_LONGEST_NOTE = 3000  # characters of what is told of a note where the text refers to it
OPEN_CONTENT, OPEN_STYLES = "content.xml", "styles.xml"  # parts of a document of OpenDocument
ROW_LEVEL = 9  # of the head of a table, as a heading


def add_sections(text: PlacedText, blocks: Iterator[TextBlock]) -> None:
    """Add blocks, each in the section of the heading above it."""
    place = ""
    for block in blocks:
        if block.kind == "heading" and block.level < ROW_LEVEL:
            place = f"section {block.text}"
            text.title = text.title or normalize_title(block.text)
        text.add_block(block, place)


def add_slide(text: PlacedText, slide: TextBlock | None, number: int, mark: str = "") -> None:
    """Add a slide; the first line of the first one may be the title."""
    line = slide.text.partition("\n")[0] if slide else ""
    text.title = text.title or normalize_title(line[:100])
    text.add_block(slide, f"slide {number}{mark}")


class Part:
    """Reads a part of a document: its text, its notes, a slide."""

    def __init__(
        self,
        archive: Archive,
        name: str,
        levels: Mapping[str, int] | None = None,
        notes: Mapping[tuple[str, str], TextBlock] | None = None,
        *,
        is_report: bool = False,
        numbering: Numbering | None = None,
    ) -> None:
        """`levels`: of headings, by the names of their styles; `notes` by kind and id.

        Of a report, raised numbers are marks, and stay as they are, and automatic numbers are left
        out.
        """
        self.root = archive.read_xml(name)
        self._archive = archive
        self.own_notes: list[TextBlock] = []  # in OpenDocument they stand in the text
        self._is_open = name.rpartition("/")[2] in (OPEN_CONTENT, OPEN_STYLES)
        self._targets = {key: target for key, (_, target) in archive.relations(name).items()}
        self._levels = levels or {}
        self._notes = notes or {}
        self._counts: Counter[str] = Counter()  # of the items of each list
        self._is_report = is_report
        self._numbering = None if is_report else numbering
        styles = archive.read_xml(resolve_part(dirname(name), OPEN_STYLES))
        self._scripts = _read_scripts(styles) | _read_scripts(self.root)
        self._shape_numbers = ShapeNumbers()
        self._field = ""  # the address of a field whose result is being read,
        self._field_start = 0  # and where that begins
        self._readers: dict[str, Callable[[Element, BlockBuilder], None]] = {
            "AlternateContent": lambda forms, to: self._add_content(_first_form(forms), to),
            "txbxContent": self._add_box,
            "hyperlink": self._add_link,
            "r": self._add_run,
            "span": self._add_run,
            "object": self._add_object,
            "sym": lambda sign, to: to.add(read_sign(sign)),
            "oMath": lambda formula, to: to.add(write_formula(formula)),
            **dict.fromkeys(("instrText", "fldChar"), self._read_field),
            **dict.fromkeys(_NOTES, self._refer),
        }

    def read_blocks(self) -> Iterator[TextBlock]:
        """The blocks of the body."""
        for element in _blocks(find_first(self.root, "body")):
            if _name_of(element) != "tbl":
                yield from filter(None, [self._read_paragraph(element)])
            elif self._is_report:
                yield from filter(None, self._read_rows(element))
            else:
                yield from (TextBlock("row", line) for line in self._read_table(element) if line)

    def read_note(self, parent: Element | None = None) -> TextBlock | None:
        """All that is in an element, or in the part, as one block, a line each."""
        builder = BlockBuilder()
        self._add_blocks(self.root if parent is None else parent, builder, "\n")
        return builder.build("note")

    def read_cell(self, cell: Element) -> str:
        """The text of a cell, on one line."""
        builder = BlockBuilder(is_row=True)
        self._add_blocks(cell, builder, LINE)
        block = builder.build("row")
        text = block.text if block else ""
        is_struck = self._scripts.get(attribute(cell, "style-name")) == "struck"
        return strike_text(text) if is_struck and not self._is_report else text

    def _read_paragraph(self, paragraph: Element) -> TextBlock | None:
        builder = BlockBuilder()
        number = self._numbering.number(paragraph) if self._numbering else ""
        builder.add(number and f"{number} ")
        start = builder.length
        self._add_run(paragraph, builder)  # in OpenDocument it may be all in one style
        if builder.length == start:  # a number without a text
            return None
        style = child_value(paragraph, "pPr/pStyle")
        level = self._levels.get(style) or (local_name(paragraph) == "h" and 1)
        if level:
            return builder.build("heading", level=level)
        if number := child_value(paragraph, "pPr/numPr/numId"):
            self._counts[number] += 1
            return builder.build("item", self._counts[number])
        return builder.build("item" if style.startswith("List") else "paragraph")

    def _read_table(self, table: Element) -> list[str]:
        """The lines of a table, each cell with the name of its column."""
        rows = _children(table, "tr")
        return format_table([self.read_table_cell(c) for c in _cells_of(row)] for row in rows)[0]

    def read_table_cell(self, cell: Element) -> TableCell:
        """A cell with its span. In a Word document one of a span goes on with the one above."""
        columns = attribute(cell, "gridSpan") or attribute(cell, "number-columns-spanned")
        down = attribute(cell, "rowSpan") or attribute(cell, "number-rows-spanned")
        is_lower = cell.find("./{*}tcPr/{*}vMerge") is not None
        goes_on = is_lower and child_value(cell, "tcPr/vMerge") != "restart"
        return TableCell(
            "" if goes_on or attribute(cell, "value") == "NaN" else self.read_cell(cell),
            to_int(columns or child_value(cell, "tcPr/gridSpan"), 1),
            0 if goes_on else to_int(down, 1),
            _is_head(cell),
        )

    def _read_rows(self, table: Element) -> Iterator[TextBlock | None]:
        """The rows of a table in a report, as they are, with their links."""
        for n, row in enumerate(_children(table, "tr")):
            builder = BlockBuilder(is_row=True)
            self._add_cells(row, builder)
            is_head = n == 0 and row.find("./{*}trPr/{*}tblHeader") is not None
            yield builder.build("heading" if is_head else "row", level=ROW_LEVEL)

    def _add_cells(self, row: Element, builder: BlockBuilder) -> None:
        for n, cell in enumerate(_children(row, "tc")):
            if n:
                builder.next_cell()
            self._add_blocks(cell, builder, LINE)

    def _add_blocks(self, parent: Element | None, builder: BlockBuilder, mark: str) -> None:
        """Paragraphs and tables within a block. A table in a cell is part of that cell."""
        for part in _parts_of(parent, has_rows=mark == LINE):
            builder.separate(mark)
            if _name_of(part) == "tr":
                self._add_cells(part, builder)
            elif _name_of(part) == "tbl":
                builder.add("\n".join(self._read_table(part)))
            else:
                number = (self._numbering or self._shape_numbers).number(part)
                builder.add(f"{number} " if number and "".join(part.itertext()).strip() else "")
                self._add_run(part, builder)

    def _add_content(self, element: Element, builder: BlockBuilder) -> None:
        """What is shown of a paragraph or a part of it."""
        builder.add((element.text or "") if self._is_open or _name_of(element) == "t" else "")
        for child in element:
            name = _name_of(child)
            if name in _CHARACTERS:
                builder.add(_CHARACTERS[name])
            elif add := self._readers.get(name):
                add(child, builder)
            elif name and name not in _SKIPPED:
                self._add_content(child, builder)
            builder.add((child.tail or "") if self._is_open else "")

    def _add_run(self, run: Element, builder: BlockBuilder) -> None:
        """A piece of text in one style, which may be raised, lowered or struck through."""
        start = builder.length
        style = attribute(run, "style-name") or child_value(run, "rPr/rStyle")
        script = _script_of(run) or self._scripts.get(style)
        if _is_set(run, "vanish"):
            pass
        elif script == "struck" and not self._is_report and "".join(run.itertext()).strip():
            builder.add("" if builder.drop_end(STRUCK) else STRUCK)
            self._add_content(run, builder)
            builder.add(STRUCK)
        elif script in _SCRIPTS and not self._is_report and not self._refers(run):
            piece = BlockBuilder()
            self._add_content(run, piece)
            block = piece.build("paragraph")
            builder.add(_SCRIPTS[script](block.text) if block else "")
        else:
            self._add_content(run, builder)
        if script == "super":
            builder.link(start, RAISED)

    def _refers(self, run: Element) -> bool:
        """Whether a run holds a note, whose link would be lost."""
        return any(find_first(run, name) is not None for name in _NOTES)

    def _add_object(self, element: Element, builder: BlockBuilder) -> None:
        """A formula of OpenDocument, which is an object of its own; else what an object shows."""
        name = attribute(element, "href").removeprefix("./")
        root = self._archive.read_xml(f"{name}/{OPEN_CONTENT}") if self._is_open else None
        if root is not None and local_name(root) == "math":
            builder.add(write_formula(root))
        else:
            self._add_content(element, builder)

    def _add_box(self, box: Element, builder: BlockBuilder) -> None:
        builder.separate("\n")
        self._add_blocks(box, builder, "\n")
        builder.separate("\n")

    def _add_link(self, link: Element, builder: BlockBuilder) -> None:
        start = builder.length
        self._add_content(link, builder)
        key = attribute(link, "id")
        builder.link(start, attribute(link, "href") or self._targets.get(key, ""))

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
        builder.add(_read_choice(element))

    def _refer(self, reference: Element, builder: BlockBuilder) -> None:
        """Link a note where the text refers to it: to its first address, if it has one."""
        key = f"{local_name(reference).removesuffix('Reference')}s", attribute(reference, "id")
        note = self.read_note(reference) if self._is_open else self._notes.get(key)
        if note and self._is_open:
            self.own_notes.append(note)
        url = note.links[0].url if note and note.links else "#" + "".join(key)
        text = note.text[:_LONGEST_NOTE] if note else ""
        builder.link(builder.length, url, text, is_note=True)


def _read_choice(field: Element) -> str:
    """What a field of a form shows that has no text: its box, or the entry that is chosen."""
    if (box := find_first(field, "checkBox")) is not None:
        told = find_first(box, "checked")
        told = find_first(box, "default") if told is None else told
        return "☐" if told is None or attribute(told, "val") in _OFF else "☒"
    entries = [attribute(one, "val") for one in find_all(field, "listEntry")]
    chosen = to_int(attribute(find_first(field, "result"), "val"), 0)
    return "".join(entries[chosen : chosen + 1])


def read_sign(sign: Element) -> str:
    """A sign of a font of signs; "" for one that is not known."""
    with suppress(ValueError):
        code = int(attribute(sign, "char")[-2:], 16)
        return _SIGNS.get(attribute(sign, "font"), {}).get(code, "")
    return ""


def _read_scripts(root: Element | None) -> dict[str, str]:
    """The styles that raise, lower or strike text: `super`, `sub` and `struck`."""
    found: dict[str, str] = {}
    for style in find_all(root, "text-properties"):  # of OpenDocument
        position = attribute(style, "text-position").split(" ")[0]
        line = attribute(style, "text-line-through-style")
        struck = "struck" if line not in ("", "none") else ""
        found[attribute(style.getparent(), "name")] = struck or _shift_of(position)
    for style in find_all(root, "style"):
        found.setdefault(attribute(style, "styleId"), _script_of(style))
    return found


def _script_of(run: Element) -> str:
    """Whether a run of Word or PowerPoint is `super`, `sub` or `struck`; "" for none."""
    drawn = attribute(run.find("./{*}rPr"), "strike") not in ("", "noStrike")
    if drawn or _is_set(run, "strike") or _is_set(run, "dstrike"):
        return "struck"
    aligned = _shift_of(child_value(run, "rPr/vertAlign").removesuffix("script"))
    return aligned or _shift_of(attribute(run.find("./{*}rPr"), "baseline"))


def _shift_of(position: str) -> str:
    """`super` or `sub` for a word, or for how much of its size a text is moved up; "" for none."""
    if position in _SCRIPTS:
        return position
    amount = position.strip("-%")
    is_none = not amount.isdecimal() or not amount.strip("0")
    return "" if is_none else "sub" if position.startswith("-") else "super"


def child_value(element: Element, path: str) -> str:
    """The value of a descendant, by its path; "" for none."""
    names = (f"{{*}}{name}" for name in path.split("/"))
    return attribute(element.find("./" + "/".join(names)), "val")


def _name_of(element: Element) -> str:
    name = local_name(element)
    return _SAME.get(name, name)


def _blocks(parent: Element | None) -> Iterator[Element]:
    """The paragraphs and tables of a body, out of whatever contains them."""
    for child in parent if parent is not None else ():
        name = _name_of(child)
        if name == "p" or (name == "tbl" and not _is_frame(child)):
            yield child
        elif name == "AlternateContent":
            yield from _blocks(_first_form(child))
        elif name and name not in _SKIPPED and not _is_repeated(child):
            yield from _blocks(child)


def _is_frame(table: Element) -> bool:
    """Whether a table is only a frame around others: each row of it is one cell."""
    is_around = next(table.iterdescendants(f"{{*}}{local_name(table)}"), None) is not None
    return is_around and all(len(list(_cells_of(row))) < 2 for row in _children(table, "tr"))


def _first_form(drawing: Element) -> Element:
    """The first of two forms of one drawing."""
    return next(iter(drawing), drawing)


def _parts_of(parent: Element | None, *, has_rows: bool) -> Iterator[Element]:
    """The paragraphs and the tables, or the rows of these."""
    for block in _blocks(parent):
        is_table = has_rows and _name_of(block) == "tbl"
        yield from _children(block, "tr") if is_table else [block]


def _cells_of(row: Element) -> Iterator[Element]:
    """The cells of a row, without those that another one covers."""
    for cell in _children(row, "tc"):
        if "1" not in (attribute(cell, "hMerge"), attribute(cell, "vMerge")):
            yield cell


def _is_head(cell: Element) -> bool:
    """Whether a cell is in a row that is marked as the head of its table."""
    row = cell.getparent()
    while row is not None and _name_of(row) != "tr":
        row = row.getparent()
    if row is None:
        return False
    is_marked = row.find("./{*}trPr/{*}tblHeader") is not None
    return is_marked or local_name(row.getparent()) == "table-header-rows"


def _children(parent: Element, name: str) -> Iterator[Element]:
    """The children with a name, out of what may stand around them."""
    for child in parent:
        if _name_of(child) == name:
            yield child
        elif local_name(child) in _AROUND:
            yield from _children(child, name)


def _is_repeated(shape: Element) -> bool:
    """Whether an element is a shape with the number, the date or the image of a slide."""
    return attribute(shape.find("./{*}nvSpPr/{*}nvPr/{*}ph"), "type") in _REPEATED


def _is_set(run: Element, name: str) -> bool:
    """Whether a property of a run of Word is on."""
    found = run.find(f"./{{*}}rPr/{{*}}{name}")
    return found is not None and attribute(found, "val") not in _OFF
