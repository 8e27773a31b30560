"""Hits out of whatever a service sent: nothing in a reply is taken to have the right shape."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date, datetime
from urllib.parse import urlsplit

from agent.sources.search.options import Options
from agent.state import Hit
from agent.state.plain import plain, unmarked
from agent.state.urls import canonical

URL = 2000  # characters; beyond, it is no address that anyone could cite
TITLE = 300
SNIPPET = 1000
QUERY = 500


def hit(url: object, title: object, snippet: object, day: object = None) -> Iterator[Hit]:
    """One hit, or none where there is no address. Texts keep their markup: the chain removes it."""
    if address := plain(url, URL + 1):
        yield Hit(
            url=address,
            title=plain(title, 10 * TITLE),
            snippet=plain(snippet, 10 * SNIPPET),
            date=plain(day, 40) or None,
        )


def tidy(hits: Iterable[Hit], options: Options) -> tuple[Hit, ...]:
    """The hits that can be read and are wanted, in order, each page once, texts bounded."""
    kept: dict[str, Hit] = {}
    for found in hits:
        if _readable(found.url, options) and not _older(found.date, options.since):
            clean = {
                "title": unmarked(found.title, TITLE),
                "snippet": unmarked(found.snippet, SNIPPET),
            }
            kept.setdefault(canonical(found.url), found.model_copy(update=clean))
    return tuple(kept.values())[: options.max_results]


def _readable(url: str, options: Options) -> bool:
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
        known = parts.port != 0  # raises where it is no number
    except ValueError:
        return False
    fits = known and len(url) <= URL and " " not in url
    return fits and parts.scheme in ("http", "https") and bool(host) and options.permits(host)


def _older(day: str | None, since: date | None) -> bool:
    """Whether a date is known and too early. `2 days ago` and the like count as unknown."""
    known = _day(day) if day and since else None
    return known is not None and since is not None and known < since


def _day(text: str) -> date | None:
    for part, form in ((text[:10], "%Y-%m-%d"), (text, "%b %d, %Y"), (text, "%d %b %Y")):
        try:
            return datetime.strptime(part, form).date()
        except ValueError:
            continue
    return None
