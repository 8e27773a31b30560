"""Browse: reads the unseen pages that a step's searches found, and sees what of them helps."""

from __future__ import annotations

import html
from collections.abc import Iterator

from pydantic import Field

from agent.evidence import anchor, passages, show, tokens
from agent.evidence.citing import Cited
from agent.outside import Ask, Excerpt, Read, Task
from agent.state import Browsed, Event, Frozen, Research, Source
from agent.steps.asking import DATA_RULE, NO_REPLY, asked, failed
from agent.steps.web_search import read_pages, salvaged
from agent.strategies.loop.trajectory import looked_for, useful


class Useful(Frozen):
    """What of some pages helps."""

    useful: list[Cited] = Field(
        default_factory=list, description="passages that help, copied exactly; empty if none does"
    )


class FindUseful(Task[Useful]):
    """Asks for the passages that help, where the words of question and pages do not meet."""

    queries: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return "browse"

    @property
    def answer(self) -> type[Useful]:
        return Useful

    def system(self) -> str:
        return (
            "You read pages for somebody who researches a question. Copy the passages that help "
            "to answer it, word for word, in the page's own language, each with the id of its "
            f"source. {DATA_RULE}"
        )

    def prompt(self) -> str:
        topic = html.escape(self.topic, quote=False)
        queries = html.escape("; ".join(self.queries), quote=False)
        return f"{show(self.evidence)}\n<topic>{topic}</topic>\nSearched for: {queries}"


class Browse:
    """Reads at most `pages` unseen results of a round, best first, side by side, each page once.

    What of them helps is a matter of ranking. Only with `ask`, and only where ranking finds nothing
    (a page in another language), a model is asked for it; its quotes count if they are there.
    """

    def __init__(self, read: Read, pages: int, budget: int, ask: Ask | None = None) -> None:
        self._read = read
        self._pages = pages
        self._budget = budget
        self._ask = ask

    def __call__(self, research: Research) -> Iterator[Event]:
        before = len(research.sources)
        yield from read_pages(self._read, research.unseen(self._pages), research)
        fresh = research.sources[before:]
        wanted = looked_for(research.topic, research.current_queries)
        if self._ask and fresh and not useful(fresh, wanted, self._budget):
            yield from self._helped(self._ask, fresh, research)

    def salvage(self, research: Research) -> Iterator[Event]:
        """What of the round's pages can be had without reading any more."""
        yield from salvaged(self._read, research.unseen(self._pages), research)

    def _helped(self, ask: Ask, sources: tuple[Source, ...], research: Research) -> Iterator[Event]:
        evidence = tuple(_head(source, self._budget // len(sources)) for source in sources)
        queries = research.current_queries
        task = FindUseful(topic=research.topic, evidence=evidence, queries=queries)
        try:
            reply = ask(task)
        except NO_REPLY as error:
            yield failed(task, error, stand_in="")
            return
        yield asked(task, reply)
        numbered = {source.n: source for source in sources}
        rows = ((row.quote, numbered.get(row.source)) for row in reply.answer.useful)
        quotes = (anchor(quote, source) for quote, source in rows if source)
        yield Browsed(round=research.round, quotes=tuple(dict.fromkeys(filter(None, quotes))))


def _head(source: Source, budget: int) -> Excerpt:
    """The beginning of a page within a budget of tokens."""
    text = source.page.text
    shown: list[str] = []
    for start, end in passages(text):
        budget -= tokens(text[start:end])
        if budget < 0 and shown:
            break
        shown.append(text[start:end])
    page = source.page
    return Excerpt(source=source.n, title=page.title, url=page.url, passages=tuple(shown))
