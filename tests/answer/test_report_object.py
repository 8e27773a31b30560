"""The report object: order, counts, numbers and sources are those of the run, whoever wrote it."""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from typing import Any

import pytest

from agent.answer.formats import to_html, to_markdown
from agent.answer.json_format import to_json
from agent.answer.markdown_renderer import escape_markdown, format_link
from agent.answer.schema import Answer
from agent.run.audit_answer import audit_answer
from agent.state import Claim, Finding, Report, Section
from agent.state.json_data import Json
from tests.support.reports import (
    ARABIC,
    CHINESE,
    FINAL,
    NEWS,
    SNIPPET,
    TOPIC,
    UNCITED,
    AnswerBuilder,
    CitedSentence,
    world_cup_answer,
)

BEAT = CitedSentence("Argentina beat France.", [(1, "Argentina beat France 4-2 on penalties")])


def reported(**changed: Any) -> Answer:
    """A small report, changed."""
    run = AnswerBuilder(TOPIC, [FINAL, UNCITED, NEWS])
    values: Json = {
        "title": "The final [1]",
        "themes": (Section(heading="The match [7]", claims=run.claims([BEAT])),),
    }
    return run.build_answer([BEAT], Report(**{**values, **changed}))


def test_a_report_has_its_order_and_its_numbers_by_the_run() -> None:
    answer = world_cup_answer()
    report = answer.report
    assert report
    assert re.findall(r"^#{1,2} (.*)$", report.markdown, re.M) == [
        "The 2022 FIFA World Cup final", "Methodology", "Executive Summary", "Main Findings",
        "Conflicting Information", "Confidence Assessment", "Sources",
    ]  # fmt: skip
    assert re.findall(r"^### (.*)$", report.markdown, re.M) == [s.heading for s in report.sections]
    counted = (
        r"\n\*\*Low\*\*. 1\d sentences: .*, from 5 pages of \d sites\..* Sentences that contradict"
    )
    assert re.search(counted, report.markdown)
    counts = {"candidates": 6, "analysed": 5, "snippets": 1, "blocked": 1, "failed": 0}
    searches = {"question": TOPIC, "searches": (TOPIC, "2022 final attendance")}
    assert report.methodology.model_dump() == searches | counts
    assert "**Sources analysed:** 5 of 6 candidates, and 1 search snippet" in report.markdown
    assert "**Sources blocked:** 1\n" in report.markdown
    listed = re.findall(r"^- \[(\d+)\] ", report.markdown, re.M)
    marked = set(re.findall(r"\[(\d+)\]", report.markdown))
    assert listed == ["1", "2", "3", "4", "5"] and marked == set(listed)
    assert {citation.id for citation in answer.citations} == set(map(int, listed))
    assert "Never cited" not in report.markdown


def test_every_link_that_was_looked_at_is_listed_once() -> None:
    answer = world_cup_answer()
    assert answer.report
    became = {link.url: (link.became, link.reason) for link in answer.report.links}
    assert len(became) == len(answer.report.links) == 7
    assert became["https://blog.example/"] == ("blocked", "HTTP 403")
    assert became[FINAL.url] == became[UNCITED.url] == ("read", "")
    assert became[SNIPPET.url] == ("snippet", "")
    assert "Links" not in answer.report.markdown  # which has the seven headings of the design
    markdown, page = to_markdown(answer), to_html(answer)
    for link in answer.report.links:
        assert format_link(link.url, escape_markdown(link.title or link.url)) in markdown
        assert f'href="{escape(link.url)}"' in page


def test_what_has_no_quote_or_is_not_cited_is_taken_out() -> None:
    report = reported().report
    assert report and report.title == "The final"
    assert report.sections[0].heading == "The match"
    claims = (Claim(text="It was cold.", citations=(2, 9)),)
    answer = reported(themes=(Section(heading="Weather", claims=claims),), conflicts=claims)
    assert answer.report and answer.report.sections[0].sentences[0].citations == ()
    assert answer.report.conflicts[0].citations == ()
    run = AnswerBuilder(TOPIC, [FINAL, NEWS])
    run.claims([CitedSentence("Left out.", [(2, "Lionel Messi lifted the trophy.")])])
    uncited = run.build_answer([BEAT], Report(title="T", themes=()))
    assert {one.id for one in (*answer.citations, *uncited.citations)} == {1}


