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
