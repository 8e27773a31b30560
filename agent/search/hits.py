"""Search hits from the replies of services. No reply is trusted to have the documented shape."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from collections.abc import Iterable, Iterator
from urllib.parse import parse_qs, unquote, urlsplit

from agent.evidence.quantities import parse_date
from agent.search.search_options import SearchOptions
from agent.state import Hit, canonical_url, is_web_url, sanitize_line, strip_markup

# lengths in characters
MAX_URL = 2000  # a longer one is of no use in a citation
MAX_TITLE = 300
MAX_SNIPPET = 1000
MAX_QUERY = 500
MAX_DATE = 40
#: Host and path of the redirectors of search engines, and the parameter that has the target.
REDIRECTORS = {
    r"(?:www\.)?google(?:\.\w{2,3}){1,2}/url": ("q", "url"),
    r"(?:\w+\.)?duckduckgo\.com/l/?": ("uddg",),
    r"(?:\w+\.)?bing\.com/ck/a": ("u",),  # `a1`, then Base64
}
_YAHOO = re.compile(r"https?://r\.search\.yahoo\.com/.*?/RU=([^/]+)")
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


def unwrap(url: str) -> str:
    """The address that a redirector of a search engine leads to; any other as it is."""
    try:
        parts = urlsplit(url)
        names = [
            name
            for pattern, named in REDIRECTORS.items()
            if re.fullmatch(pattern, f"{parts.hostname}{parts.path}")
            for name in named
        ]
        parameters = parse_qs(parts.query) if names else {}
        targets = [value for name in names for value in parameters.get(name, ())]
        if yahoo := _YAHOO.match(url):
            targets = [unquote(yahoo[1])]
        if targets and targets[0].startswith("a1"):
            targets = [urlsafe_b64decode(targets[0][2:] + "==").decode()]
    except ValueError:
        return url
    return targets[0] if targets and is_web_url(targets[0]) else url


def clean_hits(hits: Iterable[Hit], options: SearchOptions) -> tuple[Hit, ...]:
    """The hits that are web pages and fit the options, in order, without duplicates or markup."""
    unique: dict[str, Hit] = {}
    for raw in hits:
        hit = raw.model_copy(update={"url": unwrap(raw.url)})
        # `2 days ago` and the like count as unknown
        day = parse_date(hit.date) if hit.date and options.since else None
        is_older = day and options.since and day < options.since
        if _is_usable(hit.url, options) and not is_older:
            title = strip_markup(hit.title, MAX_TITLE)
            texts = {"title": title, "snippet": strip_markup(hit.snippet, MAX_SNIPPET)}
            unique.setdefault(canonical_url(hit.url), hit.model_copy(update=texts))
    return tuple(unique.values())[: options.max_results]


def _is_usable(url: str, options: SearchOptions) -> bool:
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
        is_web = parts.scheme in ("http", "https") and bool(host) and parts.port != 0
        is_web = is_web and options.is_permitted(host)
    except ValueError:  # also of a port that is no number
        return False
    return (is_web or parts.scheme == MCP_SCHEME) and len(url) <= MAX_URL and " " not in url
