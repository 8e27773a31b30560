"""What office programs show and plain text could lose: the meaning stays, and who says it."""

from __future__ import annotations

import json
from io import BytesIO
from zipfile import ZipFile

import pytest
from lxml import etree

from agent.documents.body_reader import BodyReader
from agent.documents.body_text import Body, BodyText
from agent.documents.formats.number_format import EPOCHS, show_number
from agent.documents.formulas import write_formula
from agent.documents.reading import read_body
from tests.support.office_files import RELATION, RELATIONS, packed, pdf, sheet, word

LINE = "<w:p>{}<w:r><w:t>{}</w:t></w:r></w:p>"
MATH = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'


def slides(shapes: str, **parts: str) -> bytes:
    """A presentation of one slide; `parts` by the kind of their relation to it."""
    related = "".join(RELATION.format(f"r{kind}", kind, f"../{kind}.xml") for kind in parts)
    body = f'<p:sld xmlns:p="p" xmlns:a="a" xmlns:r="r">{shapes}</p:sld>'
    show = '<p:presentation xmlns:p="p" xmlns:r="r"><p:sldId r:id="r1"/></p:presentation>'
    return packed(
        {
            "_rels/.rels": RELATIONS.format(
                RELATION.format("r1", "officeDocument", "ppt/presentation.xml")
            ),
            "ppt/presentation.xml": show,
            "ppt/_rels/presentation.xml.rels": RELATIONS.format(
                RELATION.format("r1", "slide", "slides/slide1.xml")
            ),
            "ppt/slides/slide1.xml": body,
            "ppt/slides/_rels/slide1.xml.rels": RELATIONS.format(related),
            **{f"ppt/{kind}.xml": text for kind, text in parts.items()},
        }
    )


def open_document(body: str, styles: str = "", **objects: str) -> BodyText:
    names = 'xmlns:o="o" xmlns:t="t" xmlns:d="d" xmlns:s="s" xmlns:p="p" xmlns:x="x" xmlns:dc="dc"'
    content = f"<o:document {names}>{styles}<o:body>{body}</o:body></o:document>"
    parts = {f"{name}/content.xml": text for name, text in objects.items()}
    kinds = ("text", "spreadsheet", "presentation")
    kind = next(kind for kind in kinds if f"<o:{kind}" in body)
    mark = f"application/vnd.oasis.opendocument.{kind}"
    return read_body(packed({"mimetype": mark, "content.xml": content, **parts}), suffix=".odt")


def test_a_style_of_characters_raises_text() -> None:
    style = '<w:style w:styleId="Up"><w:rPr><w:vertAlign w:val="superscript"/></w:rPr></w:style>'
    raised = '<w:r><w:rPr><w:rStyle w:val="Up"/></w:rPr><w:t>7</w:t></w:r>'
    run = f"<w:p><w:r><w:t>10</w:t></w:r>{raised}</w:p>"
    styles = f'<w:styles xmlns:w="w">{style}</w:styles>'
    assert read_body(word(run, styles=styles), suffix=".docx").text == "10⁷"


def test_small_digits_above_and_below_the_line_of_a_pdf_stay_there() -> None:
    def piece(text: str, size: int, rise: int) -> str:
        return f"/F {size} Tf {rise} Ts ({text}) Tj"

    up, down = (7, 4), (7, -2)
    pieces = [
        *(("it is 10", 10, 0), ("-4", *up), (" of C", 10, 0), ("12", *down), ("H", 10, 0)),
        *(("22", *down), (" since 1878.", 10, 0), ("15", *up), (" is 5", 10, 0), ("11", *up)),
        *(("/12 at ", 10, 0), ("77", 7, 0)),
    ]
    data = pdf(f"BT 50 700 Td {' '.join(piece(*one) for one in pieces)} ET")
    found = read_body(data, suffix=".pdf").text
    assert found == "it is 10⁻⁴ of C₁₂H₂₂ since 1878.¹⁵ is 5¹¹/12 at 77"
    report = BodyReader().read(Body(data, suffix=".pdf", is_report=True))
    assert "it is 10-4 of C12H22 since 1878.15" in report.text  # where they are marks


