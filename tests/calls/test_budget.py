"""Budgets: no cap is exceeded by more than one call, and every run ends in a valid answer."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.answer.json_format import to_json
from agent.answer.schema import Answer
from agent.calls.budget import Budget, CallUsage, Caps, Cost
from agent.errors import Exhausted, UsageError
from agent.run.audit_answer import audit_answer
from agent.run.begin import research
from agent.run.loop import Run
from agent.settings import Settings, parse_settings
from tests.support.services import Raw, Services
from tests.support.thinker import Fact, Thinker

TOPIC = "Who won the cup?"


@pytest.fixture
def world(services: Services) -> Services:
    services.pages = {
        "final": "Argentina won the cup.",
        "captain": "The captain was born in Rosario.",
        **{f"p{i}": f"Page {i} tells of the cup." for i in range(6)},
    }
    services.hits = {TOPIC: ["final", "p0", "p1"], "captain born": ["captain", "p2", "p3"]}
    services.default_hits = ["p4", "p5"]
    services.think = Thinker(
        [Fact("winner", "Argentina", "Argentina won"), Fact("born", "Rosario", "was born in")],
        ["cup winner", "cup final"],
        {"born": "captain born"},
    )
    return services


def ended(settings: Settings, **more: Any) -> tuple[Run, Answer]:
    run = research(TOPIC, settings, **more)
    for _ in run:
        pass
    answer = run.answer()
    to_json(answer)
    return run, answer


def made(services: Services) -> int:
    return len(services.model_requests) + len(services.search_queries) + len(services.page_requests)


def test_without_caps_nothing_is_cut(world: Services, settings: Settings) -> None:
    _, answer = ended(settings)
    assert answer.status == "complete" and answer.usage.rounds == 2
    assert made(world) == 4 + 4 + 8


def test_a_cap_that_is_too_small_to_begin_says_what_is_needed(
    world: Services, settings: Settings
) -> None:
    _, answer = ended(settings.model_copy(update={"max_calls": 1, "strategy": "loop"}))
    assert answer.answer == "The run was stopped before anything was read."
    assert answer.warnings == (
        "The budget is too small to start: 2 may be needed (--max-calls 1); "
        "the answer comes from what had been read.",
    )


@pytest.mark.parametrize("cap", range(1, 19))
def test_calls(cap: int, world: Services, settings: Settings) -> None:
    _, answer = ended(settings.model_copy(update={"max_calls": cap}))
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
    _, answer = ended(settings.model_copy(update={"max_tokens": cap}))
    assert answer.usage.input_tokens + answer.usage.output_tokens <= cap
    assert "Argentina" in answer.answer and answer.citations
    assert answer.status == ("complete" if cap == 20_000 else "partial")


@pytest.mark.slow
def test_dollars(world: Services, settings: Settings) -> None:
    _, full = ended(settings)
    assert full.usage.usd
    for share in (0.0, 0.5, 5.0, 200.0):
        _, answer = ended(settings.model_copy(update={"max_usd": share * full.usage.usd}))
        assert answer.usage.usd is not None and answer.usage.usd <= share * full.usage.usd
        assert answer.citations
        assert answer.status == ("complete" if share == 200.0 else "partial")


def test_dollars_of_a_model_without_a_price_are_refused(settings: Settings) -> None:
    unknown = settings.model_copy(update={"max_usd": 1.0, "gemini_model": "gemini-0-none"})
    with pytest.raises(UsageError, match="price of gemini-0-none"):
        research(TOPIC, unknown)


@pytest.mark.slow
@pytest.mark.parametrize("slow", ["model", "search", "page"])
def test_seconds(slow: str, world: Services, settings: Settings) -> None:
    """Whatever is slow, the answer is there when the time is up."""
    hang = Raw(200, "{}", delay=20)
    think = world.think
    if slow == "model":
        world.think = lambda asked: think(asked) if asked.task != "reflect" else hang
    elif slow == "search":
        world.hits = lambda query: ["final"] if query == TOPIC else hang
    else:
        world.pages["p0"] = hang  # one of the two that a host is asked for at once
    capped = settings.model_copy(update={"max_seconds": 3.0, "patience": 30.0})
    _, answer = ended(capped)
    assert answer.status == "partial" and "--max-seconds 3" in " ".join(answer.warnings)
    assert "Argentina" in answer.answer


def test_a_budget_stop_resumes_with_a_larger_budget_and_replays_as_it_was(
    world: Services, settings: Settings
) -> None:
    _, partial = ended(settings, resume="mine", max_calls=9)
    assert partial.status == "partial" and partial.run and partial.run.journal
    journal = Path(partial.run.journal)
    before = made(world)
    _, again = ended(settings, replay=journal)
    for part in ("status", "answer", "citations", "slots", "claims"):
        assert getattr(again, part) == getattr(partial, part), part
    assert made(world) == before
    _, full = ended(settings, resume="mine")
    assert full.status == "complete"
    assert len(world.search_queries) == len(set(world.search_queries)) == 4  # nothing twice
    assert sorted(world.page_requests) == sorted(world.pages)
    # the partial answer was one more
    assert world.tasks() == ["generate_queries", "synthesize", "reflect", "reflect", "verify"]
    _, replayed_full = ended(settings, replay=journal)
    assert replayed_full.citations == full.citations and replayed_full.status == "complete"


@pytest.mark.slow
def test_claims_judged_side_by_side_keep_the_caps_and_replay(
    world: Services, settings: Settings
) -> None:
    """Four claims and values, each in a call of its own."""
    alone = settings.model_copy(update={"verify_batch": 1})
    _, full = ended(alone)
    judged = world.tasks().count("verify")
    assert full.status == "complete" and judged == 4
    calls, tokens = made(world), full.usage.input_tokens + full.usage.output_tokens
    for cap in ({"max_calls": calls - 2}, {"max_tokens": tokens - 1}, {"max_tokens": tokens // 2}):
        before = made(world)
        run, answer = ended(alone.model_copy(update=cap))
        if most := cap.get("max_calls"):
            assert made(world) - before <= most
            assert world.tasks()[-2:] == ["verify", "verify"]  # the first two of four
        assert answer.usage.input_tokens + answer.usage.output_tokens <= cap.get("max_tokens", 1e9)
        assert "--max-" in " ".join(answer.warnings) and answer.run and answer.run.journal
        before = made(world)
        _, again = ended(settings, replay=Path(answer.run.journal))
        assert (again.claims, again.slots, again.warnings) == (
            answer.claims,
            answer.slots,
            answer.warnings,
        )
        assert made(world) == before


@pytest.mark.slow
def test_a_judge_that_hangs_costs_its_own_claim(world: Services, settings: Settings) -> None:
    """The other calls beside it have ended when the time is up, and count; in a replay too."""
    think = world.think
    hang = Raw(200, "{}", delay=20)
    world.think = lambda asked: (
        hang if asked.task == "verify" and ">The winner is" in asked.prompt else think(asked)
    )
    capped = settings.model_copy(update={"verify_batch": 1, "max_seconds": 3.0})
    _, answer = ended(capped)
    assert {claim.text: claim.verdict for claim in answer.claims} == {
        "The winner is Argentina.": "unchecked",
        "The born is Rosario.": "supported",
    }
    assert {slot.verdict for slot in answer.slots.values()} == {"supported"}
    assert answer.run and answer.run.journal
    _, again = ended(settings, replay=Path(answer.run.journal))
    assert (again.claims, again.slots) == (answer.claims, answer.slots)


@pytest.mark.slow
def test_random_runs_keep_their_caps(tmp_path: Path) -> None:
    with Services() as services:
        chance = Random(5)
        services.latency = lambda: chance.random() / 50
        services.pages = {"final": "Argentina won the cup."}
        services.default_hits = ["final"]
        services.think = Thinker([Fact("winner", "Argentina", "Argentina won")], ["a", "b"])
        environment = services.environment(tmp_path, CACHE_TTL="0")
        cases = [(i, _caps(Random(i))) for i in range(25)]
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda case: _capped(*case, environment, tmp_path), cases))
    for caps, answer in answers:
        usage = answer.usage
        calls = usage.llm_calls + usage.searches + usage.pages
        assert calls <= caps.get("max_calls", calls)
        used = usage.input_tokens + usage.output_tokens
        assert used <= caps.get("max_tokens", used)
        assert usage.usd is not None and usage.usd <= round(caps.get("max_usd", usage.usd), 6)
        assert answer.status in ("complete", "partial", "insufficient")
        found = audit_answer(json.loads(to_json(answer)))
        assert found["ok"] and found["stored"], found["failures"]
    assert {answer.status for _, answer in answers} >= {"complete", "partial"}


def _caps(chance: Random) -> dict[str, Any]:
    most = {
        "max_calls": chance.randint(1, 12),
        "max_tokens": chance.randint(0, 20_000),
        "max_usd": chance.random() / 20,
        "max_seconds": 0.2 + 2 * chance.random(),
    }
    return {name: most[name] for name in chance.sample(sorted(most), chance.randint(1, 2))}


def _capped(
    number: int, caps: dict[str, Any], environment: dict[str, str], folder: Path
) -> tuple[dict[str, Any], Answer]:
    table = {"gemini-3.8-flash": [{"from": "2020-01-01", "input": number % 9, "output": 5}]}
    prices = folder / f"prices-{number}.json"
    prices.write_text(json.dumps(table))
    run = research(
        f"Who won cup {number}?",
        parse_settings({**environment, "RESEARCH_AGENT_PRICES_FILE": str(prices)}, **caps),
    )
    for _ in run:
        pass
    answer = run.answer()
    to_json(answer)
    return caps, answer


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
