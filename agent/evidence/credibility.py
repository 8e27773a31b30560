"""How far a source may be trusted, as a score whose every part is shown.

The score is `0.4 * domain + 0.5 * relevance + recency`, the formula that the strategy `report` was
specified with. `find_blocked` says what a report does not read: by the host's part of it alone, or
as specified, by the whole score.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Literal, NamedTuple, TypeVar
from urllib.parse import urlsplit

from agent.evidence import content_words
from agent.evidence.quantities import find_years
from agent.state import Frozen, Hit, find_host

T = TypeVar("T")

#: The threshold at or below which pages are blocked. 0.5 is as specified. 0.3 of the host's own
#: score would block platforms and blogs, which may be the only source. After a change:
#: `python -m evals.credibility`.
THRESHOLDS = {"host": 0.2, "source-design": 0.5}
HOSTILE = 0.1  # satire and inventions, which are read in no case
SPARED = 3  # sources that pass where all would be blocked: as many as one query may read
RECENT = 0.1
REFERENCE = 0.8  # the score from which a host weighs more than unknown ones
FREE = 0.3  # the score of platforms and free hosts
LONGEST_HOST = 253  # characters, by DNS
_RELATIVE = re.compile(r"\b(?:(?:hour|day|week|minute)s? ago|yesterday|today)\b|[天时]前", re.I)


class Credibility(Frozen):
    """A score from 0 to 1 with its parts: `domain` and `relevance` 0 to 1, `recency` 0 to 0.1."""

    score: float
    domain: float
    relevance: float
    recency: float
    reason: str


class Kind(NamedTuple):
    """The kind of site behind a host, and how far it is trusted: 0 to 1."""

    score: float
    reason: str


Scored = Sequence[tuple[T, Credibility]]
OWN = Kind(0.4, "a document of your own")
GENERAL = Kind(0.4, "a general site")
RETRACTED = Kind(0.0, "a retracted work")


def rate_credibility(query: str, hit: Hit, year: int) -> Credibility:
    """The credibility of a hit for a query. Dates up to two years before `year` are recent."""
    kind = RETRACTED if hit.is_retracted else host_kind(hit.url)
    wanted, shown = (set(content_words(text)) for text in (query, f"{hit.title} {hit.snippet}"))
    share = len(wanted & shown) / len(wanted) if wanted else 0.0  # of the query's words
    dated = f"{hit.date or ''} {hit.snippet}"
    is_recent = any(year - 2 <= int(found) <= year for found in find_years(dated))
    recency = RECENT if is_recent or _RELATIVE.search(dated) else 0.0
    score, relevance = round(0.4 * kind.score + 0.5 * share + recency, 2), round(share, 2)
    return Credibility(
        score=score, domain=kind.score, relevance=relevance, recency=recency, reason=kind.reason
    )


class Blocking(NamedTuple):
    """Which pages a report does not read: by the host alone, or by the score as specified.

    `at`: the score at or below which they are blocked; None: the default of `THRESHOLDS`.
    """

    by: Literal["host", "source-design"] = "host"
    at: float | None = None

    @property
    def threshold(self) -> float:
        return THRESHOLDS[self.by] if self.at is None else self.at


def find_blocked(scored: Scored[T], blocking: Blocking) -> tuple[dict[T, float], str]:
    """What is blocked, each with the score that decides, in the given order.

    Where the whole score would block all, the `SPARED` best pass. Then a note says so; else "".
    """
    most = blocking.threshold
    if blocking.by == "host":
        return {one: c.domain for one, c in scored if c.domain <= most}, ""
    low = {one: c.score for one, c in scored if c.score <= most}
    if not low or len(low) < len(scored):
        return low, ""
    best = sorted(low, key=low.__getitem__, reverse=True)[:SPARED]
    rest = f"the best {len(best)} of {len(low)} were" if len(low) > 1 else "it was"
    note = f"No source scored above {most:g} for credibility; {rest} used anyway."
    return {one: score for one, score in low.items() if one not in best}, note


# --- the domain part ---------------------------------------------------------------------------


def host_kind(url: str) -> Kind:
    """The kind of site behind a URL: by its longest listed suffix, else by the host's pattern."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
    except ValueError:  # no address at all: `http://[`
        return GENERAL
    if parts.scheme not in ("http", "https", "mcp"):
        return OWN
    if "\\" in parts.netloc or len(host) > LONGEST_HOST:  # browsers see another host there
        return GENERAL
    found = _listed_kind(host) or _kind_by_look(host) or GENERAL
    paid = next((kind for path, kind in _load_table().paths if path.search(parts.path)), found)
    return min(found, paid)


def is_reference(url: str) -> bool:
    """Whether a reference work, an official body or a newsroom is behind a URL."""
    return host_kind(url).score >= REFERENCE


@lru_cache(maxsize=1024)  # each result is compared with each other one
def host_owner(url: str) -> str:
    """Who owns the host of a URL: its registered domain; "" if unknown.

    On a platform or a free host the whole host is the owner. The owner of an address of numbers is
    unknown. By the Public Suffix List (https://publicsuffix.org/list/) that comes with `tld`.
    """
    host = find_host(url).rstrip(".").removeprefix("www.")
    if host.rpartition(".")[2].isdigit() or ":" in host:
        return ""
    if host_kind(url).score == FREE:
        return host
    from tld import get_fld  # reads the list: 0.1 s

    owner = get_fld(f"//{host}", fix_protocol=True, fail_silently=True, search_private=True)
    return owner or host


def warm_owners() -> None:
    """Read the list that `host_owner` needs: 0.1 s, which no search has to wait for then."""
    host_owner("https://example.com/")


def is_listed(url: str) -> bool:
    """Whether the host of a URL is listed by name."""
    return _listed_kind(find_host(url)) is not None


def _listed_kind(host: str) -> Kind | None:
    """By suffix, so that en.wikipedia.org counts as wikipedia.org."""
    hosts, labels = _load_table().hosts, host.split(".")
    suffixes = (".".join(labels[n:]) for n in range(len(labels)))
    return next((hosts[suffix] for suffix in suffixes if suffix in hosts), None)


def _kind_by_look(host: str) -> Kind | None:
    return next((kind for look, kind in _load_table().looks if look.search(host)), None)


class _Table(NamedTuple):
    hosts: dict[str, Kind]
    looks: list[tuple[re.Pattern[str], Kind]]
    paths: list[tuple[re.Pattern[str], Kind]]


@cache
def _load_table() -> _Table:
    text = files("agent.evidence").joinpath("domains.toml").read_text("utf-8")
    rows = [(Kind(row["score"], row["reason"]), row) for row in tomllib.loads(text).values()]
    looks, paths = (
        [(re.compile(row[key], re.X), kind) for kind, row in rows if key in row]
        for key in ("look", "path")
    )
    hosts = {host: kind for kind, row in rows for host in row.get("hosts", "").split()}
    return _Table(hosts, looks, paths)
