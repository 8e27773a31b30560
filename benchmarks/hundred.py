"""A hundred concurrent runs in threads of one process, against services in another process.

They are compared with one run alone, which is the lower bound of their time. Then they run against
a provider that accepts a limited rate of model calls and delays the rest. The model is the
scripted one of `benchmarks/peers`. `python -m benchmarks.hundred` prints one JSON object.
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
from agent.evidence import estimate_tokens
from agent.run import research
from agent.settings import Settings, parse_settings
from benchmarks.peers.services import Latency, Services
from benchmarks.peers.world import Question, World, make_world

RUNS, RATE = 100, 20.0
WORLD = make_world()
QUESTIONS = [question for question in WORLD.questions if question.answer]


class RunGroup(NamedTuple):
    """A group of concurrent runs: its seconds, and the answer to each question."""

    seconds: float
    answers: list[tuple[Question, Answer]]

    @property
    def right_answers(self) -> int:
        return sum(question.answer in answer.answer for question, answer in self.answers)

    def total(self, name: str) -> int:
        return sum(getattr(answer.usage, name) for _, answer in self.answers)


def main() -> None:
    with _services_process(0) as base, tempfile.TemporaryDirectory() as folder:
        settings = _settings(base, Path(folder))
        _run_all(settings, QUESTIONS[:1])  # what the first run imports is not what is measured
        alone = max(_run_all(settings, [question]).seconds for question in QUESTIONS[2:4])
        before = _memory("VmRSS")
        together = _run_all(settings, [QUESTIONS[n % len(QUESTIONS)] for n in range(RUNS)])
        peak = _memory("VmHWM")
    with _services_process(RATE) as base, tempfile.TemporaryDirectory() as folder:
        limited = _run_all(
            _settings(base, Path(folder)), [QUESTIONS[n % len(QUESTIONS)] for n in range(RUNS)]
        )
    print(json.dumps(_make_results(alone, together, limited, before, peak)))


def _make_results(
    alone: float, together: RunGroup, limited: RunGroup, before: float, peak: float
) -> dict[str, Any]:
    calls, whole = limited.total("llm_calls"), _whole_page_tokens(WORLD, together)
    tokens = "prompt_tokens_per_right_answer"
    return {
        "runs_at_once": RUNS,
        "right_answers": together.right_answers,
        "slowest_run_alone_seconds": round(alone, 2),
        "all_at_once_seconds": round(together.seconds, 2),
        "ratio_to_one_alone": round(together.seconds / alone, 2),
        "runs_a_second": round(RUNS / together.seconds, 1),
        "mb_before": round(before),
        "peak_mb": round(peak),
        "mb_a_run": round((peak - before) / RUNS, 2),
        "limited_to_calls_a_second": RATE,
        "limited_calls": calls,
        "limited_right_answers": limited.right_answers,
        "limited_seconds": round(limited.seconds, 2),
        "limited_ratio_to_the_limit": round(limited.seconds / (calls / RATE), 2),
        "ours": {tokens: round(together.total("input_tokens") / together.right_answers)},
        "the_pages_read_shown_whole_once": {tokens: round(whole / together.right_answers)},
    }


def _whole_page_tokens(world: World, ended: RunGroup) -> int:
    """Tokens of the baseline: one prompt that shows every page that was read as a whole."""
    size = sum(estimate_tokens(text) for _, text in world.pages.values()) / len(world.pages)
    return round(size * ended.total("pages"))


def _run_all(settings: Settings, questions: list[Question]) -> RunGroup:
    """Research all questions concurrently."""
    started = time.monotonic()
    with ThreadPoolExecutor(len(questions)) as threads:
        answers = list(
            threads.map(lambda question: _answer_question(settings, question), questions)
        )
    return RunGroup(time.monotonic() - started, list(zip(questions, answers, strict=True)))


def _answer_question(settings: Settings, question: Question) -> Answer:
    run = research(question.text, settings)
    return run.answer()


def _settings(base: str, folder: Path) -> Settings:
    return parse_settings(
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
def _services_process(rate: float) -> Iterator[str]:
    """Run the services in another process, so that their memory and time are not counted here."""
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
