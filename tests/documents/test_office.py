"""Office documents through the libraries of the extra `documents`: places, and what is reported.

The files in `tests/documents` were made of one text by pandoc 2.17 and LibreOffice 7.4.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from agent.documents.body_reader import BodyReader
from agent.documents.body_text import Body
from agent.documents.reading import BodyText, UnreadablePage, read_body
from agent.state.places import find_place, to_places
from tests.support.office_files import packed, sheet, word

pytest.importorskip("xberg")
openpyxl = pytest.importorskip("openpyxl")

from agent.documents.formats.office import find_left_out  # noqa: E402
from agent.documents.formats.spreadsheet import show_value  # noqa: E402

DOCUMENTS = Path(__file__).parent / "files"
OPENED = "It has seven quays, and ships of up to 9,000 tonnes may enter."
LINE = "<w:p><w:r><w:t>{}</w:t></w:r></w:p>".format
NAMESPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for name in ("office", "table", "text")
)


def read(name: str) -> BodyText:
    file = DOCUMENTS / name
    return read_body(file.read_bytes(), suffix=file.suffix)


def place_of(found: BodyText, words: str) -> str:
    return find_place(found.text, to_places(found.marks), found.text.index(words))


def not_read(found: BodyText) -> dict[str, int]:
    return {what: count for what, count, _ in found.not_read}


def with_parts(data: bytes, **parts: str) -> bytes:
    with ZipFile(BytesIO(data)) as archive:
        held: dict[str, Any] = {name: archive.read(name) for name in archive.namelist()}
    return packed(held | {name.replace("__", "/"): text for name, text in parts.items()})


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("pandoc.docx", "section Introduction"),
        ("pandoc.odt", "section Introduction"),
        ("pandoc.epub", "section Introduction"),
        ("pandoc.rtf", "section Introduction"),
        ("libreoffice.doc", "section Introduction"),
        ("pandoc.pptx", "slide 2"),
        ("libreoffice.odp", "slide 2"),
    ],
)
def test_a_text_with_a_table_is_read_whole_and_says_where(name: str, place: str) -> None:
    found = read(name)
    assert place_of(found, OPENED) == place
    assert "Second item with ümläut — dash" in found.text and "“Never” use water" in found.text
    assert "HYPERLINK" not in found.text and "[^" not in found.text and "\\" not in found.text
    if name != "pandoc.rtf":  # the library loses its footnotes
        assert "The harbour master signs the log daily." in found.text or name.endswith("rtf")
    if not name.endswith(".doc"):
        assert "Item | Price | Currency\nItem: Berth | Price: 310.50 | Currency: SEK" in found.text
        assert "\nItem: Water | Price: 12 | Currency: SEK\nItem: Crane | Price: 1,200" in found.text
    within = BodyReader().read(Body((DOCUMENTS / name).read_bytes(), suffix=Path(name).suffix))
    assert within == found  # in a worker, with its limits


@pytest.mark.parametrize("name", ["libreoffice.xlsx", "libreoffice.ods"])
def test_the_rows_of_a_sheet_name_their_columns_and_have_numbers(name: str) -> None:
    found = read(name)
    assert (
        place_of(found, "Item: Crane, large | Price: 1200 | Sold on: 2024-03-05")
        == "sheet t, row 4"
    )
    assert "Share: 84.5%" in found.text
    assert place_of(found, "Region: South | Sales: 60") == "sheet t, row 8"  # another table


def test_the_mark_of_a_format_overrules_its_suffix() -> None:
    data = (DOCUMENTS / "libreoffice.docx").read_bytes()
    for content_type in ("application/octet-stream", "text/html"):
        assert OPENED in read_body(data, content_type, "https://a.example/x").text
    assert OPENED in read_body(data, suffix=".xlsx").text


def test_slides_of_open_document_are_read_with_shapes_and_notes_and_without_masters() -> None:
    data = (DOCUMENTS / "libreoffice.odp").read_bytes()
    notes = "<presentation:notes><draw:frame><draw:text-box><text:p>Said aloud</text:p>"
    notes += "</draw:text-box></draw:frame></presentation:notes></draw:page>"
    shape = "<draw:custom-shape><text:p>A tall shape</text:p></draw:custom-shape>"
    with ZipFile(BytesIO(data)) as archive:
        content = archive.read("content.xml").decode()
    content = content.replace("</draw:page>", shape + notes, 1)
    found = read_body(with_parts(data, **{"content.xml": content}), suffix=".odp")
    assert OPENED in found.text and "Click to edit" not in found.text
    assert place_of(found, "A tall shape") == "beside the text" and "Said aloud" in found.text


def test_what_word_does_not_show_is_not_read() -> None:
    body = (
        "<w:p><w:r><w:t>Shown</w:t></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
        "<w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r>"
        "<w:r><w:instrText>DDEAUTO cmd</w:instrText></w:r>"
        '<w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t> words</w:t></w:r></w:p>'
        "<w:p><w:ins><w:r><w:t>added</w:t></w:r></w:ins></w:p>"
    )
    assert read_body(word(body), suffix=".docx").text == "Shown words\nadded"


def test_other_parts_have_their_places_or_are_reported() -> None:
    header = f'<w:hdr xmlns:w="w">{LINE("Policy 7")}</w:hdr>'
    comment = f'<w:comments xmlns:w="w"><w:comment w:id="0">{LINE("why?")}</w:comment></w:comments>'
    document = word(LINE("The pier."), header=header, comments=comment)
    inner = with_parts(
        document, word__media__a="x", word__embeddings__b="?", word__charts__chart1=""
    )
    found = read_body(inner, suffix=".docx")
    assert found.text == "The pier.\nwhy?\nPolicy 7"
    assert place_of(found, "Policy") == "header" and place_of(found, "why").startswith("comment")
    assert not_read(found) == {"unnamed files": 1, "pictures": 1, "charts": 1}


@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        (0.1 + 0.2, "General", "0.3"),
        (0.125, "0.0%", "12.5%"),
        (12.0, "0.##", "12"),
        (2, '0.00"days"', "2.00days"),
        (12345.678, "0.00E+00", "12345.678"),
        (True, "General", "TRUE"),
    ],
)
def test_a_number_is_shown_as_its_format_says(value: float, code: str, shown: str) -> None:
    assert show_value(value, code) == shown


def test_cells_are_at_their_rows_also_hidden_and_merged_ones() -> None:
    book = openpyxl.Workbook()
    one = book.active
    one.title = "Prices"
    for row in (["Item", "Sum", None], [None, "Plan", "Real"], ["Tea", 3, "=1+1"], [None, 4, 5]):
        one.append([None, *row])
    one.insert_rows(1, 5)
    for cells in ("C6:D6", "B8:B9"):
        one.merge_cells(cells)
    one.row_dimensions[9].hidden = True
    one["C8"].number_format = "0.00 €"
    one["B6"].comment = openpyxl.comments.Comment("Counted by hand.", "Ann")
    book.create_sheet("Costs").sheet_state = "hidden"
    book["Costs"]["A1"] = "secret"
    out = BytesIO()
    book.save(out)
    found = read_body(out.getvalue(), suffix=".xlsx")
    assert place_of(found, "Item: Tea | Sum Plan: 3.00 €") == "sheet Prices, row 8"
    assert place_of(found, "Item: Tea | Sum Plan: 4 | Sum Real: 5") == "sheet Prices, hidden row 9"
    assert place_of(found, "secret") == "sheet Costs (hidden), row 1"
    assert place_of(found, "Ann: Counted by hand.") == "comment on B6"
    assert not_read(found) == {"formulas without a value": 1}


def test_a_sheet_that_does_not_say_how_large_it_is_keeps_its_rows() -> None:
    book = openpyxl.Workbook(write_only=True)
    rows = book.create_sheet("Orders")
    for n in range(30):
        rows.append([f"Order {n}", n, "Oslo"] if n % 2 else [])
    out = BytesIO()
    book.save(out)
    found = read_body(out.getvalue(), suffix=".xlsx")
    assert place_of(found, "Order 29 | 29 | Oslo") == "sheet Orders, row 30"


def test_a_reply_to_a_comment_of_a_sheet_says_who_wrote_it() -> None:
    person = '<personList xmlns="x"><person displayName="Bo Smith" id="{E1}"/></personList>'
    reply = '<threadedComment ref="B2" personId="{E1}"><text>No.</text></threadedComment>'
    parts = {
        "xl__persons__person.xml": person,
        "xl__threadedComments__t1.xml": f'<ThreadedComments xmlns="x">{reply}</ThreadedComments>',
    }
    book = BytesIO()
    openpyxl.Workbook().save(book)
    found = read_body(with_parts(book.getvalue(), **parts), suffix=".xlsx")
    assert found.text == "Sheet\nBo Smith: No." and place_of(found, "No.") == "comment on B2"


def open_sheet(rows: str) -> bytes:
    """A spreadsheet of OpenDocument with one sheet, S."""
    content = (
        f"<office:document-content {NAMESPACES}><office:body><office:spreadsheet>"
        f'<table:table table:name="S">{rows}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    return packed({"mimetype": kind, "content.xml": content, "META-INF/manifest.xml": "<m/>"})


def test_rows_of_open_document_below_empty_ones_have_their_numbers() -> None:
    empty = '<table:table-row table:number-rows-repeated="3"><table:table-cell/></table:table-row>'
    cell = '<table:table-cell office:value-type="string"><text:p>{}</text:p></table:table-cell>'
    row = f"<table:table-row>{cell.format('Item')}{cell.format('Price')}</table:table-row>"
    found = read_body(open_sheet(empty + row), suffix=".ods")
    assert place_of(found, "Item | Price") == "sheet S, row 4"


def test_other_parts_of_office_97_are_reported() -> None:
    head = bytearray(b"\xec\xa5\xc1\0".ljust(512, b"\0"))
    head[0x54], head[0x5C], head[0x64] = 25, 20, 3  # empty heads, a comment, a text box
    note = b"\x5d\0\x34\0\x15\0\x12\0\x19\0"  # MS-XLS: an Obj whose FtCmo is of a note,
    chart = b"\x5d\0\x1a\0\x15\0\x12\0\x05\0"  # and of a chart
    for data, held in (
        (bytes(512) + bytes(head), {"comments": 1, "text boxes": 1}),
        (note + chart + note, {"comments": 2, "charts": 1}),
        ((DOCUMENTS / "libreoffice.doc").read_bytes(), {}),
    ):
        assert {what: int(n) for what, n in find_left_out(data) if n} == held


ENTITIES = '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd"><!ENTITY y "yyyy">]>'


def test_entities_of_xml_are_not_resolved() -> None:
    body = f"{LINE('Words &x; &y;')}<w:p><w:r><w:rPr><w:vanish/></w:rPr></w:r></w:p>"
    try:
        assert read_body(word(body, ENTITIES), suffix=".docx").text.startswith("Words")
    except UnreadablePage as error:
        assert "damaged" in str(error)
    book = sheet("<row r='1'><c r='A1' t='inlineStr'><is><t>a &x;</t></is></c></row>")
    with pytest.raises(UnreadablePage, match="damaged"):
        read_body(book, suffix=".xlsx")


def test_a_part_that_unpacks_to_more_than_anybody_reads_is_refused() -> None:
    bomb = word(LINE("a" * 60_000_000))
    with pytest.raises(UnreadablePage, match="unpacks to more|damaged"):
        read_body(bomb, suffix=".docx")


@pytest.mark.slow
def test_a_repeated_row_of_a_million_is_bounded() -> None:
    cell = "<table:table-cell table:number-columns-repeated='16384'>"
    cell += "<text:p>boom</text:p></table:table-cell>"
    row = f"<table:table-row table:number-rows-repeated='1048576'>{cell}</table:table-row>"
    found = BodyReader().read(Body(open_sheet(row * 9), suffix=".ods"))
    assert not_read(found) == {"sheet S": 1}
