"""Every setting: its default and its variable in `fields.py`, how it is read in the other files."""

from agent.settings.env_file import (
    MAX_FILE,
    MAX_LINE,
    is_env_file,
    is_open_to_others,
    read_env_file,
    user_file,
)
from agent.settings.fields import (
    DEPTHS,
    ENVIRONMENT,
    KNOWN_VARIABLES,
    LIBRARY_VARIABLES,
    OWN_PREFIX,
    SHAPING_FIELDS,
    TASK_KINDS,
    Settings,
    full_name,
)
from agent.settings.folders import system_environment, user_folder
from agent.settings.loading import (
    export_to_libraries,
    load_settings,
    make_settings,
    parse_settings,
    replace_settings,
)
from agent.settings.risks import OFFLINE_RISKS, RISKS
from agent.settings.variables import (
    Origin,
    Variable,
    is_secret,
    read_variables,
    resolve_name,
    synonyms,
)

__all__ = [
    "DEPTHS",
    "ENVIRONMENT",
    "KNOWN_VARIABLES",
    "LIBRARY_VARIABLES",
    "MAX_FILE",
    "MAX_LINE",
    "OFFLINE_RISKS",
    "OWN_PREFIX",
    "Origin",
    "RISKS",
    "SHAPING_FIELDS",
    "Settings",
    "TASK_KINDS",
    "Variable",
    "export_to_libraries",
    "full_name",
    "is_env_file",
    "is_open_to_others",
    "is_secret",
    "load_settings",
    "make_settings",
    "parse_settings",
    "read_env_file",
    "read_variables",
    "replace_settings",
    "resolve_name",
    "synonyms",
    "system_environment",
    "user_file",
    "user_folder",
]
