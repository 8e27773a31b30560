"""One question to one program, measured from outside: time, memory, what it asked and answered."""

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

PATIENCE = 300.0  # seconds for a question
LOOK = 0.02  # seconds between two looks at a process's memory


class Asked(NamedTuple):
    """A question asked. `inside` is the time by the program's own clock, without its start."""

    question: Question
    ended: bool
    seconds: float
    inside: float
    megabytes: float
    calls: int
    prompt_tokens: int
    embedding_calls: int
    embedding_tokens: int
    searches: int
    pages: int
    right: bool
    cited: int
    held: int


def ask(program: Program, question: Question, services: Services, environments: Path) -> Asked:
    """Ask; a program that fails has no answer, and what it printed goes to stderr."""
    services.forget()
    with tempfile.TemporaryDirectory() as folder:
        environment = program.environment(services, environments, Path(folder))
        command = program.command(environments, question.text)
        output, seconds, megabytes = run(command, environment, Path(folder))
    try:
        said = program.read(output)
    except (ValueError, LookupError):
        said = None
        print(f"{program.name} did not answer {question.text}\n{output[-3000:]}")
    cited = said.cited if said else ()
    return Asked(
        question,
        said is not None,
        seconds,
        said.seconds if said else 0.0,
        megabytes,
        services.calls,
        services.prompt_tokens,
        services.embedding_calls,
        services.embedding_tokens,
        len(services.searched),
        len(services.read),
        said is not None and right(question, said.text, services),
        len(cited),
        sum(holds(quote, url, services) for quote, url in cited),
    )


def run(command: list[str], environment: dict[str, str], folder: Path) -> tuple[str, float, float]:
    """What a process printed, seconds, and its peak resident set in 10^6 bytes (Linux)."""
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        begun, peak = time.monotonic(), 0.0
        process = subprocess.Popen(command, env=environment, cwd=folder, stdout=out, stderr=err)
        try:
            while process.poll() is None and time.monotonic() - begun < PATIENCE:
                peak = max(peak, resident(process.pid))
                time.sleep(LOOK)
        finally:
            process.kill()
            process.wait()
        seconds = time.monotonic() - begun
    printed = (folder / "out").read_text("utf-8")
    return printed or (folder / "err").read_text("utf-8"), seconds, peak


def resident(pid: int) -> float:
    """The peak resident set of a process that runs; 0 once it has ended."""
    with suppress(OSError):
        status = Path(f"/proc/{pid}/status").read_text("utf-8")
        if found := re.search(r"VmHWM:\s+(\d+)", status):
            return int(found[1]) * 1024 / 1e6
    return 0.0


def right(question: Question, text: str, services: Services) -> bool:
    """Whether an answer has the words of the right one; where there is none, no page's fact."""
    if question.answer:
        return question.answer in text
    return not re.search(r"shoe size (?:is|of \d|\d)", text)


def holds(quote: str, url: str, services: Services) -> bool:
    """Whether a cited page was read in this run and has the words that are cited."""
    name = url.removeprefix(services.url(""))
    page = services.world.pages.get(name)
    return name in services.read and page is not None and quote in " ".join(page[1].split("\n"))


def summary(asked: Sequence[Asked]) -> dict[str, Any]:
    """The figures of a program, a question each where nothing else is said."""
    answers = sum(one.right for one in asked)
    prompts = sum(one.prompt_tokens for one in asked)
    return {
        "ended with an answer": f"{sum(one.ended for one in asked)} of {len(asked)}",
        **{
            f"right, {label}": _share([one for one in asked if _kind(one) == kind])
            for kind, label in ((1, "one hop"), (2, "two hops"), (0, "no page says it"))
        },
        "citations that hold": f"{sum(one.held for one in asked)} of {sum(o.cited for o in asked)}",
        "seconds, median": round(median(one.seconds for one in asked), 1),
        "... without starting, median": round(median(one.inside for one in asked), 1),
        "model calls, mean": round(mean(one.calls for one in asked), 1),
        "prompt tokens, mean": round(prompts / len(asked)),
        "prompt tokens per right answer": round(prompts / answers) if answers else "-",
        "embedding calls, mean": round(mean(one.embedding_calls for one in asked), 1),
        "embedded tokens, mean": round(mean(one.embedding_tokens for one in asked)),
        "searches, mean": round(mean(one.searches for one in asked), 1),
        "pages, mean": round(mean(one.pages for one in asked), 1),
        "peak memory MB, worst": round(max(one.megabytes for one in asked)),
    }


def _kind(asked: Asked) -> int:
    return asked.question.hops if asked.question.answer else 0


def _share(asked: Sequence[Asked]) -> str:
    return f"{sum(one.right for one in asked)} of {len(asked)}"
