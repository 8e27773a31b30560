"""Documents of each format: text, tables and places come out; what is hostile does nothing.

The files in `tests/documents` were made of one text by pandoc 2.17 and LibreOffice 7.4.
"""

from __future__ import annotations

import json
import zlib
from datetime import datetime
from email.message import EmailMessage
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.answer import Answer
from agent.answer.formats import to_html, to_markdown
from agent.documents.body_reader import BodyReader
from agent.documents.body_text import MAX_MARKS, Body, PlacedText, normalize_text
from agent.documents.formats.number_format import show_number
from agent.documents.formats.table import TableCell, format_rows, format_table
from agent.documents.pdf.ocr import find_tesseract
from agent.documents.reading import BodyText, UnreadablePage, read_body
from agent.evidence import select_passages
from agent.run import research
from agent.run.audit import audit_answer
from agent.search.corpus import Corpus
from agent.settings import parse_settings
from agent.state import Hit, Page, Source
from agent.state.places import find_place, to_places
from tests.support.office_files import RELATION, RELATIONS, packed, pdf, sheet, shown, word

DOCUMENTS = Path(__file__).parent / "files"
FILES = sorted(DOCUMENTS.iterdir())
OPENED = "It has seven quays, and ships of up to 9,000 tonnes may enter."


def read(name: str) -> BodyText:
    file = DOCUMENTS / name
    return read_body(file.read_bytes(), suffix=file.suffix)


def place_of(found: BodyText, words: str) -> str:
    return find_place(found.text, to_places(found.marks), found.text.index(words))


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("pandoc.docx", "section Introduction"),
        ("libreoffice.docx", "section Introduction"),
        ("pandoc.odt", "section Introduction"),
        ("pandoc.epub", "chapter 1, Introduction"),
        ("pandoc.rtf", ""),
        ("libreoffice.rtf", ""),
        ("pandoc.pptx", "slide 2"),
        ("libreoffice.pptx", "slide 2"),
        ("libreoffice.odp", "slide 2"),
    ],
)
def test_a_text_with_a_table_is_read_whole_and_says_where(name: str, place: str) -> None:
    found = read(name)
    assert place_of(found, OPENED) == place
    assert "The harbour master signs the log daily." in found.text  # a footnote
    assert "Second item with ümläut — dash" in found.text and "“Never” use water" in found.text
    assert "Item | Price | Currency\nItem: Berth | Price: 310.50 | Currency: SEK" in found.text
    assert "\nItem: Water | Price: 12 | Currency: SEK\nItem: Crane | Price: 1,200" in found.text
    assert "\n- Second item" in found.text or not name.endswith(".epub")
    assert "HYPERLINK" not in found.text and found.text == normalize_text(found.text)


def test_a_notebook_of_the_third_version_has_its_cells_in_sheets() -> None:
    told = {"cell_type": "code", "input": ["1 + 1"], "outputs": [{"text": ["2"]}]}
    sheets = [{"cells": [{"cell_type": "markdown", "source": ["# Sums"]}, told, 7]}, 8]
    book = json.dumps({"nbformat": 3, "worksheets": sheets})
    found = read_body(book.encode(), suffix=".ipynb")
    assert found.text == "# Sums\n1 + 1\n2"
    assert [place for _, place, _ in found.marks] == ["cell 1", "cell 2", "output of cell 2"]


@pytest.mark.parametrize("name", ["libreoffice.xlsx", "libreoffice.ods"])
def test_the_rows_of_a_sheet_name_their_columns_and_have_numbers(name: str) -> None:
    found = read(name)
    line = "Item: Crane, large | Price: 1200 | Sold on: 2024-03-05 | Share: 84.5%"
    assert place_of(found, line) == "sheet t, row 4"
    assert place_of(found, "Region: South | Sales: 60") == "sheet t, row 8"  # another table


def test_cells_of_a_notebook_are_places() -> None:
    found = read("pandoc.ipynb")
    assert found.title == "Introduction" and place_of(found, "It has seven") == "cell 1"


