"""Runs that follow another: what it read comes first, free; only what stays open is searched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.answer.json_format import to_json
from agent.answer.schema import Answer
from agent.calls.journal import call_key
from agent.errors import UsageError
from agent.run.audit_answer import audit_answer
from agent.run.begin import research
from agent.search.parent_pages import ParentPages
from agent.search.search_options import SearchOptions
from agent.settings import Settings
from agent.state.values import hash_text
from tests.support.follower import (
    BOTH,
    FOLLOW_UP,
    OPEN,
    PARENT,
    SEARCHED,
    forget,
    set_up,
    shown_earlier,
)
from tests.support.services import Raw, Services, read_topic
from tests.support.worlds import read_journal_lines, run_to_end, without_times

FULL = f"{FOLLOW_UP} ({PARENT})"


@pytest.fixture
def world(services: Services) -> Services:
    return set_up(services)


def ask(settings: Settings, topic: str, name: str, follow: str = "", **more: Any) -> Answer:
    """A run of this name, whose answer passes its audit."""
    _, answer = run_to_end(topic, settings, resume=name, follow=follow, **more)
    value = json.loads(to_json(answer))
    assert answer.error is None, answer.error
    assert audit_answer(value)["ok"] and audit_answer(value)["stored"]
    return answer


def path_of(answer: Answer) -> Path:
    assert answer.run and answer.run.journal
    return Path(answer.run.journal)


def ask_parent(world: Services, settings: Settings, **more: Any) -> Answer:
    """The run that is followed; the services then forget its requests."""
    answer = ask(settings, PARENT, "parent", **more)
    assert "Ada Lindqvist" in answer.answer and world.search_queries
    forget(world)
    return answer


def external_calls(world: Services) -> tuple[list[str], list[str]]:
    """The searches, and the pages that were read."""
    return world.search_queries, sorted(world.page_requests)


def test_no_external_call_is_made_where_the_parent_read_the_answer(
    world: Services, settings: Settings
) -> None:
    ask_parent(world, settings)
    answer = ask(settings, FOLLOW_UP, "child", "parent")
    assert external_calls(world) == ([], [])
    assert world.tasks() == ["understand", "reflect", "verify"]
    understand, *others = [request.prompt for request in world.model_requests]
    assert shown_earlier(understand) == [(PARENT, "The founder is Ada Lindqvist.")]
    assert read_topic(understand) == FOLLOW_UP
    assert [read_topic(prompt) for prompt in others] == [FULL, FULL]
    assert not any("<earlier>" in prompt for prompt in others)
    assert answer.topic == FOLLOW_UP and answer.status == "complete" and not answer.degraded
    assert answer.answer == "The founded is 1931 [1]."
    assert [citation.url for citation in answer.citations] == [world.url("firm")]
    assert (answer.usage.searches, answer.usage.pages, answer.usage.llm_calls) == (0, 0, 3)
    assert answer.run and answer.run.follows and answer.run.follows.understood == FULL


def test_only_what_stays_open_is_searched(world: Services, settings: Settings) -> None:
    """One query, for the one thing that the earlier pages do not say; no page is read again."""
    ask_parent(world, settings)
    answer = ask(settings, BOTH, "child", "parent")
    assert answer.status == "complete" and "1931" in answer.answer and "Uppsala" in answer.answer
    assert external_calls(world) == ([SEARCHED], ["noise", "person"])  # `noise` fits no query of it
    assert answer.usage.searches == 1 and answer.usage.rounds == 1
    assert answer.run and answer.run.providers == ("parent", "serpapi")
    forget(world)
    ask(settings, OPEN, "grandchild", "child")
    assert external_calls(world) == ([], [])


def test_caps_hold_and_what_the_parent_read_counts_for_none(
    world: Services, settings: Settings
) -> None:
    ask_parent(world, settings)
    answer = ask(settings, FOLLOW_UP, "child", "parent", max_calls=3)
    assert answer.status == "complete" and answer.usage.llm_calls == 3
    again = ask(settings, "", "child", max_calls=3)  # a resume counts earlier calls too
    assert again.status == "complete"
    capped = ask(settings, OPEN, "capped", "parent", max_calls=4)
    assert capped.status != "complete" and "--max-calls 4" in " ".join(capped.warnings)


def test_the_child_stands_alone_when_the_parent_is_gone(
    world: Services, settings: Settings
) -> None:
    parent = path_of(ask_parent(world, settings))
    answer = ask(settings, FOLLOW_UP, "child", "parent")
    parent.unlink()
    value = answer.model_dump(mode="json")
    found = audit_answer(value)
    assert found["ok"] and found["stored"]
    again = research("", Settings(), replay=path_of(answer)).answer()
    assert without_times(again.model_dump(mode="json")) == without_times(value)
    resumed = ask(settings, "", "child")
    assert resumed.answer == answer.answer
    forget(world)
    grandchild = ask(settings, FOLLOW_UP, "grandchild", "child")  # from what the child copied
    assert "1931" in grandchild.answer and external_calls(world) == ([], [])


def write_lines(path: Path, lines: list[Any]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def test_a_journal_that_lies_where_the_parent_lay_is_not_the_parent(
    world: Services, settings: Settings
) -> None:
    """Another run's file in its place is not read; the run searches, and warns."""
    parent = path_of(ask_parent(world, settings))
    child = path_of(ask(settings, FOLLOW_UP, "child", "parent"))
    header, *lines = read_journal_lines(parent)
    write_lines(parent, [{**header, "run": "somebody-else"}, *lines])
    header, *lines = read_journal_lines(child)
    write_lines(child, [header])  # as after a kill before anything ended
    forget(world)
    answer = ask(settings, "", "child")
    assert "1931" in answer.answer and world.search_queries
    assert any("earlier runs" in warning for warning in answer.warnings)


