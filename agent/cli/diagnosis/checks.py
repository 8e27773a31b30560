"""Runs all checks concurrently, within one deadline: a check that hangs does not delay the others
and is reported as failed."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, wait
from functools import partial
from pathlib import Path

from agent.calls import spawn
from agent.cli.diagnosis.machine import check_dotenv, check_user_file, machine_checks
from agent.cli.diagnosis.results import Check, Job, Result, make_error_result
from agent.cli.diagnosis.services import service_checks
from agent.errors import AgentError
from agent.settings import (
    KNOWN_VARIABLES,
    Variable,
    export_to_libraries,
    make_settings,
    read_variables,
)

DEADLINE = 10.0  # seconds for all checks
CONFIGURATION = (".env", "user's file", "settings")  # checks without which no run begins
SERVICE_TIMEOUT = 7.0  # seconds for one service: below DEADLINE, so that its own error is reported


def run_checks(
    shell: Mapping[str, str],
    folder: Path,
    deadline: float = DEADLINE,
    trust_env: bool | None = None,
) -> list[Check]:
    """Run all checks and return their results in a fixed order, with secrets redacted.

    `shell`: the variables of the shell; those of the user's file and of the folder's `.env` are
    read. `deadline`: seconds for all checks.
    """
    ends_at = time.monotonic() + deadline
    variables, jobs = _read_files(shell, folder)
    values = {**shell, **{name: variable.value for name, variable in variables.items()}}
    jobs |= machine_checks(variables)
    try:
        settings = make_settings(
            variables,
            folder,
            trust_env=trust_env,
            llm_timeout=SERVICE_TIMEOUT,
            search_timeout=SERVICE_TIMEOUT,
        )
    except AgentError as error:
        settings_result = make_error_result(error)
        jobs["settings"] = lambda: settings_result
    else:
        export_to_libraries(variables)
        jobs |= service_checks(settings)
    return redact(_run_jobs(jobs, ends_at), find_secrets(values))


def _read_files(
    shell: Mapping[str, str], folder: Path
) -> tuple[dict[str, Variable], dict[str, Job]]:
    """The variables, those of the shell alone where a file cannot be read; and what is reported."""
    dotenv_result = check_dotenv(folder, shell)
    try:
        variables = read_variables(shell, folder)
    except AgentError:
        variables = {name: Variable(value, "shell") for name, value in shell.items()}
        variables = {name: variables[name] for name in KNOWN_VARIABLES if name in variables}
    return variables, {".env": lambda: dotenv_result, "user's file": check_user_file}


def missing_requirements(checks: Sequence[Check]) -> list[str]:
    """What prevents any research now: files, settings, `model`, `search`; empty: nothing."""
    usable = {check.name.split()[0] for check in checks if check.status == "ok"}
    needed = [kind for kind in ("model", "search") if kind not in usable]
    broken = [c.name for c in checks if c.status == "fail" and c.name in CONFIGURATION]
    return broken + needed


def _run_jobs(jobs: Mapping[str, Job], ends_at: float) -> list[Check]:
    """Run each job in a thread of its own; one that has not finished in time is abandoned."""
    started = time.monotonic()
    futures = {name: spawn(partial(_time_job, job)) for name, job in jobs.items()}
    wait(futures.values(), timeout=max(0.0, ends_at - started))
    elapsed = round(time.monotonic() - started, 3)
    return [_make_check(name, future, elapsed) for name, future in futures.items()]


def _time_job(job: Job) -> tuple[Result, float]:
    """The result of a job, an AgentError as one too, and its seconds."""
    started = time.monotonic()
    try:
        result = job()
    except AgentError as error:
        result = make_error_result(error)
    return result, round(time.monotonic() - started, 3)


def _make_check(name: str, future: Future[tuple[Result, float]], elapsed: float) -> Check:
    if not future.done():
        remedy = "Check the network and the proxy settings; try again."
        return Check(name, "fail", f"no answer within {elapsed:.1f} s", remedy, elapsed)
    if error := future.exception():  # only the type is shown: the text may hold a key
        fault = f"an unexpected {type(error).__name__}"
        return Check(name, "fail", fault, "This is a bug: please report it.", elapsed)
    result, seconds = future.result()
    return Check(name, *result, seconds)


# --- no part of a key is shown, even if a service echoes it --------------------------------------


#: Length of the substrings of a secret that are redacted in texts: services echo a key's last four
#: characters.
TEXT_LENGTH = 4
#: The same for names of checks, case-insensitively: a model may share four characters with a key.
NAME_LENGTH = 8
SECRET_SUFFIXES = ("KEY", "KEY_ID", "TOKEN", "SECRET", "PASSWORD", "APP_ID")  # of environment names


def find_secrets(environment: Mapping[str, str]) -> list[str]:
    """The secrets of an environment: keys and the like by their names, and passwords in URLs."""
    secrets = [
        value for name, value in environment.items() if name.upper().endswith(SECRET_SUFFIXES)
    ]
    for value in environment.values():
        secrets += re.findall(r"://[^/@\s]*:([^/@\s]+)@", value)
    return [value.strip() for value in secrets if len(value.strip()) >= TEXT_LENGTH]


def redact(checks: Iterable[Check], secrets: Sequence[str]) -> list[Check]:
    """Replace every word that contains a substring of a secret by `[hidden]`.

    A word of a detail or a remedy is replaced if it shares TEXT_LENGTH successive characters with a
    secret, or NAME_LENGTH regardless of case. Of names, which a user chooses, only the latter is
    replaced.
    """

    def mask(text: str, length: int, fold: Callable[[str], str]) -> str:
        starts = ((one, i) for one in secrets for i in range(max(1, len(one) - length + 1)))
        pieces = {fold(one[i : i + length]) for one, i in starts}
        words = text.split(" ")
        hidden = (any(piece in fold(word) for piece in pieces) for word in words)
        return " ".join(
            "[hidden]" if is_hidden else word for is_hidden, word in zip(hidden, words, strict=True)
        )

    def mask_text(text: str) -> str:
        return mask(mask(text, NAME_LENGTH, str.casefold), TEXT_LENGTH, str)

    return [
        check._replace(
            name=mask(check.name, NAME_LENGTH, str.casefold),
            detail=mask_text(check.detail),
            remedy=mask_text(check.remedy),
        )
        for check in checks
    ]