def test_the_mark_of_a_format_overrules_its_suffix_and_the_web_declares_types() -> None:
    data = (DOCUMENTS / "libreoffice.docx").read_bytes()
    for content_type in ("application/octet-stream", "text/html"):
        assert OPENED in read_body(data, content_type, "https://a.example/x").text
    assert OPENED in read_body(data, suffix=".xlsx").text
    table = b"Item,Price\nTea,3\n"
    assert read_body(table, "text/csv").text == "Item | Price\nItem: Tea | Price: 3"
    assert read_body(table, "text/plain", "https://a.example/t.csv?x=1").marks
    assert "Tea 3" in read_body(b"<table><tr><td>Tea 3</table>", suffix=".xls").text


def test_what_word_does_not_show_is_not_read() -> None:
    body = (
        "<w:p><w:r><w:t>Shown</w:t></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
        "<w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r>"
        "<w:r><w:instrText>DDEAUTO cmd</w:instrText></w:r>"
        '<w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t> words</w:t></w:r></w:p>'
        "<w:p><w:ins><w:r><w:t>added</w:t></w:r></w:ins></w:p>"
    )
    assert read_body(word(body), suffix=".docx").text == "Shown words\nadded"


def test_tables_in_tables_headers_and_comments_are_read() -> None:
    cell, line = "<w:tc>{}</w:tc>".format, "<w:p><w:r><w:t>{}</w:t></w:r></w:p>".format
    inner = f"<w:tbl><w:tr>{cell(line('a'))}{cell(line('b'))}</w:tr></w:tbl>"
    rows = f"<w:tr>{cell(line('one') + line('two'))}{cell(inner)}{cell(line(''))}</w:tr>"
    header = f'<w:hdr xmlns:w="w">{line("Policy 7")}</w:hdr>'
    comment = f'<w:comments xmlns:w="w"><w:comment>{line("why?")}</w:comment></w:comments>'
    body = word(f"<w:tbl>{rows}</w:tbl>", header=header, comments=comment)
    found = read_body(body, suffix=".docx")
    assert found.text == "one; two | a | b\nPolicy 7\nwhy?"
    assert place_of(found, "Policy") == "header" and place_of(found, "why") == "comment 1"


STYLES = (
    '<styleSheet xmlns="x"><numFmts><numFmt numFmtId="170" formatCode="d\\.m\\.yyyy"/>'
    '<numFmt numFmtId="171" formatCode="0.00&quot;days&quot;"/></numFmts><cellXfs>'
    '<xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="170"/><xf numFmtId="10"/>'
    '<xf numFmtId="171"/><xf numFmtId="22"/><xf numFmtId="20"/></cellXfs></styleSheet>'
)


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("<c r='A1'><v>0.30000000000000004</v></c>", "0.3"),
        ("<c r='A1' s='1'><v>45352</v></c>", "2024-03-01"),
        ("<c r='A1' s='2'><v>45352</v></c>", "2024-03-01"),
        ("<c r='A1' s='3'><v>0.125</v></c>", "12.50%"),
        ("<c r='A1' s='4'><v>2</v></c>", "2.00days"),
        ("<c r='A1' s='5'><v>45352.5</v></c>", "2024-03-01 12:00"),
        ("<c r='A1' s='6'><v>0.75</v></c>", "18:00"),
        ("<c r='A1' t='s'><v>1</v></c>", "second"),
        ("<c r='A1' t='s'><v>99</v></c><c t='b'><v>1</v></c>", "TRUE"),
        ("<c r='A1' t='inlineStr'><is><r><t>in</t></r><r><t>line</t></r></is></c>", "inline"),
        ("<c r='A1'><f>SUM(B1:B9)</f></c>", "=SUM(B1:B9)"),
        ("<c r='A1'><f>SUM(B1:B9)</f><v>7</v></c>", "7"),
        ("<c r='A1' t='e'><v>#DIV/0!</v></c>", "#DIV/0!"),
        ("<c r='A1' s='1'><v>1e300</v></c>", "1e300"),
    ],
)
def test_a_cell_has_the_value_that_is_shown(cell: str, text: str) -> None:
    texts = '<sst xmlns="x"><si><t>first</t></si><si><t>second</t><rPh><t>no</t></rPh></si></sst>'
    body = sheet(f"<row r='7'>{cell}</row>", styles=STYLES, sharedStrings=texts)
    found = read_body(body, suffix=".xlsx")
    assert found.text.removeprefix("Prices\n").strip("| ") == text
    assert place_of(found, text) == "sheet Prices, row 7"


