"""UseTools: runs a model's calls of `search_web` and `fetch_page`.

A call that fails is reported to the model as data and has no other effect.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from agent.calls import Read, Search
from agent.calls.model_tools import ToolCall
from agent.errors import ExternalCallError
from agent.evidence.credibility import HOSTILE, SPARED, Blocking, find_blocked, host_kind
from agent.state import Blocked, Event, Hit, Research, Searched, Warned, canonical_url
from agent.steps.ask_model import call_failure
from agent.steps.web_search import address_queries, read_pages, source_events
from agent.strategies.report.tool_calls import (
    credibility_scores,
    find_fault,
    select_new_hits,
    select_new_queries,
    topic_pages,
)
from agent.strategies.report.tool_results import render_error, render_result

MAX_RESULTS = 5  # hits of a search that a model is shown
MAX_CALLS_PER_TURN = 8
NOTHING_PASSED = "No other page could be read, so the best of low credibility were read:"


class TurnOutcome(NamedTuple):
    """A result for each call of a turn, and whether any call was made."""

    results: tuple[str, ...]
    is_new: bool


@dataclass(frozen=True)
class UseTools:
    """Runs the calls of a turn in parallel.

    A call that was made before is answered from what is known. `blocking` says which pages are not
    read. Raises Halt.
    """

    search: Search
    read: Read
    blocking: Blocking

    def __call__(
        self, research: Research, calls: Sequence[ToolCall]
    ) -> Generator[Event, None, TurnOutcome]:
        run, excess = calls[:MAX_CALLS_PER_TURN], calls[MAX_CALLS_PER_TURN:]
        valid = [call for call in run if not find_fault(call, research)]
        queries = select_new_queries(valid, research)
        hits = yield from self._block_untrusted(select_new_hits(valid, research), research)
        for hit in hits:  # all start before any is waited for
            self.read.start(hit.url)
        yield from self.search_queries({0: queries}, research)
        yield from self._read_pages(hits)
        results = [render_result(call, research, self.blocking) for call in run]
        too_many = render_error(f"at most {MAX_CALLS_PER_TURN} calls a turn are run")
        results += [too_many] * len(excess)
        return TurnOutcome(tuple(results), bool(queries or hits))

    def read_best_blocked(self, research: Research) -> Iterator[Event]:
        """Read the best of the pages that were blocked, but none of a hostile host, and say so."""
        blocked = [e for e in research.blocked_pages if host_kind(e.hit.url).score > HOSTILE]
        best = sorted(blocked, key=lambda event: -event.score)[:SPARED]
        if best:
            urls = ", ".join(event.hit.url for event in best)
            yield Warned(message=f"{NOTHING_PASSED} {urls}")
            yield from self._read_pages([event.hit for event in best])

    def search_queries(
        self, queries: Mapping[int, Sequence[str]], research: Research
    ) -> Iterator[Event]:
        """Search all queries side by side, those of each section in their order.

        Section 0 is the model's own search, of which it chooses; else pages are chosen of all hits.
        """
        asked = [(section, query) for section, own in queries.items() for query in own]
        outcomes = self.search.collect(address_queries([query for _, query in asked], research))
        for (section, query), outcome in zip(asked, outcomes, strict=True):
            if isinstance(outcome, ExternalCallError):
                yield call_failure("search", query, outcome)
            else:
                hits = outcome.hits if section else outcome.hits[:MAX_RESULTS]
                found = outcome.model_copy(update={"hits": hits, "query": query})
                yield Searched(round=research.round, found=found, section=section)

    def read_hits(self, hits: Sequence[Hit], research: Research) -> Iterator[Event]:
        """Read pages side by side, but those that are blocked; if all are, the best of them."""
        allowed = yield from self._block_untrusted(list(hits), research)
        yield from read_pages(self.read, allowed, research)
        if not research.sources:
            yield from self.read_best_blocked(research)

    def _read_pages(self, hits: list[Hit]) -> Iterator[Event]:
        outcomes = self.read.collect([hit.url for hit in hits])
        for hit, outcome in zip(hits, outcomes, strict=True):
            if isinstance(outcome, ExternalCallError):
                yield call_failure("page", hit.url, outcome)
            else:
                yield from source_events(outcome, hit)

    def _block_untrusted(
        self, hits: list[Hit], research: Research
    ) -> Generator[Event, None, list[Hit]]:
        """The pages that may be read. Of each other one it is recorded that it was blocked."""
        scores = credibility_scores(research, self.blocking)
        scored = [(key, score) for key, (_, score) in scores.items()]
        blocked, note = find_blocked(scored, self.blocking)
        allowed = []
        for hit in hits:
            key = canonical_url(hit.url)
            if key in blocked and key not in topic_pages(research):
                yield Blocked(hit=hit, score=blocked[key], threshold=self.blocking.threshold)
            else:
                allowed.append(hit)
        if note and any(canonical_url(hit.url) in scores for hit in allowed):
            yield from _warn_once(note, research)
        return allowed


def _warn_once(note: str, research: Research) -> Iterator[Warned]:
    """Warn that nothing was blocked, unless an earlier warning says so."""
    if not any(event.kind == "nothing_blocked" for event in research.events_of(Warned)):
        yield Warned(message=note, kind="nothing_blocked")
