"""Which pages may be sources: what the user said while a run went on, or when it was edited."""

from __future__ import annotations

import re

from agent.state.urls import canonical_url, is_under, url_host
from agent.state.values import Frozen

_DAY = re.compile(r"\d{4}-\d\d-\d\d")


class Limits(Frozen):
    """`since`: the earliest day, as YYYY-MM-DD, of a page that says when it is of.

    `only`: hosts beside which there are no others; `without`: hosts that there are not. A host
    includes its subdomains. `struck`: addresses of pages.
    """

    since: str = ""
    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    struck: tuple[str, ...] = ()

    def join(self, newer: Limits) -> Limits:
        """Both: of two days the later one; of hosts that stand alone those of the newer limits."""
        return Limits(
            since=max(self.since, newer.since),
            only=newer.only or self.only,
            without=tuple(dict.fromkeys((*self.without, *newer.without))),
            struck=tuple(dict.fromkeys((*self.struck, *newer.struck))),
        )

    def permits(self, url: str, day: str | None = None) -> bool:
        """Whether a page may be a source; a `day` in any form but YYYY-MM-DD counts as unknown."""
        host, page = url_host(url), canonical_url(url)
        is_struck = any(page == canonical_url(one) for one in self.struck)
        if is_struck or is_under(host, self.without):
            return False
        if self.only and not is_under(host, self.only):
            return False
        return not (day and _DAY.fullmatch(day) and day < self.since)
