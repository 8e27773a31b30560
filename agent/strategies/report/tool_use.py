"""What a model's calls of `search_web` and `fetch_page` do, and what it is told of them.

A call does nothing but search, or read a page that a search or the user named. Whatever goes wrong
is told to the model as data, and costs nothing else.
"""

from __future__ import annotations

import html
import json
from collections.abc import Generator, Iterator, Sequence
from typing import NamedTuple

from agent.errors import OutsideError
from agent.evidence import fold, select, show
from agent.evidence.credibility import Credibility, allowed, credibility
from agent.outside import Read, Search
from agent.outside.tools import Tool, ToolCall
from agent.state import Blocked, Event, Failed, Hit, PageRead, Research, Searched, Warned
from agent.state.plain import plain
from agent.state.urls import addresses, canonical
from agent.steps.web_search import WebSearchTool, became_source, skipped

CORPUS = "corpus"  # the provider of documents that the user named
RESULTS = 5  # of a search, as the design of the report has it
AT_ONCE = 8  # calls of one turn that are run
PAGE_TOKENS = 750  # of a page that is shown: what 3,000 characters of English are
LONGEST_URL = 2000  # characters

SEARCH = Tool(
    name="search_web",
    description="Searches the web. Answers with pages: url, title, credibility (0 to 1), snippet.",
    parameters={
        "type": "object",
        "properties": {"query": {"type": "string", "description": "a short search query"}},
        "required": ["query"],
    },
)
FETCH = Tool(
    name="fetch_page",
    description="Reads a page that a search has named. Answers with its best passages.",
    parameters={
        "type": "object",
        "properties": {"url": {"type": "string", "description": "the url of a search result"}},
        "required": ["url"],
    },
)
ARGUMENTS = {SEARCH.name: "query", FETCH.name: "url"}


class Ran(NamedTuple):
    """What became of a turn's calls: a result for each, and whether any went outside."""

    results: tuple[str, ...]
    new: bool


class UseTools:
    """Runs the calls of a turn side by side.

    A call that was made before is answered from what is known; a page whose credibility is not
    above `threshold` is blocked, unless that would block all. Raises Halt.
    """

    def __init__(self, search: Search, read: Read, threshold: float) -> None:
        self._search = search
        self._read = read
        self._threshold = threshold

    def __call__(
        self, research: Research, calls: Sequence[ToolCall]
    ) -> Generator[Event, None, Ran]:
        valid = [call for call in calls[:AT_ONCE] if not _fault(call, research)]
        queries = _fresh_queries(valid, research)
        hits = yield from self._let_through(_fresh_hits(valid, research), research)
        for query in queries:  # all at once: what is collected first does not hold up the others
            self._search.start(query)
        for hit in hits:
            self._read.start(hit.url)
        yield from self._searched(queries, research.round)
        yield from self._pages(hits)
        results = [self._told(call, research) for call in calls[:AT_ONCE]]
        spare = [_error(f"at most {AT_ONCE} calls a turn are run")] * len(calls[AT_ONCE:])
        return Ran((*results, *spare), bool(queries or hits))

    def salvage(self, research: Research, per_query: int) -> Iterator[Event]:
        """Pages that had been read when gathering ended early; of others, what the search said."""
        return WebSearchTool(self._search, self._read, per_query).salvage(research)

    def _searched(self, queries: list[str], number: int) -> Generator[Event, None, None]:
        for query, outcome in zip(queries, self._search.collect(queries), strict=True):
            if isinstance(outcome, OutsideError):
                yield skipped("search", query, outcome)
            else:
                best = outcome.model_copy(update={"hits": outcome.hits[:RESULTS], "query": query})
                yield Searched(round=number, found=best)

    def _pages(self, hits: list[Hit]) -> Generator[Event, None, None]:
        outcomes = self._read.collect([hit.url for hit in hits])
        for hit, outcome in zip(hits, outcomes, strict=True):
            if isinstance(outcome, OutsideError):
                yield skipped("page", hit.url, outcome)
            else:
                yield from became_source(outcome, hit)

    def _let_through(
        self, hits: list[Hit], research: Research
    ) -> Generator[Event, None, list[Hit]]:
        """The pages that may be read; of the others it is recorded that they were blocked."""
        known = scores(research)
        judged = allowed(list(known.values()), self._threshold)
        passed = {canonical(hit.url) for hit, _ in judged.passed} | _own(research).keys()
        chosen = []
        for hit in hits:
            key = canonical(hit.url)
            if key in known and key not in passed:
                score = known[key][1].score
                yield Blocked(hit=hit, score=score, threshold=self._threshold)
            else:
                chosen.append(hit)
        if judged.note and any(canonical(hit.url) in known for hit in chosen):
            yield from _once(judged.note, research)
        return chosen

    def _told(self, call: ToolCall, research: Research) -> str:
        """What a model is told of a call, from what is known by now."""
        if fault := _fault(call, research):
            return _error(fault)
        if call.name == SEARCH.name:
            return _told_search(_query(call), research)
        return _told_page(canonical(_given(call)), research)


