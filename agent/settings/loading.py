"""Settings from variables. Nothing else in the program reads the environment, doors apart."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from agent.errors import UsageError
from agent.settings.dotenv_limits import build_refusal, find_risks, find_user_keys
from agent.settings.fields import DEPTHS, Settings, split_list
from agent.settings.variable_names import ENVIRONMENT, KNOWN_VARIABLES, LIBRARY_VARIABLES
from agent.settings.variables import Variable, read_variables, warn_once
from agent.state import RunRequest

M = TypeVar("M", bound=BaseModel)

#: The options that are not named as their fields.
OPTION_NAMES = {"reader": "for", "max_citations": "citations"}


def parse_settings(environment: Mapping[str, str], **overrides: Any) -> Settings:
    """Settings from the variables of an environment; an override that is not None wins.

    Raises UsageError naming the variable or the option whose value cannot be used.
    """
    values: dict[str, Any] = {}
    for name, field in ENVIRONMENT.items():
        if text := environment.get(name, "").strip():
            mapping, _, entry = field.partition(".")
            if entry:
                values.setdefault(mapping, {})[entry] = text
            else:
                is_list = "tuple" in str(Settings.model_fields[field].annotation)
                values[field] = split_list(text) if is_list else text
    given = {field: value for field, value in overrides.items() if value is not None}
    return _validate(Settings, {**values, **given}, {*values})


def make_request(fields: Mapping[str, Any]) -> RunRequest:
    """The request with those fields that are given, not None, and its own.

    Raises UsageError naming the option whose value cannot be used.
    """
    names = RunRequest.model_fields.keys() & fields.keys()
    return _validate(RunRequest, {n: fields[n] for n in names if fields[n] is not None}, set())


def _validate(kind: type[M], values: dict[str, Any], from_variables: set[str]) -> M:
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        field = str(first["loc"][0])  # entries of mappings are texts, which are never refused
        name = _names_of(field, is_variable=field in from_variables)
        remedy = "Correct or unset it." if field in from_variables else "Correct it."
        raise UsageError(f"{name}: {first['msg']}", remedy) from None


def load_settings(**overrides: Any) -> Settings:
    """Settings from the shell, the user's file and `.env`; an override that is not None wins.

    Proxies and certificates of the files are put into this process's environment, where libraries
    look. Raises UsageError as `read_variables` and `parse_settings` do, NotConfigured as
    `make_settings`.
    """
    variables = read_variables(os.environ, Path())
    settings = make_settings(variables, Path(), **overrides)
    export_to_libraries(variables)
    return settings


def load_options(options: Mapping[str, Any]) -> Settings:
    """Settings as `load_settings` gives them; those options of a command win that are fields."""
    fields = Settings.model_fields
    return load_settings(**{name: value for name, value in options.items() if name in fields})


def make_settings(variables: Mapping[str, Variable], folder: Path, **overrides: Any) -> Settings:
    """Settings from variables, `.env` being that of `folder`; an override that is not None wins.

    Raises UsageError as `parse_settings` does, NotConfigured where `.env` sets one of `RISKS`.
    """
    values = {name: variable.value for name, variable in variables.items()}
    if overrides.get("trust_env") is None:
        overrides["trust_env"] = values.get("RESEARCH_AGENT_TRUST_ENV", "").strip() or None
    settings = parse_settings(values, **overrides)
    keys, risks = find_user_keys(variables, settings), find_risks(variables, settings, folder)
    risks = [
        name for name in risks if overrides.get(KNOWN_VARIABLES[name].partition(".")[0]) is None
    ]
    if keys and risks and not settings.trust_env:
        raise build_refusal(risks, keys)
    if settings.gemini_account.project:
        warn_once(
            f"Gemini is used through Vertex AI, project {settings.google_cloud_project} in "
            f"{settings.google_cloud_location}: GOOGLE_GENAI_USE_VERTEXAI is set."
        )
    if len(ready := settings.ready_providers) > 1 and not settings.llm:
        warn_once(f"{', '.join(ready)} are set up: {ready[0]} is used; --llm selects another.")
    return settings


def replace_settings(settings: Settings, overrides: Mapping[str, Any]) -> Settings:
    """The settings with others in their place; None counts as not given. Raises UsageError."""
    given = {name: getattr(settings, name) for name in settings.model_fields_set}
    new = {name: value for name, value in overrides.items() if value is not None}
    if "depth" in new:  # what the old depth set goes with it
        old = DEPTHS.get(settings.depth, {})
        given = {name: value for name, value in given.items() if old.get(name) != value}
    return parse_settings({}, **{**given, **new})


def export_to_libraries(variables: Mapping[str, Variable]) -> None:
    """Put the variables that libraries read into this process's environment."""
    for name, variable in variables.items():
        if name in LIBRARY_VARIABLES and variable.origin != "shell":
            os.environ[name] = variable.value


def _names_of(field: str, *, is_variable: bool) -> str:
    if is_variable:
        return " or ".join(name for name, known in KNOWN_VARIABLES.items() if known == field)
    return f"--{OPTION_NAMES.get(field, field).removeprefix('api_').replace('_', '-')}"
