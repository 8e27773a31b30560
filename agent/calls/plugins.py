"""What other packages add: strategies, search providers, models and readers, as entry points.

docs/extending.md has the groups. A name of this program always means its own. Only what is named is
imported, and all readers, which are asked whether an address is theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

from agent.errors import UsageError

Group = Literal["strategies", "search_providers", "models", "readers"]
PREFIX = "research_agent."  # of the groups' names in a package's metadata


def plugin_names(group: Group) -> tuple[str, ...]:
    """The names that other packages add, sorted."""
    return tuple(_find_entry_points(group))


def load_plugin(group: Group, name: str) -> Any | None:
    """The object of a name; None if no package adds it. Raises UsageError where it cannot load."""
    found = _find_entry_points(group).get(name)
    if found is None:
        return None
    try:
        return found.load()
    except (ImportError, AttributeError) as error:
        package = found.dist.name if found.dist else found.module
        fault = (
            f"{name} of the package {package} cannot be loaded ({type(error).__name__}: {error})."
        )
        raise UsageError(fault, f"Fix or remove {package}, or leave {name} out.") from error


def load_plugins(group: Group) -> Iterator[Any]:
    """The objects of all names of a group. Raises UsageError."""
    for name in plugin_names(group):
        yield load_plugin(group, name)


@cache
def _find_entry_points(group: Group) -> dict[str, EntryPoint]:
    found = entry_points(group=f"{PREFIX}{group}")
    return {point.name: point for point in sorted(found, key=lambda point: point.name)}
