"""The scripted model answers both forms of the task `reflect`, in the order of the schema."""

from __future__ import annotations

import json
from typing import Any

import pytest
import requests

from tests.support.services import GEMINI_KEY, Reply, Services
from tests.support.thinker import Fact, Thinker

COVERAGE = ("answerable", "slots", "need_more", "new_queries")
READING = ("answerable", "answer", "citations", "slots", "need_more", "new_queries")
PROMPT = '<source id="2" title="Cup" url="u">Cats sleep. Argentina won the cup.</source>\n{}'
QUOTE = {"source": 2, "quote": "Argentina won the cup."}


@pytest.fixture
def services() -> Any:
    with Services() as running:
        facts = [Fact("winner", "Argentina", "Argentina won"), Fact("score", "3-3", "ended 3-3")]
        running.think = Thinker(facts, ["cup"], {"score": "cup score"})
        yield running


def ask_gemini(services: Services, fields: tuple[str, ...]) -> Any:
    body = {
        "systemInstruction": {"parts": [{"text": "Read."}]},
        "contents": [{"role": "user", "parts": [{"text": PROMPT}]}],
        "generationConfig": {"responseJsonSchema": schema(fields)},
    }
    url = f"{services.base}/gemini/v1beta/models/m:generateContent"
    sent = requests.post(url, json=body, headers={"x-goog-api-key": GEMINI_KEY}, timeout=10)
    return json.loads(sent.json()["candidates"][0]["content"]["parts"][0]["text"])


def schema(fields: tuple[str, ...]) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {} for name in fields}}


def ask_openai(services: Services, told: bool) -> Any:
    """The reading over the other wire; `told`: its schema stands in the prompt."""
    services.openai_needs_key = False
    text = json.dumps(schema(READING))
    prompt = f"{PROMPT}\n\nReply with one JSON object of this JSON Schema:\n{text}\n\nAgain."
    form = {"type": "json_schema", "json_schema": {"name": "reflect", "schema": schema(READING)}}
    body = {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Read."},
            {"role": "user", "content": prompt if told else PROMPT},
        ],
        "response_format": {"type": "json_object"} if told else form,
    }
    sent = requests.post(f"{services.base}/openai/chat/completions", json=body, timeout=10)
    return json.loads(sent.json()["choices"][0]["message"]["content"])


def test_slots_alone_are_answered_where_no_answer_is_asked_for(services: Services) -> None:
    reply = ask_gemini(services, COVERAGE)
    assert [row["value"] for row in reply["slots"]] == ["Argentina", None]
    assert reply["need_more"] and reply["new_queries"] == ["cup score"]
    assert "answer" not in reply


def test_a_reading_has_the_draft_in_its_place(services: Services) -> None:
    reply = ask_gemini(services, READING)
    assert tuple(reply) == READING
    assert (reply["answer"], reply["citations"]) == ("The winner is Argentina [2].", [QUOTE])
    assert services.tasks() == ["reflect"]


@pytest.mark.parametrize("told", [False, True])
def test_a_reading_over_the_other_wire_has_it_too(services: Services, told: bool) -> None:
    reply = ask_openai(services, told)
    assert tuple(reply) == READING and reply["citations"] == [QUOTE]


def test_a_script_without_an_answer_reads_none(services: Services) -> None:
    said: dict[str, Reply] = {"reflect": {"slots": [], "need_more": True, "new_queries": ["x"]}}
    services.think = lambda asked: said[asked.task]
    reply = ask_gemini(services, READING)
    assert (reply["answer"], reply["citations"], reply["need_more"]) == ("", [], True)


def test_a_script_of_a_reading_keeps_its_own_answer(services: Services) -> None:
    services.think = lambda _: {"need_more": False, "answer": "Ten [2].", "citations": [QUOTE]}
    reply = ask_gemini(services, READING)
    assert list(reply) == ["answerable", "answer", "citations", "need_more"]
    assert reply["answer"] == "Ten [2]."
