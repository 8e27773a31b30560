"""Variables: what the shell and the files set, and which names there are."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import SecretStr

from agent.errors import UsageError
from agent.settings.env_file import is_open_to_others, read_env_file, user_file
from agent.settings.fields import (
    KNOWN_VARIABLES,
    LAST_NAMES,
    SHELL_VARIABLES,
    USER_FIELDS,
    Settings,
    full_name,
)
from agent.state.sanitizing import sanitize_line

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
    for origin, file in files:
        taken = {KNOWN_VARIABLES[name] for name in found if name not in LAST_NAMES}
        for name, value in read_env_file(file).items():
            known = name in KNOWN_VARIABLES and name not in SHELL_VARIABLES
            if known and origin == "folder" and KNOWN_VARIABLES[name] in USER_FIELDS:
                warn_once(f".env of this folder sets {name}, which only {user_file()} may.")
            elif known and KNOWN_VARIABLES[name] not in taken:
                found[name] = Variable(value, origin)
    if is_open_to_others(user_file()):
        warn_once(f"{user_file()} can be read or changed by others: chmod 600 it.")
    return found


def resolve_name(text: str) -> str:
    """The variable that a user means, by its name or by that of its setting: `max_usd`.

    Raises UsageError for a name that no file can set.
    """
    name = text.strip().upper().replace("-", "_")
    settable = [known for known in KNOWN_VARIABLES if known not in SHELL_VARIABLES]
    named = [known for known in settable if KNOWN_VARIABLES[known].upper() == name]
    if name in settable or named:
        return full_name(name if name in settable else named[-1])
    names = {*settable, *(KNOWN_VARIABLES[known].upper() for known in settable)}
    near = [full_name(one) for one in get_close_matches(name, names, cutoff=0.7)]
    hint = f"Did you mean {near[0].lower()}?" if near else "See .env.example for all names."
    raise UsageError(f"There is no setting {sanitize_line(text, 80)!r}.", hint)


def synonyms(name: str) -> list[str]:
    """All variables that set the same thing, `name` too; libraries know theirs in both cases."""
    return [known for known, field in KNOWN_VARIABLES.items() if field == KNOWN_VARIABLES[name]]


def is_secret(name: str) -> bool:
    """Whether the value of a variable is not to be shown."""
    field = Settings.model_fields.get(KNOWN_VARIABLES[name])
    return field.annotation is SecretStr if field else KNOWN_VARIABLES[name] == "otel_headers"


@cache
def warn_once(text: str) -> None:
    logging.getLogger(__name__).warning(text)
