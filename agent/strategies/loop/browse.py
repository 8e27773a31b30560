"""Browse: reads the best unread results of a round's searches and finds the passages that help."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent.evidence import anchor_quote, estimate_tokens, render_sources, split_passages
from agent.outside import Ask, Excerpt, Read, Task
from agent.settings import Settings
from agent.state import Browsed, Cited, Event, Frozen, Hit, Research, Source
from agent.steps.asking import try_to_ask
from agent.steps.prompt_rules import DATA_RULE, escape, render_topic
from agent.steps.web_search import read_pages, salvage_pages
from agent.strategies.loop.trajectory import ranking_query, select_useful


class UsefulPassages(Frozen):
    """What of some pages helps."""

    useful: list[Cited] = Field(
        default_factory=list, description="passages that help, copied exactly; empty if none does"
    )


class FindUsefulPassages(Task[UsefulPassages]):
    """Asks for the passages that help, where the topic and the pages have no words in common."""

    name: ClassVar[str] = "browse"

    queries: tuple[str, ...] = ()

    def system_prompt(self) -> str:
        return (
            "You read pages for somebody who researches a question. Copy the passages that help "
            "to answer it, word for word, in the page's own language, each with the id of its "
            f"source. {DATA_RULE}"
        )

    def prompt(self) -> str:
        queries = escape("; ".join(self.queries))
        sources = render_sources(self.evidence)
        return f"{sources}\n{render_topic(self)}\nSearched for: {queries}"


@dataclass(frozen=True)
class Browse:
    """Reads the untried hits of a round in parallel, by rank, each page once.

    Ranking finds the passages that help. With `browse_with_model`, a model is asked for them where
    ranking finds none (pages in another language than the topic). Its quotes count if the pages
    contain them.
    """

    ask: Ask
    read: Read
    settings: Settings

    def __call__(self, research: Research) -> Iterator[Event]:
        source_count = len(research.sources)
        yield from read_pages(self.read, self._choose_hits(research), research)
        new_sources = research.sources[source_count:]
        query = ranking_query(research.topic, research.current_queries)
        has_to_ask = self.settings.browse_with_model and new_sources
        if has_to_ask and not select_useful(new_sources, query, self.settings.evidence_tokens):
            yield from self._ask_for_passages(new_sources, research)

    def salvage(self, research: Research) -> Iterator[Event]:
        """After a halt: those of the round's pages that need no further reading."""
        yield from salvage_pages(self.read, self._choose_hits(research), research)

    def _choose_hits(self, research: Research) -> list[Hit]:
        return research.untried_hits_by_rank(self.settings.pages_per_step)

    def _ask_for_passages(self, sources: tuple[Source, ...], research: Research) -> Iterator[Event]:
        budget = self.settings.evidence_tokens // len(sources)
        task = FindUsefulPassages(
            topic=research.topic,
            evidence=tuple(_excerpt_beginning(source, budget) for source in sources),
            queries=research.current_queries,
        )
        found = yield from try_to_ask(task, self.ask, stand_in="")
        if found is None:
            return
        by_number = {source.n: source for source in sources}
        quotes = (
            anchor_quote(cited.quote, source)
            for cited in found.useful
            if (source := by_number.get(cited.source))
        )
        yield Browsed(round=research.round, quotes=tuple(dict.fromkeys(filter(None, quotes))))


def _excerpt_beginning(source: Source, budget: int) -> Excerpt:
    """The beginning of a page within a budget of tokens; at least its first passage."""
    page = source.page
    shown: list[str] = []
    for start, end in split_passages(page.text):
        budget -= estimate_tokens(page.text[start:end])
        if budget < 0 and shown:
            break
        shown.append(page.text[start:end])
    return Excerpt.of(source, shown)
