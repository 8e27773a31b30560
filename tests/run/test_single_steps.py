"""Each step of the default strategy by itself, over the wire formats of a model and a search."""

from __future__ import annotations

from pathlib import Path

from agent.run.single_steps import generate_queries, reflect, search_web, synthesize
from agent.settings import parse_settings
from tests.support.services import Services

TOPIC = "Who won the 2022 FIFA World Cup?"


def test_each_step_works_alone_and_asks_only_what_is_its_own(
    world: Services, tmp_path: Path
) -> None:
    settings = parse_settings(world.environment(tmp_path, CACHE_TTL="0"))
    made = generate_queries(TOPIC, settings)
    assert TOPIC in made["queries"] and world.tasks() == ["generate_queries"]

    docs = search_web(made["queries"][:1], settings)["docs"]
    assert world.search_queries == made["queries"][:1] and world.page_requests == ["final"]
    assert [doc["url"] for doc in docs] == [world.url("final")]
    assert set(docs[0]) == {"title", "url", "snippet", "text"} and "Argentina" in docs[0]["text"]

    seen = reflect(TOPIC, docs, settings, slots=("winner", "referee"))
    assert seen["filled"] == {"winner": "Argentina"} and seen["missing"] == ["referee"]
    assert seen["need_more"] and seen["new_queries"]

    answer = synthesize(TOPIC, docs, settings, max_words=30)
    assert world.tasks() == ["generate_queries", "reflect", "synthesize"]
    assert "[1]" in answer["answer"]
    assert all(one["quote"] in docs[0]["text"] for one in answer["citations"])
    assert not list((tmp_path / "runs").glob("*"))
