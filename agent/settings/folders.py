"""Folders and variables of the system, where no setting names others."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from platformdirs import PlatformDirs


def system_environment() -> dict[str, str]:
    """The variables without which no process starts: on Windows where the system is, else none."""
    names = ("SYSTEMROOT",) if os.name == "nt" else ()
    return {name: os.environ[name] for name in names if name in os.environ}


def user_folder(kind: Literal["data", "cache"]) -> Path:
    """The user's folder for journals (`data`) or for indexes and caches (`cache`).

    It is the default of `runs_dir` and `cache_dir`.
    """
    folders = PlatformDirs("llm-research-agent", appauthor=False)
    return folders.user_cache_path if kind == "cache" else folders.user_data_path
