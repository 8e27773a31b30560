"""The stages of a report: their order, their prompts, rounds and gaps, and what is left behind."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from agent.settings import Settings
from agent.state import Doubted, Planned, Queried
from agent.trace.__main__ import format_lines, load_trace
from agent.trace.lines import list_parts
from tests.support.report_runs import (
    BORN,
    FIRM,
    GATHER,
    ONE_ROUND,
    STAGES,
    TOPIC,
    report_of,
    report_settings,
    run_checked_report,
    script_replies,
    serve_report_world,
)
from tests.support.services import Reply, Services, source_ids

world = pytest.fixture(serve_report_world)
settings = pytest.fixture(report_settings)


def test_five_stages_in_their_order(world: Services, settings: Settings) -> None:
    run, answer = run_checked_report(TOPIC, settings)
    assert world.tasks() == STAGES
    assert answer.status == "complete" and not answer.degraded
    assert answer.answer == "The founder is Ada Lindqvist [1]. The city is Uppsala [2]."
    assert [q.queries for q in run.research.events_of(Queried)] == [
        ("founder of Velmora Works", "a query that fails"),
        ("city where Ada Lindqvist was born",),
    ]
    assert run.research.events_of(Planned)[0].question_type == "factual"
    assert run.research.events_of(Doubted)[0].gaps == ("the city",)
    assert world.search_queries[-1] == "city where Ada Lindqvist was born"
    assert sorted(world.search_queries[:2]) == ["a query that fails", "founder of Velmora Works"]
    assert set(world.page_requests) == {FIRM, BORN, "velmora-works-founder-born-gone"}
    report = report_of(run)
    assert [theme.heading for theme in report.themes] == ["The facts"]
    assert [claim.citations for claim in report.themes[0].claims] == [(1,), (2,)]
    assert report.confidence == "Medium" and not report.conflicts
    assert answer.sources.model_dump() == {"found": 4, "read": 2, "blocked": 1, "failed": 1}


def test_what_each_stage_is_asked(world: Services, settings: Settings) -> None:
    run_checked_report(TOPIC, settings)
    plan, first, gaps, second, draft = (world.model_requests[i] for i in (0, 1, 4, 5, 8))
    day = datetime.now(UTC).date()
    assert plan.prompt == f'<topic today="{day}">{TOPIC}</topic>'
    assert "- [Medium] founder of Velmora Works (needed)" in first.prompt
    assert source_ids(gaps.prompt).keys() == {1} and "Queries made:" in gaps.prompt
    assert "Gaps:\n- the city" in second.prompt and source_ids(second.prompt).keys() == {1}
    assert "Searched before:\n- founder of Velmora Works" in second.prompt
    assert source_ids(draft.prompt).keys() == {1, 2}
    assert "Gaps found on the way:\n- the city" in draft.prompt
    assert "[1] 0.56, a general site" in draft.prompt and "low credibility: 1" in draft.prompt


@pytest.mark.parametrize("queries", [[], ["something else to search"]])
def test_the_second_round_is_skipped_without_gaps(
    queries: list[str], world: Services, settings: Settings
) -> None:
    gaps = ["None."] if queries else []  # as models say that there is none
    script_replies(world, {"gaps": gaps, "follow_up_queries": queries}, task="gaps")
    run, answer = run_checked_report(TOPIC, settings)
    assert world.tasks() == ONE_ROUND and run.research.round == 1
    assert "something else to search" not in world.search_queries and answer.status == "complete"


def test_as_many_rounds_as_are_asked_for(world: Services, settings: Settings) -> None:
    """One has no gaps to look for; a third is for what the second left open."""
    run_checked_report(TOPIC, settings.model_copy(update={"max_rounds": 1}))
    assert world.tasks() == ["plan", *GATHER, "draft", "verify"]
    world.model_requests.clear()
    open_still = ({"gaps": ["more"], "follow_up_queries": [q]} for q in ("Ada", "Lindqvist"))
    script_replies(world, *open_still, task="gaps")
    _, answer = run_checked_report(TOPIC, settings.model_copy(update={"max_rounds": 3}))
    assert [task for task in world.tasks() if task != "gather"][:4] == [
        "plan",
        "gaps",
        "gaps",
        "draft",
    ]
    assert answer.usage.rounds == 3 and answer.status == "complete"


def test_gaps_without_queries_are_searched_themselves(world: Services, settings: Settings) -> None:
    script_replies(world, {"gaps": ["birth city"], "follow_up_queries": []}, task="gaps")
    run_checked_report(TOPIC, settings)
    assert world.search_queries[-1] == "birth city" and world.tasks().count("gather") > 3


def test_queries_that_were_made_are_no_second_round(world: Services, settings: Settings) -> None:
    made = "founder of Velmora Works"
    script_replies(world, {"gaps": [made], "follow_up_queries": [made.upper()]}, task="gaps")
    run_checked_report(TOPIC, settings)
    assert world.tasks() == ONE_ROUND and len(world.search_queries) == 2


def test_sub_queries_go_by_their_priority(world: Services, settings: Settings) -> None:
    rows = [("c", "Low"), ("a", "high"), ("b", "?"), ("A", "Low")]
    plan = {
        "question_type": "Technical",
        "search_strategy": "deep-dive",
        "prioritized_sub_queries": [{"query": q, "priority": p} for q, p in rows],
    }
    script_replies(world, plan, task="plan")
    run, _ = run_checked_report(TOPIC, settings)
    planned = run.research.events_of(Planned)[0]
    assert [(s.query, s.priority) for s in planned.sub_queries] == [
        ("a", "High"),
        ("b", "Medium"),
        ("c", "Low"),
    ]
    assert "documentation" in world.model_requests[1].system


@pytest.mark.parametrize("reply", ["I would look at the web.", {"prioritized_sub_queries": []}])
def test_an_unusable_plan_is_the_question(
    reply: Reply, world: Services, settings: Settings
) -> None:
    script_replies(world, *[reply] * 4, task="plan")  # two of each model
    run, answer = run_checked_report(TOPIC, settings)
    assert run.research.events_of(Queried)[0].queries == (TOPIC,)
    assert world.search_queries[0] == TOPIC and answer.status in ("complete", "insufficient")


def test_slots_that_the_caller_names_are_filled_once_before_the_draft(
    world: Services, settings: Settings
) -> None:
    named = settings.model_copy(update={"slots": ("founder", "shoe_size")})
    _, answer = run_checked_report(TOPIC, named)
    tasks = world.tasks()
    assert tasks.count("reflect") == 1 and tasks[tasks.index("reflect") + 1] == "draft"
    assert answer.slots["founder"].value == "Ada Lindqvist"
    assert answer.slots["founder"].citations and answer.slots["shoe_size"].status == "missing"
    assert "reflect" not in [asked.task for asked in world.model_requests[: tasks.index("gaps")]]


def test_a_trace_of_a_report(world: Services, settings: Settings) -> None:
    """Every call stands in its round, and plan, gaps and blocks are told."""
    _, answer = run_checked_report(TOPIC, settings)
    assert answer.run
    shown = load_trace(settings, answer.run.id)
    text = format_lines(shown)
    parts = [part.heading for part in list_parts(shown) if part.blocks]
    assert parts == ["Plan", "Round 1", "Round 2", "Answer", "Cost"]  # nothing is left over
    assert "plan: factual, breadth-first" in text and "gap: the city" in text
    assert "blocked: " in text and "credibility 0.16" in text
