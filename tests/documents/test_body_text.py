"""Title and text from bytes: nothing lost that a reader sees, nothing kept that is hidden."""

from __future__ import annotations

import gzip
import json
import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.documents import sniff
from agent.documents.body_text import MAX_TEXT, UnreadablePage, normalize_text
from agent.documents.pdf.joiner import HYPHEN, join_lines
from agent.documents.reading import read_body
from tests.support.hostile_pages import HOSTILE
from tests.support.office_files import pdf, shown

PROSE = "<p>" + "This is a sentence of the article that anyone may read in peace. " * 5 + "</p>"
ANY = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))


def read(body: str, content_type: str = "text/html") -> str:
    page = f"<html><body><article>{body}</article></body></html>"
    return read_body(page.encode(), content_type).text


def test_what_a_page_says_to_programs_alone_is_read_at_its_place() -> None:
    offer = {"@type": "Offer", "price": "49.90", "priceCurrency": "EUR"}
    node = {"@type": "Product", "name": "Kettle", "image": "https://a.example/1", "offers": offer}
    script = f'<script type="application/ld+json">{json.dumps(node)}</script>'
    found = read_body(
        f"<html><head>{script}</head><body>{PROSE}</body></html>".encode(), "text/html"
    )
    told = found.text[found.marks[-1][0] :]
    assert found.marks[-1][1] == "data of the page" and "price: 49.90" in told
    assert "EUR" in told and "example" not in told
    shown = read(f"{PROSE}<p>Kettle: 49.90 EUR</p>{script}")
    assert "price: 49.90" not in shown  # the text has it


def test_line_breaks_of_the_source_are_blanks_as_in_a_browser() -> None:
    item = "<li><p>must not require a package\noutside of <em>main</em> for\n  execution,</p></li>"
    head = '<h2 id="areas">2.1. Areas<a class="headerlink" href="#areas">¶</a></h2>'
    text = read(f"{PROSE}{head}<ul>{item}</ul><pre>first line\nsecond line</pre>{PROSE}")
    assert "- must not require a package outside of main for execution,\n" in text
    assert "2.1. Areas\n" in text and "first line\nsecond line" in text


def test_a_table_is_at_its_place_once() -> None:
    table = "<table><tr><th>Year<th>Winner</tr><tr><td>1998<td>France</tr></table>"
    text = read(f"{PROSE}<h2>Winners</h2>{table}{PROSE.replace('peace', 'silence')}")
    rows = "Year | Winner\nYear: 1998 | Winner: France\n"
    assert text.count("France") == 1 and rows in text
    assert text.index("peace") < text.index("1998") < text.index("silence")


@pytest.mark.parametrize("tag", ["main", "div"])
def test_a_page_without_a_body_tag_loses_nothing(tag: str) -> None:
    text = f"<{tag}>{PROSE}<p>The last word.</p></{tag}>And a tail."
    for rest in ("", "<form><input></form>", "<p>At the end.</p>"):
        found = read_body(f"<!doctype html><title>Of peace</title>{text}{rest}".encode())
        assert found.title == "Of peace" and "in peace" in found.text
        assert "The last word." in found.text


def test_an_infobox_is_kept_with_its_article() -> None:
    box = '<aside class="portable-infobox"><div><h3>Born</h3><div>1 May 1950</div></div></aside>'
    assert "Born | 1 May 1950" in read(box + PROSE * 3)


def test_a_script_may_show_most_of_a_page_but_not_a_passage_hidden_in_it() -> None:
    hidden = "<p style='color:#fff;background:#fff'>SECRET words</p>"
    page = f"<style>.wait{{opacity:0}}</style><div class=wait>{PROSE * 4}{hidden}</div>"
    text = read(f"{page}<script>{'let a = 1;' * 2000}</script>")  # a script is no text of the page
    assert "in peace" in text and "SECRET" not in text


def test_layout_tables_and_navigation_are_no_data() -> None:
    layout = f"<table><tr><td><a href=/>Home</a></td><td>{PROSE * 6}</td></tr></table>"
    text = read_body(f"<html><body>{layout}</body></html>".encode()).text
    assert "sentence of the article" in text and " | This is" not in text
    navbox = '<table class="navbox"><tr><td>Elsewhere</td><td>Nowhere</td></tr></table>'
    assert "Elsewhere | Nowhere" not in read(PROSE * 3 + navbox)
    header = f'<div class="navheader">{navbox.replace("navbox", "")}</div>'  # of DocBook
    assert "Elsewhere | Nowhere" not in read(header + PROSE * 3)