def test_a_hidden_sheet_is_read_and_marked() -> None:
    sheets = '<sheet name="Open" r:id="a"/><sheet name="Secret" state="hidden" r:id="b"/>'
    related = (RELATION.format(name, "worksheet", f"{name}.xml") for name in "ab")
    parts = {
        "_rels/.rels": RELATIONS.format(RELATION.format("r", "officeDocument", "xl/w.xml")),
        "xl/w.xml": f'<workbook xmlns="x" xmlns:r="r"><sheets>{sheets}</sheets></workbook>',
        "xl/_rels/w.xml.rels": RELATIONS.format("".join(related)),
        "xl/a.xml": '<s xmlns="x"><row><c><v>1</v></c></row></s>',
        "xl/b.xml": '<s xmlns="x"><row><c><v>666</v></c></row></s>',
    }
    found = read_body(packed(parts), suffix=".xlsx")
    assert (found.note, place_of(found, "666")) == ("", "sheet Secret (hidden), row 1")


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        (["Item Price", "Tea 3"], ["Item | Price", "Item: Tea | Price: 3"]),
        (["Item Price", "", "Tea 3"], ["Item | Price", "Tea | 3"]),  # no head of another table
        (["Owner Ann", "City Oslo"], ["Owner | Ann", "City | Oslo"]),  # names and values
        (["List", "Item Price", "Tea 3"], ["List", "Item | Price", "Item: Tea | Price: 3"]),
        (["A B C", "d e f"], ["A | B | C", "A: d | B: e | C: f"]),
        (["x y z", "", "A B C", "d e f"], ["x | y | z", "A | B | C", "d | e | f"]),
        (["1 2", "3 4"], ["1 | 2", "3 | 4"]),
        (["Land 2021", "Norway 5"], ["Land | 2021", "Land: Norway | 2021: 5"]),
        (
            ["Land 2023 - 2024 -", "- Plan Real Plan Real", "Norway 5 6 7 8"],
            [
                "Land | 2023 Plan | 2023 Real | 2024 Plan | 2024 Real",
                "Land: Norway | 2023 Plan: 5 | 2023 Real: 6 | 2024 Plan: 7 | 2024 Real: 8",
            ],
        ),
    ],
)
def test_a_row_names_its_columns_if_the_head_is_plain(rows: list[str], lines: list[str]) -> None:
    numbered = [(n, row.replace("-", "").split(" ")) for n, row in enumerate(rows, 1) if row]
    assert [line for _, line in format_rows(numbered)] == lines


