"""Fifty runs side by side while a tenth of all external calls fail in every way at random."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pytest

from agent.answer.json_format import to_json
from agent.answer.schema import Answer
from agent.run.begin import research
from agent.settings import parse_settings
from tests.support.services import Raw, Services
from tests.support.thinker import Fact, Thinker

RUNS = 50
FAULTS = [
    Raw(500, "oops"),
    Raw(503, "<html>busy</html>"),
    Raw(429, "{}", {"Retry-After": "0"}),
    Raw(0, ""),  # cut without a word
    Raw(200, "<html>not what was asked for</html>", {"Content-Type": "text/html"}),
    Raw(200, '{"candidates": [{"content": {"pa'),
    Raw(200, "null"),
    Raw(404, "gone"),
    Raw(403, "{}"),
    Raw(200, "{}", delay=10),  # hangs beyond every timeout
]


@pytest.mark.slow
def test_every_run_ends_in_an_answer_or_a_clear_error(tmp_path: Path) -> None:
    before, open_before = threading.active_count(), set(_open_sockets())
    with Services() as services:
        _script(services)
        environment = services.environment(
            tmp_path,
            LLM_TIMEOUT="8",
            CACHE_TTL="0",
            RESEARCH_AGENT_SEARCH_TIMEOUT="8",
            RESEARCH_AGENT_PAGE_TIMEOUT="8",
        )
        with ThreadPoolExecutor(RUNS) as pool:
            topics = [f"Who won cup number {i}?" for i in range(RUNS)]
            answers = list(pool.map(lambda topic: _run(topic, environment), topics))
        _until_quiet(before)
        left = set(_open_sockets()) - open_before
        assert len(left) <= 4, left  # the services' listener, and what ends with them
    for answer in answers:
        to_json(answer)
        assert answer.status in ("complete", "partial", "insufficient", "error")
        assert (answer.error is not None) == (answer.status == "error")
        assert answer.error is None or (answer.error.message and answer.error.remedy)
        assert answer.status != "complete" or answer.citations
    assert sum(answer.status == "complete" for answer in answers) >= RUNS * 0.8


def _script(services: Services) -> None:
    chance, lock = Random(7), threading.Lock()

    def fault() -> Raw | None:
        with lock:
            return chance.choice(FAULTS) if chance.random() < 0.1 else None

    services.fault = fault
    services.pages = {"final": "Argentina won the cup.", "other": "Cats sleep most of the day."}
    services.default_hits = ["final", "other"]
    services.think = Thinker([Fact("winner", "Argentina", "Argentina won")], ["a", "b"])


def _run(topic: str, environment: dict[str, str]) -> Answer:
    return research(topic, parse_settings(environment)).answer()


def _until_quiet(before: int) -> None:
    """Threads that were abandoned end by themselves, once the calls that they hang in time out."""
    end = time.monotonic() + 60
    while threading.active_count() > before + 1:  # the services' own thread
        assert time.monotonic() < end, [thread.name for thread in threading.enumerate()]
        time.sleep(0.1)
    gc.collect()


def _open_sockets() -> Iterator[str]:
    """The sockets of this process, each by its number; other tests may have left some."""
    for entry in Path("/proc/self/fd").iterdir():
        if entry.is_symlink() and "socket" in (target := str(entry.readlink())):
            yield target
