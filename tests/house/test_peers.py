"""The comparison with other programs, with this one in their place: its server and its scripts."""

from __future__ import annotations

import json
import py_compile
from pathlib import Path
from typing import Any

import httpx2
import pytest

from benchmarks.peers import measure, model, programs
from benchmarks.peers.services import Latency, Services, embed_text
from benchmarks.peers.world import make_world

WORLD = make_world(5)
HERE = Path(programs.__file__).parent


@pytest.fixture(scope="module")
def served() -> Any:
    with Services(WORLD, Latency(0, 0)) as services:
        yield services


def test_this_program_answers_two_hops_and_its_citations_hold(served: Services) -> None:
    checkout = programs.OURS._replace(folder="")
    asked = measure.measure(checkout, WORLD.questions[2], served, Path("/nowhere"))
    assert asked.has_answer and asked.is_right and asked.citations == asked.valid_citations == 2
    assert asked.calls >= 4 and asked.prompt_tokens > 1000 and asked.pages >= 2
    assert asked.megabytes > 20 or not Path("/proc/self/status").exists()
    assert 0 < asked.inner_seconds < asked.seconds
    assert measure.summarize([asked])["right, two hops"] == "1 of 1"


def test_a_citation_holds_only_where_its_page_was_read_and_says_it(served: Services) -> None:
    served.reset()
    said = "Velmora Labs was founded by Ada Lindqvist."
    url = served.url("0-firm")
    assert not measure.citation_holds(said, url, served)
    assert httpx2.get(url, trust_env=False).status_code == 200
    assert measure.citation_holds(said, url, served)
    assert not measure.citation_holds(said, served.url("0-visit"), served)
    assert not measure.citation_holds("Velmora Labs was founded by Bo Lindqvist.", url, served)


def test_a_sentence_with_its_link_is_read_as_a_citation() -> None:
    text = "# Who?\n\nA Labs was founded by B C. ([source](http://x/1)) B C was born in D."
    program = programs.PROGRAMS[1]
    said = program.parse_output("noise\n" + json.dumps({"answer": text, "seconds": 1.5}))
    assert said.citations == (("A Labs was founded by B C.", "http://x/1"),)
    assert said.seconds == 1.5


def chat(*said: str, **more: Any) -> Any:
    messages = [{"role": "user", "content": text} for text in said]
    return model.answer_chat({"model": "scripted", "messages": messages, **more})


def test_the_model_acts_by_tools_until_nothing_is_missing() -> None:
    asked = ["system", "New task:\nWho founded Velmora Labs?"]
    hits = "1. [Velmora Labs](http://x/firm)\nabout"
    page = "Velmora Labs was founded by Ada Lindqvist."
    for told, tool, argument in (
        ([], "web_search", "Who founded Velmora Labs?"),
        (['{"query": "Who founded Velmora Labs?"}', hits], "visit_webpage", "http://x/firm"),
        (['{"url": "http://x/firm"}', page], "final_answer", f"{page} ([source](http://x/firm))"),
    ):
        asked += told
        (call,) = chat(*asked, tools=[{"type": "function"}])["tool_calls"]
        assert call["function"]["name"] == tool
        assert list(json.loads(call["function"]["arguments"]).values()) == [argument]


def test_the_model_answers_the_prompts_of_a_report() -> None:
    question = "In which city was the founder of Velmora Labs born?"
    queries = chat(f'Write 3 search queries to research the following task: "{question}"\n')
    assert json.loads(queries["content"]) == ["Who founded Velmora Labs?", question]
    facts = "Velmora Labs was founded by Ada Lindqvist.\nAda Lindqvist was born in Porto."
    shown = f'Information: "Source: http://x/1\n{facts}"\n---\nUsing the above information, '
    report = chat(f'{shown}answer the following query or task: "{question}" in a detailed')
    assert "born in Porto. ([source](http://x/1))" in report["content"]


def test_a_stream_and_embeddings_have_openais_form(served: Services) -> None:
    asked = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "?"}]}
    url = f"{served.base}/v1/chat/completions"
    lines = httpx2.post(url, json=asked, trust_env=False).text.split("\n\n")
    assert json.loads(lines[0][6:])["choices"][0]["delta"]["content"] == model.UNKNOWN
    assert lines[-2] == "data: [DONE]"
    near, far = embed_text("Velmora was founded"), embed_text("soup")
    alike = sum(a * b for a, b in zip(embed_text("who founded Velmora"), near, strict=True))
    apart = sum(a * b for a, b in zip(near, far, strict=True))
    assert alike > 0.6 > 0.35 > apart > 0.2


@pytest.mark.parametrize("name", ["gpt_researcher_run.py", "smolagents_run.py"])
def test_what_runs_in_other_environments_compiles(name: str, tmp_path: Path) -> None:
    py_compile.compile(str(HERE / name), str(tmp_path / "compiled"), doraise=True)
