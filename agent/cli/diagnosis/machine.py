"""Checks of this machine, without network: files that set variables, formats, keys."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from agent.cli.diagnosis.results import Job, Result
from agent.documents.format_registry import EXTRAS, FORMATS, Format
from agent.documents.pdf.ocr import find_tesseract
from agent.errors import UsageError
from agent.settings import (
    KEY_VARIABLES,
    MODEL_KEY_VARIABLES,
    Origin,
    Variable,
    is_env_file,
    is_open_to_others,
    read_env_file,
    synonyms,
    user_file,
)
from agent.version import __version__

MAX_SUFFIXES = 8  # of a format that are named
ORIGINS: dict[Origin, str] = {"shell": "the shell", "user": "the user's file", "folder": ".env"}
KEYS = [*MODEL_KEY_VARIABLES, *KEY_VARIABLES.values()]


def machine_checks(variables: Mapping[str, Variable]) -> dict[str, Job]:
    """The checks of the interpreter, formats and keys."""
    return {
        "agent": lambda: Result("ok", f"{__version__}, Python {sys.version.split()[0]}"),
        **{f"format {one.name}": partial(_check_format, one) for one in FORMATS},
        "format scanned PDF": _check_ocr,
        **{f"key {name}": partial(_check_key, name, variables) for name in KEYS},
    }


def _check_format(one: Format) -> Result:
    """Whether documents of a format can be read, and what is missing."""
    suffixes = ", ".join(one.suffixes[:MAX_SUFFIXES])
    if len(one.suffixes) > MAX_SUFFIXES:
        suffixes += f" and {len(one.suffixes) - MAX_SUFFIXES} more"
    if missing := one.missing():
        lacking = f"{suffixes}: not installed: {', '.join(missing)}"
        extras = [EXTRAS[package] for package in missing if package in EXTRAS]
        remedy = extras[0] if extras else f"pip install {' '.join(missing)}"
        return Result("warn" if extras else "fail", lacking, remedy)
    return Result("ok", f"{suffixes}: read")


def _check_ocr() -> Result:
    """Whether pages that are images can be read."""
    tesseract = find_tesseract()
    if tesseract is None:
        return Result("warn", "tesseract is not installed", "apt-get install tesseract-ocr")
    return Result("ok", f"read by tesseract, languages: {', '.join(tesseract.languages)}")


def _check_key(name: str, variables: Mapping[str, Variable]) -> Result:
    """Who set a key, and whether it has only characters that keys have. The key is not shown."""
    values = (variables.get(one, Variable("", "shell")) for one in reversed(synonyms(name)))
    found = next((one for one in values if one.value.strip()), Variable("", "shell"))
    key = found.value.strip()
    if not key.isascii() or any(char in key for char in " \t\r\n\"'"):
        remedy = "Write it without quotes, spaces or comments."
        return Result("warn", "set, but contains characters that no key has", remedy)
    return Result("ok", f"set by {ORIGINS[found.origin]}" if key else "not set")


# --- files that set variables ---------------------------------------------------------------------


def check_dotenv(folder: Path, shell: Mapping[str, str]) -> Result:
    """Whether the `.env` of a folder can be read, where there is one."""
    file = folder / ".env"
    if is_env_file(file):
        return _check_file(file)
    detail = "none in this directory; the shell's variables are used"
    if any(value for name, value in shell.items() if name.endswith("_API_KEY")):
        return Result("ok", detail)
    return Result("warn", detail, "Copy .env.example to .env and fill in your keys.")


def check_user_file() -> Result:
    """Whether the user's own file can be read, where there is one, and by nobody else."""
    file = user_file()
    result = _check_file(file) if is_env_file(file) else Result("ok", f"none (it would be {file})")
    if result.status == "ok" and is_open_to_others(file):
        return Result("warn", f"{file} can be read or changed by others", f"chmod 600 {file}")
    return result


def _check_file(file: Path) -> Result:
    try:
        read_env_file(file)
    except UsageError as error:
        return Result("fail", error.message, error.remedy)
    return Result("ok", "found")
