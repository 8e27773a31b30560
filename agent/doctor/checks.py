"""All checks side by side: one that has not answered by the deadline is told as such, and none that
hangs holds the others."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from pathlib import Path

from agent.doctor.hiding import hidden, secrets
from agent.doctor.machine import dotenv, of_machine
from agent.doctor.results import Check, Job, Result, refused
from agent.doctor.services import of_settings
from agent.errors import AgentError, UsageError
from agent.outside import spawn
from agent.settings import load

DEADLINE = 10.0  # seconds for all checks
SHORT = 7.0  # seconds for one service: it is told as slow by its own name before the deadline


def examine(
    environment: Mapping[str, str], folder: Path, deadline: float = DEADLINE
) -> list[Check]:
    """All checks, in a fixed order. The `.env` of the folder is loaded into the process first."""
    until = time.monotonic() + deadline
    file = dotenv(folder, environment)
    jobs: dict[str, Job] = {".env": lambda: file, **of_machine(environment)}
    try:
        settings = load(environment, llm_timeout=SHORT, search_timeout=SHORT)
    except UsageError as error:
        fault = refused(error)
        jobs["settings"] = lambda: fault
    else:
        jobs |= of_settings(settings)
    return hidden(_ran(jobs, until), secrets(environment))


def unmet(checks: Sequence[Check]) -> list[str]:
    """What the main job lacks; empty where a question could be researched now."""
    usable = {check.name.split()[0] for check in checks if check.status == "ok"}
    needed = [kind for kind in ("model", "search") if kind not in usable]
    broken = [c.name for c in checks if c.status == "fail" and c.name in (".env", "settings")]
    return broken + needed


def _ran(jobs: Mapping[str, Job], until: float) -> list[Check]:
    """Every job on a thread of its own; what is not done in time is abandoned."""
    began = time.monotonic()
    futures = {name: spawn(_timed(job)) for name, job in jobs.items()}
    wait(futures.values(), timeout=max(0.0, until - began))
    passed = round(time.monotonic() - began, 3)
    return [_row(name, future, passed) for name, future in futures.items()]


def _timed(job: Job) -> Callable[[], tuple[Result, float]]:
    def run() -> tuple[Result, float]:
        began = time.monotonic()
        try:
            result = job()
        except AgentError as error:
            result = refused(error)
        return result, round(time.monotonic() - began, 3)

    return run


def _row(name: str, future: Future[tuple[Result, float]], passed: float) -> Check:
    if not future.done():
        remedy = "Check the network and the proxy settings; try again."
        return Check(name, "fail", f"no answer within {passed:.1f} s", remedy, passed)
    if error := future.exception():  # its text may hold anything: a key too
        fault = f"an unexpected {type(error).__name__}"
        return Check(name, "fail", fault, "This is a bug: please report it.", passed)
    result, seconds = future.result()
    return Check(name, *result, seconds)