def test_a_cell_that_spans_stands_at_each_place_that_it_covers() -> None:
    rows = [
        [TableCell("Prices", 3)],
        [TableCell("Item", rows=2), TableCell("2024", 2)],
        [TableCell("Plan"), TableCell("Real")],
        [TableCell("Tea", rows=2), TableCell("3"), TableCell("4")],
        [TableCell("5", 2)],
        [TableCell("", rows=0), TableCell("6"), TableCell("7")],
    ]
    lines, is_named = format_table(rows)
    assert is_named and lines == [
        "Prices",
        "Item | 2024 Plan | 2024 Real",
        "Item: Tea | 2024 Plan: 3 | 2024 Real: 4",
        "Item: Tea | 2024 Plan: 5 | 2024 Real: 5",
        "Item: Tea | 2024 Plan: 6 | 2024 Real: 7",
    ]
    line = "<w:p><w:r><w:t>{}</w:t></w:r></w:p>".format
    cell = "<w:tc><w:tcPr>{}</w:tcPr>{}</w:tc>".format
    grid = [
        cell("", "<w:p/>") + cell('<w:gridSpan w:val="2"/>', line("Sum")),
        "".join(cell("", line(text)) for text in ("Item", "Plan", "Real")),
        cell('<w:vMerge w:val="restart"/>', line("Tea"))
        + cell("", line("3"))
        + cell("", line("4")),
        cell("<w:vMerge/>", "<w:p/>") + cell("", line("5")) + cell("", line("6")),
    ]
    word_table = f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in grid)}</w:tbl>"
    assert read_body(word(word_table), suffix=".docx").text.split("\n")[1:] == [
        "Item: Tea | Sum Plan: 3 | Sum Real: 4",
        "Item: Tea | Sum Plan: 5 | Sum Real: 6",
    ]
    text, number = "<c r='{}' t='str'><v>{}</v></c>".format, "<c r='{}'><v>{}</v></c>".format
    merged = sheet(
        f"<row r='1'>{text('A1', 'Item')}{text('B1', 'Sum')}</row>"
        f"<row r='2'>{text('B2', 'Plan')}{text('C2', 'Real')}</row>"
        f"<row r='3'>{text('A3', 'Tea')}{number('B3', 1)}{number('C3', 2)}</row>"
        f"<row r='4'>{number('B4', 3)}<c r='C4'><f>1+1</f></c></row>"
        '</sheetData><mergeCells><mergeCell ref="B1:C1"/><mergeCell ref="A3:A4"/></mergeCells>'
        "<sheetData>"
    )
    found = read_body(merged, suffix=".xlsx")
    assert "Item: Tea | Sum Plan: 3 | Sum Real: =1+1" in found.text
    assert ("formulas without a value", 1) in [one[:2] for one in found.not_read]


def test_texts_that_a_workbook_lacks_or_has_too_many_of_are_told() -> None:
    cells = "".join(f"<c t='s'><v>{n}</v></c>" for n in (0, 1, 6, 7))
    large = ["x" * 5_000_000] * 4  # of the texts of cells, 20 million characters are read
    texts = "".join(f"<si><t>{text}</t></si>" for text in ("Tea", "Milk", *large, "Rum"))
    book = sheet(f"<row r='1'>{cells}</row>", sharedStrings=f"<sst xmlns='x'>{texts}</sst>")
    found = read_body(book, suffix=".xlsx")
    assert found.text == "Prices\nTea | Milk"
    assert [one[:2] for one in found.not_read] == [("texts of cells", 2)]


@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        ("1234.5", "#,##0.00 [$€-407]", "1,234.50 €"),
        ("-1234.5", '"$"#,##0.00_);\\("$"#,##0.00\\)', "($1,234.50)"),
        ("45418.6", "h:mm AM/PM", "2:24 PM"),
        ("45418", "mmm-yy", "2024-05"),
        ("1.5", "# ?/?", "1 1/2"),
        ("0.333", "# ??/??", "1/3"),
        ("1.005", "0.00", "1.01"),
        ("12345678", '0.0,,"M"', "12.3M"),
        ("12345.678", "0.00E+00", "1.23E+04"),
        ("1.5", "[h]:mm:ss", "36:00:00"),
        ("0", '0;-0;"none"', "none"),
        ("3", "00000", "00003"),
        ("-0.001", "0.00", "0.00"),
        ("0.125", "0.0%", "12.5%"),
    ],
)
def test_a_number_is_shown_as_its_format_says(value: str, code: str, shown: str) -> None:
    assert show_number(value, code, datetime(1899, 12, 30)) == shown


