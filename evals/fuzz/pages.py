"""Pages and files of documents, as a worker reads them: bytes in, title and text out."""

from __future__ import annotations

import re

from agent.documents import sniff
from agent.documents.reading import BodyText, UnreadablePage, read_body
from agent.errors import ReadFailed
from agent.pages.robots import RobotsRules
from evals.fuzz.target import Target

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


def _read_plain(data: bytes) -> object:
    """As a file and as a page."""
    return read_body(data, suffix=".txt"), _read_page(data, "text/plain")


def _read_robots(data: bytes) -> None:
    rules = RobotsRules(lambda _: data, "research-agent/1.0")
    rules.check_before_use("https://a.example/a/b.html?c=d", 60)


html = Target(_read_html, REFUSALS, LONGEST)
css = Target(_read_sheet, REFUSALS, LONGEST)
pdf = Target(_read_pdf, REFUSALS, LONGEST)
feed = Target(lambda data: _read_page(data, "application/xml"), REFUSALS, LONGEST)
charset = Target(_read_declared, longest=LONGEST)
markdown = Target(lambda data: read_body(data, suffix=".md"), REFUSALS, LONGEST)
plain = Target(_read_plain, REFUSALS, LONGEST)
robots = Target(_read_robots, (ReadFailed,), longest=LONGEST)