@pytest.mark.parametrize(
    "hidden",
    [
        "<!-- SECRET -->",
        "<p hidden>SECRET words</p><p style='DISPLAY:NONE!important'>SECRET words</p>",
        "<p style='font-size: 0.0px'>SECRET words</p>",
        "<p style='opacity:0'>SECRET words</p>",
        "<p aria-hidden='true'>SECRET words</p>",
        "<script>SECRET words</script>",
        "<table><tr><td>seen</td><td style='display:none'>SECRET words</td></tr></table>",
        "<p style='color:#FFF;background:white'>SECRET words</p>",
        "<p><font color=white>SECRET words</font></p>",
        "<div style='background-color:rgb(0,0,0)'><p style='color:#000'>SECRET words</p></div>",
        "<p style='position:absolute;left:-9999px'>SECRET words</p>",
        "<style>.x > p b {display:none}</style><div class=x><p>Seen <b>SECRET words</b></p></div>",
        "<style>aside{color:#fff}</style><aside><p>Near</p><aside>SECRET words</aside></aside>",
        "<p style='transform:translate3d(-999px,0,0)'>SECRET</p><p style='scale:0'>SECRET</p>",
        "<p style='font:1px/1 serif'>SECRET words</p><p style='filter:opacity(0)'>SECRET</p>",
        "<p style='display:/**/none'>SECRET</p><p style='color:rgb(0 0 0 / 0%)'>SECRET</p>",
        "<p style='color:#fefefe'>SECRET</p><p style='color:hsl(0,0%,100%)'>SECRET words</p>",
        "<p style='color:#00000000'>SECRET</p><p style='height:0;overflow-y:hidden'>SECRET</p>",
        "<div style='color:#123'><p>Near</p><p style='background:#123'>SECRET words</p></div>",
        "<video>SECRET words</video><noembed>SECRET words</noembed>",
        "<img src=a.png alt='SECRET words'><p title='SECRET words'>Seen</p>",
        "<input type=hidden value='SECRET words'><p data-x='SECRET words'>Seen</p>",
        "".join(chr(0xE0000 + ord(c)) for c in "SECRET"),
        "<p>S\u200bE\u200bC</p><!-- <b>SECRET</b> -->" + "<div>" * 300 + "<p hidden>SECRET</p>",
    ],
)
def test_hidden_text_is_left_out(hidden: str) -> None:
    assert "SECRET" not in read(PROSE + hidden + PROSE.replace("peace", "silence"))


@pytest.mark.parametrize(
    "shown",
    [
        "<p style='font-size:0.9em;opacity:0.8;display:block'>These words are shown to all.</p>",
        "<div style='background:navy'><p style='color:#fff'>The words are shown to all.</p></div>",
        "<div style='background:url(a.png)'><p style='color:#fff'>The words are shown.</p></div>",
        "<link rel=stylesheet href=a.css><p style='color:#fff'>These words are shown to all.</p>",
        "<style>.p{display:none}.p{display:block}</style><p class=p>These words are shown.</p>",
        "<div style='color:#fff;background:#000'><p style='margin:0'>The words are shown.</div>",
        "<style>a{color:#fff}.t a{color:#00f}</style><p class=t>The words <a>are shown</a>.</p>",
    ],
)
def test_what_only_looks_hidden_is_kept(shown: str) -> None:
    assert "words are shown" in read(PROSE + shown + PROSE)


def test_blanks_controls_and_zero_width_characters() -> None:
    odd = "a\u200bb\u00ad c \t\u00a0 d\x00\x07\r\n\n \ne\u202e\ud800f\u0301"
    assert normalize_text(odd) == "ab c d\ne\u0066\u0301"
    assert normalize_text("e\u0301") == "é" and normalize_text(" \n ") == ""


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        ('{"a": [1, "zwei"]}', "application/json", '{"a": [1, "zwei"]}'),
        ("# Title\n\nSome *words*.", "text/markdown", "# Title\nSome words."),
        ("<p align=center>A</p>\n# Name", "text/plain", "<p align=center>A</p>\n# Name"),
        ("<rss><channel><item><title>One &amp; two</title></item></channel>", "", "- One & two"),
        ("<?xml version='1.0'?><a><b>x</b><![CDATA[y <i>z</i>]]></a>", "", "x\ny\nz"),
    ],
)  # fmt: skip
def test_formats(body: str, content_type: str, text: str) -> None:
    assert read_body(body.encode(), content_type).text == text


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n\0\0\0\r", b"PK\3\4\x14\0\0\x08", b"\0" * 99])
def test_binary_is_unsupported(data: bytes) -> None:
    with pytest.raises(UnreadablePage, match="neither") as caught:
        read_body(data, "text/html")
    assert caught.value.outcome == "unsupported"