def test_raised_text_of_a_sheet_stays_raised() -> None:
    run = "<r>{}<t>{}</t></r>".format
    raised = '<rPr><vertAlign val="superscript"/></rPr>'
    cell = f"<row><c t='inlineStr'><is>{run('', '10')}{run(raised, '-4')}</is></c></row>"
    assert read_body(sheet(cell), suffix=".xlsx").text.endswith("10⁻⁴")


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        (
            '<m:d><m:dPr><m:begChr m:val="|"/><m:endChr m:val="|"/></m:dPr><m:e>{}</m:e></m:d>',
            "|x|",
        ),
        ("<m:d><m:e>{}</m:e></m:d>", "(x)"),
        ('<m:bar><m:barPr><m:pos m:val="top"/></m:barPr><m:e>{}</m:e></m:bar>', "x\u0305"),
        ('<m:acc><m:accPr><m:chr m:val="\u0303"/></m:accPr><m:e>{}</m:e></m:acc>', "x\u0303"),
        ("<m:sPre><m:sub>{}</m:sub><m:sup>{}</m:sup><m:e>{}</m:e></m:sPre>", "ₓ^xx"),
        ("<m:eqArr><m:e>{}</m:e><m:e>{}</m:e></m:eqArr>", "x; x"),
    ],
)
def test_what_stands_around_an_operand_is_kept(markup: str, text: str) -> None:
    operand = "<m:r><m:t>x</m:t></m:r>"
    formula = f"<m:oMath {MATH}>{markup.replace('{}', operand)}</m:oMath>"
    assert write_formula(etree.fromstring(formula)) == text


def test_a_nuclide_is_read_with_its_numbers_before_it() -> None:
    inner = "<mi>U</mi><mi>q</mi><none/><mprescripts/><mn>92</mn><mn>238</mn>"
    page = f"<math><mmultiscripts>{inner}</mmultiscripts></math>"
    assert write_formula(etree.fromstring(page)) == "₉₂²³⁸U_q"


def test_signs_of_fonts_of_signs_are_read_or_told() -> None:
    sign = '<w:sym w:font="{}" w:char="{}"/>'.format
    signs = [sign("Symbol", "F06D"), sign("Wingdings", "F0FE"), sign("Webdings", "F041")]
    found = read_body(word(f"<w:p><w:r><w:t>5 </w:t>{''.join(signs)}</w:r></w:p>"), suffix=".docx")
    assert found.text == "5 μ☑"
    assert [one[:2] for one in found.not_read] == [("signs", 1)]


def test_lists_in_cells_and_on_slides_have_their_numbers() -> None:
    level = (
        '<w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/>'
        '<w:lvlText w:val="%1."/></w:lvl>'
    )
    numbering = (
        f'<w:numbering xmlns:w="w"><w:abstractNum w:abstractNumId="1">{level}</w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="1"/></w:num></w:numbering>'
    )
    own = '<w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr></w:pPr>'
    items = LINE.format(own, "cut") + LINE.format(own, "glue")
    cell = f"<w:tbl><w:tr><w:tc>{items}</w:tc></w:tr></w:tbl>"
    read = read_body(word(cell, numbering=numbering), suffix=".docx").text
    assert read == "1. cut; 2. glue"
    auto = (
        '<a:p><a:pPr lvl="{}"><a:buAutoNum type="{}" startAt="{}"/></a:pPr>'
        "<a:r><a:t>{}</a:t></a:r></a:p>"
    )
    lines = [
        auto.format(0, "arabicPeriod", 1, "one"),
        auto.format(1, "alphaLcParenR", 1, "inner"),
        "<a:p><a:endParaRPr/></a:p>",
        auto.format(0, "arabicPeriod", 1, "two"),
        "<a:p><a:r><a:t>plain</a:t></a:r></a:p>",
        auto.format(0, "romanUcParenBoth", 4, "four"),
    ]
    body = f"<p:sp><p:txBody>{''.join(lines)}</p:txBody></p:sp>"
    found = read_body(slides(body), suffix=".pptx").text
    assert found.split("\n") == ["1. one", "a) inner", "2. two", "plain", "(IV) four"]