def test_no_conflict_is_said_only_where_values_were_compared() -> None:
    def told(run: AnswerBuilder) -> str:
        answer = run.build_answer([BEAT], Report(title="T", themes=()))
        assert answer.report
        return answer.report.markdown.split("## Conflicting Information\n\n")[1].split("\n")[0]

    pages = [FINAL, NEWS]
    plain = told(AnswerBuilder(TOPIC, pages))
    assert plain == "No values from two sources could be compared."
    known = AnswerBuilder(TOPIC, pages)
    quotes = (known.quote(1, "Lionel Messi scored twice."), known.quote(2, "Lionel Messi lifted"))
    found = Finding(slot="captain", status="filled", value="Lionel Messi", quotes=quotes)
    run = AnswerBuilder(TOPIC, pages, [found])
    assert told(run) == "No significant conflicting information was found."


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal that holds the pages of the report."""
    path = tmp_path_factory.mktemp("runs") / "monday.jsonl"
    lines: list[Json] = [{"journal": 1, "run": "monday", "topic": TOPIC}]
    for page in (FINAL, NEWS, UNCITED, CHINESE, ARABIC):
        response = page.event().page.model_dump(mode="json")
        lines.append({"call": "read", "key": page.url, "request": {}, "response": response})
    hit = {"url": SNIPPET.url, "title": SNIPPET.title, "snippet": SNIPPET.text}
    found = {"at": SNIPPET.event().page.retrieved_at, "hits": [hit]}
    for query in (TOPIC, "2022 final attendance"):
        request = {"query": query}
        lines.append({"call": "search", "key": query, "request": request, "response": found})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


@pytest.fixture
def answer() -> Json:
    value = json.loads(to_json(world_cup_answer()))
    assert isinstance(value, dict)
    return value


def test_a_report_passes_its_audit(answer: Json, journal: Path) -> None:
    found = audit_answer(answer, journal)
    assert found["failures"] == []
    assert found["checked"] == {"citations": 12, "claims": 14, "slots": 3, "pages": 5}


FIRST, PART = "report.sections.0.sentences", "report.sections[0].sentences"
TAMPERINGS: list[tuple[str, Any, str]] = [
    ("report.markdown", "# Another report\n", "report.markdown"),
    ("report.confidence", "High", "report.markdown"),
    (f"{FIRST}.0.text", "Pelé scored.", f"{PART}[0].verdict"),
    (f"{FIRST}.3.verdict", "supported", f"{PART}[3].verdict"),
    (f"{FIRST}.0.citations", [9], f"{PART}[0]"),
    ("report.methodology.analysed", 50, "report.markdown"),
    ("citations.0.title", "A better title", "report.markdown"),
    ("report.extra", 1, "$.report"),
]  # fmt: skip


@pytest.mark.parametrize("path, value, where", TAMPERINGS)
def test_what_is_changed_is_named(
    path: str, value: Any, where: str, answer: Json, journal: Path
) -> None:
    *parents, last = (int(key) if key.isdigit() else key for key in path.split("."))
    place: Any = answer
    for key in parents:
        place = place[key]
    place[last] = value
    found = audit_answer(answer, journal)
    assert where in {failure["where"] for failure in found["failures"]}


def test_a_marker_added_to_the_markdown_is_found(answer: Json, journal: Path) -> None:
    report = answer["report"]
    report["markdown"] = report["markdown"].replace("slept that night.", "slept that night [1].")
    assert [f["where"] for f in audit_answer(answer, journal)["failures"]] == ["report.markdown"]


def test_the_markdown_of_another_version_is_checked_by_its_markers(
    answer: Json, journal: Path
) -> None:
    header, *calls = journal.read_text("utf-8").splitlines()
    older = json.dumps(json.loads(header) | {"version": "0.1.0"})
    journal.write_text("\n".join([older, *calls, ""]), "utf-8")
    report = answer["report"]
    report["markdown"] = report["markdown"].replace(
        "**Sources analysed:**", "**Sources analysed**:"
    )
    assert audit_answer(answer, journal)["ok"]
    report["markdown"] += "\nMore [99].\n"
    assert [f["where"] for f in audit_answer(answer, journal)["failures"]] == ["report.markdown"]
