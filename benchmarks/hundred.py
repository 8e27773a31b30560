"""A hundred runs at once, threads of one process, against services in another process.

Beside them, in the same minute: one run alone, whose time nobody can undercut; then a provider
that takes only so many model calls a second and lets the rest wait. The model is that of
`benchmarks/peers`. `python -m benchmarks.hundred` prints one JSON object.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from agent.answer import Answer
from agent.evidence import tokens
from agent.run import research
from agent.settings import Settings, load
from benchmarks.peers.services import Latency, Services
from benchmarks.peers.world import Question, World, world

RUNS, RATE = 100, 20.0
WORLD = world()
QUESTIONS = [question for question in WORLD.questions if question.answer]


class Ended(NamedTuple):
    """A group of runs: how long it took, and what they came to."""

    seconds: float
    answers: list[tuple[Question, Answer]]

    @property
    def right(self) -> int:
        return sum(question.answer in answer.answer for question, answer in self.answers)

    def spent(self, name: str) -> int:
        return sum(getattr(answer.usage, name) for _, answer in self.answers)


def main() -> None:
    with _served(0) as base, tempfile.TemporaryDirectory() as folder:
        settings = _settings(base, Path(folder))
        _run(settings, QUESTIONS[:1])  # what the first run imports is not what is measured
        alone = max(_run(settings, [question]).seconds for question in QUESTIONS[2:4])
        before = _memory("VmRSS")
        together = _run(settings, [QUESTIONS[n % len(QUESTIONS)] for n in range(RUNS)])
        peak = _memory("VmHWM")
    with _served(RATE) as base, tempfile.TemporaryDirectory() as folder:
        limited = _run(
            _settings(base, Path(folder)), [QUESTIONS[n % len(QUESTIONS)] for n in range(RUNS)]
        )
    print(json.dumps(_row(alone, together, limited, before, peak)))


def _row(
    alone: float, together: Ended, limited: Ended, before: float, peak: float
) -> dict[str, Any]:
    calls, whole = limited.spent("llm_calls"), _whole(WORLD, together)
    tokens = "prompt_tokens_per_right_answer"
    return {
        "runs_at_once": RUNS,
        "right_answers": together.right,
        "slowest_run_alone_seconds": round(alone, 2),
        "all_at_once_seconds": round(together.seconds, 2),
        "ratio_to_one_alone": round(together.seconds / alone, 2),
        "runs_a_second": round(RUNS / together.seconds, 1),
        "mb_before": round(before),
        "peak_mb": round(peak),
        "mb_a_run": round((peak - before) / RUNS, 2),
        "limited_to_calls_a_second": RATE,
        "limited_calls": calls,
        "limited_right_answers": limited.right,
        "limited_seconds": round(limited.seconds, 2),
        "limited_ratio_to_the_limit": round(limited.seconds / (calls / RATE), 2),
        "ours": {tokens: round(together.spent("input_tokens") / together.right)},
        "the_pages_read_shown_whole_once": {tokens: round(whole / together.right)},
    }


def _whole(world: World, ended: Ended) -> int:
    """Tokens of a prompt that shows each page that was read, whole: the plainest way to ask."""
    size = sum(tokens(text) for _, text in world.pages.values()) / len(world.pages)
    return round(size * ended.spent("pages"))


def _run(settings: Settings, questions: list[Question]) -> Ended:
    """All questions at once."""
    begun = time.monotonic()
    with ThreadPoolExecutor(len(questions)) as threads:
        answers = list(threads.map(lambda question: _ask(settings, question), questions))
    return Ended(time.monotonic() - begun, list(zip(questions, answers, strict=True)))


def _ask(settings: Settings, question: Question) -> Answer:
    run = research(question.text, settings)
    return run.answer()


def _settings(base: str, folder: Path) -> Settings:
    return load(
        {
            "LLM": "openai",
            "OPENAI_BASE_URL": f"{base}/v1",
            "OPENAI_MODEL": "scripted",
            "SEARCH_PROVIDERS": "searxng",
            "SEARXNG_URL": f"{base}/searxng",
            "ALLOW_PRIVATE_NETWORK": "1",
            "CACHE_TTL": "0",
            "RUNS_DIR": str(folder / "runs"),
            "CACHE_DIR": str(folder / "cache"),
        }
    )


def _memory(line: str) -> float:
    """A figure of this process in 10^6 bytes (Linux)."""
    status = Path("/proc/self/status").read_text("utf-8")
    found = re.search(rf"{line}:\s+(\d+)", status)
    return int(found[1]) * 1024 / 1e6 if found else 0.0


@contextmanager
def _served(rate: float) -> Iterator[str]:
    """The services in a process of their own, so that their memory and time are their own."""
    command = [sys.executable, "-m", "benchmarks.hundred", str(rate)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin and process.stdout
    try:
        yield process.stdout.readline().strip()
    finally:
        process.stdin.close()
        process.wait(20)
        process.stdout.close()


def serve(rate: float) -> None:
    """Serve until standard input ends."""
    with Services(WORLD, Latency(1.0, 0.5, rate)) as services:
        print(services.base, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    serve(float(sys.argv[1])) if len(sys.argv) > 1 else main()
