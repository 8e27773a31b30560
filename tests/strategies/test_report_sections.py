"""A report of sections: each researched by its own rounds, side by side, over shared sources."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.run.estimate import estimate
from agent.settings import Settings, replace_settings
from agent.state import Doubted, Plan, Planned, Queried, Reflected
from tests.support.analyst import Analyst
from tests.support.report_runs import TOPIC as TOOLS_TOPIC
from tests.support.report_runs import (
    report_of,
    report_settings,
    run_checked_report,
    serve_report_world,
)
from tests.support.services import ModelRequest, Raw, Reply, Services
from tests.support.thinker import Fact
from tests.support.worlds import call_subject, comparable_events, count_requests

TOPIC = "Velmora Works: its people and its figures"
WHO, WHERE, STAFF = "Who founded Velmora Works?", "Where was the founder born?", "How many staff?"
AWARDS = "Which awards has it won?"
FACTS = [
    Fact(WHO, "Ada Lindqvist", "was founded by"),
    Fact(WHERE, "Uppsala", "Ada Lindqvist was born"),
    Fact(f"{STAFF} (2019)", "310", "In 2019 Velmora Works had"),
    Fact(f"{STAFF} (2020)", "344", "In 2020 Velmora Works had"),
]
PAGES = {
    "firm": "Velmora Works was founded by Ada Lindqvist. It ships parts to forty countries.",
    "born": "Ada Lindqvist was born in Uppsala. She learned her trade in Lund.",
    "staff": "In 2019 Velmora Works had 310 staff. In 2020 Velmora Works had 344 staff.",
}
HITS: dict[str, list[str] | Raw] = {
    "founder of Velmora Works": ["firm"],
    "birthplace of Ada Lindqvist": ["born", "firm"],
    "staff of Velmora Works": ["staff", "firm"],
}
PLAN = {
    "question_type": "exploratory",
    "sections": [
        {"heading": "Founder", "questions": [WHO]},
        {"heading": "Birth", "questions": [WHERE], "after": [1]},
        {"heading": "Staff", "questions": [STAFF], "things": ["2019", "2020"]},
        {"heading": "Awards", "questions": [AWARDS]},
    ],
    "prioritized_sub_queries": [
        {"query": "founder's place of birth", "section": 2},
        {"query": "founder of Velmora Works", "section": 1},
        {"query": "staff of Velmora Works", "section": 3},
        {"query": "awards of Velmora Works", "section": 4},
    ],
}


@pytest.fixture
def world(services: Services) -> Services:
    services.pages, services.hits = dict(PAGES), lambda query: HITS.get(query, [])
    services.think = Analyst(FACTS, PLAN, {WHERE: "birthplace of Ada Lindqvist"})
    return services


@pytest.fixture
def settings(services: Services, tmp_path: Path) -> Settings:
    return report_settings(services, tmp_path).model_copy(update={"credibility": "host"})


def prompts(world: Services, task: str) -> list[str]:
    return [asked.prompt for asked in world.model_requests if asked.task == task]


def test_sections_are_researched_by_their_own_rounds_and_written(
    world: Services, settings: Settings
) -> None:
    run, answer = run_checked_report(TOPIC, settings)
    written = sorted(p.partition("\nSection: ")[2] for p in prompts(world, "section"))
    assert [one.partition(",")[0] for one in written] == ["Awards", "Birth", "Founder", "Staff"]
    assert "Questions:\n- Who founded Velmora Works?: Ada Lindqvist [" in written[2]
    assert "Other sections:\n- Founder\n- Birth\n- Awards" in written[3]
    rounds = [(q.round, q.section, q.queries) for q in run.research.events_of(Queried)]
    # the second section waited for the first; the fourth looks once more for what nobody tells
    assert [row[:2] for row in rounds] == [(1, 1), (1, 3), (1, 4), (2, 2), (2, 4)]
    assert "birthplace of Ada Lindqvist" in world.search_queries
    assert "founder's place of birth" not in world.search_queries  # it knew better by then
    plan = Plan(**run.research.events_of(Planned)[0].model_dump(exclude={"type"}))
    taken = estimate(TOPIC, settings.model_copy(update={"plan": plan}))
    used = answer.usage.llm_calls + answer.usage.searches + answer.usage.pages
    assert taken.calls.min <= used <= taken.calls.max
    report = report_of(run)
    assert [theme.heading for theme in report.themes] == ["Founder", "Birth", "Staff", "Awards"]
    founder, birth, staff, awards = report.themes
    assert [claim.text for claim in founder.claims] == ["Who founded Velmora Works: Ada Lindqvist."]
    assert birth.claims[0].text == "Where was the founder born: Uppsala." and not birth.open
    assert not awards.claims and awards.open == (AWARDS,)
    rows = [claim for claim in staff.claims if claim.form == "row"]
    assert [row.text for row in rows] == ["| 2019 | 310 |", "| 2020 | 344 |"]
    assert all(row.citations and row.verdict == "supported" for row in rows)
    assert answer.answer.startswith("In short: ") and report.title == "What was found"
    assert answer.report and f"Not found:\n\n- {AWARDS}" in answer.report.markdown.replace("\\", "")
    assert run.research.events_of(Doubted)[-1].gaps == (AWARDS,)
    assert answer.status == "partial" and answer.warnings == (f"Not answered: {AWARDS}",)
    texts = [claim.text for claim in answer.claims]
    texts += [claim.text for theme in report.themes for claim in theme.claims]
    assert len(texts) == len(set(texts))


def test_models_are_asked_side_by_side(world: Services, settings: Settings) -> None:
    """The reply to each section's reading waits until all three are asked.

    How long ten sections take beside one: `python -m evals.benchmarks sections`.
    """
    import threading

    honest, together = world.think, threading.Barrier(3, timeout=20)
    late = iter([True] * 3)

    def think(asked: ModelRequest) -> Reply:
        if asked.task == "reflect" and next(late, False):
            together.wait()
        return honest(asked)

    world.think = think
    run, answer = run_checked_report(TOPIC, settings)
    assert answer.citations and not together.broken
    said = [e.section for e in run.research.events_of(Reflected)]
    assert said[:3] == [1, 3, 4]  # in the order of the plan, whoever was faster


@pytest.mark.slow
@pytest.mark.parametrize("uses_tools", [False, True])
def test_a_report_is_replayed_and_resumed(
    uses_tools: bool, world: Services, settings: Settings
) -> None:
    """Nothing is asked twice and the events are the same, after whichever call it was killed."""
    topic = TOPIC
    if uses_tools:
        serve_report_world(world, True)
        topic, settings = TOOLS_TOPIC, replace_settings(settings, {"depth": "quick"})
    run, answer = run_checked_report(topic, settings)
    assert answer.run
    journal = Path(str(answer.run.journal))
    lines, asked = journal.read_text().splitlines(keepends=True), count_requests(world)
    again, repeated = run_checked_report("", Settings(), replay=journal)
    assert comparable_events(again) == comparable_events(run)
    assert repeated.answer == answer.answer and count_requests(world) == asked
    for keep in range(1, len(lines), 4):
        journal.write_text("".join(lines[:keep]))
        calls = [json.loads(line) for line in lines[1:keep] if line.startswith('{"call"')]
        finished = {call_subject(call) for call in calls}
        before = count_requests(world)
        resumed, later = run_checked_report(topic, settings, resume=answer.run.id)
        assert later.answer == answer.answer
        assert comparable_events(resumed) == comparable_events(run)
        repeated_calls = {*(count_requests(world) - before)} & finished
        assert not repeated_calls


def test_what_two_sections_say_otherwise_is_a_dispute(world: Services, settings: Settings) -> None:
    world.pages["other"] = "Velmora Works was started by Bo Ek, it is said elsewhere."
    world.hits = lambda query: {**HITS, "awards of Velmora Works": ["other"]}.get(query, [])
    plan: Any = json.loads(json.dumps(PLAN))
    plan["sections"][3] = {"heading": "Legend", "questions": [WHO]}
    honest = Analyst(FACTS, plan, {WHERE: "birthplace of Ada Lindqvist"})

    def think(asked: ModelRequest) -> Reply:
        if asked.task == "reflect" and 'id="' in asked.prompt and "Legend" in asked.prompt:
            row = {"name": WHO, "value": "Bo Ek", "quote": "was started by Bo Ek"}
            n = int(asked.prompt.partition("Velmora Works was started")[0].rpartition('id="')[2][0])
            return {"slots": [{**row, "source": n}], "need_more": False, "new_queries": []}
        return honest(asked)

    world.think = think
    run, _ = run_checked_report(TOPIC, settings)
    assert [claim.intro for claim in report_of(run).conflicts][:1] == [
        f"{WHO}: Ada Lindqvist / Bo Ek"
    ]
