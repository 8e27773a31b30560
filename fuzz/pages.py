"""Pages and files of documents, as a worker reads them: bytes in, title and text out."""

from __future__ import annotations

import re

from agent.documents import sniff
from agent.documents.reading import BodyText, UnreadablePage, read_body
from agent.pages.robots import RobotsRules
from fuzz.target import Target
from tests.support.hostile_pages import HOSTILE

#: A worker may use as much memory as it has; then its page has failed.
REFUSALS = (UnreadablePage, MemoryError)
LONGEST = 100_000
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def _read_page(body: bytes, content_type: str) -> BodyText:
    """A page of the web. No control character may be left in it."""
    page = read_body(body, content_type=content_type, url="https://a.example/page")
    assert not _CONTROLS.search(page.title + page.text)
    return page


def _read_html(data: bytes) -> object:
    return _read_page(data, "text/html; charset=utf-8")


def _read_sheet(data: bytes) -> object:
    """The input as a style sheet and as a style of one element."""
    style = data.replace(b'"', b"'")
    page = b'<style>%s</style><body><p class="a b" id=c style="%s">words <b>bold</b></p></body>'
    return _read_page(page % (data.replace(b"</", b""), style), "text/html")


def _read_pdf(data: bytes) -> object:
    return _read_page(data if b"%PDF-" in data[:1024] else b"%PDF-1.4\n" + data, "application/pdf")


def _read_declared(data: bytes) -> object:
    """The first line as the content type that the server declares, the rest as the body."""
    declared, _, body = data.partition(b"\n")
    sniff.detect_kind(body, declared.decode("latin-1"))
    return sniff.decode(body, declared.decode("latin-1"))


def _read_robots(data: bytes) -> object:
    rules = RobotsRules(lambda _: data, "research-agent/1.0")
    return rules.is_allowed("https://a.example", "https://a.example/a/b.html?c=d", 60)


def _small(*names: str) -> tuple[bytes, ...]:
    """The beginnings of pages that have cost a reader much."""
    return tuple(HOSTILE[name][:2000].encode() for name in names)


def _pdf(content: str) -> bytes:
    """A PDF of one page."""
    stream = f"<</Length {len(content)}>>stream\n{content}\nendstream"
    parts = (
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R"
        "/Resources<</Font<</F 5 0 R>>>>>>",
        stream,
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    )
    objects = "".join(f"{n} 0 obj{part}endobj\n" for n, part in enumerate(parts, 1))
    return f"%PDF-1.4\n{objects}trailer<</Root 1 0 R/Info<</Title(A title)>>>>\n%%EOF".encode()


_PAGE = (
    b"<!doctype html><html lang=en><head><title>A title</title><meta charset=utf-8>"
    b"<meta property='og:title' content='Another'><style>.x{display:none}</style></head><body>"
    b"<nav><a href='/'>Home</a></nav><main><h1>Heading</h1><p>A paragraph with <a "
    b"href='b?c=d&amp;e'>"
    b"a link</a>, a number 1,234.5 and a date, 3 May 2021.</p><p class=x hidden>unseen</p>"
    b"<div class=infobox><table><tr><th>Born<td>1904</table></div><table><thead><tr><th>"
    b"Team<th>Goals"
    b"<tbody><tr><td>A<td>3<tr><td>B<td>2</table><ul><li>one<li>two</ul><pre>code</pre>"
    b"<sup class=reference>[1]</sup><time datetime=2021-05-03></time><svg/><math/></main>"
    b"</body></html>"
)
_TAGS = tuple(
    f"<{name}>".encode()
    for name in "a b p div table tr td th ul li style script template svg noscript !-- /div /p "
    "/table font body html select iframe title sup dl dt dd br hr pre".split()
)
_MARKUP = (
    *_TAGS,
    *b"<a|&#x41;|&amp;|&#99999999999;|<![CDATA[|]]>|-->|class=infobox |hidden |"
    b"style='display:none' "
    b"|style='color:rgba(0,0,0,0)' |<meta charset=base64>|\xcc\x81|\xe2\x80\xae|aria-hidden=true "
    b"|bgcolor=#fff |rowspan=9999 |colspan=9999 ".split(b"|"),
)