def test_a_reply_to_a_comment_on_a_slide_has_its_own_author() -> None:
    words = "<txBody><a:p><a:r><a:t>{}</a:t></a:r></a:p></txBody>".format
    reply = f'<replyLst><reply authorId="2">{words("Yes.")}</reply></replyLst>'
    comments = f'<cmLst xmlns:a="a"><cm authorId="1">{reply}{words("Sure?")}</cm></cmLst>'
    people = '<authorLst><author id="1" name="Ann"/><author id="2" name="Bo"/></authorLst>'
    shape = "<p:sp><p:txBody><a:p><a:r><a:t>Sales</a:t></a:r></a:p></p:txBody></p:sp>"
    data = slides(shape, **{"comments/modernComment1": comments, "authors": people})
    assert read_body(data, suffix=".pptx").text == "Sales\nAnn: Sure?\nBo: Yes."


def test_a_comment_in_a_sheet_of_open_document_is_no_part_of_its_cell() -> None:
    note = "<o:annotation><dc:creator>Zoe</dc:creator><t:p>Too dear?</t:p></o:annotation>"
    cell = "<x:table-cell>{}<t:p>{}</t:p></x:table-cell>".format
    row = f"<x:table-row>{cell(note, 7)}{cell('', 8)}</x:table-row>"
    found = open_document(f"<o:spreadsheet><x:table x:name='S'>{row}</x:table></o:spreadsheet>")
    assert found.text == "S\n7 | 8\nZoe: Too dear?" and found.marks[-1][1] == "comment 1"


def test_a_formula_of_open_document_stands_where_it_is_shown() -> None:
    frame = '<d:frame><d:object xmlns:l="l" l:href="./Object 1"/></d:frame>'
    inner = "<mfrac><mi>a</mi><mi>b</mi></mfrac><annotation>a over b</annotation>"
    math = f"<math><semantics>{inner}</semantics></math>"
    found = open_document(f"<o:text><t:p>Ratio {frame}.</t:p></o:text>", **{"Object 1": math})
    assert found.text == "Ratio a/b." and not found.not_read


def test_a_list_of_open_document_starts_where_it_says() -> None:
    style = (
        '<t:list-style s:name="L"><t:list-level-style-number t:level="1" s:num-format="1" '
        's:num-suffix="."/></t:list-style>'
    )
    item = "<t:list-item{}><t:p>{}</t:p></t:list-item>".format
    items = item(' t:start-value="5"', "five") + item("", "six")
    found = open_document(f'<o:text><t:list t:style-name="L">{items}</t:list></o:text>', style)
    assert found.text == "5. five\n6. six"


def test_a_hidden_slide_of_open_document_is_marked() -> None:
    style = '<s:style s:name="dp2"><s:drawing-page-properties p:visibility="hidden"/></s:style>'
    box = "<d:frame><d:text-box><t:p>{}</t:p></d:text-box></d:frame>"
    page = f"<d:page d:style-name='{{}}'>{box}</d:page>".format
    shown = page("dp1", "Shown") + page("dp2", "Kept back")
    found = open_document(f"<o:presentation>{shown}</o:presentation>", style)
    assert [place for _, place, _ in found.marks] == ["slide 1", "slide 2 (hidden)"]


def rich_row(cells: str, *texts: str) -> str:
    return r"\trowd" + cells + r"\intbl " + "".join(text + r"\cell " for text in texts) + r"\row "


