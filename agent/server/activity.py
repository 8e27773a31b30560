"""What a run looks for and reads, as a page shows it: while it goes on, and when it has ended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from agent.answer.addresses import CorpusAddresses
from agent.answer.messages import group_by_source
from agent.evidence import is_heading, is_row, rank_texts, split_sentences
from agent.evidence.credibility import host_kind
from agent.state import (
    Blocked,
    Failed,
    Frozen,
    Hit,
    PageRead,
    Reflected,
    Research,
    Searched,
    Source,
)
from agent.state.urls import canonical_url

if TYPE_CHECKING:
    from agent.answer import Citation

MAX_QUERIES, MAX_PAGES, MAX_FOUND = 60, 200, 6
MAX_CONTEXT = 300  # characters on either side of a quote
RANKED_CHARACTERS = 20_000  # of a page, of which the best sentence is shown while a run goes on

PageState = Literal["waiting", "read", "snippet", "passed_over", "unreadable"]


class QueryActivity(Frozen):
    """A query: `results` is None until it was searched; `fault` says why it could not be."""

    query: str
    provider: str = ""
    results: int | None = None
    fault: str = ""


class PageActivity(Frozen):
    """A page that was found: by which query, what became of it and why."""

    url: str
    title: str
    date: str = ""
    query: str = ""
    state: PageState = "waiting"
    note: str = ""


class Passage(Frozen):
    """A sentence of a page that was read, letter by letter."""

    text: str
    url: str
    title: str


class QuoteContext(Frozen):
    """What stands before and after the quote of a citation on its page."""

    before: str
    after: str


class Activity(Frozen):
    """What a run did so far. `facts`: how many sources state a value of each slot.

    `found` is empty once there is an answer with citations. `contexts` has one entry for each
    citation of the answer: `2-1` is the first quote of source 2.
    """

    queries: tuple[QueryActivity, ...] = ()
    pages: tuple[PageActivity, ...] = ()
    found: tuple[Passage, ...] = ()
    facts: dict[str, int] = Field(default_factory=dict)
    contexts: dict[str, QuoteContext] = Field(default_factory=dict)


def describe_activity(
    research: Research, corpus: str, citations: Iterable[Citation] = ()
) -> Activity:
    """What a run did so far; with the citations of its answer once there is one.

    `corpus` is where its corpus lies, which is not told. Any thread may call this.
    """
    addresses = CorpusAddresses(corpus)
    sources = research.sources
    cited = tuple(citations)
    return Activity(
        queries=tuple(_describe_queries(research, addresses)),
        pages=tuple(_describe_pages(research, addresses)),
        found=() if cited else tuple(_find_passages(research, addresses)),
        facts=_count_witnesses(research),
        contexts=_find_contexts(cited, sources),
    )


def _describe_queries(research: Research, addresses: CorpusAddresses) -> Iterator[QueryActivity]:
    plan = research.plan
    planned = [sub.query for sub in plan.sub_queries] if plan else []
    found = {event.found.query: event.found for event in research.events_of(Searched)}
    faults = {e.subject: e.message for e in research.events_of(Failed) if e.what == "search"}
    queries = dict.fromkeys((*planned, *research.queries, *research.searched_queries))
    for query in tuple(queries)[:MAX_QUERIES]:
        if query in found:
            results = found[query]
            yield QueryActivity(query=query, provider=results.provider, results=len(results.hits))
        else:
            fault = addresses.shorten_text(faults.get(query, ""))
            yield QueryActivity(query=query, fault=fault)


def _describe_pages(research: Research, addresses: CorpusAddresses) -> Iterator[PageActivity]:
    """The pages that were found, in the order of the searches; then those read besides."""
    pages: dict[str, tuple[Hit, str]] = {}
    for event in research.events_of(Searched):
        for hit in event.found.hits:
            pages.setdefault(canonical_url(hit.url), (hit, event.found.query))
    for read in research.events_of(PageRead):
        pages.setdefault(canonical_url(read.hit.url), (read.hit, ""))
    ends = dict(_find_ends(research, addresses))
    dates = {canonical_url(read.hit.url): read.page.date for read in research.events_of(PageRead)}
    for key, (hit, query) in tuple(pages.items())[:MAX_PAGES]:
        state, note, url, title = ends.get(key, ("waiting", "", hit.url, hit.title))
        yield PageActivity(
            url=addresses.shorten_url(url),
            title=title or hit.title,
            date=hit.date or dates.get(key, ""),
            query=query,
            state=state,
            note=note,
        )


def _find_ends(
    research: Research, addresses: CorpusAddresses
) -> Iterator[tuple[str, tuple[PageState, str, str, str]]]:
    """What became of pages, by their canonical URLs: state, reason, address and title."""
    faults: dict[str, str] = {}
    for event in tuple(research.events):
        match event:
            case PageRead(page=page, hit=hit):
                key, is_whole = canonical_url(hit.url), page.via == "page"
                note = "" if is_whole else faults.get(key, "")
                yield key, ("read" if is_whole else "snippet", note, page.url, page.title)
            case Failed(what="page", subject=url):
                key = canonical_url(url)
                faults[key] = addresses.shorten_text(event.message)
                yield key, ("unreadable", faults[key], url, "")
            case Blocked(hit=hit):
                reason = host_kind(hit.url).reason
                yield canonical_url(hit.url), ("passed_over", reason, hit.url, hit.title)


def _count_witnesses(research: Research) -> dict[str, int]:
    findings = research.findings.values()
    return {one.slot: len({quote.source for quote in one.quotes}) for one in findings}


# --- what was found so far -----------------------------------------------------------------------


def _find_passages(research: Research, addresses: CorpusAddresses) -> Iterator[Passage]:
    """The quotes of the facts so far; of other pages the sentence that fits the topic best."""
    sources, seen = research.sources, set[str]()
    said = [one.quote for event in research.events_of(Reflected) for one in event.said]
    quoted = {quote.source: quote.text for quote in reversed(said)}
    for source in sources:
        if len(seen) == MAX_FOUND:
            return
        beginning = source.page.text[:RANKED_CHARACTERS]
        text = quoted.get(source.n) or _best_sentence(beginning, research.topic)
        if text and text not in seen:
            seen.add(text)
            page = source.page
            yield Passage(text=text, url=addresses.shorten_url(page.url), title=page.title)


@lru_cache(maxsize=128)  # a page that follows the run asks every second
def _best_sentence(text: str, topic: str) -> str:
    """The sentence of a page that fits a topic best; "" where none fits."""
    sentences = [text[start:end].strip() for start, end in split_sentences(text)]
    told = [one for one in sentences if not (is_heading(one) or is_row(one))]
    scores = rank_texts(told, topic) if told else []
    best = max(scores, default=0.0)
    return told[scores.index(best)][:MAX_CONTEXT] if best > 0 else ""


# --- what stands around a quote ------------------------------------------------------------------


def _find_contexts(
    citations: Iterable[Citation], sources: Iterable[Source]
) -> dict[str, QuoteContext]:
    return {
        f"{number}-{n}": _find_context(citation, sources)
        for number, quotes in group_by_source(citations).items()
        for n, citation in enumerate(quotes, 1)
    }


def _find_context(citation: Citation, sources: Iterable[Source]) -> QuoteContext:
    pages = (source.page for source in sources)
    text = next((page.text for page in pages if page.sha256 == citation.page_sha256), "")
    return QuoteContext(
        before=_last_sentence(text[max(0, citation.start - MAX_CONTEXT) : citation.start]),
        after=_first_sentence(text[citation.end : citation.end + MAX_CONTEXT]),
    )


def _last_sentence(text: str) -> str:
    """The last sentence of what stands before a quote, in the quote's own paragraph."""
    line = text.rpartition("\n")[2]
    spans = [span for span in split_sentences(line) if line[slice(*span)].strip()]
    return line[spans[-1][0] :].strip() if spans else ""


def _first_sentence(text: str) -> str:
    """The first sentence of what stands after a quote, in the quote's own paragraph.

    What is left of the sentence that the quote is of counts as one.
    """
    line = text.partition("\n")[0]
    spans = [span for span in split_sentences(line) if any(map(str.isalnum, line[slice(*span)]))]
    return line[: spans[0][1]].strip() if spans else line.strip()
