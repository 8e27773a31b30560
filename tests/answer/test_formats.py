"""The formats of an answer that other programs read: YAML, PDF."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args

import pypdfium2
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.answer.file_formats import FORMATS, FormatName, format_of_file
from agent.answer.formats import write_answer
from agent.answer.json_format import to_json
from agent.answer.pdf_renderer import print_html
from agent.answer.schema import Answer
from agent.pages.browser import find_browser
from tests.support.page_server import PageServer, reply
from tests.support.reports import world_cup_answer

needs_browser = pytest.mark.skipif(find_browser() is None, reason="no Chromium is installed")


@pytest.mark.slow
def test_every_format_is_written_and_known_by_the_ending_of_its_file() -> None:
    answer = world_cup_answer()
    assert get_args(FormatName) == tuple(FORMATS)
    for name, form in FORMATS.items():
        if name != "pdf":
            written = write_answer(answer, name)
            assert written and isinstance(written, bytes) == form.is_binary, name
    for name in set(FORMATS) - {"csl-json"}:
        assert {format_of_file(Path(f"a{end.upper()}")) for end in FORMATS[name].suffixes} == {name}
    assert format_of_file(Path("a")) == "json"


@settings(max_examples=10)
@given(
    st.lists(st.text() | st.sampled_from(["1e3", "0o17", "on", "2022-12-18", "~", " a\n\nb\n "]))
)
def test_yaml_says_what_json_says(texts: list[str]) -> None:
    texts = [
        "".join(one for one in text if one.isprintable() or one in "\n\x85\u2028") for text in texts
    ]
    answer = Answer(topic="a", status="error", warnings=tuple(texts))
    written = str(write_answer(answer, "yaml"))
    assert yaml.safe_load(written) == json.loads(to_json(answer))
    block = written[written.index("\nwarnings:") : written.index("\nusage:")]
    assert not re.search(r"^- [\d+.-]", block, re.M), "a number to a reader of YAML 1.2"


@needs_browser
@pytest.mark.slow
def test_a_pdf_has_the_words_the_quotes_and_the_links() -> None:
    answer = world_cup_answer()
    written = bytes(write_answer(answer, "pdf"))  # type: ignore[arg-type]
    document = pypdfium2.PdfDocument(written)
    pages = [page.get_textpage().get_text_range() for page in document]
    text = letters(" ".join(pages))
    assert answer.report and letters(answer.report.title) in text
    latin = [one.quote for one in answer.citations if one.quote.isascii()]
    assert len(latin) > 3 and all(letters(quote) in text for quote in latin)
    for one in answer.citations:
        assert one.link.split("#")[0].encode() in written or not one.url.isascii()
    assert b"/StructTreeRoot" in written and b"/Outlines" in written


def letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


@needs_browser
@pytest.mark.slow
def test_what_is_printed_runs_and_loads_nothing(web: PageServer) -> None:
    web.answers["/"] = reply(b"x", "200 OK", "Content-Type: text/css")
    loads = (
        f"<link rel=stylesheet href={web.url}/><img src={web.url}/><iframe src={web.url}/></iframe>"
    )
    runs = f"<p id=a>still</p><script>a.textContent='ran';fetch('{web.url}/')</script>"
    document = pypdfium2.PdfDocument(print_html(f"<html>{loads}{runs}</html>"))
    assert "still" in document[0].get_textpage().get_text_range()
    assert not web.request_heads