RUSSIAN, JAPANESE = "Съешь ещё этих мягких булок. ", "日本語の文章です。"


@pytest.mark.parametrize(
    ("text", "encoding", "content_type"),
    [
        (RUSSIAN, "utf-8", "text/plain; charset=iso-8859-1"),
        (RUSSIAN * 20, "koi8-r", "text/plain"),
        (RUSSIAN * 20, "cp1251", "text/plain; charset=utf-8"),
        (RUSSIAN, "utf-16", "text/plain"),
        (JAPANESE, "shift_jis", "text/plain; charset=shift_jis"),
        (JAPANESE * 20, "euc_jp", "text/plain"),
        ("naïve café – “quoted”", "cp1252", "text/plain; charset=iso-8859-1"),
    ],
)
def test_encodings(text: str, encoding: str, content_type: str) -> None:
    assert read_body(text.encode(encoding), content_type).text == text.strip()


def test_the_encoding_that_a_page_declares_and_a_character_cut_in_two() -> None:
    page = f"<html><head><meta charset=shift_jis></head><body><p>{JAPANESE * 9}</p></body></html>"
    assert JAPANESE in read_body(page.encode("shift_jis"), "text/html").text
    assert sniff.decode("Käse ö".encode()[:-1]) == "Käse "


def tokens(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


@pytest.mark.parametrize("name", ["code_and_formula"])
def test_the_words_of_a_pdf_are_read(data: Path, name: str) -> None:
    page = read_body((data / "pdf" / f"{name}.pdf").read_bytes(), "text/html")
    expected = tokens((data / "pdf" / f"{name}.md").read_text("utf-8"))
    assert len(expected & tokens(page.text)) > 0.9 * len(expected) and page.title


def test_the_order_of_right_to_left_lines_of_a_pdf_is_reported_as_unsure(data: Path) -> None:
    page = read_body((data / "pdf" / "right_to_left_01.pdf").read_bytes(), suffix=".pdf")
    assert "order of right-to-left lines" in [what for what, *_ in page.not_read]
    assert "الإنتاجية" in page.text  # a ligature is one glyph of two letters


def test_a_broken_pdf_says_so(data: Path) -> None:
    whole = (data / "pdf" / "multi_page.pdf").read_bytes()
    for body in (b"%PDF-1.7\nnothing", whole[:300]):
        with pytest.raises(UnreadablePage, match="PDF that is broken") as caught:
            read_body(body)
        assert caught.value.outcome == "invalid"


@pytest.mark.parametrize(
    ("left", "right", "shown"),
    [
        ("It is an adap", "tation of a book.", "an adaptation of"),
        ("The war of 1914", "18 was the first.", "of 1914-18 was"),
        ("It is by an Anglo", "American firm.", "an Anglo-American firm"),
    ],
)
def test_a_hyphen_at_the_end_of_a_line_is_kept_where_it_is_part_of_the_word(
    left: str, right: str, shown: str
) -> None:
    assert shown in "".join(join_lines([left + HYPHEN, right]))


def test_lines_without_blanks_between_words_are_joined_without_one() -> None:
    lines = ["これは日本語の文章で、", "次の行に続きます。", "다음 줄로 이어지는", "문장입니다."]
    assert list(join_lines(lines[:2])) == ["".join(lines[:2])]
    assert list(join_lines(lines[2:])) == [" ".join(lines[2:])]


def test_a_sentence_goes_on_overleaf_behind_the_number_of_the_page(tmp_path: Path) -> None:
    from pypdfium2 import PdfDocument

    pages = [
        shown((50, 700, "The bridge was opened in the year"), (300, 40, "17")),
        shown(
            (50, 700, "and closed after a storm."), (50, 686, "It has 3 lanes."), (300, 40, "18")
        ),
        shown((50, 700, "of steel."), (50, 686, "1904"), (300, 40, "19")),
    ]
    joined = PdfDocument.new()
    for page in pages:
        joined.import_pages(PdfDocument(pdf(page)))
    joined.save(file := tmp_path / "bridge.pdf")
    found = read_body(file.read_bytes(), suffix=".pdf")
    assert found.text == (
        "The bridge was opened in the year\n17\nand closed after a storm.\nIt has 3 lanes.\n"
        "of steel.\n1904"
    )
    assert [place for _, place, _ in found.marks] == ["page 1", "page 2", "page 3"]


# The limit of processor time may end a callback of hypothesis in the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_page_ends_within_bounds(name: str) -> None:
    try:
        text = read_body(HOSTILE[name].encode(), "text/html").text
    except ValueError as error:
        text = str(error)
    assert 0 < len(text) <= MAX_TEXT


TAGS = st.sampled_from(
    "<p> </p> <table> <tr> <td> </table> <div> </div> <br> <li> <div\tclass=infobox> <h2> <time> "
    "<html> <body> </body> <script> </script> <!-- --> <title> <b> <svg> <form> "
    "<sup> <sub> <math> <dt> <dd> <ol\ttype=i\tstart=-3> <td\tcolspan=99999999\trowspan=-1> "
    "<aside> <p\tstyle=color:rgba(0,0,0,1.2.3);font:> <style> .x{color: #ff; p>a,-{left: } "
    "\u29da0 \u29db".split(" ")
)
PAGES = st.lists(st.one_of(TAGS, st.text(max_size=30)), max_size=40).map("".join)


#: The classes of embeddings, overrides and isolates of direction in Unicode Annex 9.
BIDIRECTIONAL = set("LRE RLE LRO RLO PDF LRI RLI FSI PDI".split())


def check_extraction(body: bytes, content_type: str) -> None:
    try:
        title, text, *_ = read_body(body, content_type, "https://example.org/")
    except ValueError as error:
        assert str(error)
        return
    assert text.strip() == text and text
    for part in (title, text):
        assert not any(unicodedata.category(c) in ("Cc", "Cs") for c in part if c not in "\n")
        assert not BIDIRECTIONAL & set(map(unicodedata.bidirectional, part))
        assert unicodedata.is_normalized("NFC", part)
        part.encode()


TYPES = st.sampled_from(
    ["", "text/html", "text/plain", "text/html; charset=utf-16", "x;charset=zz"]
)


@ANY
@given(st.sampled_from([b"", b"%PDF-1.4\n"]), st.binary(max_size=300), TYPES)
def test_no_bytes_raise_anything_but_a_reason(mark: bytes, rest: bytes, content_type: str) -> None:
    check_extraction(mark + rest, content_type)


@ANY
@given(PAGES, TYPES)
def test_no_page_raises_anything_but_a_reason(page: str, content_type: str) -> None:
    check_extraction(page.encode("utf-8", "surrogatepass"), content_type)
    check_extraction(f"<html><body>{page}".encode("utf-16"), content_type)


def test_goals_and_referees_of_a_real_page_are_kept(data: Path) -> None:
    with gzip.open(data / "worldcup" / "wikipedia_pages.jsonl.gz", "rt", encoding="utf-8") as file:
        page = next(p for p in map(json.loads, file) if p["title"] == "1990 FIFA World Cup Group A")
    title, text, *_ = read_body(page["html"].encode(), "text/html", page["url"])
    assert title == "1990 FIFA World Cup Group A - Wikipedia"
    assert "Italy | 1–0 | Austria\nSchillaci 78' | Report" in text
    assert text.count("Referee: José Roberto Wright (Brazil)") == 1
    assert "Jump to" not in text and "Privacy policy" not in text and "[edit]" not in text


def test_what_a_component_keeps_in_its_shadow_is_read(data: Path) -> None:
    page = (data / "inputs" / "17-shadow.html").read_bytes()
    assert "412 metres long" in read_body(page, "text/html").text


def test_a_page_that_is_nested_too_deep_says_so() -> None:
    found = read_body(f"{PROSE}{'<div>' * 300}<p>The end of all of it.</p>".encode(), "text/html")
    assert found.note == "it is nested too deep to be read whole"


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