def test_a_parent_of_an_older_version_is_followed_without_its_replay(
    world: Services, settings: Settings
) -> None:
    """Its prompts were other ones: no call is found again, so its replies are read as they are."""
    parent = path_of(ask_parent(world, settings))
    header, *lines = read_journal_lines(parent)
    lines.pop()  # the answer
    for line in lines:
        if line["call"] == "ask":
            line["request"]["system"] = "An older prompt."
            line["key"] = call_key("ask", line["request"])
        line.pop("began", None)
    header |= {"journal": 1, "version": "0.0.1", "settings": {**header["settings"], "gone": 1}}
    write_lines(parent, [header, *lines])
    answer = ask(settings, FOLLOW_UP, "child", "parent")
    assert "1931" in answer.answer and external_calls(world) == ([], [])
    shown = shown_earlier(world.model_requests[0].prompt)
    assert shown == [(PARENT, "The founder is Ada Lindqvist.")]


def test_a_parent_that_failed_has_a_question_and_perhaps_pages(
    world: Services, settings: Settings
) -> None:
    world.think = lambda _: Raw(403, '{"error": {"code": 403, "message": "no"}}')
    _, failed = run_to_end(PARENT, settings, resume="parent", cache=False)
    assert failed.error
    set_up(world)
    answer = ask(settings, FOLLOW_UP, "child", "parent")
    assert shown_earlier(world.model_requests[0].prompt) == [(PARENT, "(none was found)")]
    assert answer.status == "complete" and "1931" in answer.answer


def test_a_page_whose_text_is_not_that_of_its_hash_is_none(
    world: Services, settings: Settings
) -> None:
    parent = path_of(ask_parent(world, settings))
    assert ParentPages([parent], SearchOptions()).search("Velmora Works").hits
    parent.write_text(parent.read_text("utf-8").replace("gates in 1931", "gates in 1866"), "utf-8")
    assert not ParentPages([parent], SearchOptions()).search("Velmora Works").hits


def test_a_page_that_the_run_may_not_read_is_not_recalled(
    world: Services, settings: Settings
) -> None:
    ask_parent(world, settings)
    blocked = {"block_domains": ("127.0.0.1",)}
    answer = ask(settings, FOLLOW_UP, "child", "parent", **blocked)
    assert answer.status == "insufficient" and answer.sources.read == 0
    assert world.search_queries and not world.page_requests


def test_what_a_model_wrote_into_a_search_is_no_page(tmp_path: Path) -> None:
    """The words of a grounded search are on no page."""
    path = tmp_path / "j.jsonl"
    hit = {"url": "https://a.example/", "snippet": "It was 1931.", "generated": True}
    results = {"query": "q", "provider": "google", "at": "2026-01-01T00:00:00Z"}
    lines: list[Any] = [
        {"journal": 1, "run": "a", "topic": "t"},
        {"call": "search", "key": "1", "request": {}, "response": {**results, "hits": [hit]}},
        {"call": "read", "key": "2", "request": {"url": hit["url"]}, "error": {}},
    ]
    write_lines(path, lines)
    assert not ParentPages([path], SearchOptions()).search("1931").hits
    hit["generated"] = False
    write_lines(path, lines)
    pages = ParentPages([path], SearchOptions())
    [found] = pages.search("1931").hits
    assert pages.read(found.url).sha256 == hash_text("It was 1931.")


def test_what_the_earlier_answer_says_does_not_leave_as_a_question(
    world: Services, settings: Settings
) -> None:
    """A page may make a model put its text into the question in full: no search gets it."""
    secret = (
        "The code of the vault is maple lantern heron granite willow compass raven orchid. " * 2
    )
    world.pages["firm"] += f" Velmora Works has a vault. {secret}"
    ask_parent(world, settings)
    think = world.think

    def obey(asked: Any) -> Any:
        reply = think(asked)
        if asked.task == "understand":
            return {**reply, "question": f"{OPEN} {secret}", "queries": [secret]}
        return reply

    world.think = obey
    answer = ask(settings, OPEN, "child", "parent")
    assert world.search_queries and not any("maple" in query for query in world.search_queries)
    assert "was not sent" in " ".join(answer.warnings)


def test_what_cannot_be_followed(world: Services, settings: Settings) -> None:
    with pytest.raises(UsageError, match="no run to follow"):
        research(FOLLOW_UP, settings, follow="nobody")
    ask_parent(world, settings)
    ask(settings, PARENT, "other")
    ask(settings, FOLLOW_UP, "child", "parent")
    with pytest.raises(UsageError, match="does not follow other"):
        research(FOLLOW_UP, settings, follow="other", resume="child")
    with pytest.raises(UsageError, match="another question"):
        research(OPEN, settings, resume="child")
