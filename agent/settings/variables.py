"""Variables: what the shell and the files set, and which names there are."""

from __future__ import annotations

import logging
import os
import re
import stat
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Literal, NamedTuple

from platformdirs import PlatformDirs

from agent.calls.input_file import read_bytes
from agent.errors import UsageError
from agent.settings.variable_names import (
    KNOWN_VARIABLES,
    SHELL_VARIABLES,
    USER_FIELDS,
    find_replacement,
)

Origin = Literal["shell", "user", "folder"]


class Variable(NamedTuple):
    """The value of a variable, and who set it."""

    value: str
    origin: Origin


def read_variables(shell: Mapping[str, str], folder: Path) -> dict[str, Variable]:
    """The variables that count: of the shell, else of the user's file, else of the folder's `.env`.

    One that the shell sets to nothing is set; in a file it is not. Nothing is interpolated. Raises
    UsageError for a file that cannot be read.
    """
    found = {name: Variable(shell[name], "shell") for name in KNOWN_VARIABLES if name in shell}
    files: tuple[tuple[Origin, Path], ...] = (("user", user_file()), ("folder", folder / ".env"))
    strangers = list(shell)
    for origin, file in files:
        taken = {KNOWN_VARIABLES[name] for name in found}
        values = read_env_file(file)
        strangers += values
        for name, value in values.items():
            is_ours = name in KNOWN_VARIABLES and name not in SHELL_VARIABLES
            if is_ours and origin == "folder" and KNOWN_VARIABLES[name] in USER_FIELDS:
                warn_once(f".env of this folder sets {name}, which only {user_file()} may.")
            elif is_ours and KNOWN_VARIABLES[name] not in taken:
                found[name] = Variable(value, origin)
    _warn_of_strangers(strangers, found)
    if is_open_to_others(user_file()):
        warn_once(f"{user_file()} can be read or changed by others: chmod 600 it.")
    return found


def _warn_of_strangers(names: Iterable[str], found: Collection[str]) -> None:
    """Say which variables of ours are gone or unknown, but not where their replacement is set."""
    for name in names:
        other = find_replacement(name)
        if other is not None and other not in found:
            remedy = f"use {other}" if other else "see .env.example for all names"
            warn_once(f"{name} is not read: {remedy}.")


def synonyms(name: str) -> list[str]:
    """All variables that set the same thing, `name` too; libraries know theirs in both cases."""
    return [known for known, field in KNOWN_VARIABLES.items() if field == KNOWN_VARIABLES[name]]


@cache
def warn_once(text: str) -> None:
    logging.getLogger(__name__).warning(text)


# --- files of variables: the user's own, and `.env` of a folder ----------------------------------


MAX_FILE = 65_536  # bytes of a file of variables
MAX_LINE = 4096  # characters; a longer line is left out: python-dotenv needs quadratic time for it


def user_file() -> Path:
    """The user's own file of variables, whether it exists or not."""
    file = PlatformDirs("research-agent", appauthor=False).user_config_path / "env"
    return file if file.is_absolute() else Path(os.devnull)  # without a home it is in the folder


def read_env_file(file: Path) -> dict[str, str]:
    """The variables of a file as written, without empty ones; none if there is no file.

    A directory is no file: virtual environments are named `.env` too. Raises UsageError, caused by
    the fault, for what is not a regular file of UTF-8 text, too large, or cannot be read.
    """
    try:
        text = _read_text(file)
    except (OSError, ValueError) as error:
        fault = getattr(error, "strerror", None) or error
        remedy = f"Write it as UTF-8 text of at most {MAX_FILE:,} bytes."
        raise UsageError(f"{file} cannot be read: {fault}.", remedy) from error
    from dotenv import dotenv_values

    lines = (line for line in re.split(r"\r\n|\r|\n", text) if len(line) <= MAX_LINE)
    values = dotenv_values(stream=StringIO("\n".join(lines)), interpolate=False)
    return {name: value for name, value in values.items() if value}


def is_env_file(path: Path) -> bool:
    """Whether there is something at a path that can be seen, and is no directory."""
    mode = _read_mode(path)
    return bool(mode) and not stat.S_ISDIR(mode) and path != Path(os.devnull)


def is_open_to_others(file: Path) -> bool:
    """Whether users other than its owner can read or change a file."""
    mode = _read_mode(file)
    return os.name == "posix" and stat.S_ISREG(mode) and bool(mode & 0o077)


def _read_text(file: Path) -> str:
    """The text of a regular file, "" where there is none. Raises OSError, ValueError."""
    if not is_env_file(file):
        return ""
    data = read_bytes(file, MAX_FILE)
    if b"\0" in data:
        raise ValueError("it is not text")
    return data.decode("utf-8-sig")


def _read_mode(file: Path) -> int:
    try:
        return file.stat().st_mode
    except (OSError, ValueError):
        return 0


# --- folders of the system, where no setting names others ----------------------------------------


def user_folder(kind: Literal["data", "cache"]) -> Path:
    """The user's folder for journals (`data`) or for indexes and caches (`cache`).

    It is the default of `runs_dir` and `cache_dir`.
    """
    folders = PlatformDirs("llm-research-agent", appauthor=False)
    return folders.user_cache_path if kind == "cache" else folders.user_data_path
