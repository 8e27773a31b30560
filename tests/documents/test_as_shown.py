"""What office programs show and plain text could lose: the meaning stays, and who says it."""

from __future__ import annotations

from lxml import etree

from agent.documents.body_reader import BodyReader
from agent.documents.body_text import Body, BodyText
from agent.documents.formulas import write_formula
from agent.documents.reading import read_body
from tests.support.office_files import RELATION, RELATIONS, packed, pdf

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


def test_a_nuclide_is_read_with_its_numbers_before_it() -> None:
    inner = "<mi>U</mi><mi>q</mi><none/><mprescripts/><mn>92</mn><mn>238</mn>"
    page = f"<math><mmultiscripts>{inner}</mmultiscripts></math>"
    assert write_formula(etree.fromstring(page)) == "₉₂²³⁸U_q"


def rich_row(cells: str, *texts: str) -> str:
    return r"\trowd" + cells + r"\intbl " + "".join(text + r"\cell " for text in texts) + r"\row "


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


def test_a_page_whose_style_raises_text_is_read() -> None:
    words = "Enough words follow here for anyone to call this paragraph a text that can be read."
    raised = '10<span style="color:red;vertical-align: super">6</span>'
    page = f"<html><body><article><p>It has {raised} cells. {words}</p></article></body></html>"
    assert "It has 10⁶ cells." in read_body(page.encode(), content_type="text/html").text


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

<p>About <del>30</del> 20.</p>
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
