"""Runs of strategy `report` over the wire, and what holds for the answer of each of them.

The world is `tests.support.worlds.reported`: two rounds, of which the second finds where the
founder was born. The model is `tests.support.reporter.Reporter`, unless a test scripts a reply of
its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agent.answer.json_format import to_json
from agent.answer.schema import Answer
from agent.run.loop import Run
from agent.settings import Settings, parse_settings
from agent.state import Report
from tests.support.reporter import Calls
from tests.support.services import ModelRequest, Reply, Services
from tests.support.worlds import World, report_world, run_to_end

TOPIC = "In which city was the founder of Velmora Works born?"
FIRM, BORN = "velmora-works-founder-city", "velmora-works-founder-born"
GATHER = ["gather"] * 3  # a round of the scripted model: search, read, done
WRITING = ["section", "verify", "summary", "verify"]
STAGES = ["plan", *GATHER, "reflect", *GATHER, "reflect", *WRITING]
ONE_ROUND = ["plan", *GATHER, "reflect", *WRITING]


def serve_report_world(services: Services, has_questions: bool = False) -> Services:
    """Services set up for the world of two rounds, where no model is busy (a fixture's body)."""
    topic, pages, hits, think, _ = report_world(has_questions)
    ready = World(topic, pages, hits, think).set_up(services)
    hits_by_query = {**hits, "a query that fails": [FIRM]}
    ready.hits = lambda query: hits_by_query.get(query, [])
    return ready


def report_settings(services: Services, tmp_path: Path) -> Settings:
    """Settings of a report run against the services (a fixture's body).

    All pages of the world have one host, so only the formula of the source design blocks one.
    """
    formula = {"strategy": "report", "credibility": "source-design"}
    return parse_settings(services.environment(tmp_path, CACHE_TTL="0"), **formula)


def script_replies(world: Services, *replies: Reply | Calls, task: str = "gather") -> None:
    """Give these replies to the first requests of a task; all else is answered as before."""
    honest, left = world.think, list(replies)

    def think(asked: ModelRequest) -> Reply:
        if asked.task != task or not left:
            return honest(asked)
        reply = left.pop(0)
        return {"calls": reply} if isinstance(reply, list) else reply

    world.think = think


def run_checked_report(topic: str, settings: Settings, **more: Any) -> tuple[Run, Answer]:
    """Run to the end, check what every report owes its reader; return the run and its answer."""
    run, answer = run_to_end(topic, settings, **more)
    to_json(answer)  # raises where the answer is not of its own schema
    pages = {source.page.sha256: source.page for source in run.research.sources}
    for citation in answer.citations:  # its span of the stored page is its quote
        page = pages[citation.page_sha256]
        assert page.text[citation.start : citation.end] == citation.quote
    listed = {citation.page_sha256 for citation in answer.citations}
    numbers = {source.n: source.page.sha256 for source in run.research.sources}
    if (composed := run.research.answer) and composed.report:
        for claim in claims_of_body(composed.report):
            assert {numbers[n] for n in claim.citations} <= listed
    ids = {citation.id for citation in answer.citations}
    assert {int(n) for n in re.findall(r"\[(\d+)\]", answer.answer)} <= ids
    return run, answer


def claims_of_body(report: Report) -> Iterator[Any]:
    """Every claim of a report but for its summary: those of its themes and its conflicts."""
    for theme in report.themes:
        yield from theme.claims
    yield from report.conflicts


def report_of(run: Run) -> Report:
    """The report of a run that has one."""
    answer = run.research.answer
    assert answer and answer.report
    return answer.report
