"""The plan of a report: made with one model call, printed, edited, refused with its line, run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from agent.calls.journal_reader import read_header
from agent.cli import run_cli
from agent.errors import UsageError
from agent.run.plan import offer_plan
from agent.run.plan_file import parse_plan, write_outline
from agent.settings import Settings
from agent.state import Plan, Planned, PlannedSection, RunRequest, SubQuery
from tests.support.analyst import Analyst
from tests.support.report_runs import (
    TOPIC,
    report_settings,
    run_checked_report,
    script_replies,
    serve_report_world,
)
from tests.support.services import Services
from tests.support.thinker import Fact
from tests.support.web import Web, configure_from
from tests.support.worlds import comparable_events


@pytest.fixture
def world(services: Services) -> Services:
    return serve_report_world(services)


settings = pytest.fixture(report_settings)

OUTLINE = """\
# {topic}

> A remark.
Kind: comparative
Depth: quick
Scholarly: yes
Unclear: which works

## Founder
- Who founded Velmora Works?
Search: founder of Velmora Works

## City
After: Founder
- In which city was {{x}} born?
Of: the founder; the heir
"""
PLAN = parse_plan(OUTLINE.format(topic=TOPIC), "x")


def test_an_outline_is_read_and_written_as_it_is_meant() -> None:
    founder, city = PLAN.sections
    assert (PLAN.topic, PLAN.question_type, PLAN.depth) == (TOPIC, "comparative", "quick")
    assert PLAN.is_research and PLAN.unclear == ("which works",)
    assert founder.searches == (SubQuery(query="founder of Velmora Works"),)
    assert city.after == ("Founder",) and city.things == ("the founder", "the heir")
    assert [slot.name for slot in city.slots][1] == "In which city was {x} born? (the heir)"


lines = st.text(st.characters(codec="utf-8", categories=("L", "N")), min_size=1, max_size=9)
some = st.lists(lines, max_size=3).map(tuple)
sections = st.builds(
    PlannedSection,
    heading=lines,
    questions=some,
    things=some,
    searches=st.lists(st.builds(SubQuery, query=lines), max_size=2).map(tuple),
)


@examples(max_examples=30, deadline=None)
@given(lines, st.lists(sections, min_size=1, max_size=4, unique_by=lambda one: one.heading), some)
def test_any_plan_comes_back_from_its_outline_and_its_json(
    topic: str, planned: list[PlannedSection], unclear: tuple[str, ...]
) -> None:
    last = planned[-1].model_copy(update={"after": tuple(s.heading for s in planned[:-1])})
    plan = Plan(topic=topic, sections=(*planned[:-1], last), unclear=unclear)
    assert parse_plan(write_outline(plan, ["some remark"]), "x") == plan
    assert parse_plan(plan.model_dump_json(indent=1), "x") == plan


@pytest.mark.parametrize(
    ("text", "line", "fault"),
    [
        ("# a\n\nfoo", 3, "it is no heading"),
        ("# a\n## b\n\n## b", 4, "there are two sections 'b'"),
        ("# a\n## b\nAfter: c", 3, "it waits for 'c', which is no section"),
        ("# a\nKind: odd\n## b", 2, "question_type: "),
        ("# a\n## b\nSearch: " + "q" * 600, 3, "at most 500"),
        ("# a\n" + "".join(f"## {n}\n" for n in range(21)), 1, "at most 20"),
        ("{", 1, "it is not JSON"),
        ('{"topic": "a",\n"sections": [{"heading": "b",\n"searches": [{"q": 1}]}]}', 3, "query"),
        ("{" + '"a": [' * 200, 1, "it is not JSON"),
    ],
)
def test_what_is_no_plan_is_refused_with_its_line(text: str, line: int, fault: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_plan(text, "plan.md")
    assert error.value.message.startswith(f"plan.md, line {line}: ")
    assert fault in error.value.message


def test_planning_is_one_call_and_no_search(world: Services, settings: Settings) -> None:
    rows = [
        {"heading": "Founder", "questions": ["Who founded it?", "who founded it?"]},
        {"heading": "City", "questions": ["Where?"], "after": [1, 7]},
        {"heading": "Founder", "questions": ["Twice?"]},
    ]
    queries = [{"query": "city", "section": 2}, {"query": "x", "section": 9, "priority": "High"}]
    asks = [{"question": "Which works?", "changes_plan": True}, {"question": "Which day?"}]
    reply = {"sections": rows, "prioritized_sub_queries": queries, "unclear": asks}
    script_replies(world, reply, task="plan")
    offer = offer_plan(TOPIC, settings, RunRequest())
    assert world.tasks() == ["plan"] and not world.search_queries and not world.page_requests
    founder, city = offer.sections
    assert founder.questions == ("Who founded it?",) and city.after == ("Founder",)
    assert [s.query for s in offer.sub_queries] == ["x", "city"]
    assert offer.ask == ("Which works?",) and offer.unclear == ("Which works?", "Which day?")
    assert offer.estimate.strategy == "report" and offer.estimate.seconds.max
    assert not list(Path(str(settings.runs_dir)).glob("*.jsonl"))


def test_a_given_plan_is_run_and_is_in_the_journal(world: Services, settings: Settings) -> None:
    world.think = Analyst([Fact("Who founded Velmora Works?", "Ada Lindqvist", "founded by")], {})
    wanted = {"plan": PLAN, "reader": "children", "max_citations": 1}
    run, answer = run_checked_report(TOPIC, settings.model_copy(update=wanted))
    prompts = [asked.prompt for asked in world.model_requests if asked.task == "section"]
    assert len(prompts) == 2 and all("\nReader: children" in prompt for prompt in prompts)
    assert answer.report and [s.heading for s in answer.report.sections] == ["Founder", "City"]
    assert all(len(claim.citations) <= 1 for claim in answer.claims)
    assert "plan" not in world.tasks() and "founder of Velmora Works" in world.search_queries
    assert run.research.plan == Planned(**PLAN.model_dump()) and answer.run
    journal = Path(str(answer.run.journal))
    assert Plan(**read_header(journal).settings["plan"]) == PLAN
    again, repeated = run_checked_report("", Settings(), replay=journal)
    assert comparable_events(again) == comparable_events(run)
    assert repeated.answer == answer.answer


def run_command(capfd: Any, *arguments: str) -> tuple[int, str, str]:
    status = run_cli([*arguments])
    out, err = capfd.readouterr()
    return status, out, err


def test_the_command_line_prints_a_plan_and_takes_it_back(tmp_path: Path, capfd: Any) -> None:
    topic = "Who won the 2022 FIFA World Cup?"
    status, out, _ = run_command(capfd, "--offline", "--plan", topic)
    offer = json.loads(out)
    assert status == 0 and offer["sections"] and offer["estimate"]["seconds"]
    outline = tmp_path / "plan.md"
    asked = ["--offline", "--plan", "--format", "markdown", "--out", str(outline), "--topic", topic]
    status, out, _ = run_command(capfd, *asked)
    assert out == outline.read_text() and out.startswith(f"# {topic}")
    outline.write_text(out.replace("## Who", "## Winner of Who"))
    status, out, _ = run_command(capfd, "--offline", "--plan", str(outline))
    answer = json.loads(out)
    assert status == 0 and answer["run"]["strategy"] == "report"
    assert (
        answer["topic"] == topic and "Winner of Who" in answer["report"]["sections"][0]["heading"]
    )
    for arguments, fault in {
        ("--plan", str(tmp_path / "none.md"), topic): "none.md cannot be read",
        ("--plan", str(tmp_path)): "cannot be read",
        ("--replay", "x", "--plan", str(outline)): "--plan has no effect here",
    }.items():
        status, out, err = run_command(capfd, "--offline", *arguments)
        assert status == 2 and fault in json.loads(out)["error"]["message"]


def test_a_plan_over_http(tmp_path: Path) -> None:
    environment = {"RUNS_DIR": f"{tmp_path}/runs", "CACHE_DIR": f"{tmp_path}/cache"}
    with Web(configure_from(environment, offline=True)) as web:
        body = {"question": "Who won the 2022 FIFA World Cup?"}
        plan = web.client.post("/api/plan", json=body).json()
        del plan["estimate"]
        plan["sections"][0]["heading"] = "The winner"
        answer = web.client.post("/api/research", json={**body, "plan": plan}).json()
        assert answer["run"]["strategy"] == "report"
        plan["sections"] *= 2
        refused = web.client.post("/api/research", json={**body, "plan": plan})
        assert refused.status_code == 422 and "two sections" in refused.text
