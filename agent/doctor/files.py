"""Checks of the files that set variables, and which of them each variable comes from."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from agent.doctor.results import Job, Result
from agent.errors import UsageError
from agent.settings import (
    Origin,
    Variable,
    is_env_file,
    is_open_to_others,
    read_env_file,
    user_file,
)

ORIGINS: dict[Origin, str] = {"shell": "the shell", "user": "the user's file", "folder": ".env"}


def check_dotenv(folder: Path, shell: Mapping[str, str]) -> Result:
    """Whether the `.env` of a folder can be read, where there is one."""
    file = folder / ".env"
    if is_env_file(file):
        return _check_file(file)
    detail = "none in this directory; the shell's variables count"
    if any(value for name, value in shell.items() if name.endswith("_API_KEY")):
        return Result("ok", detail)
    return Result("warn", detail, "Copy .env.example to .env and fill in your keys.")


def check_user_file() -> Result:
    """Whether the user's own file can be read, where there is one, and by nobody else."""
    file = user_file()
    result = Result("ok", f"none; it would be {file}")
    if is_env_file(file):
        result = _check_file(file)
    if result.status == "ok" and is_open_to_others(file):
        return Result("warn", f"{file} can be read or changed by others", f"chmod 600 {file}")
    return result


def origin_checks(variables: Mapping[str, Variable]) -> dict[str, Job]:
    """For each origin, the names of the variables that it sets."""
    return {
        f"set by {label}": partial(Result, "ok", _list_names(variables, origin))
        for origin, label in ORIGINS.items()
    }


def _list_names(variables: Mapping[str, Variable], origin: Origin) -> str:
    names = [name for name, (value, set_by) in variables.items() if set_by == origin and value]
    return ", ".join(sorted(names)) or "nothing"


def _check_file(file: Path) -> Result:
    try:
        read_env_file(file)
    except UsageError as error:
        return Result("fail", error.message, error.remedy)
    return Result("ok", "found")
