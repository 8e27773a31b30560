"""Several services as one provider: asked side by side, their hits in one order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from agent.calls import spawn
from agent.errors import SearchFailed
from agent.search.paid_terms import PaidHits
from agent.search.provider_chain import SearchChain
from agent.search.search_options import SearchOptions
from agent.search.table_service import TableService
from agent.settings import KEY_VARIABLES, Settings
from agent.state import Hit, SearchResults, canonical_url

#: Ranks; the more, the less a first rank counts before a tenth. The value of Cormack, Clarke and
#: Büttcher, SIGIR 2009.
EVEN = 60


class SideBySide:
    """All of `services` at once; those that are scarce without a key only where no other has hits.

    Each service has a chain of its own, so one that fails cools down like any provider.
    """

    name: str
    services: Mapping[str, type[TableService]]

    def __init__(self, settings: Settings, options: SearchOptions) -> None:
        services = [service(settings, options) for service in self.services.values()]
        chains = {one: SearchChain([one], options) for one in services}
        self._chains = {one.name: chain for one, chain in chains.items() if not one.is_scarce}
        self._scarce = {one.name: chain for one, chain in chains.items() if one.is_scarce}

    @staticmethod
    def is_same(hit: Hit, other: Hit) -> bool:
        """Whether two hits are one."""
        return canonical_url(hit.url) == canonical_url(other.url)

    @staticmethod
    def merge(group: Sequence[Hit]) -> Hit:
        """One hit of those that are the same."""
        return group[0]

    @classmethod
    def fuse(cls, results: Iterable[Sequence[Hit]]) -> list[Hit]:
        """The hits of all services, each once, by the sum of its reciprocal ranks.

        Those that were retracted come last.
        """
        groups: list[tuple[list[Hit], list[float]]] = []
        for hits in results:
            for rank, hit in enumerate(hits):
                same = (one for one in groups if any(cls.is_same(hit, o) for o in one[0]))
                if (group := next(same, None)) is None:
                    groups.append(group := ([], []))
                group[0].append(hit)
                group[1].append(1 / (EVEN + rank))
        groups.sort(key=lambda group: -sum(group[1]))
        return sorted((cls.merge(one) for one, _ in groups), key=lambda hit: hit.is_retracted)

    def search(self, query: str) -> PaidHits:
        """What they find, best first. Raises SearchFailed where each failed."""
        outcomes: list[SearchResults | SearchFailed] = []
        hits: list[Hit] = []
        for chains in (self._chains, self._scarce):
            if not hits:
                searches = [spawn(partial(_ask, chain, query)) for chain in chains.values()]
                outcomes += [one.result() for one in searches]
                hits = self.fuse([o.hits for o in outcomes if isinstance(o, SearchResults)])
        attempts = tuple(attempt for one in outcomes for attempt in one.attempts)
        failures = [one for one in outcomes if isinstance(one, SearchFailed)]
        if len(failures) < len(outcomes):
            return PaidHits(tuple(hits), attempts=attempts)
        messages = "; ".join(one.message for one in failures)
        outcome = failures[0].outcome
        raise SearchFailed(messages, failures[0].remedy, outcome=outcome, attempts=attempts)

    def probe(self) -> str:
        """What each service says, and which keys would help. Raises SearchFailed."""
        details = {one.provider: one.detail for one in self.search("wikipedia").attempts}
        last = {one: f"asked last, {KEY_VARIABLES[one]} is not set" for one in self._scarce}
        return "; ".join(f"{name}: {detail}" for name, detail in (last | details).items())


def _ask(chain: SearchChain, query: str) -> SearchResults | SearchFailed:
    try:
        return chain(query)
    except SearchFailed as failure:
        return failure
