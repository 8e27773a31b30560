"""One question to one program, measured from outside: time, memory, requests, answer."""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

from benchmarks.peers.programs import Program
from benchmarks.peers.services import Services
from benchmarks.peers.world import Question

TIMEOUT = 300.0  # seconds for a question
POLL_SECONDS = 0.02  # between two measurements of a process's memory


class Measurement(NamedTuple):
    """The figures of one question to one program."""

    question: Question
    has_answer: bool
    seconds: float
    inner_seconds: float  # by the program's own clock, without its start
    megabytes: float
    calls: int
    prompt_tokens: int
    embedding_calls: int
    embedding_tokens: int
    searches: int
    pages: int
    is_right: bool
    citations: int
    valid_citations: int


def measure(
    program: Program, question: Question, services: Services, environments: Path
) -> Measurement:
    """Ask a question. If the program fails, there is no answer, and its output is printed."""
    services.reset()
    with tempfile.TemporaryDirectory() as folder:
        environment = program.environment(services, environments, Path(folder))
        command = program.command(environments, question.text)
        output, seconds, megabytes = run_process(command, environment, Path(folder))
    try:
        answer = program.parse_output(output)
    except (ValueError, LookupError):
        answer = None
        print(f"{program.name} did not answer {question.text}\n{output[-3000:]}")
    citations = answer.citations if answer else ()
    return Measurement(
        question,
        answer is not None,
        seconds,
        answer.seconds if answer else 0.0,
        megabytes,
        services.calls,
        services.prompt_tokens,
        services.embedding_calls,
        services.embedding_tokens,
        len(services.queries),
        len(services.pages_read),
        answer is not None and is_right(question, answer.text, services),
        len(citations),
        sum(citation_holds(quote, url, services) for quote, url in citations),
    )


def run_process(
    command: list[str], environment: dict[str, str], folder: Path
) -> tuple[str, float, float]:
    """Run a process: its output, its seconds, and its peak resident set in 10^6 bytes (Linux)."""
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        begun, peak = time.monotonic(), 0.0
        process = subprocess.Popen(command, env=environment, cwd=folder, stdout=out, stderr=err)
        try:
            while process.poll() is None and time.monotonic() - begun < TIMEOUT:
                peak = max(peak, peak_memory(process.pid))
                time.sleep(POLL_SECONDS)
        finally:
            process.kill()
            process.wait()
        seconds = time.monotonic() - begun
    printed = (folder / "out").read_text("utf-8")
    return printed or (folder / "err").read_text("utf-8"), seconds, peak


def peak_memory(pid: int) -> float:
    """The peak resident set of a running process in 10^6 bytes; 0 once it has ended."""
    with suppress(OSError):
        status = Path(f"/proc/{pid}/status").read_text("utf-8")
        if found := re.search(r"VmHWM:\s+(\d+)", status):
            return int(found[1]) * 1024 / 1e6
    return 0.0


def is_right(question: Question, text: str, services: Services) -> bool:
    """Whether an answer has the expected words; for an unanswerable question, no invented fact."""
    if question.answer:
        return question.answer in text
    return not re.search(r"shoe size (?:is|of \d|\d)", text)


def citation_holds(quote: str, url: str, services: Services) -> bool:
    """Whether a cited page was read in this run and contains the quote."""
    name = url.removeprefix(services.url(""))
    page = services.world.pages.get(name)
    return (
        name in services.pages_read and page is not None and quote in " ".join(page[1].split("\n"))
    )


def summarize(measurements: Sequence[Measurement]) -> dict[str, Any]:
    """The figures of a program over all questions; means and medians are per question."""
    ended = sum(one.has_answer for one in measurements)
    answers = sum(one.is_right for one in measurements)
    prompts = sum(one.prompt_tokens for one in measurements)
    valid = sum(one.valid_citations for one in measurements)
    cited = sum(one.citations for one in measurements)
    return {
        "ended with an answer": f"{ended} of {len(measurements)}",
        **{
            f"right, {label}": _share([one for one in measurements if _kind(one) == kind])
            for kind, label in ((1, "one hop"), (2, "two hops"), (0, "no page says it"))
        },
        "citations that hold": f"{valid} of {cited}",
        "seconds, median": round(median(one.seconds for one in measurements), 1),
        "... without starting, median": round(median(one.inner_seconds for one in measurements), 1),
        "model calls, mean": round(mean(one.calls for one in measurements), 1),
        "prompt tokens, mean": round(prompts / len(measurements)),
        "prompt tokens per right answer": round(prompts / answers) if answers else "-",
        "embedding calls, mean": round(mean(one.embedding_calls for one in measurements), 1),
        "embedded tokens, mean": round(mean(one.embedding_tokens for one in measurements)),
        "searches, mean": round(mean(one.searches for one in measurements), 1),
        "pages, mean": round(mean(one.pages for one in measurements), 1),
        "peak memory MB, worst": round(max(one.megabytes for one in measurements)),
    }


def _kind(measurement: Measurement) -> int:
    return measurement.question.hops if measurement.question.answer else 0


def _share(measurements: Sequence[Measurement]) -> str:
    return f"{sum(one.is_right for one in measurements)} of {len(measurements)}"
