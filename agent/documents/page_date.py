"""The date that a page or a document gives itself: when it was last changed, or else published."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

EARLIEST = date(1991, 1, 1)  # earlier ones are placeholders: 1601, 1904, 1970, 1980
_TIME_ZONES = timedelta(days=1)  # by which the day may be ahead of UTC's
#: ISO 8601 with signs between the numbers, also other signs, or without, as PDF's `D:20260131` has
#: it (ISO 32000-1, 7.9.4).
_DAY = re.compile(
    r"\s*(?:D:)?(\d{4})(?:([-/.])(\d{1,2})\2(\d{1,2})(?!\d)|(?P<month>\d{2})(?P<day>\d{2}))"
)


def read_day(*texts: object) -> str:
    """The day in the first text that begins with one, as YYYY-MM-DD; "" for none.

    A day in the future, and one that no page is of, counts as none.
    """
    days = (_read_one(text) for text in texts if isinstance(text, str))
    return next((day.isoformat() for day in days if day), "")


def _read_one(text: str) -> date | None:
    found = _DAY.match(text[:40])
    if not found:
        return None
    try:
        day = date(int(found[1]), int(found[3] or found["month"]), int(found[4] or found["day"]))
    except ValueError:
        return None
    return day if EARLIEST < day <= datetime.now(UTC).date() + _TIME_ZONES else None
