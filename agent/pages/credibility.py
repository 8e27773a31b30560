"""How far a source may be trusted, as a score whose every part is shown.

`0.4 * domain + 0.5 * relevance + recency`: the formula of the project's source design. It ranks
and is shown; it never blocks a page here.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from agent.evidence import words
from agent.research import Frozen, Hit

#: Hosts by suffix, so that en.wikipedia.org counts as wikipedia.org.
MAJOR = frozenset(
    "wikipedia.org britannica.com reuters.com apnews.com bbc.com bbc.co.uk nytimes.com "
    "theguardian.com washingtonpost.com wsj.com ft.com economist.com bloomberg.com npr.org pbs.org "
    "nature.com science.org sciencedirect.com springer.com arxiv.org nih.gov who.int un.org "
    "europa.eu ieee.org acm.org fifa.com olympics.com nobelprize.org kubernetes.io python.org "
    "mozilla.org w3.org ietf.org".split()
)
SOCIAL = frozenset(
    "facebook.com instagram.com tiktok.com twitter.com x.com reddit.com quora.com pinterest.com "
    "linkedin.com tumblr.com youtube.com medium.com".split()
)
OFFICIAL = re.compile(r"(^|\.)(edu|gov|ac|mil)(\.[a-z]{2})?$")
RECENT = 0.1
_RELATIVE = re.compile(
    r"\b(hours?|days?|weeks?|minutes?) ago\b|\byesterday\b|\btoday\b|[天时]前", re.I
)


class Credibility(Frozen):
    """A score from 0 to 1 with its parts: `domain` and `relevance` 0 to 1, `recency` 0 to 0.1."""

    score: float
    domain: float
    relevance: float
    recency: float
    reason: str


def credibility(question: str, hit: Hit, year: int) -> Credibility:
    """How far a hit may be trusted for a question, in a year; two years back is recent."""
    value, reason = _domain(urlsplit(hit.url).hostname or "")
    relevance = _relevance(question, f"{hit.title} {hit.snippet}")
    recency = _recency(f"{hit.date or ''} {hit.snippet}", year)
    score = 0.4 * value + 0.5 * relevance + recency
    return Credibility(
        score=round(score, 2),
        domain=value,
        relevance=round(relevance, 2),
        recency=recency,
        reason=reason,
    )


def _domain(host: str) -> tuple[float, str]:
    if not host:
        return 0.4, "a document of your own"
    if OFFICIAL.search(host):
        return 0.9, "an academic or government site"
    suffixes = {host.split(".", n)[-1] for n in range(host.count(".") + 1)}
    if suffixes & MAJOR:
        return 0.8, "a major outlet or reference"
    if suffixes & SOCIAL:
        return 0.3, "a social network"
    return (0.7, "an organisation's site") if host.endswith(".org") else (0.4, "a general site")


def _relevance(question: str, text: str) -> float:
    """Share of the question's content words (bigrams for CJK) that title and snippet hold."""
    asked = set(words(question))
    return len(asked & set(words(text))) / len(asked) if asked else 0.0


def _recency(text: str, year: int) -> float:
    years = [int(found) for found in re.findall(r"\b(?:19|20)\d\d\b", text)]
    recent = any(year - 2 <= found <= year for found in years) or _RELATIVE.search(text)
    return RECENT if recent else 0.0
