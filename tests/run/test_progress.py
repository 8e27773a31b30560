"""What a run shows while it goes on: what it waits for, and what it has found."""

from __future__ import annotations

import json
import os
from pathlib import Path

from agent.run.begin import research
from agent.run.estimate import estimate
from agent.settings import parse_settings
from tests.support.services import Services

TOPIC = "Who won the 2022 FIFA World Cup?"


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
