"""A report of sections: each researched by its own rounds, side by side, over shared sources."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.run.estimate import estimate
from agent.settings import Effort, Settings
from agent.state import Doubted, Plan, Planned, Queried, Reflected, Searched
from tests.support.analyst import Analyst
from tests.support.report_runs import report_of, report_settings, run_checked_report
from tests.support.services import ModelRequest, Raw, Reply, Services
from tests.support.thinker import Fact
from tests.support.worlds import comparable_events

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


def test_each_section_is_asked_of_its_own_and_sees_all_sources(
    world: Services, settings: Settings
) -> None:
    run, _ = run_checked_report(TOPIC, settings)
    assert [prompt.partition("\nSlots:\n")[2] for prompt in prompts(world, "reflect")][:3] != []
    written = sorted(p.partition("\nSection: ")[2] for p in prompts(world, "section"))
    assert [one.partition(",")[0] for one in written] == ["Awards", "Birth", "Founder", "Staff"]
    assert "Questions:\n- Who founded Velmora Works?: Ada Lindqvist [" in written[2]
    assert "Other sections:\n- Founder\n- Birth\n- Awards" in written[3]
    urls = [source.hit.url.rpartition("/")[2] for source in run.research.sources]
    assert urls == ["firm", "staff", "born"]  # by round, section and rank


def test_a_section_chooses_its_pages_among_all_hits_of_a_search(
    world: Services, settings: Settings
) -> None:
    """The page that the query names is the eighth."""
    others = [f"other{n}" for n in range(7)]
    world.pages |= {"Velmora": PAGES["firm"]} | {one: f"{one} tells of soup." for one in others}
    hits = {**HITS, "founder of Velmora Works": [*others, "Velmora"]}
    world.hits = lambda query: hits.get(query, [])
    _, answer = run_checked_report(TOPIC, settings)
    assert "Velmora" in world.page_requests and len(world.page_requests) < 8
    assert "Ada Lindqvist" in answer.answer


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
def test_a_report_of_sections_is_replayed_and_resumed(world: Services, settings: Settings) -> None:
    run, answer = run_checked_report(TOPIC, settings)
    assert answer.run
    journal = Path(str(answer.run.journal))
    again, repeated = run_checked_report("", Settings(), replay=journal)
    assert comparable_events(again) == comparable_events(run)
    assert repeated.answer == answer.answer
    lines = journal.read_text().splitlines(keepends=True)
    asked = len(world.model_requests)
    for keep in range(1, len(lines), 4):  # a kill after any call
        journal.write_text("".join(lines[:keep]))
        world.model_requests.clear()
        resumed, later = run_checked_report(TOPIC, settings, resume=answer.run.id)
        assert later.answer == answer.answer and len(world.model_requests) <= asked
        assert comparable_events(resumed) == comparable_events(run)


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


@pytest.mark.slow
def test_caps_of_sources_turns_and_calls(world: Services, settings: Settings) -> None:
    few, _ = run_checked_report(
        TOPIC, settings.model_copy(update={"effort": Effort(max_sources=1)})
    )
    assert len(few.research.sources) == 1
    _, cut = run_checked_report(TOPIC, settings.model_copy(update={"max_iterations": 2}))
    assert cut.status == "partial" and any("max iterations reached" in w for w in cut.warnings)
    for calls in range(4, 24, 3):
        capped = settings.model_copy(update={"max_calls": calls})
        run, answer = run_checked_report(TOPIC, capped)
        assert answer.usage.llm_calls + answer.usage.searches <= calls
        assert answer.status in ("partial", "insufficient", "complete")
        if run.research.events_of(Searched) and answer.status != "insufficient":
            assert report_of(run).themes and run.research.events_of(Planned)
