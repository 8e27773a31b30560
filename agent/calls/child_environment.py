"""The environment of a child process that reads what is hostile: no key, no proxy."""

from __future__ import annotations

import os


def system_environment() -> dict[str, str]:
    """The variables without which no process starts: on Windows where the system is, else none."""
    names = ("SYSTEMROOT",) if os.name == "nt" else ()
    return {name: os.environ[name] for name in names if name in os.environ}
