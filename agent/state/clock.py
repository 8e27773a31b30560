"""The time, as everything stored has it."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> str:
    """The time now in UTC, as ISO 8601 to the second: `2026-01-02T03:04:05Z`."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