def test_a_table_of_rich_text_keeps_its_columns() -> None:
    wide, narrow = r"\clvmgf\cellx100\cellx300\cellx500", r"\cellx200\cellx300\cellx400\cellx505"
    rows = [
        rich_row(wide, "Region", "2023", "2024"),
        rich_row(r"\clvmrg\cellx100" + narrow, "", "Plan", "Real", "Plan", "Real"),
        rich_row(r"\clvmgf\cellx100" + narrow, "North", "1", "2", "3", "4"),
        rich_row(r"\clvmrg\cellx100" + narrow, "", "5", r"6\line 7", "", "8"),
        rich_row(r"\cellx100\cellx200\clmrg\cellx300\cellx400\cellx505", "East", "9", "", "", "0"),
    ]
    found = read_body((r"{\rtf1 Sales\par " + "".join(rows) + r"\pard End\par}").encode())
    assert found.text.split("\n") == [
        "Sales",
        "Region | 2023 Plan | 2023 Real | 2024 Plan | 2024 Real",
        "Region: North | 2023 Plan: 1 | 2023 Real: 2 | 2024 Plan: 3 | 2024 Real: 4",
        "Region: North | 2023 Plan: 5 | 2023 Real: 6 7 | 2024 Real: 8",
        "Region: East | 2023 Plan: 9 | 2023 Real: 9 | 2024 Real: 0",
        "End",
    ]


def test_rich_text_loses_nothing_for_signs_that_are_no_text() -> None:
    row = r"\trowd\cellx100\cellx200 A\cell B\cell behind\row "
    found = read_body((r"{\rtf1 be\'02fore\'01 all\par " + row + r"\pard End\par}").encode())
    assert found.text.split("\n") == ["before all", "A | B | behind", "End"]


def test_rich_text_is_raised_and_its_comments_stand_at_the_end() -> None:
    comment = r"{\*\atnid A}{\*\atnauthor Ann}\chatn{\*\annotation{\*\atnref 0}Sure?\par}"
    raised = r"10{\super -4" + comment + r"} mol, CO{\dn6 2}, x{\up6 n\plain  y"
    found = read_body((r"{\rtf1 " + raised + r"}, the 5{\super th}.\par}").encode())
    assert found.text == "10⁻⁴ mol, CO₂, xⁿ y, the 5th.\nAnn: Sure?"
    assert found.marks[-1][1] == "comment"


@pytest.mark.parametrize(
    ("value", "code", "text"),
    [
        ("5551234567", "(000) 000-0000", "(555) 123-4567"),
        ("1234567", r"[>=10000000]##\,##\,##\,##0;[>=100000]##\,##\,##0;##,##0", "12,34,567"),
        ("999", r"[>=10000000]##\,##\,##\,##0;[>=100000]##\,##\,##0;##,##0", "999"),
        ("50", '[>100]"high" 0;[<=100]"low" 0', "low 50"),
        ("1.5", "[h]:mm", "36:00"),
        ("0.1", "[mm]:ss", "144:00"),
        ("0.0008564", "mm:ss.0", "01:14.0"),
        ("0.50876", "h:mm:ss.00", "12:12:36.86"),
        ("5", ";;;", ""),
        ("0", "0;-0;;@", ""),
        ("0", '_($* #,##0.00_);_($* (#,##0.00);_($* "-"??_);_(@_)', "$-"),
    ],
)
def test_a_number_is_written_as_its_sheet_shows_it(value: str, code: str, text: str) -> None:
    assert show_number(value, code, EPOCHS[0]) == text


def test_a_text_of_a_sheet_is_written_as_its_format_says_and_what_that_hides_is_told() -> None:
    formats = "".join(
        f"<numFmt numFmtId='{n}' formatCode='{code}'/>"
        for n, code in ((170, "0;-0;0;&quot;No. &quot;@"), (171, ";;;"))
    )
    styles = (
        f"<styleSheet xmlns='x'>{formats}<cellXfs><xf numFmtId='0'/><xf numFmtId='170'/>"
        "<xf numFmtId='171'/></cellXfs></styleSheet>"
    )
    cell = "<c s='{}' t='str'><v>{}</v></c>".format
    row = f"<row>{cell(1, 'A7')}{cell(2, 'secret')}<c s='2'><v>9</v></c>{cell(0, 'x')}</row>"
    found = read_body(sheet(row, styles=styles), suffix=".xlsx")
    assert found.text == "Prices\nNo. A7 | | | x"
    assert found.not_read == (("values that their format hides", 2, "they are not shown"),)


