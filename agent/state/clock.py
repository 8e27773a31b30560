"""The current time, and the one text form in which times are stored."""

from __future__ import annotations

from datetime import UTC, date, datetime

FORMAT = "%Y-%m-%dT%H:%M:%SZ"


def utc_now() -> str:
    """The current time in UTC, as `format_utc` writes it."""
    return format_utc(datetime.now(UTC))


def utc_today() -> date:
    """The current date in UTC."""
    return datetime.now(UTC).date()


def format_utc(moment: datetime) -> str:
    """A time in UTC, as ISO 8601 to the second: `2026-01-02T03:04:05Z`."""
    return moment.astimezone(UTC).strftime(FORMAT)


def parse_utc(text: str) -> datetime:
    """The time that `format_utc` wrote. Raises ValueError for any other text."""
    return datetime.strptime(text, FORMAT).replace(tzinfo=UTC)