def test_automatic_numbers_of_clauses_are_read() -> None:
    level = '<w:lvl w:ilvl="{}"><w:numFmt w:val="{}"/><w:lvlText w:val="{}"/></w:lvl>'
    levels = level.format(0, "decimal", "%1.") + level.format(1, "lowerLetter", "%1 (%2)")
    numbering = (
        f'<w:numbering xmlns:w="w"><w:abstractNum w:abstractNumId="7">{levels}</w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num></w:numbering>'
    )
    clause = (
        '<w:p><w:pPr><w:numPr><w:ilvl w:val="{}"/><w:numId w:val="1"/></w:numPr></w:pPr>'
        "<w:r><w:t>{}</w:t></w:r></w:p>"
    )
    body = "".join(
        clause.format(*one) for one in ((0, "A"), (1, "B"), (1, "C"), (0, "D"), (1, "E"))
    )
    found = read_body(word(body, numbering=numbering), suffix=".docx")
    assert found.text.split("\n") == ["1. A", "1 (a) B", "1 (b) C", "2. D", "2 (a) E"]


@pytest.mark.parametrize("delimiter", ",;\t|")
def test_a_table_as_text_is_read_whatever_parts_its_cells(delimiter: str) -> None:
    rows = ("Item,Price", '"Tea, green","3"', "", "'Open \" quote,4", "")
    body = "\r\n".join(rows).replace(",", delimiter)
    found = read_body(body.encode("utf-16") if delimiter == ";" else body.encode(), suffix=".csv")
    assert place_of(found, "green") == "row 2" and "Price: 3" in found.text
    assert place_of(found, "quote") == "row 4"


def test_a_comment_of_a_sheet_says_who_wrote_it_and_about_which_cell() -> None:
    listed = "<authors><author>Ann Reviewer</author></authors>"
    told = '<comment ref="B2" authorId="0"><text><r><t>Too dear?</t></r></text></comment>'
    notes = f'<comments xmlns="x">{listed}<commentList>{told}</commentList></comments>'
    person = '<personList xmlns="x"><person displayName="Bo Smith" id="{E1}"/></personList>'
    reply = '<threadedComment ref="B2" personId="{E1}"><text>No.</text></threadedComment>'
    row = '<row r="1"><c r="A1" t="inlineStr"><is><t>Tea</t></is></c></row>'
    parts = {
        "xl/comments1.xml": notes,
        "xl/persons/person.xml": person,
        "xl/threadedComments/t1.xml": f'<ThreadedComments xmlns="x">{reply}</ThreadedComments>',
    }
    with ZipFile(BytesIO(sheet(row))) as archive:
        parts |= {name: archive.read(name).decode() for name in archive.namelist()}
    found = read_body(packed(parts), suffix=".xlsx")
    assert found.text.endswith("Ann Reviewer: Too dear?\nBo Smith: No.")
    assert place_of(found, "Too dear") == "comment on B2"


@pytest.mark.slow
def test_a_long_table_names_its_columns_once_and_a_row_is_shown_with_them() -> None:
    rows = (f"A{n:05},Oslo {n},{n}.50,{'long words ' * 9}" for n in range(30_000))
    found = read_body("\n".join(["Order,City,Amount,Note", *rows]).encode(), suffix=".csv")
    lines = found.text.split("\n")
    assert lines[0] == "Order | City | Amount | Note" and len(lines) == 30_001
    assert lines[-1].startswith("A29999 | Oslo 29999 | 29999.50 |") and not found.note
    assert place_of(found, "A29999") == "row 30001"
    page = Page.from_text("file:///o.csv", "orders", found.text, "2026-01-01T00:00:00Z")
    source = Source.of(1, page, Hit(url=page.url))
    shown = select_passages([source], "What is the amount of order A29990?", 500)[0].passages
    assert shown[0].startswith("Order | City | Amount | Note")
    assert any("A29990 | Oslo 29990 | 29990.50" in one for one in shown)


