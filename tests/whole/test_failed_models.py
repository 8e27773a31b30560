"""A model that failed, in every strategy: never complete, and the message of its service first."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.settings import parse_settings
from tests.support.services import HANGS, OPENAI_KEY, ModelRequest, Raw, Reply, Services
from tests.support.thinker import FINAL
from tests.support.web import Web, online
from tests.support.worlds import run_to_end

QUESTION = "Who won the cup?"
CHAT = "/v1/chat/completions"
QUERY = {"query": QUESTION, "priority": 1}
#: What a model plans or decides before it fails.
PLANS: dict[str, Reply] = {
    "generate_queries": {"queries": [QUESTION], "slots": []},
    "decide": {"action": "search_web", "queries": [QUESTION]},
    "plan": {
        "sections": [{"heading": "The cup", "questions": []}],
        "question_type": "factual",
        "prioritized_sub_queries": [QUERY],
    },
}


def refuse(status: int, message: str, **more: str) -> Raw:
    return Raw(status, json.dumps({"error": {"code": status, "message": message, **more}}))


REVOKED, BUSY = refuse(401, "key revoked"), refuse(503, "overloaded")
#: Each failure: the reply, how many replies before it are good, and words of the warning.
FAILURES: dict[str, tuple[Reply, int, tuple[str, ...]]] = {
    "401 after the start": (REVOKED, 1, ("key revoked", "Check GEMINI_API_KEY.")),
    "404": (refuse(404, "no such model"), 0, ("no such model", "Check GEMINI_MODEL.")),
    "429": (refuse(429, "slow down"), 0, ("slow down", "Wait a while")),
    "503": (BUSY, 0, ("overloaded", "Try again later")),
    "cut": (Raw(0, ""), 0, ("the connection to 127.0.0.1 failed", "Check the network")),
    "prose": ("I think that Argentina won.", 0, ("no JSON object", "another model")),
    "{}": ({}, 0, ("does not fit the schema", "another model")),
    "blocked": (
        Raw(200, json.dumps({"promptFeedback": {"blockReason": "SAFETY"}})),
        0,
        ("SAFETY", "Rephrase"),
    ),
}
WAYS = ("slots", "loop", "report", "research")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Services, Web]]:
    with Services() as world:
        world.pages, world.default_hits = {"final": FINAL}, ["final"]
        with online(world, tmp_path_factory.mktemp("runs")) as web:
            yield world, web


def ask(web: Web, way: str) -> Any:
    """The answer object of a question that was asked in a way; a chat shows its first words."""
    if not way.startswith("research"):
        return web.ask(QUESTION, strategy=way).json()
    message = {"role": "user", "content": QUESTION}
    reply = web.client.post(CHAT, json={"model": way, "messages": [message]})
    answer = web.runs.find(reply.headers["x-run-id"]).answer  # type: ignore[union-attr]
    content = reply.json()["choices"][0]["message"]["content"].replace("\\", "")
    assert answer and answer.warnings[0] in content
    if answer.citations:
        assert content.startswith("The model did not answer. ")
    return answer.model_dump(mode="json")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("failure", FAILURES)
def test_a_model_that_failed_is_never_complete(
    failure: str, way: str, served: tuple[Services, Web]
) -> None:
    world, web = served
    reply, good, words = FAILURES[failure]
    world.model_requests.clear()
    world.think = lambda a: PLANS[a.task] if len(world.model_requests) <= good else reply
    answer = ask(web, way)
    assert answer["status"] in ("partial", "insufficient") and answer["degraded"]
    assert answer["status"] == "partial" or failure == "{}"
    first, *others = answer["warnings"]
    assert all(one in first for one in words) and "No model replied to: " in first
    assert not any(words[0] in one for one in others)


def test_a_model_that_hangs_is_named_in_a_chat(world: Services, tmp_path: Path) -> None:
    world.think = lambda asked: HANGS
    with online(world, tmp_path, LLM_TIMEOUT="0.2") as web:
        answer = ask(web, "research")
    assert answer["status"] == "partial" and answer["degraded"]
    assert "LLM_TIMEOUT" in answer["warnings"][0]


@pytest.mark.parametrize("strategy", ["slots", "report"])
@pytest.mark.parametrize("order", [("gemini", "openai:m"), ("openai:m", "gemini")])
@pytest.mark.parametrize(
    ("gemini", "openai", "words"),
    [
        (REVOKED, BUSY, ("key revoked. Check GEMINI_API_KEY.", "overloaded")),
        (
            refuse(404, "no such model"),
            refuse(429, "You exceeded your quota", code="insufficient_quota"),
            ("no such model. Check GEMINI_MODEL.", "Add credit to the account of OPENAI_API_KEY"),
        ),
    ],
)
def test_each_service_is_named_once_with_its_own_remedy(
    strategy: str,
    order: tuple[str, ...],
    gemini: Reply,
    openai: Reply,
    words: tuple[str, ...],
    world: Services,
    tmp_path: Path,
) -> None:
    """One of them did more than refuse a key, so the refused one does not end the run."""
    base = {"OPENAI_BASE_URL": f"{world.base}/openai", "OPENAI_API_KEY": OPENAI_KEY}
    environment = world.environment(tmp_path, CACHE_TTL="0", **base)
    world.think = lambda asked: openai if asked.model == "m" else gemini
    _, answer = run_to_end(QUESTION, parse_settings(environment, llm=order, strategy=strategy))
    assert answer.status == "partial" and answer.degraded and not answer.error
    assert [answer.warnings[0].count(one) for one in words] == [1, 1], answer.warnings[0]
    prompts = [asked.prompt for asked in world.model_requests if asked.model == "m"]
    if openai != BUSY:
        assert len(prompts) == len(set(prompts))  # neither a refused key nor a quota is retried


def test_a_server_with_the_newer_name_of_the_limit(world: Services, tmp_path: Path) -> None:
    """OpenAI's newest models refuse `max_tokens`; no other option is given up for that."""
    honest = world.think

    def think(request: ModelRequest) -> Reply:
        is_old = "max_tokens" in world.bodies[-1]
        return refuse(400, "Unsupported parameter: 'max_tokens'") if is_old else honest(request)

    world.think = think
    more = {"OPENAI_BASE_URL": f"{world.base}/openai", "OPENAI_API_KEY": OPENAI_KEY}
    environment = world.environment(tmp_path, CACHE_TTL="0", **more)
    caps = {"llm": ("openai:m",), "max_tokens": 20_000}
    _, answer = run_to_end(QUESTION, parse_settings(environment, **caps))
    assert answer.status == "complete" and "Argentina" in answer.answer
    first, *limits = [body.get("max_completion_tokens") for body in world.bodies]
    assert first is None and all(1500 <= limit <= 20_000 for limit in limits)
    assert set(world.forms) == {"json_schema"}
