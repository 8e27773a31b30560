"""The tools of a report's model, and which of its calls are made.

A call can only search, or read a page that a search has named or that the topic names. A call that
was made before is not made again.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent.calls.model_tools import Tool, ToolCall
from agent.evidence import fold
from agent.evidence.credibility import Blocking, Credibility, rate_credibility
from agent.state import Blocked, Failed, Hit, PageRead, Research, Searched
from agent.state.sanitizing import sanitize_line
from agent.state.urls import canonical_url, find_urls

CORPUS = "corpus"  # the search provider of documents that the user named
MAX_URL_CHARS = 2000
MAX_QUERY_CHARS = 500

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
#: The one argument of each tool.
ARGUMENTS = {SEARCH.name: "query", FETCH.name: "url"}


def read_query(call: ToolCall) -> str:
    """The query of a call of `search_web`, on one line; "" if it has none."""
    return sanitize_line(_read_argument(call), MAX_QUERY_CHARS)


def read_page_key(call: ToolCall) -> str:
    """The canonical URL of a call of `fetch_page`."""
    return canonical_url(_read_argument(call))


def _read_argument(call: ToolCall) -> str:
    """The one argument of a call, on one line; "" if it has none."""
    return sanitize_line(call.arguments.get(ARGUMENTS.get(call.name, "")), MAX_URL_CHARS)


def find_fault(call: ToolCall, research: Research) -> str:
    """Why a call cannot be run, in words for the model; "" if it can."""
    if call.name not in ARGUMENTS:
        name = sanitize_line(call.name, 60)
        return f"there is no tool {name!r}; there are {' and '.join(ARGUMENTS)}"
    if call.fault:
        return call.fault
    if not _read_argument(call):
        return f"{call.name} needs the argument {ARGUMENTS[call.name]!r}, a text"
    if call.name == FETCH.name and read_page_key(call) not in _readable_pages(research):
        return "only pages that a search has named can be read; search for it first"
    return ""


def _readable_pages(research: Research) -> dict[str, Hit]:
    """The pages that may be read, by canonical URL: those of searches and of the topic."""
    return topic_pages(research) | research.hits


def topic_pages(research: Research) -> dict[str, Hit]:
    """The pages whose URL is in the topic, by canonical URL."""
    return {canonical_url(url): Hit(url=url) for url in find_urls(research.topic)}


def select_new_queries(calls: Sequence[ToolCall], research: Research) -> list[str]:
    """The queries that were not made before, each once, as it is first spelled."""
    made = {fold(query) for query in research.searched_queries}
    queries = [read_query(call) for call in calls if call.name == SEARCH.name]
    new = {fold(query): query for query in reversed(queries) if fold(query) not in made}
    return list(new.values())[::-1]


def select_new_hits(calls: Sequence[ToolCall], research: Research) -> list[Hit]:
    """The pages that were not tried before, each once."""
    pages = _readable_pages(research)
    keys = [read_page_key(call) for call in calls if call.name == FETCH.name]
    return [pages[key] for key in dict.fromkeys(keys) if not find_page_event(key, research)]


def find_page_event(key: str, research: Research) -> PageRead | Blocked | Failed | None:
    """The last event of a page: read, blocked or failed; None if it was not tried."""
    for event in reversed(research.events):
        match event:
            case PageRead(hit=hit) | Blocked(hit=hit) if canonical_url(hit.url) == key:
                return event
            case Failed(what="page", subject=url) if canonical_url(url) == key:
                return event
    return None


def credibility_scores(
    research: Research, blocking: Blocking
) -> dict[str, tuple[Hit, Credibility]]:
    """The credibility of each page that was found, by canonical URL.

    Relevance is that for the query that found the page first, as specified for the topic. The
    documents of a corpus have none: the user chose to trust them.
    """
    scores: dict[str, tuple[Hit, Credibility]] = {}
    for event in research.events_of(Searched):
        year = int(event.found.at[:4] or 0)  # of the search: prompts must not depend on the clock
        hits = [one for one in event.found.hits if CORPUS not in (one.own, event.found.provider)]
        for hit in hits:
            query = event.found.query if blocking.by == "host" else research.topic
            score = rate_credibility(query, hit, year)
            scores.setdefault(canonical_url(hit.url), (hit, score))
    return scores
