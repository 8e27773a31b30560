"""Drafts of a report: which sentences, citations and themes of a model's reply are kept."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from agent.settings import DEPTHS, Settings
from agent.state import Answered, Cited, Hit, Page, PageRead, Research
from agent.strategies.report.draft import DraftSentence, ReportDraft, Theme, build_report
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

world = pytest.fixture(serve_report_world)
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


def test_a_draft_keeps_only_citations_that_stand_and_no_marker_of_its_own() -> None:
    lie = draft_sentence("Brazil won the cup [1].", (1, "Brazil won the cup"))
    themes = [Theme(heading="Won [3]", sentences=[GOOD, lie]), Theme(heading="None", sentences=[])]
    draft = ReportDraft(
        title="The cup [1]", summary=[GOOD], themes=themes, confidence="Low", rationale="As [2]."
    )
    answer, warnings = build_report(draft, research_of_one_page())
    assert answer.text == "Argentina won the cup [1]." and answer.report
    assert [(theme.heading, len(theme.claims)) for theme in answer.report.themes] == [("Won", 2)]
    assert [claim.citations for claim in answer.report.themes[0].claims] == [(1,), ()]
    assert answer.report.title == "The cup" and answer.report.rationale == "As."
    assert [quote.text for quote in answer.quotes] == [WON]
    assert warnings[0] == "A citation was dropped: there is no source 7."
    assert warnings[1].startswith('A citation was dropped: [1] does not say "Brazil won the cup".')


def test_sentences_of_a_report_are_checked_like_any_other(
    world: Services, settings: Settings
) -> None:
    """What nothing supports is left out, wherever it stands; a theme of nothing else goes."""
    quote = "Velmora Works was founded by Ada Lindqvist."
    good = {"text": quote, "citations": [{"source": 1, "quote": quote}]}
    lie = {"text": "Brazil bought the firm in 1999.", "citations": [{"source": 1, "quote": quote}]}
    invented = {"text": "Oslo is its seat.", "citations": [{"source": 7, "quote": "Oslo"}]}
    draft = {
        "title": "The firm",
        "summary": [lie, good],
        "themes": [
            {"heading": "Sale", "sentences": [lie, invented]},
            {"heading": "Founder", "sentences": [good, invented]},
        ],
        "conflicts": [lie],
        "confidence": "high",
        "rationale": "One source.",
    }
    script_replies(world, draft, task="draft")
    run, answer = run_checked_report(TOPIC, settings)
    report = report_of(run)
    assert answer.answer == "Velmora Works was founded by Ada Lindqvist [1]."
    assert [theme.heading for theme in report.themes] == ["Founder"]
    assert len(report.themes[0].claims) == 1 and not report.conflicts
    assert report.confidence == "High" and any("Brazil" in warning for warning in answer.warnings)


def test_the_summary_has_five_sentences_at_most_and_is_never_missing() -> None:
    """Each is a claim of its own, so that what is true of one does not speak for the next."""
    two = draft_sentence("Argentina won the cup [1]. It is made of gold.", (1, WON))
    answer, _ = build_report(ReportDraft(title="", summary=[two] * 4), research_of_one_page())
    assert [claim.text for claim in answer.claims[:2]] == [WON, "It is made of gold."]
    assert len(answer.claims) == 5 and answer.report and answer.report.title == "Who won?"
    themes = [Theme(heading="a", sentences=[GOOD])]
    answer, _ = build_report(ReportDraft(title="x", themes=themes), research_of_one_page())
    assert answer.text == "Argentina won the cup [1]."


pieces = st.sampled_from([*TEXT.split(". "), "Brazil", "", "[1]", "cup[2]", "\x00", "【3】"])
sentences = st.builds(
    DraftSentence,
    text=st.lists(pieces, max_size=3).map(" ".join),
    citations=st.lists(st.builds(Cited, source=st.integers(-1, 3), quote=pieces), max_size=3),
)
drafts = st.builds(
    ReportDraft,
    title=pieces,
    summary=st.lists(sentences, max_size=4),
    themes=st.lists(
        st.builds(Theme, heading=pieces, sentences=st.lists(sentences, max_size=3)), max_size=3
    ),
    conflicts=st.lists(sentences, max_size=2),
    rationale=pieces,
)


@given(drafts)
@examples(max_examples=30, deadline=None)
def test_whatever_is_drafted_every_number_has_a_quote(draft: ReportDraft) -> None:
    grown = research_of_one_page()
    answer, _ = build_report(draft, grown)
    assert isinstance(answer, Answered) and answer.report
    quoted = {quote.source for quote in answer.quotes}
    claims = [*answer.claims, *claims_of_body(answer.report)]
    assert {n for claim in claims for n in claim.citations} == quoted <= {1}
    assert all(TEXT[quote.start : quote.end] == quote.text for quote in answer.quotes)
    shown = [answer.report.title, answer.report.rationale, *(claim.text for claim in claims)]
    assert not any(re.search(r"\[\d+\]|【\d+】", text) for text in shown)
    assert all(theme.claims for theme in answer.report.themes)


def test_offline_a_small_report_of_quotes(tmp_path: Path) -> None:
    settings = Settings(offline=True, strategy="report", runs_dir=tmp_path, cache_dir=tmp_path)
    run, answer = run_checked_report(
        "Who won the 2022 FIFA World Cup, and who scored the goals?", settings
    )
    assert answer.status == "complete" and not answer.degraded and answer.usage.llm_calls == 0
    report = report_of(run)
    assert report.themes and report.confidence == "Low" and "No model" in report.rationale
    pages = {source.n: source.page for source in run.research.sources}
    texts = {page.title: page.text for page in pages.values()}
    cited = {citation.id: texts[citation.title] for citation in answer.citations}
    for claim in answer.claims:  # numbered by first use
        assert claim.verdict == "supported"
        assert any(claim.text in cited[n] for n in claim.citations)
    for claim in claims_of_body(report):
        assert claim.verdict == "supported"
        assert any(claim.text in pages[n].text for n in claim.citations)
    sentences = [claim.text for claim in claims_of_body(report)]
    assert len(sentences) == len(set(sentences))
    deep = settings.model_copy(update=DEPTHS["deep"])
    # a query of it, "LEGO people", fits Mount Everest
    _, lego = run_checked_report("Who founded LEGO?", deep)
    assert {citation.title for citation in lego.citations} == {"The LEGO Group"}
    _, none = run_checked_report("What is the best pizza in Lyon?", settings)
    assert none.status == "insufficient" and not none.citations