html = Target(
    _read_html,
    (
        _PAGE,
        *_small("entity bomb", "nested tables", "many infoboxes", "attributes", "marks", "classes"),
    ),
    REFUSALS,
    _MARKUP,
    LONGEST,
)
css = Target(
    _read_sheet,
    (
        b".a.b,#c>p{color:#fff;background-color:white!important;opacity:.5}@media "
        b"screen{.a{top:-99px}}",
        b"p{display:none}@supports (a:b){.a{visibility:hidden;clip:rect(0,0,0,0)}}/* c */",
        b"color:rgba(255,255,255,.1);font-size:1e-3em;transform:scale(0,1) translate(-9999px);",
    ),
    REFUSALS,
    tuple(
        b".a{|#c|}|{|/*|*/|@media screen{|;|:|rgba(|rgb(1.2.3,|%|px|e9|99999999999|"
        b"color:|hsl(|var(--a)|"
        b"!important|,|\\|calc(|transform:scale(".split(b"|")
    ),
    LONGEST,
)
pdf = Target(
    _read_pdf,
    (
        _pdf("BT /F 12 Tf 50 700 Td (A line of words that is long enough) Tj ET"),
        _pdf("BT /F 12 Tf 50 700 Td 14 TL " + "(Words that go on) Tj T* " * 30 + "ET"),
        _pdf("q 1 0 0 1 0 0 cm " * 20 + "BT /F 1 Tf 3 Tr <0041> Tj ET" + " Q" * 20),
    ),
    REFUSALS,
    tuple(
        b"1 0 obj|endobj|stream|endstream|<<|>>|[|]|(|)|/Length 99999999|"
        b"/Filter/FlateDecode|/Kids[3 0 R]"
        b"|/Count 2147483647|xref|trailer|/Encrypt|/ObjStm|BT|ET| Tj|/Prev 0|%%EOF|3 0 R".split(
            b"|"
        )
    ),
    LONGEST,
)
feed = Target(
    lambda data: _read_page(data, "application/xml"),
    (
        b"<?xml version='1.0'?><rss><channel><title><![CDATA[A]]></title><item>"
        b"<description>&lt;p&gt;Words"
        b"&lt;/p&gt;</description></item></channel></rss>",
        b'{"a": [1, 2, {"b": "words"}], "c": null}',
    ),
    REFUSALS,
    (b"<![CDATA[", b"]]>", b"<title", b"&lt;", b"&#x", b"<!ENTITY a 'b'>", b"<", b">"),
    LONGEST,
)
charset = Target(
    _read_declared,
    (
        b"text/html; charset=iso-8859-1\n<p>caf\xe9",
        b"text/plain\n\xff\xfea\x00b\x00",
        b'text/html; charset="base64"\n<meta charset=rot13>\xe9',
        b'application/json\n{"a": 1}',
        b"text/html\n<meta http-equiv=content-type content='text/html; charset=gb2312'>\xc4\xe3",
        b'text/plain\n\x1b$B$"',
    ),
    (),
    tuple(
        f"charset={name} ".encode()
        for name in "utf-7 utf-16 utf-32 idna punycode base64 rot13 zlib hex "
        "unicode_escape cp037 hz "
        "undefined mbcs raw_unicode_escape shift_jis big5 iso-2022-jp".split()
    ),
    LONGEST,
)
_MARKDOWN = (
    b"---\ntitle: 'A title'\nurl: https://a.example/\n---\n# Heading #\n\nA paragraph "
    b"that is wrapped at "
    b"some sixty characters or so,\nand goes on here.\n\n- item\n* item\n1. item\n\n"
    b"```py\ncode\n```\n\n| a "
    b"| b |\n|---|---|\n| 1 | 2 |\n\n> quote\n"
)
_BLOCKS = (
    b"---\n",
    b"# ",
    b"```\n",
    b"~~~",
    b"- ",
    b"1. ",
    b"| a |\n",
    b"\n\n",
    b"    ",
    b"\r",
    b"#" * 9,
)
markdown = Target(
    lambda data: read_body(data, suffix=".md"), (_MARKDOWN,), REFUSALS, _BLOCKS, LONGEST
)
plain = Target(
    lambda data: (read_body(data, suffix=".txt"), _read_page(data, "text/plain")),
    (_MARKDOWN, "Größe und 中文。\n".encode(), b"\xff\xfea\x00b\x00"),
    REFUSALS,
    _BLOCKS,
    LONGEST,
)
robots = Target(
    _read_robots,
    (
        b"User-agent: *\nDisallow: /a/*.html$\nAllow: /a/b\nCrawl-delay: 1\nSitemap: "
        b"https://a.example/s\n",
        b"User-agent: research-agent\nUser-agent: other\nDisallow: /\n\nRequest-rate: "
        b"1/5 0900-1700\n",
        b"\xef\xbb\xbfuser-agent:*\ndisallow:/%61%2F*\nvisit-time: 0100-0200\n",
    ),
    (),
    tuple(
        b"User-agent: *\n|Disallow: |Allow: |*|$|%2F|/a|Crawl-delay: 1e9999|Request-rate: 1/0s|"
        b"Visit-time: 9999-0000\n|Sitemap: |Host: |#|Clean-param: ".split(b"|")
    ),
    LONGEST,
)
