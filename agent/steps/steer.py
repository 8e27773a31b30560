"""Steer: what the user says, or changed of an earlier run, becomes searches and limits of sources.

It stands beside every strategy: the run calls it at each boundary, between two events of that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from agent.evidence import fold
from agent.outside import Ask, Read, Task, TaskKind
from agent.outside.steering import Steering
from agent.state import (
    Asked,
    Decided,
    Doubted,
    Edited,
    Event,
    Failed,
    Frozen,
    Hit,
    Queried,
    Reflected,
    Research,
    Searched,
    Started,
    Steered,
    Warned,
)
from agent.state.limits import Limits
from agent.state.urls import url_host
from agent.steps.asking import try_to_ask
from agent.steps.generate_queries import deduplicate_queries, limit_queries
from agent.steps.prompt_rules import escape, language_rule, render_topic
from agent.steps.web_search import read_pages

#: Where what was said takes effect: what is planned next has not been planned yet.
BOUNDARIES = (Started, Queried, Reflected, Decided, Doubted)
MAX_QUERIES = 3
MAX_HOSTS = 10


class Heeding(Frozen):
    """What an instruction changes of the search."""

    queries: list[str] = Field(
        default_factory=list,
        description="0 to 3 web search queries for what it asks to look at besides; empty if it "
        "only leaves something out, or tells how to write",
    )
    since: str = Field(
        default="", description="YYYY-MM-DD, if it wants no source from before; else empty"
    )
    only_sites: list[str] = Field(
        default_factory=list, description="host names, if it wants no source from elsewhere"
    )
    without_sites: list[str] = Field(
        default_factory=list, description="host names that it wants no source from"
    )


class HeedUser(Task[Heeding]):
    """Asks what an instruction changes of the search."""

    name: ClassVar[str] = "heed"
    kind: ClassVar[TaskKind] = "plan"

    new: str = ""  # an instruction
    queries: tuple[str, ...] = ()  # that were made

    def system_prompt(self) -> str:
        return (
            "You plan web research that is under way. Its user says something new of how the topic "
            "is to be answered. Say what that changes of the search, and nothing that it does not "
            f"ask for. {language_rule(self.language)}"
        )

    def prompt(self) -> str:
        queries = "".join(f"\n- {escape(query)}" for query in self.queries)
        return f"{render_topic(self)}\nQueries made:{queries}\nIts user says: {escape(self.new)}"


@dataclass(frozen=True)
class Steer:
    """Heeds what the user says. `edited`: what was changed before the run; `said`: at its start.

    Where no model says what an instruction means, `fallback` does by rules, and what these cannot
    follow is told in a warning.
    """

    ask: Ask
    fallback: Ask
    read: Read
    steering: Steering
    edited: Edited
    said: tuple[str, ...] = ()
    language: str = ""

    def __call__(self, event: Event, research: Research) -> Iterator[Event]:
        """What follows an event of the strategy."""
        if not isinstance(event, BOUNDARIES) or research.is_halted:
            return
        is_start = isinstance(event, Started)
        if is_start and self.edited != Edited():
            yield self._apply(self.edited)
        # what sections of a report do side by side is planned with what was said before
        said = () if getattr(event, "section", 0) else self.steering.take()
        for text in (*(self.said if is_start else ()), *said):
            yield from self._obey(text, research)
        if not is_start and not any(isinstance(e, BOUNDARIES) for e in research.events[1:-1]):
            yield from self._read_added(research)

    def end(self, research: Research) -> Iterator[Event]:
        """What was said too late is told, and what the run came to no search for."""
        tried = {fold(event.found.query) for event in research.events_of(Searched)}
        tried |= {fold(event.subject) for event in research.events_of(Failed)}
        wanted = (query for event in research.events_of(Steered) for query in event.queries)
        for query in dict.fromkeys(wanted):
            if fold(query) not in tried:
                yield Warned(message=f"Not searched for what was said: {query}")
        for text in self.steering.take():
            yield Warned(message=f"Said too late to change anything: {text}")

    def _obey(self, said: str, research: Research) -> Iterator[Event]:
        told = {"topic": research.topic, "queries": research.queries, "language": self.language}
        task = HeedUser(new=said, **told)
        found = yield from try_to_ask(task, self.ask, stand_in="rules")
        is_by_rules = found is None or research.events_of(Asked)[-1].is_by_rules
        found = found or self.fallback(task).answer
        limits = _limits_of(found)
        wanted = limit_queries(found.queries[:MAX_QUERIES], limits.since)
        made = set(map(fold, research.queries))
        new = [query for query in deduplicate_queries(wanted) if fold(query) not in made]
        if limits != Limits() and not new:  # other pages than before are to be found
            new = limit_queries([research.topic], limits.since)
        if is_by_rules and not new:
            yield Warned(message=f"Only a model can follow this: {said}")
        yield self._apply(Steered(said=said, queries=tuple(new), limits=limits))

    def _apply(self, event: Edited | Steered) -> Event:
        self.steering.apply(event)
        return event

    def _read_added(self, research: Research) -> Iterator[Event]:
        for event in read_pages(self.read, [Hit(url=url) for url in self.edited.add], research):
            yield event
            if isinstance(event, Failed):
                yield Warned(message=f"The page that was added is no source: {event.message}")


def _limits_of(found: Heeding) -> Limits:
    """The limits of a reply; a day that is none and a host that is none do not count."""
    day = "".join(limit_queries([""], found.since)).removeprefix(" after:")
    only, without = (
        tuple(dict.fromkeys(filter(None, map(_clean_host, hosts[:MAX_HOSTS]))))
        for hosts in (found.only_sites, found.without_sites)
    )
    return Limits(since=day, only=only, without=without)


def _clean_host(name: str) -> str:
    host = url_host(name if "//" in name else f"//{name.strip()}").strip(".*")
    return host if "." in host else ""
