"""The settings file of a user: lines `NAME=value`, changed one at a time, readable for its owner.

What else stands in the file stays as it is.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from io import StringIO
from pathlib import Path

from agent.errors import UsageError
from agent.settings import (
    ENVIRONMENT,
    MAX_FILE,
    MAX_LINE,
    is_env_file,
    parse_settings,
    read_env_file,
    synonyms,
)
from agent.shell import write_file

_PLAIN = re.compile(r"[\w./:@,+=~%-]*", re.ASCII)


def set_variable(file: Path, name: str, value: str) -> None:
    """Set a variable, in place of all names of the same thing. Raises UsageError, OutputFailed."""
    check_value(name, value)
    lines = [*_lines_without(file, name), f"{name}={_quote(value)}"]
    _write_private(file, "\n".join(lines) + "\n")


def unset_variable(file: Path, name: str) -> bool:
    """Take a variable out, by all its names; whether it was there. Raises as `set_variable`."""
    present = read_env_file(file)
    if not any(known in present for known in synonyms(name)):
        return False
    _write_private(file, "".join(f"{line}\n" for line in _lines_without(file, name)))
    return True


def check_value(name: str, value: str) -> None:
    """Raise UsageError for a value that could not be used, or not be read again from the file."""
    from dotenv import dotenv_values

    line = f"{name}={_quote(value)}"
    read = dotenv_values(stream=StringIO(line), interpolate=False).get(name)
    if not value or read != value or len(line) > MAX_LINE or not value.isprintable():
        raise UsageError(f"{name}: this cannot be its value.", "Give one line of text, not empty.")
    if name in ENVIRONMENT:
        parse_settings({name: value})


def _quote(value: str) -> str:
    """A value as python-dotenv reads it."""
    if _PLAIN.fullmatch(value):
        return value
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _lines_without(file: Path, name: str) -> list[str]:
    """The lines of a file but those that set a thing. Raises UsageError where it cannot be read."""
    read_env_file(file)  # raises for what is not text, or too large
    if not is_env_file(file):
        return []
    from dotenv.parser import parse_stream

    parts = parse_stream(StringIO(file.read_text("utf-8-sig")))
    kept = "".join(part.original.string for part in parts if part.key not in synonyms(name))
    return kept.splitlines()


def _write_private(file: Path, text: str) -> None:
    """Replace a file by one that its owner alone can read. Raises UsageError, OutputFailed."""
    if len(text.encode()) > MAX_FILE:
        raise UsageError(f"{file} would be too large.", f"Keep it below {MAX_FILE:,} bytes.")
    with suppress(OSError):  # the same error is told when the file is written
        Path(os.path.realpath(file)).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_file(file, text, is_private=True)
