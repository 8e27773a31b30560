"""The engine and the caps of a batch, from the options of a command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.errors import UsageError
from agent.outside.budget import Caps
from agent.outside.threads import spawn
from agent.run.batch.batch import Engine
from agent.run.batch.local import LocalEngine
from agent.run.batch.mirror import Mirror
from agent.run.resources import share_resources
from agent.settings import Settings

CAPS = ("seconds", "usd", "tokens", "calls")


def read_caps(options: Mapping[str, Any]) -> Caps:
    """The caps of the whole batch; None where one is not given. Raises UsageError."""
    return Caps(**{name: _read_cap(options[f"batch_{name}"], name) for name in CAPS})


def _read_cap(value: Any, name: str) -> Any:
    if value is not None and not value > 0:  # nor is NaN
        raise UsageError(f"--max-{name} {value:g} leaves room for nothing.", "Give more than 0.")
    return value


def open_engine(
    options: Mapping[str, Any], settings: Settings, mirror: Mirror | None = None
) -> Engine:
    """The engine that the options name. Raises UsageError, NotConfigured."""
    if options["address"] and options["engine"] != "ray":
        raise UsageError("--address is that of a Ray cluster.", "Add --engine ray.")
    if options["engine"] == "ray":
        from agent.run.batch.cluster import RayEngine

        url = mirror.url if mirror else None
        return RayEngine(settings, options["address"], options["concurrency"], url)
    # on a thread, so that Ctrl-C ends the wait for the index of a corpus, whatever it waits for
    resources = spawn(lambda: share_resources(settings)).result()
    return LocalEngine(resources, mirror)