def test_hidden_rows_and_columns_of_sheets_are_marked() -> None:
    def cells(*texts: str) -> str:
        return "".join(f"<c t='str'><v>{text}</v></c>" for text in texts)

    data = sheet(f"<row>{cells('Item', 'Cost')}</row><row hidden='1'>{cells('Tea', '3')}</row>")
    cols = "<cols><col min='2' max='2' hidden='1'/></cols>"
    parts = {
        name: archive.read(name)
        for archive in [ZipFile(BytesIO(data))]
        for name in archive.namelist()
    }
    part = next(name for name in parts if "worksheet.xml" in name)
    parts[part] = parts[part].replace(b"<sheetData>", f"{cols}<sheetData>".encode())
    found = read_body(packed(parts), suffix=".xlsx")
    assert found.text == "Prices\nItem | Cost (hidden)\nItem: Tea | Cost (hidden): 3"
    assert ("sheet Prices, hidden row", 2) in [mark[1:] for mark in found.marks]
    row = "<t:table-row {}>{}</t:table-row>".format
    cell = "<t:table-cell><x:p>{}</x:p></t:table-cell>".format
    body = (
        '<o:spreadsheet><t:table t:name="S"><t:table-column/>'
        '<t:table-column t:visibility="collapse"/>'
        + row("", cell("Item") + cell("Cost"))
        + row('t:visibility="filter"', cell("Tea") + cell("3"))
        + "</t:table></o:spreadsheet>"
    )
    found = open_document(body)
    assert found.text == "S\nItem | Cost (hidden)\nItem: Tea | Cost (hidden): 3"
    assert ("sheet S, hidden row", 2) in [mark[1:] for mark in found.marks]


def test_fields_of_a_word_form_show_what_is_chosen() -> None:
    field = (
        "<w:r><w:fldChar w:fldCharType='begin'><w:ffData>{}</w:ffData></w:fldChar></w:r>"
        "<w:r><w:fldChar w:fldCharType='end'/></w:r>"
    ).format
    text = "<w:r><w:t xml:space='preserve'>{}</w:t></w:r>".format
    box = "<w:checkBox><w:default w:val='{}'/>{}</w:checkBox>".format
    entries = "<w:listEntry w:val='small'/><w:listEntry w:val='large'/>"
    body = (
        text("Agree ") + field(box(0, "<w:checked/>")) + text(" ship ") + field(box(0, ""))
        + text(" size ") + field(f"<w:ddList><w:result w:val='1'/>{entries}</w:ddList>")
    )  # fmt: skip
    found = read_body(word(f"<w:p>{body}</w:p>"), suffix=".docx")
    assert found.text == "Agree ☒ ship ☐ size large"


def test_a_comment_in_a_word_document_says_who_wrote_it() -> None:
    note = "<w:comment w:author='Ann Berg'><w:p><w:r><w:t>Too dear.</w:t></w:r></w:p></w:comment>"
    comments = f'<w:comments xmlns:w="w">{note}</w:comments>'
    found = read_body(word(LINE.format("", "Price"), comments=comments), suffix=".docx")
    assert found.text == "Price\nAnn Berg: Too dear."


def test_shapes_and_gaps_of_open_document_are_kept_apart() -> None:
    found = open_document(
        "<o:text><x:p><d:custom-shape><x:p>In a box</x:p></d:custom-shape>Beside it</x:p></o:text>"
    )
    assert found.text == "In a box\nBeside it"
    cell = "<t:table-cell {}><x:p>{}</x:p></t:table-cell>".format
    gap = cell('o:value="NaN"', "NaN")
    row = f"<t:table-row>{cell('', 'a')}{gap}</t:table-row>"
    assert open_document(f"<o:text><t:table>{row}</t:table></o:text>").text == "a"


