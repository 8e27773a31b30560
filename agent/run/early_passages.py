"""What a run waits for, and what it has found before there is an answer, not checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from agent.answer.addresses import CorpusAddresses
from agent.answer.counts import format_count
from agent.calls.journal_lines import is_of_parent
from agent.evidence import is_heading, is_row, rank_texts, split_sentences
from agent.search.parent_pages import pages_of
from agent.state import (
    Event,
    Frozen,
    Json,
    PageRead,
    Queried,
    Reflected,
    Research,
    Searched,
    SearchResults,
    sanitize_for_display,
)

MAX_PASSAGES = 6
MAX_CHARACTERS = 300  # of a passage
SHORT_WAIT = 2.0  # seconds: what takes as long is worth a word
RANKED_CHARACTERS = 20_000  # of a page, of which the best sentence is shown
#: What a model does, by its task; other tasks write.
TASKS = {
    "generate_queries": "planning what to search",
    "understand": "reading the question",
    "plan": "planning the report",
    "gaps": "looking for what is missing",
    "decide": "deciding what to do next",
    "gather": "searching",
    "verify": "checking each sentence",
}


class Passage(Frozen):
    """A sentence of a page that was read, letter by letter."""

    text: str
    url: str
    title: str


def find_passages(research: Research, addresses: CorpusAddresses) -> Iterator[Passage]:
    """The quotes of the facts so far; of other pages the sentence that fits the topic best."""
    sources, seen = research.sources, set[str]()
    said = [one.quote for event in research.events_of(Reflected) for one in event.said]
    quoted = {quote.source: quote.text for quote in reversed(said)}
    for source in sources:
        if len(seen) == MAX_PASSAGES:
            return
        beginning = source.page.text[:RANKED_CHARACTERS]
        text = quoted.get(source.n) or _best_sentence(beginning, research.topic)
        if text and text not in seen:
            seen.add(text)
            page = source.page
            yield Passage(text=text, url=addresses.shorten_url(page.url), title=page.title)


def look_ahead(research: Research, begun: Sequence[str], calls: Sequence[Json]) -> Research:
    """The research with what is searched and read while its plan is made, until that is there.

    `begun`: the queries under way. `calls`: lines of the journal.
    """
    if any(isinstance(event, Queried | Searched) for event in research.events):
        return research
    seen = Research(research.topic)
    seen.events = list(research.events)
    found = [
        SearchResults.model_validate(line["response"])
        for line in calls
        if line["call"] == "search" and "response" in line and not is_of_parent(line)
    ]
    queries = tuple(dict.fromkeys((*(one.query for one in found), *begun)))
    ahead: list[Event] = [Queried(round=1, queries=queries)] if queries else []
    ahead += [Searched(round=1, found=one) for one in found]
    ahead += [PageRead(page=page, hit=hit) for page, hit in pages_of(calls)]
    for event in ahead:
        seen.grow(event)
    return seen


def describe_wait(calls: Sequence[tuple[str, float]], pages: int, least: float = SHORT_WAIT) -> str:
    """What a run waits for, in words; `calls` as a journal has them; "" under `least` seconds.

    A model is named before a search, and that before pages.
    """
    kinds = {kind: rest for kind in ("read", "search", "ask") if (rest := _longest(calls, kind))}
    if not kinds:
        return ""
    kind, (subject, seconds) = [*kinds.items()][-1]
    if seconds < least:
        return ""
    if kind == "read":
        what = "Reading pages"
    elif kind == "search":
        what = f"Searching: {subject}"
    elif subject == "reflect" and pages:
        what = f"The model is reading {format_count(pages, 'page')}"
    else:
        what = f"The model is {TASKS.get(subject, 'writing')}"
    return f"{sanitize_for_display(what)}, {seconds:.0f} s"


def _longest(calls: Sequence[tuple[str, float]], kind: str) -> tuple[str, float] | None:
    own = [(name.partition(" ")[2], seconds) for name, seconds in calls if name.startswith(kind)]
    return max(own, key=lambda row: row[1], default=None)


@lru_cache(maxsize=128)  # whatever follows the run asks every second
def _best_sentence(text: str, topic: str) -> str:
    """The sentence of a page that fits a topic best; "" where none fits."""
    sentences = [text[start:end].strip() for start, end in split_sentences(text)]
    prose = [one for one in sentences if not (is_heading(one) or is_row(one))]
    scores = rank_texts(prose, topic) if prose else []
    best = max(scores, default=0.0)
    return prose[scores.index(best)][:MAX_CHARACTERS] if best > 0 else ""
