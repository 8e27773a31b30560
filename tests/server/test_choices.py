"""The examples that the page offers can be answered with what is configured."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.search.providers import find_searches
from agent.server.choices import Example, load_examples
from agent.settings import parse_settings
from tests.support.web import Web, configure_from


@pytest.mark.slow
def test_every_example_of_the_demo_is_answered_without_a_model(tmp_path: Path) -> None:
    environment = {"RUNS_DIR": f"{tmp_path}/runs", "CACHE_DIR": f"{tmp_path}/cache"}
    with Web(configure_from(environment, offline=True)) as web:
        choices = web.client.get("/api/choices").json()
        examples = [Example.model_validate(example) for example in choices["examples"]]
        assert tuple(examples) == load_examples("demo") and len(examples) == 4
        for example in examples:
            answer = web.ask(**example.model_dump(mode="json")).json()
            is_open = example.strategy == "report"  # without a model it is quoted passages
            assert answer["status"] == ("partial" if is_open else "complete"), example
            assert answer["citations"] and set(example.slots) <= set(answer["slots"])
    assert {price["strategy"] for price in choices["prices"]} == {"slots", "report", "loop"}


@pytest.mark.parametrize(
    ("environment", "names"),
    [
        ({"SEARCH_PROVIDERS": "serpapi,searxng,wikipedia"}, ("wikipedia",)),
        ({"SEARCH_PROVIDERS": "exa,wikipedia", "EXA_API_KEY": "x"}, ("exa", "wikipedia")),
        ({"SEARCH_PROVIDERS": "google"}, ()),
    ],
)
def test_only_search_providers_that_are_set_up_are_named(
    environment: dict[str, str], names: tuple[str, ...], tmp_path: Path
) -> None:
    assert find_searches(parse_settings(environment)) == names
    assert find_searches(parse_settings(environment, corpus=tmp_path)) == ("corpus",)
    assert find_searches(parse_settings(environment, offline=True)) == ("demo",)