# --- which calls go outside ------------------------------------------------------------------


def _given(call: ToolCall) -> str:
    """The one argument of a call, on one line; "" if it is not there."""
    return plain(call.arguments.get(ARGUMENTS.get(call.name, "")), LONGEST_URL)


def _query(call: ToolCall) -> str:
    return plain(_given(call), 500)


def _fault(call: ToolCall, research: Research) -> str:
    """Why a call cannot be run at all; "" if it can."""
    if call.name not in ARGUMENTS:
        return f"there is no tool {plain(call.name, 60)!r}; there are {' and '.join(ARGUMENTS)}"
    if call.fault:
        return call.fault
    if not _given(call):
        return f"{call.name} needs the argument {ARGUMENTS[call.name]!r}, a text"
    if call.name == FETCH.name and canonical(_given(call)) not in _named(research):
        return "only pages that a search has named can be read; search for it first"
    return ""


def _named(research: Research) -> dict[str, Hit]:
    """The pages that may be read, by canonical URL: those of searches, and the user's own."""
    return _own(research) | research.hits


def _own(research: Research) -> dict[str, Hit]:
    """The pages that the question names."""
    return {canonical(address): Hit(url=address) for address in addresses(research.topic)}


def _fresh_queries(calls: Sequence[ToolCall], research: Research) -> list[str]:
    """The queries that were not made before, each once."""
    made = {fold(query)[0] for query in research.searches}
    asked = [_query(call) for call in calls if call.name == SEARCH.name]
    return list({fold(q)[0]: q for q in reversed(asked) if fold(q)[0] not in made}.values())[::-1]


def _fresh_hits(calls: Sequence[ToolCall], research: Research) -> list[Hit]:
    """The pages that were not tried before, each once."""
    named = _named(research)
    keys = [canonical(_given(call)) for call in calls if call.name == FETCH.name]
    return [named[key] for key in dict.fromkeys(keys) if not _outcome(key, research)]


def _outcome(key: str, research: Research) -> PageRead | Blocked | Failed | None:
    """What became of a page; None if nobody tried to read it."""
    for event in research.events:
        if isinstance(event, PageRead | Blocked) and canonical(event.hit.url) == key:
            return event
        if isinstance(event, Failed) and event.what == "page" and canonical(event.subject) == key:
            return event
    return None


def scores(research: Research) -> dict[str, tuple[Hit, Credibility]]:
    """How far each page that was found may be trusted; a corpus is trusted by who named it."""
    found: dict[str, tuple[Hit, Credibility]] = {}
    for event in research.of(Searched):
        year = int(event.found.at[:4] or 0)  # of the search: no clock may come into a prompt
        for hit in event.found.hits if event.found.provider != CORPUS else ():
            found.setdefault(canonical(hit.url), (hit, credibility(research.topic, hit, year)))
    return found


def _once(note: str, research: Research) -> Generator[Event, None, None]:
    """A warning that blocking was given up; the first such note stands for all."""
    start = note.split(";")[0]
    if not any(event.message.startswith(start) for event in research.of(Warned)):
        yield Warned(message=note)


# --- what is told ----------------------------------------------------------------------------


def _error(message: str) -> str:
    return html.escape(json.dumps({"error": message}, ensure_ascii=False), quote=False)


def _told_search(query: str, research: Research) -> str:
    key, known = fold(query)[0], scores(research)
    for event in research.of(Searched):
        if fold(event.found.query)[0] == key:
            hits = (_shown(hit, known) for hit in event.found.hits)
            return "\n".join(hits) or "No results."
    failed = (e for e in research.of(Failed) if e.what == "search" and fold(e.subject)[0] == key)
    reason = next((event.message for event in failed), "it was not made")
    return _error(f"no results: {plain(reason, 300)}")


def _shown(hit: Hit, known: dict[str, tuple[Hit, Credibility]]) -> str:
    """A hit as every prompt shows it, escaped like a source."""
    score = known.get(canonical(hit.url))
    trust = f' credibility="{score[1].score:g}"' if score else ""
    head = f'<hit url="{html.escape(hit.url)}" title="{html.escape(hit.title)}"{trust}>'
    return f"{head}{html.escape(hit.snippet, quote=False)}</hit>"


def _told_page(key: str, research: Research) -> str:
    match _outcome(key, research):
        case PageRead():
            found = [s for s in research.sources if canonical(s.hit.url) == key]
            wanted = " ".join((research.topic, *research.current_queries))
            return show(select(found[:1], wanted, PAGE_TOKENS))
        case Blocked(score=score, threshold=threshold):
            return _error(f"blocked: its credibility {score:g} is not above {threshold:g}")
        case Failed(message=message):
            return _error(f"the page cannot be read: {plain(message, 300)}")
    return _error("a search has named it only now; call again to read it")
