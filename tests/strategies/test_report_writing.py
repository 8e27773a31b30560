"""What is written of a report: which sentences and citations of a model's reply are kept."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from agent.run.audit_answer import audit_answer
from agent.settings import Settings
from agent.state import Cited, Hit, Page, PageRead, Research
from agent.strategies.report.written_sentences import DraftSentence, SentenceClaims
from tests.support.report_runs import (
    TOPIC,
    claims_of_body,
    report_of,
    report_settings,
    run_checked_report,
    script_replies,
    serve_report_world,
)
from tests.support.services import Services


@pytest.fixture
def world(services: Services) -> Services:
    return serve_report_world(services)


settings = pytest.fixture(report_settings)


TEXT = "Argentina won the cup. The score was 4-2. France had won it in 2018."


def research_of_one_page(topic: str = "Who won?") -> Research:
    page, grown = Page.from_text("https://a.example/", "Cup", TEXT, "2026-01-01"), Research(topic)
    grown.grow(PageRead(page=page, hit=Hit(url=page.url)))
    return grown


def draft_sentence(text: str, *cited: tuple[int, str]) -> DraftSentence:
    return DraftSentence(text=text, citations=[Cited(source=n, quote=quote) for n, quote in cited])


WON = "Argentina won the cup."
GOOD = draft_sentence("Argentina won the cup [4].", (1, WON), (7, "Brazil won"))


def test_only_citations_that_are_found_are_kept_and_no_marker_of_the_model() -> None:
    lie = draft_sentence("Brazil won the cup [1].", (1, "Brazil won the cup"))
    two = draft_sentence("Argentina won the cup [1]. It is made of gold.", (1, WON))
    builder = SentenceClaims(research_of_one_page().sources, max_citations=None)
    claims = builder.build_claims([GOOD, lie, two])
    assert [(claim.text, claim.citations) for claim in claims] == [
        (WON, (1,)),
        ("Brazil won the cup.", ()),
        (WON, (1,)),  # each sentence of a text is a claim of its own
        ("It is made of gold.", (1,)),
    ]
    assert {quote.text for quote in builder.quotes} == {WON}
    assert [cited.source for cited in builder.lost] == [7, 1]


def test_sentences_of_a_report_are_checked_like_any_other(
    world: Services, settings: Settings
) -> None:
    """What nothing supports is left out, wherever it stands; a theme of nothing else goes."""
    quote = "Velmora Works was founded by Ada Lindqvist."
    good = {"text": quote, "citations": [{"source": 1, "quote": quote}]}
    lie = {"text": "Brazil bought the firm in 1999.", "citations": [{"source": 1, "quote": quote}]}
    invented = {"text": "Oslo is its seat.", "citations": [{"source": 7, "quote": "Oslo"}]}
    script_replies(world, {"sentences": [lie, invented, good, invented]}, task="section")
    of_lies = [{"text": "Brazil owns it.", "of": [0, 9]}, {"text": "It was sold.", "of": [1]}]
    summary = [*of_lies, {"text": "The founder of it is Ada Lindqvist [7].", "of": [1]}]
    script_replies(world, {"title": "The firm [3]", "summary": summary}, task="summary")
    run, answer = run_checked_report(TOPIC, settings)
    report = report_of(run)
    assert answer.answer == "The founder of it is Ada Lindqvist [1]."
    assert report.title == "The firm" and [theme.heading for theme in report.themes] == [TOPIC]
    assert [claim.text for claim in report.themes[0].claims] == [quote]
    assert answer.report and answer.report.confidence == "Low"
    assert any("Brazil" in warning for warning in answer.warnings)


def test_a_summary_is_never_missing(world: Services, settings: Settings) -> None:
    """It is then the first sentence of each section, which stays in its section."""
    summary = [{"text": "Nobody knows.", "of": []}]
    script_replies(world, {"title": "", "summary": summary}, task="summary")
    run, answer = run_checked_report(TOPIC, settings)
    report = report_of(run)
    assert answer.answer == "The founder is Ada Lindqvist [1]." and report.title == TOPIC
    told = [claim.text for claim in report.themes[0].claims]
    assert told == ["The founder is Ada Lindqvist.", "The city is Uppsala."]


def test_sentences_that_contradict_each_other_are_shown_as_a_conflict(
    world: Services, settings: Settings
) -> None:
    """Both sides, and in no other place. Numbers of no sentence say nothing."""
    quotes = "Velmora Works was founded by Ada Lindqvist.", "Ada Lindqvist was born in Uppsala."
    rows = [{"text": q, "citations": [{"source": n, "quote": q}]} for n, q in enumerate(quotes, 1)]
    third = {**rows[0], "text": "The founder is Ada Lindqvist."}
    script_replies(world, {"sentences": [*rows, third]}, task="section")
    pairs = [{"first": 1, "second": 2}, {"first": 1, "second": 1}, {"first": -1, "second": 99}]
    summary = [{"text": "In short, the founder is Ada Lindqvist.", "of": [1]}]
    reply = {"title": "T", "summary": summary, "contradictions": pairs}
    script_replies(world, reply, task="summary")
    _, answer = run_checked_report(TOPIC, settings)
    assert answer.report and [claim.text for claim in answer.report.conflicts] == [*quotes]
    assert not any(quote[:-1] in answer.answer for quote in quotes)
    assert [claim.text for claim in answer.report.sections[0].sentences] == [third["text"]]
    assert answer.status == "partial" and any("disagree" in one for one in answer.warnings)
    assert audit_answer(answer.model_dump(mode="json"))["failures"] == []


pieces = st.sampled_from([*TEXT.split(". "), "Brazil", "", "[1]", "cup[2]", "\x00", "【3】"])
sentences = st.builds(
    DraftSentence,
    text=st.lists(pieces, max_size=3).map(" ".join),
    citations=st.lists(st.builds(Cited, source=st.integers(-1, 3), quote=pieces), max_size=3),
)


@given(st.lists(sentences, max_size=6))
@examples(max_examples=30, deadline=None)
def test_whatever_is_written_every_number_has_a_quote(written: list[DraftSentence]) -> None:
    builder = SentenceClaims(research_of_one_page().sources, max_citations=2)
    claims = builder.build_claims(written)
    quoted = {quote.source for quote in builder.quotes}
    assert {n for claim in claims for n in claim.citations} == quoted <= {1}
    assert all(TEXT[quote.start : quote.end] == quote.text for quote in builder.quotes)
    assert not any(re.search(r"\[\d+\]|【\d+】", claim.text) for claim in claims)


def test_offline_a_small_report_of_quotes(tmp_path: Path) -> None:
    settings = Settings(offline=True, strategy="report", runs_dir=tmp_path, cache_dir=tmp_path)
    topic = "Who won the 2022 FIFA World Cup, and who scored the goals?"
    run, answer = run_checked_report(topic, settings)
    assert answer.status == "partial" and not answer.degraded and answer.usage.llm_calls == 0
    pages = {source.n: source.page.text for source in run.research.sources}
    sentences = list(claims_of_body(report_of(run)))
    assert sentences and len({claim.text for claim in sentences}) == len(sentences)
    for claim in sentences:
        assert claim.verdict == "quoted"
        assert any(claim.text in pages[n] for n in claim.citations)
    _, none = run_checked_report("What is the best pizza in Lyon?", settings)
    assert none.status == "insufficient" and not none.citations
