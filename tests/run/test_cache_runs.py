"""The cache in a run: what a second run asks again, and what it does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.answer.schema import Answer
from agent.run.begin import research
from agent.run.loop import Run
from agent.settings import Settings
from tests.support.services import Services
from tests.support.thinker import Fact, Thinker


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Those of all tests, with a cache."""
    return settings.model_copy(update={"cache_ttl": 86_400.0})


TOPIC = "Who won the 2022 FIFA World Cup?"


@pytest.fixture
def world(services: Services) -> Services:
    services.pages = {
        "final": "The final was played in Lusail. Argentina won the cup. The score was 4-2.",
        "other": "Cats sleep most of the day.",
    }
    services.hits = {TOPIC: ["final", "other"], "final score": ["final"]}
    services.think = Thinker(
        [Fact("winner", "Argentina", "Argentina won"), Fact("score", "4-2", "The score was")],
        ["final score"],
    )
    return services


def run_to_end(settings: Settings) -> tuple[Run, Answer]:
    run = research(TOPIC, settings)
    for _ in run:
        pass
    return run, run.answer()


def test_a_second_run_asks_only_the_model(world: Services, settings: Settings) -> None:
    _, first = run_to_end(settings)
    wire = len(world.search_queries), len(world.page_requests)
    _, second = run_to_end(settings)
    assert (len(world.search_queries), len(world.page_requests)) == wire == (2, 2)
    assert first.status == second.status == "complete" and first.answer == second.answer
    assert first.citations == second.citations  # the time of reading too
    assert not second.warnings and not second.degraded
    assert world.tasks() == ["generate_queries", "reflect", "verify"] * 2
    journal = Path(second.run.journal or "").read_text("utf-8") if second.run else ""
    assert "Argentina won the cup" in journal  # the run can be replayed without the cache


@pytest.mark.parametrize(
    ("change", "searches"),
    [({"lang": "de"}, 4), ({"search": ("exa", "serpapi")}, 4), ({"max_words": 40}, 2)],
)
def test_only_a_search_with_other_options_is_made_again(
    world: Services, settings: Settings, change: dict[str, Any], searches: int
) -> None:
    run_to_end(settings)
    run_to_end(settings.model_copy(update=change))
    assert len(world.search_queries) == searches


def test_a_page_is_not_shown_to_a_run_that_may_not_read_it(
    world: Services, settings: Settings
) -> None:
    run_to_end(settings)
    run, _ = run_to_end(settings.model_copy(update={"allow_private_network": False}))
    assert len(set(world.search_queries)) == len(world.search_queries)  # no search was made twice
    assert all(source.page.via == "snippet" for source in run.research.sources)
