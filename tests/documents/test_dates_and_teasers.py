"""What pages and documents say of themselves: their date, and that they are not free to read."""

from __future__ import annotations

import gzip
import json
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from agent.answer.formats import to_html, to_markdown, to_text
from agent.answer.json_format import to_json
from agent.documents.html.structured_data import MAX_TEASER, TEASER
from agent.documents.page_date import read_day
from agent.documents.reading import BodyText, read_body
from agent.run.audit_answer import audit_answer
from agent.settings import Settings, parse_settings
from tests.steps.test_slots import ended
from tests.support.services import Raw, Services
from tests.support.thinker import FINAL, Fact, Thinker

DOCUMENTS = Path(__file__).parent / "files"
ASKED = "Who founded Velmora Works?"
FIRM = "Velmora Works was founded by Ada Lindqvist in 1931. It had nine workers then."
WORDS = "It was a warm evening, and the stands were full long before the teams came out. "


def read(head: str = "", body: str = "") -> BodyText:
    page = f"<html><head><title>T</title>{head}</head><body><p>{WORDS}</p>{body}</body></html>"
    return read_body(page.encode(), "text/html; charset=utf-8", "https://a.org/")


def json_ld(**fields: Any) -> str:
    return f'<script type="application/ld+json">{json.dumps(fields)}</script>'


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2019-11-20T10:00:00+01:00", "2019-11-20"),
        ("20191120T101500Z", "2019-11-20"),
        ("D:20191120101500+01'00'", "2019-11-20"),
        ("2019-02-30", ""),
        ("2019", ""),
        ("1970-01-01T00:00:00Z", ""),  # what no page is of
        ("2999-01-01", ""),
        ("1574164800", ""),  # seconds of a clock
    ],
)
def test_a_day_is_read(text: str, day: str) -> None:
    assert read_day(text) == day
    assert read_day(None, 7, "no day", text, "2001-01-01") == (day or "2001-01-01")


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (json_ld(datePublished="2020-03-04T05:06:07Z"), ""),
        ('<meta property="article:published_time" content="2020-03-04T05:06Z">', ""),
        ('<meta name="citation_publication_date" content="2020/03/04">', ""),
        ("", '<span itemprop="datePublished" content="2020-03-04">last spring</span>'),
        ("", '<main><time datetime="2020-03-04T05">4.3.</time></main>'),
    ],
)
def test_the_date_of_a_page(head: str, body: str) -> None:
    assert read(head, body).date == "2020-03-04"


def test_the_last_change_counts_and_the_page_as_a_whole_before_its_parts() -> None:
    both = json_ld(datePublished="2010-05-18T15:57:43Z", dateModified="2021-10-21T03:48:37Z")
    comment = '<div itemprop="comment"><time itemprop="dateModified" datetime="2022-02-02"></div>'
    assert read(both).date == "2021-10-21"
    assert read(both, comment).date == "2021-10-21"
    assert read(json_ld(datePublished="2999-01-01", dateModified="soon")).date == ""
    told = f"<p>On 2019-11-20 the final was played. November 20, 2019. {WORDS}</p>"
    assert read("", told).date == ""


def test_documents_have_the_dates_of_their_properties() -> None:
    pytest.importorskip("openpyxl")
    pytest.importorskip("xberg")
    for name in ("libreoffice.docx", "libreoffice.pptx", "libreoffice.pdf", "libreoffice.odp"):
        file = DOCUMENTS / name
        assert read_body(file.read_bytes(), suffix=file.suffix).date == "2026-11-22", name
    assert read_body((DOCUMENTS / "pandoc.epub").read_bytes(), suffix=".epub").date == "2026-11-22"
    text = b"---\ntitle: Plan\ndate: 2020-03-04\n---\nThe plan is this.\n"
    assert read_body(text, suffix=".md").date == "2020-03-04"
    assert read_body(text.replace(b"2020-03-04", b"soon"), suffix=".md").date == ""


@pytest.fixture
def world(services: Services) -> Services:
    services.default_hits = ["final"]
    services.think = Thinker([Fact("winner", "Argentina", "Argentina won")], ["cup final"])
    return services


def page(head: str = "", body: str = "") -> Raw:
    content = f"<article><p>{FINAL}</p><p>{WORDS * 3}</p>{body}</article>"
    html = f"<html><head><title>Final</title>{head}</head><body>{content}</body></html>"
    return Raw(200, html, {"Content-Type": "text/html; charset=utf-8"})


def test_the_date_of_a_page_is_reported_if_search_has_none(
    world: Services, settings: Settings
) -> None:
    world.pages = {"final": page(json_ld(datePublished="2022-12-19"))}
    _, answer = ended(settings)
    (citation,) = answer.citations
    assert citation.date == "2022-12-19"
    for shown in (to_markdown(answer), to_html(answer)):
        assert "2022" in shown and "12" in shown and "dated" in shown
    assert all('date="2022-12-19"' in one.prompt for one in world.model_requests[1:2])
    assert audit_answer(json.loads(to_json(answer)))["stored"]