def test_numbers_of_items_that_a_page_gives_itself_are_read() -> None:
    opening = "<p>The clauses of the contract between the seller and the buyer are these.</p>"
    item = "<li>{}{} holds for as long as the contract between them does.</li>".format
    lists = (
        f"<ol type=a start=3>{item('', 'Clause one')}{item('<p>', 'Clause two')}</ol>"
        f"<ol reversed>{item('', 'Rule one')}{item('', 'Rule two')}</ol>"
        f"<ol>{item('', 'Plain one')}</ol>"
    )
    page = f"<html><body><article>{opening}{lists}</article></body></html>"
    found = read_body(page.encode(), "text/html").text
    for told in ("c. Clause one", "d. Clause two", "2. Rule one", "1. Rule two", "- Plain one"):
        assert told in found


def test_subtitles_say_who_speaks() -> None:
    cue = "WEBVTT\n\n00:01.000 --> 00:02.000\n<v.loud Mary Roe>Good <b>morning</b>.</v>\n"
    assert read_body(cue.encode(), suffix=".vtt").text == "Mary Roe: Good morning."


def test_an_article_is_known_by_its_journal_too() -> None:
    front = "<front><article-meta><title-group><article-title>Of X</article-title></title-group>"
    body = "<body><sec><p>The dose was 10<sup>-4</sup> mol in all arms of it.</p></sec></body>"
    data = f"<?xml version='1.0'?><article>{front}</article-meta></front>{body}</article>"
    found = read_body(data.encode(), suffix=".xml")
    assert found.title == "Of X" and "10⁻⁴ mol" in found.text


def test_a_page_whose_style_raises_text_and_one_made_by_a_script_are_read() -> None:
    words = "Enough words follow here for anyone to call this paragraph a text that can be read."
    raised = '10<span style="color:red;vertical-align: super">6</span>'
    page = f"<html><body><article><p>It has {raised} cells. {words}</p></article></body></html>"
    assert "It has 10⁶ cells." in read_body(page.encode(), content_type="text/html").text
    lamp = {"name": "Lamp L9", "price": 129.5, "currency": "EUR", "image": "/l9.png", "tags": []}
    told = json.dumps({"props": {"pageProps": {"product": lamp, "page": {"name": "home"}}}})
    script = f'<script id="__NEXT_DATA__" type="application/json">{told}</script>'
    page = f"<html><body><div id='__next'></div>{script}</body></html>"
    found = read_body(page.encode(), suffix=".html")
    assert found.text == "name: Lamp L9\nprice: 129.5\ncurrency: EUR"


@pytest.mark.parametrize("stroke", ["<w:strike/>", '<w:dstrike w:val="1"/>'])
def test_what_is_struck_through_in_word_is_marked(stroke: str) -> None:
    run = '<w:r><w:rPr>{}</w:rPr><w:t xml:space="preserve">{}</w:t></w:r>'
    body = run.format("", "It costs ") + run.format(stroke, "120 ") + run.format("", "100 euros.")
    assert (
        read_body(word(f"<w:p>{body}</w:p>"), suffix=".docx").text == "It costs ~~120 ~~100 euros."
    )
    beside = run.format(stroke, "1") + run.format(stroke, "2") + run.format("", "3")
    assert read_body(word(f"<w:p>{beside}</w:p>"), suffix=".docx").text == "~~12~~3"
    off = body.replace(stroke, '<w:strike w:val="0"/>')
    assert read_body(word(f"<w:p>{off}</w:p>"), suffix=".docx").text == "It costs 120 100 euros."


def test_what_is_struck_through_in_other_documents_is_marked() -> None:
    fonts = "<fonts><font/><font><strike/></font></fonts>"
    styles = f'<styleSheet>{fonts}<cellXfs><xf/><xf fontId="1"/></cellXfs></styleSheet>'
    runs = "<r><rPr><strike/></rPr><t>a</t></r>" * 2 + "<r><t>b</t></r>"
    rows = f'<row><c s="1"><v>120</v></c><c t="inlineStr"><is>{runs}</is></c><c><v>3</v></c></row>'
    assert "~~120~~ | ~~aa~~b | 3" in read_body(sheet(rows, styles=styles), suffix=".xlsx").text
    rich = r"It costs {\strike 120\par}{\striked1 or }{\strike 130}{\strike\strike0  100}.\par"
    assert read_body(rf"{{\rtf1 {rich}}}".encode()).text == "It costs ~~120~~\n~~or 130~~ 100."
    gone = '<s:style s:name="X"><s:text-properties s:text-line-through-style="solid"/></s:style>'
    text = "<o:text><t:p t:style-name='X'>Gone</t:p><t:p>Kept</t:p></o:text>"
    assert open_document(text, gone).text == "~~Gone~~\nKept"
    cell = "<x:table-cell x:style-name='X'><t:p>7</t:p></x:table-cell>"
    table = f"<x:table x:name='S'><x:table-row>{cell}</x:table-row></x:table>"
    found = open_document(f"<o:spreadsheet>{table}</o:spreadsheet>", gone)
    assert found.text == "S\n~~7~~"