def test_a_message_is_read_with_what_is_attached_to_it() -> None:
    message = EmailMessage()
    message["From"], message["Subject"] = "Ann <ann@a.example>", "Offer for Tea ☕"
    message.set_content("Plain words.")
    message.add_alternative("<p>Words in HTML.</p>", subtype="html")
    attached = {"prices.xlsx": (DOCUMENTS / "libreoffice.xlsx").read_bytes(), "x.bin": b"\0\1"}
    for name, data in {**attached, "pic.doc": b"\xd0\xcf\x11\xe0"}.items():
        message.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    inner = EmailMessage()
    inner["From"], inner["Subject"] = "Bob", "Inside"
    inner.set_content("Words within.")
    message.add_attachment(inner)
    found = read_body(message.as_bytes(), suffix=".eml")
    assert found.title == "Offer for Tea ☕" and "Words in HTML" not in found.text
    assert place_of(found, "Plain words.") == "message"
    assert place_of(found, "Region: South") == "attachment prices.xlsx, sheet t, row 8"
    assert place_of(found, "Words within.").endswith(", message")
    lost = {what for what, _, _ in found.not_read}
    assert lost == {"attachment x.bin", "attachment pic.doc"}


def test_records_of_json_are_lines_and_items_are_places() -> None:
    value = [{"name": "Tea", "price": 3}, {"name": "Coffee", "tags": [{"a": None}], "size": [1, 2]}]
    found = read_body(json.dumps(value).encode(), suffix=".json")
    assert "name: Coffee" in found.text and "tags[0]: a: null" in found.text
    assert place_of(found, "Coffee") == "item 2"
    assert read_body(b"{broken", suffix=".json").text == "{broken"


def test_lines_of_code_keep_their_form_and_their_numbers() -> None:
    found = read_body(b"\n\ndef f():\r\n\n    return 1\n", suffix=".py")
    assert "\n    return 1" in found.text and place_of(found, "return") == "line 5"


def test_text_in_rich_text_is_decoded_by_its_fonts_and_hidden_text_left_out() -> None:
    body = (
        rb"{\rtf1\ansi\ansicpg1252\uc1{\fonttbl{\f0 A;}{\f1\fcharset204 B;}}{\info{\title My}}"
        rb"caf\'e9 \u8364? {\f1 \'cf\'f0\'e8}{\v secret}{\*\unknown gone} {\i x}\par"
        rb"{\pict\bin4 }}}}}a\{b\}\emdash c\par \u-10179?\u-8693?}"
    )
    found = read_body(body, suffix=".rtf")
    assert found.title == "My"
    assert found.text.split("\n") == ["café € При x", "a{b}—c", "😋"]
    found = read_body(b"{\\rtf1\\ansi Hello {\\b bold", suffix=".rtf")
    assert (found.text, found.note) == ("Hello bold", "its end is missing")


def test_a_page_that_is_an_image_is_read_or_named() -> None:
    import pypdfium2

    drawn = pypdfium2.PdfDocument(pdf(shown((72, 600, "The harbour has seven quays."))))[0]
    bitmap = drawn.render(scale=200 / 72, grayscale=True)
    rows = bytes(bitmap.buffer)
    grey = b"".join(rows[n * bitmap.stride :][: bitmap.width] for n in range(bitmap.height))
    assert (bitmap.width, bitmap.height) == (1700, 2200)
    scan = pdf("q 612 0 0 792 0 0 cm /I Do Q", zlib.compress(grey))
    if find_tesseract() is None:
        with pytest.raises(UnreadablePage, match="install tesseract-ocr"):
            read_body(scan, suffix=".pdf")
    else:
        found = BodyReader().read(Body(scan, suffix=".pdf"))  # within the limits of a worker
        assert found.text == "The harbour has seven quays."
        assert place_of(found, "seven") == "page 1"


ENTITIES = '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd"><!ENTITY y "yyyy">]>'


