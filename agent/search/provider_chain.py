"""The search chain: asks providers in order, and decides what each failure means for the run."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import zip_longest
from typing import NamedTuple, Protocol

from agent.calls import spawn
from agent.calls.contract import FOR_OWN, FOR_RESEARCH
from agent.errors import NOTHING_SPENT, SearchFailed, Spent
from agent.search.circuit_breaker import ANSWERED, MAX_WAIT, CircuitBreaker
from agent.search.hits import MAX_QUERY, clean_hits
from agent.search.paid_terms import PaidHits, PaidQueries
from agent.search.search_options import SearchOptions
from agent.state import Attempt, Hit, Outcome, SearchResults, sanitize_line, utc_now

Hits = tuple[Hit, ...]


class Provider(Protocol):
    """One search engine."""

    name: str

    def search(self, query: str) -> Hits | PaidHits:
        """Hits, best first. Raises SearchFailed with the outcome of this one try."""


class SearchChain:
    """Asks one provider after the other until one has hits, and each source of the user's own.

    - No key, bad key, no credit: the provider is not asked again in this run.
    - Rate limited: it cools down as long as `Retry-After` says; the next one is asked.
    - Any other failure: the next one is asked; a provider that keeps failing cools down.
    - No results: the next one is asked. If no provider has any, the results are empty.
    - No answer from any: providers that merely failed, or whose cooldown ends soon, are retried.

    Providers with `is_own` are all asked. Hits of one with `local` are neither filtered nor
    cleaned. One with `terms` costs money: where they or the budget forbid a query, it is skipped.
    The `attempts` of the results have a row for every provider, skipped ones too. Thread-safe.
    """

    def __init__(
        self,
        providers: Sequence[Provider],
        options: SearchOptions | None = None,
        *,
        for_research: Sequence[Provider] = (),
        now: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.providers = tuple(providers)
        self._for_research = tuple(for_research)
        self._options = options or SearchOptions()
        self._now, self._pause = now, pause
        self._breaker = CircuitBreaker(now)
        self.paid = PaidQueries()  # of the run, with its budget
        #: Waits until a request may be sent to the provider of this name.
        self.acquire: Callable[[str], None] = lambda _: None

    def close(self) -> None:
        """Close the providers that hold connections."""
        for provider in (*self._for_research, *self.providers):
            getattr(provider, "close", lambda: None)()

    def __call__(self, query: str) -> SearchResults:
        """The hits of the first provider that has any. Raises SearchFailed when none answered.

        `SearchResults.query` is the query as sent: one line of at most 500 characters.
        """
        plain = query.removesuffix(FOR_OWN).removesuffix(FOR_RESEARCH)
        sent_query = sanitize_line(plain, MAX_QUERY)
        if not sent_query:
            raise SearchFailed("The query is empty.", "Ask for something.", outcome="rejected")
        first, *others = self._group(query)
        searches = [spawn(partial(self._ask_until_hits, group, sent_query)) for group in others]
        found = [self._ask_until_hits(first, sent_query), *(one.result() for one in searches)]
        attempts = [attempt for one in found for attempt in one.attempts]
        costs = [spent for one in found for spent in one.costs]
        answered = [one for one in found if one.answered]
        if not answered:
            raise _build_error(attempts, costs)
        names = dict.fromkeys(one.answered for one in answered if one.hits)
        cost = _sum_costs(costs)._asdict() | {"at": utc_now()}
        return SearchResults(
            query=sent_query,
            hits=_merge(found),
            provider=", ".join(names) or answered[-1].answered,
            attempts=tuple(attempts),
            **cost,
        )

    def _group(self, query: str) -> list[tuple[Provider, ...]]:
        """The providers of a query: groups that are asked side by side, until one has hits each."""
        first = self._for_research if FOR_RESEARCH in query else ()
        own = [one for one in self.providers if _is_own(one)]
        rest = (*first, *(one for one in self.providers if one not in own))
        is_for_rest = rest and not (own and query.endswith(FOR_OWN))
        return [*((one,) for one in own), *([rest] if is_for_rest or not own else [])]

    def _ask_until_hits(self, providers: Sequence[Provider], query: str) -> _Found:
        attempts: list[Attempt] = []
        costs: list[Spent] = []
        hits: Hits = ()
        for provider in self._providers_to_ask(providers, attempts):
            hits, tried, spent = self._ask_provider(provider, query)
            attempts += tried
            costs.append(spent)
            if hits:
                break
        answered = [attempt.provider for attempt in attempts if attempt.outcome in ANSWERED]
        own = answered[-1] if answered and all(map(_is_own, providers)) else ""
        return _Found(hits, attempts, costs, answered[-1] if answered else "", own)

    def _providers_to_ask(
        self, providers: Sequence[Provider], attempts: list[Attempt]
    ) -> Iterator[Provider]:
        """The providers to ask, until the caller has hits. Skipped ones are added to `attempts`."""
        asked = set()
        for provider in providers:
            if skipped := self._breaker.skipped_attempt(provider.name):
                attempts.append(skipped)
            else:
                asked.add(provider.name)
                yield provider
        if all(attempt.outcome != "empty" for attempt in attempts):
            yield from self._providers_to_retry(providers, asked)

    def _providers_to_retry(
        self, providers: Sequence[Provider], asked: set[str]
    ) -> Iterator[Provider]:
        start = self._now()
        delays = [(self._breaker.retry_delay(p.name, p.name in asked), p) for p in providers]
        soon = [(delay, p) for delay, p in delays if delay is not None and delay <= MAX_WAIT]
        for delay, provider in sorted(soon, key=lambda pair: pair[0]):
            if (remaining := start + delay - self._now()) > 0:
                self._pause(remaining)
            yield provider

    def _ask_provider(self, provider: Provider, query: str) -> tuple[Hits, list[Attempt], Spent]:
        start = self._now()
        tried = partial(Attempt, what="search", provider=provider.name)
        with self.paid.reserve(provider.name, getattr(provider, "terms", None)) as refusal:
            if refusal:
                return (), [tried(outcome="skipped", detail=refusal)], NOTHING_SPENT
            found, failure, detail = self._fetch(provider, query)
        outcome: Outcome = failure.outcome if failure else "ok" if found.hits else "empty"
        remedy, seconds = failure.remedy if failure else "", round(self._now() - start, 3)
        attempt = tried(outcome=outcome, detail=detail, remedy=remedy, seconds=seconds)
        self._breaker.record(attempt, failure.retry_after if failure else None)
        return found.hits, [*found.attempts, attempt], found.spent

    def _fetch(self, provider: Provider, query: str) -> tuple[PaidHits, SearchFailed | None, str]:
        """A provider's hits, cleaned; its failure, if any; and a detail. Raises nothing."""
        try:
            self.acquire(provider.name)
            found = provider.search(query)
            raw, spent, tries = found if isinstance(found, PaidHits) else PaidHits(tuple(found))
            is_local = getattr(provider, "local", False)
            hits = raw if is_local else clean_hits(raw, self._options.for_query(query)[1])
        except SearchFailed as failure:
            return PaidHits((), failure.spent, failure.attempts), failure, failure.message
        except Exception as error:  # a reply of unforeseen shape is a failed try, not a crash
            detail = f"a reply that could not be read ({type(error).__name__})"
            failed = SearchFailed(detail, "Please report this.", outcome="invalid")
            return PaidHits(()), failed, detail
        if raw and not hits:
            why = "results, but none usable and permitted"
            return PaidHits((), spent, tries), None, why
        return PaidHits(hits, spent, tries), None, f"hits: {len(hits)}" if hits else "no results"


