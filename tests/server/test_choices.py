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
        told = web.client.get("/api/choices").json()
        examples = [Example.model_validate(example) for example in told["examples"]]
        assert tuple(examples) == load_examples("demo") and len(examples) == 4
        for example in examples:
            answer = web.ask(**example.model_dump(mode="json")).json()
            is_open = example.strategy == "report"  # without a model it is quoted passages
            assert answer["status"] == ("partial" if is_open else "complete"), example
            assert answer["citations"]
            assert set(example.slots) <= set(answer["slots"])
    assert {price["strategy"] for price in told["prices"]} == {"slots", "report", "loop"}
    assert {price["usd"]["max"] for price in told["prices"]} == {0.0}


def test_the_choices_need_the_token_that_runs_need(tmp_path: Path) -> None:
    with Web(
        configure_from({"RUNS_DIR": str(tmp_path), "RESEARCH_AGENT_API_TOKEN": "sesame"})
    ) as web:
        assert web.client.get("/api/choices").status_code == 401
    environment = {"RUNS_DIR": str(tmp_path), "GEMINI_API_KEY": "a-key"}
    with Web(configure_from(environment)) as web:
        told = web.client.get("/api/choices").json()
        assert [one["question"] for one in told["examples"]] == [
            w.question for w in load_examples("web")
        ]


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({"SEARCH_PROVIDERS": "serpapi,exa,wikipedia"}, ("wikipedia",)),
        ({"SEARCH_PROVIDERS": "exa,wikipedia", "EXA_API_KEY": "x"}, ("exa", "wikipedia")),
        ({"SEARCH_PROVIDERS": "searxng,wikipedia"}, ("wikipedia",)),
        ({"SEARCH_PROVIDERS": "searxng", "SEARXNG_URL": "http://s.example"}, ("searxng",)),
        ({"SEARCH_PROVIDERS": "google", "GEMINI_API_KEY": "x"}, ("google",)),
        ({"SEARCH_PROVIDERS": "google"}, ()),
    ],
)
def test_only_searches_that_can_be_asked_are_named(
    environment: dict[str, str], found: tuple[str, ...]
) -> None:
    assert find_searches(parse_settings(environment)) == found


def test_a_corpus_is_named_as_such(tmp_path: Path) -> None:
    assert find_searches(parse_settings({}, offline=True)) == ("demo",)
    assert find_searches(parse_settings({}, offline=True, corpus=tmp_path)) == ("corpus",)
    assert find_searches(parse_settings({}, corpus=tmp_path)) == ("corpus",)
    both = parse_settings({"SEARCH_PROVIDERS": "corpus,wikipedia"}, corpus=tmp_path)
    assert find_searches(both) == ("corpus", "wikipedia")