def test_entities_of_xml_are_not_resolved() -> None:
    body = "<w:p><w:r><w:t>Words &x; &y;</w:t></w:r></w:p>"
    found = read_body(word(body, ENTITIES), suffix=".docx")
    assert found.text == "Words"


@pytest.mark.parametrize(
    ("data", "suffix", "reason"),
    [
        (word("<w:sdt>" * 3000 + "</w:sdt>" * 3000), ".docx", "damaged"),
        (word("<w:p/>"), ".docx", "no text"),
        (word("<w:p>")[:-30], ".docx", "damaged"),
        (packed({"a.txt": "words"}), ".docx", "ZIP archive"),
        (b"PK", ".docx", "damaged"),
        (packed({"mimetype": "application/epub+zip"}), ".epub", "damaged"),
        (b"{\\rtf1 " + b"{" * 100_000, ".rtf", "too deep"),
        (b"just words", ".eml", "no message"),
        (b"\0\1\2\3" * 99, ".py", "not text"),
        (b"", ".json", "no text"),
    ],
    ids=lambda value: value if isinstance(value, str) else "data",
)
def test_what_cannot_be_read_says_why(data: bytes, suffix: str, reason: str) -> None:
    with pytest.raises(UnreadablePage, match=reason):
        read_body(data, suffix=suffix)


def test_a_part_that_unpacks_to_more_than_anybody_reads_is_refused() -> None:
    bomb = word("<w:p><w:r><w:t>" + "a" * 60_000_000 + "</w:t></w:r></w:p>")
    with pytest.raises(UnreadablePage, match="unpacks to more"):
        read_body(bomb, suffix=".docx")


@pytest.mark.slow
def test_a_repeated_row_of_a_million_is_bounded() -> None:
    cell = "<t:table-cell t:number-columns-repeated='16384'><p>boom</p></t:table-cell>"
    row = f"<t:table-row t:number-rows-repeated='1048576'>{cell}</t:table-row>"
    table = f"<t:table t:name='A'>{row * 9}</t:table>"
    content = f"<o xmlns:t='t'><body><spreadsheet>{table}</spreadsheet></body></o>"
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    found = read_body(packed({"mimetype": kind, "content.xml": content}), suffix=".ods")
    assert len(found.text) <= 5_000_000 and "only its first" in found.note


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(FILES), st.integers(0, 60_000), st.binary(max_size=30), st.integers(0, 40))
def test_damage_is_read_or_named(file: Path, position: int, damage: bytes, removed: int) -> None:
    data = file.read_bytes()
    position %= len(data)
    try:
        found = read_body(data[:position] + damage + data[position + removed :], suffix=file.suffix)
    except UnreadablePage as error:
        assert str(error)
    else:
        assert found.text and all(0 <= mark[0] < len(found.text) for mark in found.marks)


@given(st.lists(st.tuples(st.text(max_size=9), st.sampled_from("abc"), st.booleans()), max_size=12))
def test_the_place_of_each_part_is_where_it_was_put(parts: list[tuple[str, str, bool]]) -> None:
    text = PlacedText(Body(b""))
    expected: list[tuple[int, str]] = []
    for n, (part, place, is_line) in enumerate(parts, 5):
        before = text._length
        if is_line:
            text.add_line(part, place, n)
        else:
            text.add(part, place)
        if text._length > before:
            expected.append((before + bool(before), f"{place} {n}" if is_line else place))
    if not expected:
        return
    found = text.finish()
    places = to_places(found.marks)
    assert [find_place(found.text, places, at) for at, _ in expected] == [p for _, p in expected]


def test_places_are_bounded_and_none_is_false_behind_the_last() -> None:
    text = PlacedText(Body(b""))
    for n in range(MAX_MARKS + 10):
        text.add("word", f"place {n}")
    found = text.finish()
    assert len(found.marks) == MAX_MARKS
    assert find_place(found.text, to_places(found.marks), len(found.text) - 1) == ""