class _Found(NamedTuple):
    """What a group of providers found; `own`: the user's own source that it is."""

    hits: Hits
    attempts: list[Attempt]
    costs: list[Spent]
    answered: str
    own: str


def _is_own(provider: Provider) -> bool:
    return getattr(provider, "is_own", False)


def _merge(found: Sequence[_Found]) -> Hits:
    """The hits of all groups, by rank in turns; of several, each with the own source it is of."""
    if len(found) == 1:
        return found[0].hits
    lists = [[h.model_copy(update={"own": one.own}) for h in one.hits] for one in found]
    return tuple(hit for rank in zip_longest(*lists) for hit in rank if hit)


def _sum_costs(costs: Sequence[Spent]) -> Spent:
    prices = [spent.usd for spent in costs if spent.usd is not None]
    return Spent(
        sum(spent.input_tokens for spent in costs),
        sum(spent.output_tokens for spent in costs),
        math.fsum(prices) if len(prices) == len(costs) else None,
    )


def _build_error(attempts: list[Attempt], costs: Sequence[Spent]) -> SearchFailed:
    if not attempts:
        return SearchFailed("No search provider is named.", "Set SEARCH_PROVIDERS, or --search.")
    last_attempts = {attempt.provider: attempt for attempt in attempts}.values()
    reasons = "; ".join(f"{a.provider}: {a.detail or a.outcome}" for a in last_attempts)
    with_key = [attempt for attempt in attempts if attempt.outcome != "no_key"]
    return SearchFailed(
        f"No search provider answered. {reasons}",
        " ".join(dict.fromkeys(filter(None, _list_remedies(tuple(last_attempts))))),
        outcome=(with_key or attempts)[0].outcome,
        attempts=tuple(attempts),
        spent=_sum_costs(costs),
    )


def _list_remedies(attempts: Sequence[Attempt]) -> Iterator[str]:
    """What to do about each failure; of the providers that are not set up, one is enough."""
    yield from (attempt.remedy for attempt in attempts if attempt.outcome != "no_key")
    unset = [attempt.remedy for attempt in attempts if attempt.outcome == "no_key"]
    yield unset[0] if len(unset) == 1 else "Set one of these keys." if unset else ""
