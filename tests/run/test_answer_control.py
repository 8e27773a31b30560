"""For whom an answer is written, and how many citations a sentence has, whatever the strategy."""

from __future__ import annotations

from pathlib import Path

from agent.run.begin import research
from agent.settings import parse_settings
from tests.support.services import ModelRequest, Reply, Services

TOPIC = "Who won the 2022 FIFA World Cup?"
SAID = "Argentina won the 2022 FIFA World Cup"


def test_the_reader_reaches_each_prompt_and_citations_have_a_limit(
    world: Services, tmp_path: Path
) -> None:
    think = world.think
    world.pages = {"one": f"{SAID} in Qatar.", "two": f"{SAID}, said the news."}
    world.default_hits = ["one", "two"]

    def draft(request: ModelRequest) -> Reply:
        if request.task != "reflect":
            return think(request)
        cited = [{"source": n, "quote": SAID} for n in (1, 2)]
        reply = {"answerable": True, "answer": f"{SAID} [1][2].", "citations": cited}
        return {**reply, "slots": [], "need_more": False, "new_queries": []}

    world.think = draft
    settings = parse_settings(world.environment(tmp_path))
    answer = research(TOPIC, settings, reader="children <5", max_citations=1).answer()
    assert [len(claim.citations) for claim in answer.claims] == [1]
    asked = [request for request in world.model_requests if request.task != "verify"]
    assert asked and all("\nReader: children &lt;5" in request.prompt for request in asked)