def test_what_a_crash_leaves_of_a_document_has_its_places() -> None:
    parts: list[tuple[str, str, list[tuple[int, str, int | None]]]] = []
    data = (DOCUMENTS / "libreoffice.pdf").read_bytes()
    whole = read_body(data, suffix=".pdf", on_part=lambda *part: parts.append(part))  # type: ignore[arg-type]
    assert "".join(text for _, text, _ in parts) == whole.text
    assert tuple(mark for _, _, marks in parts for mark in marks) == whole.marks
    assert BodyReader().read(Body(data, suffix=".pdf")) == whole


def test_a_citation_says_where_in_a_document_its_quote_stands(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "manual.epub").write_bytes((DOCUMENTS / "pandoc.epub").read_bytes())
    (folder / "old.doc").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
    (folder / "clip.mp4").write_bytes(b"\0")
    run = parse_settings({"CACHE_DIR": str(tmp_path / "cache"), "RUNS_DIR": str(tmp_path / "runs")})
    run = run.model_copy(update={"corpus": folder, "offline": True, "llm": ("extractive",)})
    answer = research("How many quays does the harbour of Norrvik have?", run).answer()
    assert isinstance(answer, Answer)
    cited = next(one for one in answer.citations if "seven quays" in one.quote)
    assert cited.place == "chapter 1, Introduction"
    (old,) = (warning for warning in answer.warnings if "old.doc" in warning)
    remedy = "save it as .docx" if find_spec("xberg") else "[documents]"
    assert remedy in old
    assert any("clip.mp4" in warning for warning in answer.warnings)
    assert cited.place in to_html(answer) and cited.place in to_markdown(answer)
    value = answer.model_dump(mode="json")
    assert audit_answer(value)["ok"]
    value["citations"][answer.citations.index(cited)]["place"] = "chapter 7"
    (failure, *_) = audit_answer(value)["failures"]
    assert failure["where"].endswith(".place")


def test_places_survive_the_index(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "t.xlsx").write_bytes((DOCUMENTS / "libreoffice.xlsx").read_bytes())
    for _ in (1, 2):  # read, then from the stored index
        corpus = Corpus(tmp_path / "docs", tmp_path / "cache")
        page = corpus.read(corpus.search("South")[0].url)
        assert find_place(page.text, page.places, page.text.index("South")) == "sheet t, row 8"
        corpus.close()


@pytest.mark.parametrize("suffix", [".docx", ".xlsx", ".odt", ".epub", ".pdf", ".rtf"])
def test_a_file_with_the_suffix_of_another_format_is_read_or_named(suffix: str) -> None:
    text = "The lighthouse of Lund was built in 1822."
    assert read_body(text.encode(), suffix=suffix).text == text
    page = f"<!doctype html><title>Lund</title><body><p>{text}</p><table><tr><td>A<td>B</table>"
    assert text in read_body(page.encode(), suffix=suffix).text
    with pytest.raises(UnreadablePage, match="it is empty"):
        read_body(b" \n", suffix=suffix)
    with pytest.raises(UnreadablePage, match="damaged: it is no"):
        read_body(bytes(range(256)) * 20, suffix=suffix)


def test_notes_and_names_of_pieces_of_subtitles_are_not_said() -> None:
    cues = "WEBVTT\n\n{}00:01.000 --> 00:02.000\nGood <b>morning</b>.\n\nNOTE not said\n"
    cues += "\nname-2\n00:03.000 --> 00:04.000\nIt rains.\n"
    read = read_body(cues.format("name-1\n").encode("utf-32"), suffix=".vtt")
    assert read.text == "Good morning.\nIt rains."
    assert [place for _, place, _ in read.marks] == ["00:01", "00:03"]
    srt = "1\n00:00:01,000 --> 00:00:02,000\nOne.\n\nTwo.\n"  # a blank line may be said
    assert read_body(srt.encode(), suffix=".srt").text == "One.\nTwo."
