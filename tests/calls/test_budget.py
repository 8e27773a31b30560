"""Budgets: no cap is exceeded by more than one call, and every run ends in a valid answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.answer.json_format import to_json
from agent.answer.schema import Answer
from agent.calls.budget import Budget, CallUsage, Caps, Cost
from agent.errors import Exhausted
from agent.run.begin import research
from agent.settings import Settings
from tests.support.services import Raw, Services
from tests.support.thinker import Fact, Thinker

TOPIC = "Who won the cup?"


@pytest.fixture
def world(services: Services) -> Services:
    services.pages = {
        "final": "Argentina won the cup.",
        "captain": "The captain was born in Rosario.",
        **{f"p{i}": f"Page {i} is about the cup." for i in range(6)},
    }
    services.hits = {TOPIC: ["final", "p0", "p1"], "captain born": ["captain", "p2", "p3"]}
    services.default_hits = ["p4", "p5"]
    services.think = Thinker(
        [Fact("winner", "Argentina", "Argentina won"), Fact("born", "Rosario", "was born in")],
        ["cup winner", "cup final"],
        {"born": "captain born"},
    )
    return services


def ended(settings: Settings, **more: Any) -> Answer:
    answer = research(TOPIC, settings, **more).answer()
    to_json(answer)
    return answer


def made(services: Services) -> int:
    return len(services.model_requests) + len(services.search_queries) + len(services.page_requests)


@pytest.mark.parametrize("cap", [1, 2, 5, 8, 9, 12, 15, 16])
def test_calls(cap: int, world: Services, settings: Settings) -> None:
    answer = ended(settings.model_copy(update={"max_calls": cap}))
    assert made(world) <= cap
    if cap < 16:
        status = "partial" if answer.citations else "insufficient"
        assert answer.status == status and f"--max-calls {cap}" in " ".join(answer.warnings)
    else:
        assert answer.status == "complete"
    if cap >= 9:
        assert "Argentina" in answer.answer and answer.citations


@pytest.mark.slow
@pytest.mark.parametrize("cap", [0, 1000, 6000, 20_000])
def test_tokens(cap: int, world: Services, settings: Settings) -> None:
    answer = ended(settings.model_copy(update={"max_tokens": cap}))
    assert answer.usage.input_tokens + answer.usage.output_tokens <= cap
    assert "Argentina" in answer.answer and answer.citations
    assert answer.status == ("complete" if cap == 20_000 else "partial")


@pytest.mark.slow
def test_dollars(world: Services, settings: Settings) -> None:
    full = ended(settings)
    assert full.usage.usd
    for share in (0.0, 0.5, 5.0, 200.0):
        answer = ended(settings.model_copy(update={"max_usd": share * full.usage.usd}))
        assert answer.usage.usd is not None and answer.usage.usd <= share * full.usage.usd
        assert answer.citations
        assert answer.status == ("complete" if share == 200.0 else "partial")


@pytest.mark.slow
@pytest.mark.parametrize("slow", ["model", "search", "page"])
def test_seconds(slow: str, world: Services, settings: Settings) -> None:
    """Whatever is slow, the answer is there when the time is up."""
    hang = Raw(200, "{}", delay=20)
    think = world.think
    if slow == "model":
        world.think = lambda request: think(request) if request.task != "reflect" else hang
    elif slow == "search":
        world.hits = lambda query: ["final"] if query == TOPIC else hang
    else:
        world.pages["p0"] = hang  # one of the two that a host is asked for at once
    capped = settings.model_copy(update={"max_seconds": 3.0, "patience": 30.0})
    answer = ended(capped)
    assert answer.status == "partial" and "--max-seconds 3" in " ".join(answer.warnings)
    assert "Argentina" in answer.answer


def test_a_budget_stop_resumes_with_a_larger_budget_and_replays_as_it_was(
    world: Services, settings: Settings
) -> None:
    partial = ended(settings, resume="mine", max_calls=9)
    assert partial.status == "partial" and partial.run and partial.run.journal
    journal = Path(partial.run.journal)
    before = made(world)
    again = ended(settings, replay=journal)
    for part in ("status", "answer", "citations", "slots", "claims"):
        assert getattr(again, part) == getattr(partial, part), part
    assert made(world) == before
    full = ended(settings, resume="mine")
    assert full.status == "complete"
    assert len(world.search_queries) == len(set(world.search_queries)) == 4  # nothing twice
    assert sorted(world.page_requests) == sorted(world.pages)
    # the partial answer was one more
    assert world.tasks() == ["generate_queries", "synthesize", "reflect", "reflect", "verify"]
    replayed_full = ended(settings, replay=journal)
    assert replayed_full.citations == full.citations and replayed_full.status == "complete"


@given(st.integers(0, 40), st.lists(st.integers(0, 30), max_size=60), st.integers(0, 50))
def test_a_budget_never_allows_more_than_its_cap(cap: int, costs: list[int], kept: int) -> None:
    used = 0
    budget = Budget(
        Caps(tokens=cap), lambda: CallUsage(input_tokens=used), lambda: 0, Cost(tokens=kept)
    )
    for cost in costs:
        try:
            budget.reserve_call(Cost(tokens=cost))
        except Exhausted:
            assert used + cost + kept > cap
        else:
            used += cost
            budget.release(Cost(tokens=cost))
            assert used + kept <= cap
    assert used <= cap


def test_what_calls_under_way_may_cost_is_kept_for_them() -> None:
    budget = Budget(Caps(tokens=100, usd=1.0), CallUsage, lambda: 0, Cost())
    small, large = Cost(tokens=30, usd=0.1), Cost(tokens=60, usd=0.2)
    budget.reserve_call(small)
    budget.reserve_call(large)
    with pytest.raises(Exhausted):
        budget.reserve_call(small)
    left = budget.left_for_call(small)
    assert left.tokens == 40 and left.usd == pytest.approx(0.8)
    budget.release(large)
    budget.reserve_call(small)


@pytest.mark.slow
def test_a_judge_that_hangs_leaves_only_its_own_claim_unchecked(
    world: Services, settings: Settings
) -> None:
    think = world.think
    hang = Raw(200, "{}", delay=20)
    world.think = lambda asked: (
        hang if asked.task == "verify" and ">The winner is" in asked.prompt else think(asked)
    )
    answer = ended(settings.model_copy(update={"verify_batch": 1, "max_seconds": 3.0}))
    assert {claim.text: claim.verdict for claim in answer.claims} == {
        "The winner is Argentina.": "unchecked",
        "The born is Rosario.": "supported",
    }
