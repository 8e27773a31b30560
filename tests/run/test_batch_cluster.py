"""A batch on a local Ray cluster of two workers, one of which is killed: the same rows.

Needs the extra `ray`, and is left out without it. In a process of its own, since Ray opens sockets
and threads of its own kind.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent.errors import UsageError
from agent.run.batch.runner import Engine
from agent.settings import Settings
from tests.support.cups import serve_cups, topic_lines
from tests.support.processes import find_ray_workers
from tests.support.services import Services
from tests.support.web import wait_until

ROOT = Path(__file__).parents[2]
COUNT = 12
without_ray = importlib.util.find_spec("ray") is None


@pytest.mark.skipif(without_ray, reason="the extra `ray` is not installed")
def test_a_lost_worker_costs_no_row(services: Services, tmp_path: Path) -> None:
    serve_cups(services, COUNT)
    services.latency = lambda: 0.1
    (tmp_path / "topics.jsonl").write_text(topic_lines(COUNT))
    command = [sys.executable, "-m", "agent.cli", "batch", "topics.jsonl", "--out", "out.jsonl"]
    more = {"CACHE_TTL": "0", "PYTHONPATH": str(ROOT), "RESEARCH_AGENT_RATE_LIMITS": "gemini=2000"}
    command += ["--engine", "ray", "--concurrency", "4"]
    own: Any = {"cwd": tmp_path, "env": {**os.environ, **services.environment(tmp_path, **more)}}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **own)
    out = tmp_path / "out.jsonl"
    wait_until(lambda: out.exists() and out.read_bytes().count(b"\n") >= 2, 120)
    os.kill(find_ray_workers(process.pid)[0], signal.SIGKILL)
    summary = json.loads(process.communicate(timeout=120)[0])
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert process.returncode == 0 and summary["answered"] == COUNT
    assert sorted(row["id"] for row in rows) == sorted(f"c{n}" for n in range(1, COUNT + 1))
    assert all(f"Team {row['id'][1:]}" in row["answer"] for row in rows)


@pytest.mark.skipif(not without_ray, reason="ray is installed")
def test_without_ray_it_says_what_to_install() -> None:
    from agent.run.batch.cluster import RayEngine

    with pytest.raises(UsageError, match="needs Ray") as told:
        engine: Engine = RayEngine(Settings(offline=True), None, 2)
        engine.close()
    assert "llm-research-agent[ray]" in told.value.remedy