def test_since_leaves_out_pages_of_an_older_date(world: Services, settings: Settings) -> None:
    world.default_hits = ["final", "old"]
    world.pages = {
        "final": page(json_ld(dateModified="2023-05-01", datePublished="2019-01-01")),
        "old": page(json_ld(datePublished="2019-01-01")),
    }
    since = parse_settings({}, since="2023-01-01").since
    _, answer = ended(settings.model_copy(update={"since": since}))
    assert {citation.url for citation in answer.citations} == {world.url("final")}
    assert answer.sources.read == 1 and answer.sources.failed == 1
    (warning,) = [text for text in answer.warnings if "2019-01-01" in text]
    assert "2023-01-01" in warning and "snippet" not in warning  # nor is its snippet used
    assert audit_answer(json.loads(to_json(answer)))["ok"]


PAID = {"@type": "NewsArticle", "isAccessibleForFree": False}
PART = {"@type": "WebPageElement", "isAccessibleForFree": "False", "cssSelector": ".for-payers"}


def test_a_page_that_calls_itself_paid_is_a_teaser_unless_its_paid_part_is_there() -> None:
    head = json_ld(**PAID, hasPart=PART)
    story = f"<p>{WORDS * 20}</p>"
    for paid in (False, "False", "https://schema.org/False"):
        assert read(json_ld(**{**PAID, "isAccessibleForFree": paid})).note == TEASER
    assert not read(json_ld(**PAID), f"<p>{WORDS * (MAX_TEASER // len(WORDS) + 1)}</p>").note
    assert read(head, '<div class="for-payers"></div>').note == TEASER
    assert not read(head, f'<div class="story for-payers">{story * 4}</div>').note
    assert read(head, f'<div class="for-payers" hidden>{story}</div>').note == TEASER
    assert not read(json_ld(**{**PAID, "isAccessibleForFree": True})).note
    assert not read("", "<a>Subscribe</a><a>Log in</a><p>Continue reading our guide.</p>").note


@pytest.mark.slow
def test_of_real_articles_only_teasers_are_told_as_such(data: Path) -> None:
    truth = json.loads((data / "pages" / "article_ground_truth.json").read_text("utf-8"))
    teasers = []
    for key, row in truth.items():
        body = gzip.decompress((data / "pages" / "article_html" / f"{key}.html.gz").read_bytes())
        is_tried = b"isAccessibleForFree" in body or key[0] == "0"  # all take seven seconds
        if is_tried and read_body(body, "text/html").note:
            teasers.append(row["url"].split("/")[2])
    # two of them came whole: short articles of sites whose pages say that they are paid
    sites = {"www.barrons.com", "www.latimes.com", "www.wired.com", "www.wsj.com"}
    assert set(teasers) == sites and len(teasers) == 6


def test_a_teaser_is_used_and_told_as_partial_text(world: Services, settings: Settings) -> None:
    world.pages = {"final": page(json_ld(**PAID))}
    _, answer = ended(settings)
    (citation,) = answer.citations
    assert citation.via == "page" and citation.partial_text == TEASER
    assert f"{world.url('final')}: partial text: {TEASER}." in answer.warnings
    for shown in (to_markdown(answer), to_html(answer), to_text(answer)):
        assert "partial text" in shown and "only its teaser was read" in shown
    value = json.loads(to_json(answer))
    assert audit_answer(value)["stored"]
    del value["citations"][0]["partial_text"]
    assert audit_answer(value)["failures"][0]["where"] == "citations[0].partial_text"


def test_a_page_cut_at_its_limit_is_partial(world: Services, settings: Settings) -> None:
    world.pages = {"final": page("", f"<p>{WORDS * 3000}</p>")}
    limited = settings.model_copy(update={"page_max_bytes": 100_000})
    _, answer = ended(limited)
    assert answer.citations[0].partial_text == "only its first 100,000 bytes were read"


def test_what_a_document_says_of_what_was_not_read_is_bounded_and_plain(tmp_path: Path) -> None:
    message = EmailMessage()
    message["Subject"], message["From"] = "Velmora Works", "a@example.org"
    message.set_content(FIRM)
    for n in range(40):
        name = f"{n}-\u202e\x1b[31m{'long' * 50}.bin"
        message.add_attachment(b"\0\1", maintype="application", subtype="x", filename=name)
    (tmp_path / "firm.eml").write_bytes(bytes(message))
    settings = Settings(offline=True, corpus=tmp_path, runs_dir=tmp_path, cache_dir=tmp_path)
    for _ in range(2):  # read from the file, and from the index
        _, answer = ended(settings, ASKED)
        (note,) = {citation.partial_text for citation in answer.citations}
        assert note.startswith("attachment 0-") and len(note) <= 500 and note.isprintable()
        assert any("partial text: attachment 0-" in text for text in answer.warnings)
