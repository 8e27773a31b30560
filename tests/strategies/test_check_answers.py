"""An answer of this program is a report like any other: what it cites is read and judged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agent import research
from agent.answer.check_result import build_check_result
from agent.answer.formats import to_html, to_markdown
from agent.answer.json_format import to_json
from agent.answer.schema import Answer
from agent.documents.reports.reader import read_report
from agent.run.check_run import begin_check
from agent.settings import Settings
from agent.state import RunRequest

HAS = "The honey bee colony of Ludo has 40,000 bees."
QUESTION = "How many bees has the honey bee colony of Ludo?"
WRITERS: dict[str, Callable[[Answer], str]] = {
    "markdown": to_markdown,
    "html": to_html,
    "answer": to_json,
}


@pytest.mark.parametrize("form", WRITERS)
def test_an_answer_over_documents_is_judged(tmp_path: Path, form: str) -> None:
    corpus = tmp_path / "documents"
    corpus.mkdir()
    (corpus / "two bees.md").write_text(f"# Bees\n\n{HAS} Anna Berg founded it.\n", "utf-8")
    folders = {"runs_dir": tmp_path / "runs", "cache_dir": tmp_path / "cache"}
    settings = Settings(offline=True, corpus=corpus, **folders)
    told = WRITERS[form](research(QUESTION, settings=settings).answer())
    report = read_report(told.encode(), "answer")
    checked = build_check_result(begin_check(settings, RunRequest(report=report)).answer())
    verdicts = {claim.text: claim.verdict for claim in checked.claims}
    assert report.form == form and report.marks and not report.unaddressed
    assert verdicts[HAS] == "quoted" and "unreadable" not in verdicts.values()
    assert {source.url for source in checked.sources} == {"corpus:two%20bees.md"}
