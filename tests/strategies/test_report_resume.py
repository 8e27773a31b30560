"""A report that is resumed, replayed, capped or stopped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.run import research
from agent.settings import Settings, parse_settings
from agent.state import Halted, PageRead
from tests.support.report_runs import (
    FIRM,
    STAGES,
    TOPIC,
    report_settings,
    run_checked_report,
    serve_report_world,
)
from tests.support.services import Services
from tests.support.worlds import call_subject, comparable_events, count_requests, report_world

world = pytest.fixture(serve_report_world)
settings = pytest.fixture(report_settings)


@pytest.mark.slow
def test_resume_after_each_call_and_replay(services: Services, tmp_path: Path) -> None:
    """Nothing is paid twice, and the events are the same, whichever turn the run ended before."""
    world = report_world()
    environment = world.set_up(services).environment(tmp_path, CACHE_TTL="0")
    settings = parse_settings(environment, strategy="report", resume="whole")
    run, answer = run_checked_report(world.topic, settings)
    asked, events = count_requests(services), comparable_events(run)
    assert answer.run and answer.run.journal
    written = Path(answer.run.journal).read_bytes().splitlines(keepends=True)
    cuts = [n for n, line in enumerate(written) if b'"call": "ask"' in line[:40]]
    assert len(cuts) == len(STAGES)
    for kept in [n - 1 for n in cuts] + [len(written) - 1]:
        path = tmp_path / f"{kept}.jsonl"
        path.write_bytes(b"".join(written[: kept + 1]))
        world.set_up(services)
        again, resumed = run_checked_report("", settings.model_copy(update={"resume": str(path)}))
        known = {call_subject(json.loads(line)) for line in written[1 : kept + 1]}
        missing = {what: times for what, times in asked.items() if what not in known}
        assert count_requests(services) == missing and comparable_events(again) == events
        assert resumed.answer == answer.answer
    world.set_up(services)
    repeated, replayed = run_checked_report("", Settings(replay=Path(answer.run.journal)))
    assert comparable_events(repeated) == events and not count_requests(services)
    assert replayed.model_dump()["citations"] == answer.model_dump()["citations"]


@pytest.mark.parametrize("cap", [{"max_calls": 5}, {"max_calls": 9}, {"max_tokens": 14_000}])
def test_a_budget_ends_in_a_report_from_what_there_is(
    cap: dict[str, int], world: Services, settings: Settings
) -> None:
    run, answer = run_checked_report(TOPIC, settings.model_copy(update=cap))
    assert answer.status == ("partial" if answer.citations else "insufficient")
    assert run.research.events_of(Halted)
    assert {"draft", "verify"} & set(world.tasks()[-2:]) or answer.degraded
    made = answer.usage.llm_calls + answer.usage.searches + len(world.page_requests)
    assert made <= cap.get("max_calls", made)
    if FIRM in world.page_requests:
        assert answer.answer.startswith("The founder is Ada Lindqvist")


def test_stopped_in_the_first_round(world: Services, settings: Settings) -> None:
    run = research(TOPIC, settings)
    for event in run:
        if isinstance(event, PageRead):
            run.stop()
    answer = run.answer()
    assert answer.status == "partial" and answer.citations
    assert world.tasks() == ["plan", "gather", "gather"]