def test_days_of_a_sheet_of_open_document_are_plain_and_its_empty_fields_are_left_out() -> None:
    cell = "<x:table-cell o:date-value='2009-08-16T05:43:21'><t:p>{}</t:p></x:table-cell>".format
    row = f"<x:table-row>{cell('16/08/09 05:43')}{cell('Sunday, 16 August')}</x:table-row>"
    table = f"<o:spreadsheet><x:table x:name='S'>{row}</x:table></o:spreadsheet>"
    fields = "<t:p><t:sheet-name>???</t:sheet-name> of May <t:page-count>99</t:page-count></t:p>"
    master = f"<s:header>{fields}</s:header><s:footer s:display='false'>{fields}</s:footer>"
    names = 'xmlns:s="s" xmlns:t="t"'
    styles = f"<o:s xmlns:o='o' {names}><s:master-page>{master}</s:master-page></o:s>"
    names += ' xmlns:o="o" xmlns:x="x"'
    parts = {
        "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
        "content.xml": f"<o:document {names}><o:body>{table}</o:body></o:document>",
        "styles.xml": styles,
    }
    found = read_body(packed(parts), suffix=".ods")
    assert found.text == "S\n2009-08-16 05:43 | Sunday, 16 August\nof May"


MARKDOWN = r"""---
title: Travel rules
---
## Hotels

Every **trip** needs the *approval* of `finance`. The __limit__ for a [night](https://e.org/x "t")
is **140 euros**, ~~120 euros~~, 5 \* 3 &lt; 20 &amp; snake_case_name <!-- never shown -->.

| Class | *Limit* | Paid by |
|---|---:|---|
| **Train** | 90 | card |

3. Book *early*
4. Keep the bill

   for a year
   - and a copy

- [ ] H<sub>2</sub>O and 10<sup>-4</sup>

```sh
a \* b   # &amp;
```

<p style="display:none">hidden</p><p>About <del>30</del> 20.</p>
"""


def test_markdown_is_read_as_it_is_shown() -> None:
    read = read_body(MARKDOWN.encode(), suffix=".md")
    assert read.title == "Travel rules" and read.text.split("\n") == [
        "## Hotels",
        "Every trip needs the approval of finance. The limit for a night is 140 euros,"
        " ~~120 euros~~, 5 * 3 < 20 & snake_case_name .",
        "Class | Limit | Paid by",
        "Class: Train | Limit: 90 | Paid by: card",
        "3. Book early",
        "4. Keep the bill",
        "for a year",
        "- and a copy",
        "- [ ] H₂O and 10⁻⁴",
        "a \\* b # &amp;",
        "About ~~30~~ 20.",
    ]


def test_long_markdown_is_read_whole() -> None:
    blocks = [f"Paragraph *{n}* tells of [it][1].\n\n- item {n}\n" for n in range(1500)]
    read = read_body(("\n".join(blocks) + "\n[1]: https://e.org\n").encode(), suffix=".md")
    lines = read.text.split("\n")
    assert len(lines) == 3000 and lines[-2:] == ["Paragraph 1499 tells of it.", "- item 1499"]
    assert not read.not_read


def test_a_block_of_markdown_that_is_too_long_is_told() -> None:
    [(what, count, why)] = read_body(b"word " * 420_000, suffix=".md").not_read
    assert (what, count) == ("text", 1) and "too long" in why
