"""The search chain: providers in order, and the one place that decides what a refusal means."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from agent import USER_AGENT
from agent.errors import SearchFailed, UsageError
from agent.outside.limits import Turns
from agent.settings import Settings
from agent.sources.search.duckduckgo import DuckDuckGo
from agent.sources.search.exa import Exa
from agent.sources.search.hits import QUERY, tidy
from agent.sources.search.options import Options
from agent.sources.search.searxng import SearXNG
from agent.sources.search.serpapi import SerpApi
from agent.sources.search.serper import Serper
from agent.sources.search.standing import Rests, Standings
from agent.sources.search.tavily import Tavily
from agent.sources.search.wikipedia import Wikipedia
from agent.state import Attempt, Found, Hit, Outcome
from agent.state.plain import plain


class Provider(Protocol):
    """One search engine."""

    name: str

    def search(self, query: str) -> tuple[Hit, ...]:
        """Hits, best first. Raises SearchFailed with the outcome of this one try."""
        ...


class SearchChain:
    """Asks one provider after the other until one has hits.

    - No key, bad key, no credit: not asked again in this run.
    - Rate limited: the provider rests as long as `Retry-After` says; the next is asked.
    - Any other failure: the next is asked; a provider that keeps failing rests.
    - No results: the next is asked; when nobody has any, `Found` without hits and no exception.
    - Nobody answered: those that rest are asked after all, if they only failed, or if their rest
      ends soon: a short wait is better than no answer.

    Each `Found` has a row for each provider before its own, asked or not, so that it explains
    itself whatever other queries run at the same time. May be called from many threads. The
    hits of a `local` provider are the user's own documents, with addresses of any scheme, and are
    taken as they are.
    """

    def __init__(
        self,
        providers: Sequence[Provider],
        options: Options | None = None,
        rests: Rests | None = None,
        *,
        now: Callable[[], float] = time.monotonic,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.providers = tuple(providers)
        self._options = options or Options()
        self._now, self._pause = now, pause
        self._standings = Standings(rests or Rests(), now)
        self._patience = self._standings.rests.patience

    def __call__(self, query: str) -> Found:
        """The hits of the first provider that has any. Raises SearchFailed when nobody answered.

        `Found.query` is the query as it was sent: one line of at most 500 characters.
        """
        sent = plain(query, QUERY)
        if not sent:
            raise SearchFailed("The query is empty.", "Ask for something.", outcome="rejected")
        attempts: list[Attempt] = []
        for provider in self._in_turn(attempts):
            hits, attempt = self._ask(provider, sent)
            attempts.append(attempt)
            if hits:
                return Found(
                    query=sent, hits=hits, provider=provider.name, attempts=tuple(attempts)
                )
        answered = [attempt.provider for attempt in attempts if attempt.outcome == "empty"]
        if not answered:
            raise _failed(attempts)
        return Found(query=sent, hits=(), provider=answered[-1], attempts=tuple(attempts))

    def _in_turn(self, attempts: list[Attempt]) -> Iterator[Provider]:
        """Whom to ask next, as long as nobody had hits; who is not asked gets a row at once."""
        asked = set()
        for provider in self.providers:
            if row := self._standings.barred(provider.name):
                attempts.append(row)
            else:
                asked.add(provider.name)
                yield provider
        if all(attempt.outcome != "empty" for attempt in attempts):
            yield from self._after_all(asked)

    def _after_all(self, asked: set[str]) -> Iterator[Provider]:
        """Those that rest, soonest first: waiting is bounded by `patience` in all."""
        began = self._now()
        waits = [(self._standings.wait(p.name, p.name in asked), p) for p in self.providers]
        soon = [(wait, p) for wait, p in waits if wait is not None and wait <= self._patience]
        for wait, provider in sorted(soon, key=lambda pair: pair[0]):
            if (left := began + wait - self._now()) > 0:
                self._pause(left)
            yield provider

    def _ask(self, provider: Provider, query: str) -> tuple[tuple[Hit, ...], Attempt]:
        began = self._now()
        hits, failure, detail = self._hits(provider, query)
        outcome: Outcome = failure.outcome if failure else "ok" if hits else "empty"
        attempt = Attempt(
            what="search",
            provider=provider.name,
            outcome=outcome,
            detail=detail,
            remedy=failure.remedy if failure else "",
            seconds=round(self._now() - began, 3),
        )
        self._standings.note(attempt, failure.retry_after if failure else None)
        return hits, attempt

    def _hits(
        self, provider: Provider, query: str
    ) -> tuple[tuple[Hit, ...], SearchFailed | None, str]:
        """What a provider gave, made usable; or its failure. Nothing else leaves this."""
        try:
            given = tuple(provider.search(query))
            local = getattr(provider, "local", False)
            hits = given if local else tidy(given, self._options)
        except SearchFailed as failure:
            return (), failure, failure.message
        except Exception as error:  # a shape that nobody thought of is a failed try, not a crash
            odd = f"a reply that could not be read ({type(error).__name__})"
            return (), SearchFailed(odd, "Please report this.", outcome="invalid"), odd
        if given and not hits:
            return (), None, "results, but none that is usable and permitted"
        return hits, None, f"hits: {len(hits)}" if hits else "no results"


def _failed(attempts: list[Attempt]) -> SearchFailed:
    """One error that names each provider and why."""
    if not attempts:
        return SearchFailed("No search provider is named.", "Set SEARCH_PROVIDERS, or --search.")
    last = {attempt.provider: attempt for attempt in attempts}.values()
    reasons = "; ".join(f"{a.provider}: {a.detail or a.outcome}" for a in last)
    tried = [attempt for attempt in attempts if attempt.outcome != "no_key"]
    return SearchFailed(
        f"No search provider answered. {reasons}",
        " ".join(dict.fromkeys(attempt.remedy for attempt in last if attempt.remedy)),
        outcome=(tried or attempts)[0].outcome,
        attempts=tuple(attempts),
    )


#: Name in SEARCH_PROVIDERS -> how it is built. One without its key is built too, and says so.
PROVIDERS: dict[str, Callable[[Settings, Options], Provider]] = {
    "serpapi": lambda s, o: SerpApi(
        s.serpapi_api_key.get_secret_value(), s.serpapi_base_url, o, s.search_timeout
    ),
    "exa": lambda s, o: Exa(s.exa_api_key.get_secret_value(), s.exa_base_url, o, s.search_timeout),
    "tavily": lambda s, o: Tavily(
        s.tavily_api_key.get_secret_value(), s.tavily_base_url, o, s.search_timeout
    ),
    "serper": lambda s, o: Serper(
        s.serper_api_key.get_secret_value(), s.serper_base_url, o, s.search_timeout
    ),
    "duckduckgo": lambda s, o: DuckDuckGo(o, s.search_timeout),
    "wikipedia": lambda s, o: Wikipedia(
        s.wikipedia_base_url, o, s.search_timeout, s.user_agent or USER_AGENT
    ),
    "searxng": lambda s, o: SearXNG(s.searxng_url, o, s.search_timeout),
}


class Limited:
    """A provider that is asked no more often than the limits allow."""

    def __init__(self, provider: Provider, turns: Turns) -> None:
        self.name = provider.name
        self.local = getattr(provider, "local", False)
        self._provider = provider
        self._turns = turns

    def search(self, query: str) -> tuple[Hit, ...]:
        """Hits, best first, when its turn has come. Raises SearchFailed."""
        self._turns.take(self.name)
        try:
            return tuple(self._provider.search(query))
        except SearchFailed as error:
            self._turns.note(error, self.name)
            raise


def build(
    settings: Settings,
    options: Options | None = None,
    corpus: Provider | None = None,
    turns: Turns | None = None,
) -> SearchChain:
    """The chain of the providers that the settings name, in their order; `corpus` is one of them.

    `options` None: the language of the settings, nothing else; `turns` None: no limits. Raises
    UsageError for a name that is not known.
    """
    chosen = options or Options(language=settings.lang)
    names = dict.fromkeys(name.lower() for name in settings.search)
    makers = PROVIDERS | ({"corpus": lambda *_: corpus} if corpus else {})
    if unknown := [name for name in names if name not in makers]:
        known = ", ".join(makers)
        hint = " Name its folder with --corpus." if "corpus" in unknown else ""
        fault = f"There is no search provider {unknown[0]!r}.{hint}"
        raise UsageError(fault, f"Choose from: {known}.")
    providers = [makers[name](settings, chosen) for name in names]
    limited = [Limited(each, turns) for each in providers] if turns else providers
    return SearchChain(limited, chosen)
