"""What a run shows while it goes on: what it waits for, and what it has found."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from agent.run.begin import research
from agent.run.early_passages import describe_wait
from agent.run.estimate import estimate
from agent.run.progress import describe_findings
from agent.settings import parse_settings
from tests.support.services import ModelRequest, Reply, Services
from tests.support.web import wait_until

TOPIC = "Who won the 2022 FIFA World Cup?"


@pytest.mark.parametrize(
    ("calls", "pages", "expected"),
    [
        ([("ask reflect", 1.5)], 3, ""),
        ([("ask reflect", 40.4)], 6, "The model is reading 6 pages, 40 s"),
        ([("ask section", 3), ("ask section", 8)], 0, "The model is writing, 8 s"),
        ([("read https://a.test/", 9), ("search who\x1b won", 4)], 0, "Searching: who  won, 4 s"),
    ],
)
def test_the_longest_wait_is_described_with_its_time(
    calls: list[tuple[str, float]], pages: int, expected: str
) -> None:
    assert describe_wait(calls, pages) == expected


@pytest.mark.slow
def test_while_a_model_thinks_titles_and_sentences_are_there(
    world: Services, tmp_path: Path
) -> None:
    think, released = world.think, threading.Event()

    def slow(request: ModelRequest) -> Reply:
        if request.task == "reflect":
            released.wait(60)
        return think(request)

    world.think = slow
    run = research(TOPIC, parse_settings(world.environment(tmp_path)))
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(run.answer()))
    thread.start()
    try:
        reading = "The model is reading 1 page, "
        wait_until(lambda: describe_wait(run.waited_for(), 1).startswith(reading), 30)
        wait_until(lambda: "  Found, not checked:" in describe_findings(run), 30)
        assert any("Argentina" in line for line in describe_findings(run))
    finally:
        released.set()
        thread.join(60)
    assert answers[0].status == "complete" and run.waited_for() == []


def test_an_estimate_learns_from_earlier_runs_with_the_same_model(
    world: Services, tmp_path: Path
) -> None:
    settings = parse_settings(world.environment(tmp_path))
    before = estimate(TOPIC, settings).seconds
    run = research(TOPIC, settings, resume="slow")
    assert run.answer().status == "complete"
    file = tmp_path / "runs" / "slow.jsonl"
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    asks = [line for line in lines if line.get("call") == "ask"]
    assert len(asks) >= 3
    for seconds, line in enumerate(asks, 1000):
        line["seconds"] = seconds
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    os.utime(file, (1, 1))
    after = estimate(TOPIC, settings).seconds
    assert before.max < 1000 < after.min and after.min < after.likely < after.max
    other = settings.model_copy(update={"gemini_model": "another"})
    assert estimate(TOPIC, other).seconds == before
