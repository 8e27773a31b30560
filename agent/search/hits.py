"""Search hits from the replies of services. No reply is trusted to have the documented shape."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from agent.evidence.quantities import parse_date
from agent.search.options import SearchOptions
from agent.state import Hit
from agent.state.sanitizing import sanitize_line, strip_markup
from agent.state.urls import canonical_url

# lengths in characters
MAX_URL = 2000  # a longer one is of no use in a citation
MAX_TITLE = 300
MAX_SNIPPET = 1000
MAX_QUERY = 500
MAX_DATE = 40
MCP_SCHEME = "mcp"  # of the address of a text that only an MCP server of the user's has


def parse_hit(url: object, title: object, snippet: object, day: object = None) -> Iterator[Hit]:
    """Yield one hit, or none where there is no URL. Markup stays: `clean_hits` strips it."""
    if address := sanitize_line(url, MAX_URL + 1):
        yield Hit(
            url=address,
            title=sanitize_line(title, 10 * MAX_TITLE),
            snippet=sanitize_line(snippet, 10 * MAX_SNIPPET),
            date=sanitize_line(day, MAX_DATE) or None,
        )


def clean_hits(hits: Iterable[Hit], options: SearchOptions) -> tuple[Hit, ...]:
    """The hits that are web pages and fit the options, in order, without duplicates or markup."""
    unique: dict[str, Hit] = {}
    for hit in hits:
        # `2 days ago` and the like count as unknown
        day = parse_date(hit.date) if hit.date and options.since else None
        is_older = day and options.since and day < options.since
        if _is_usable(hit.url, options) and not is_older:
            title = strip_markup(hit.title, MAX_TITLE)
            texts = {"title": title, "snippet": strip_markup(hit.snippet, MAX_SNIPPET)}
            unique.setdefault(canonical_url(hit.url), hit.model_copy(update=texts))
    return tuple(unique.values())[: options.max_results]


def _is_usable(url: str, options: SearchOptions) -> bool:
    """Whether a URL is a valid web address of a permitted host, or of an MCP server's text."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
        is_web = parts.scheme in ("http", "https") and bool(host) and parts.port != 0
        is_web = is_web and options.is_permitted(host)
    except ValueError:  # also of a port that is no number
        return False
    return (is_web or parts.scheme == MCP_SCHEME) and len(url) <= MAX_URL and " " not in url
