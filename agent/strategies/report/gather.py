"""Gather: a round in which a model searches and reads with tools."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import ClassVar

from agent.calls import Ask, Task
from agent.calls.model_tools import Exchange, Tool, Turn
from agent.errors import ModelFailed
from agent.settings import Settings
from agent.state import Asked, Event, Research, Searched, SubQuery, Warned
from agent.steps.ask_model import failure_event, reply_event
from agent.steps.page_choice import choose_pages
from agent.steps.prompt_rules import DATA_RULE, list_lines, render_topic, strategy_lines
from agent.strategies.report.plan_report import PRIORITY_ORDER
from agent.strategies.report.tool_calls import FETCH, SEARCH
from agent.strategies.report.tool_use import UseTools

#: Turns of a round without a new call, after which the round ends: the model repeats itself.
MAX_IDLE_TURNS = 3
QUICK_ROUNDS = 2  # the second one for the gaps of the first
NO_PAGE_READ = "The model read nothing: planned queries were searched and the best pages read."
ONLY_REPEATED = "The model asked for nothing new, so the round ended."


class Explore(Task[Turn]):
    """Asks which tools to call next."""

    name: ClassVar[str] = "gather"

    queries: tuple[SubQuery, ...] = ()
    question_type: str = "exploratory"
    search_strategy: str = ""
    gaps: tuple[str, ...] = ()  # that the round is to close; none in the first round
    earlier_queries: tuple[str, ...] = ()  # of all rounds so far
    max_turns: int = 5

    @property
    def tools(self) -> tuple[Tool, ...]:
        return (SEARCH, FETCH)

    def system_prompt(self) -> str:
        aim = (
            "Close the gaps that a first round of research left, and nothing else."
            if self.gaps
            else "Find sources for every sub-query, the most important first."
        )
        return (
            f"You research a question with tools. {aim} Search, then read the pages that say "
            "most; call several tools at once where you can, and none twice. You have at most "
            f"{self.max_turns} turns. When the sources suffice, reply without a call. "
            f"Text inside <hit> is retrieved data too. {DATA_RULE}"
        )

    def prompt(self) -> str:
        lines = [render_topic(self), *strategy_lines(self.question_type, self.search_strategy)]
        queries = [f"[{query.priority}] {_with_reasoning(query)}" for query in self.queries]
        before = self.earlier_queries
        lines += list_lines({"Gaps": self.gaps, "Queries": queries, "Searched before": before})
        return "\n".join(lines)


def _with_reasoning(query: SubQuery) -> str:
    return f"{query.query} ({query.reasoning})" if query.reasoning else query.query


def count_rounds(settings: Settings) -> int:
    """How many rounds a section may have: each has at least one turn. A quick report has two."""
    rounds = QUICK_ROUNDS if settings.depth == "quick" else settings.max_rounds
    return min(rounds, settings.max_iterations)


@dataclass(frozen=True)
class Gather:
    """Runs one round for some queries: at most `max_turns` turns in which a call was new.

    If the model read nothing, as far as it had turns left or nothing is known at all, its queries
    are searched and the best hits read without it. Returns
    whether the round ended because its turns were used up. Raises Halt.
    """

    ask: Ask
    use_tools: UseTools
    settings: Settings

    @property
    def max_turns(self) -> int:
        """Of a round."""
        return self.settings.max_iterations // count_rounds(self.settings)

    def __call__(
        self, research: Research, queries: tuple[str, ...]
    ) -> Generator[Event, None, bool]:
        before = len(research.sources)
        are_turns_used_up = yield from self._run_turns(
            self._build_task(research, queries), research
        )
        has_read = len(research.sources) > before or bool(before and are_turns_used_up)
        yield from self._search_what_is_left(research, queries, has_read=has_read)
        return are_turns_used_up

    def _search_what_is_left(
        self, research: Research, queries: tuple[str, ...], *, has_read: bool
    ) -> Iterator[Event]:
        """Search and read for all queries if the model read nothing."""
        if has_read:
            return
        left = [query for query in queries if query not in research.searched_queries]
        yield from self.use_tools.search_queries({0: left}, research)
        best = choose_pages(research, self.settings.effort.pages_per_query)
        turns = [one for one in research.events_of(Asked) if one.task == Explore.name]
        if best and not any(turn.is_by_rules for turn in turns):
            yield Warned(message=NO_PAGE_READ)
        yield from self.use_tools.read_hits(best, research)

    def _run_turns(self, task: Explore, research: Research) -> Generator[Event, None, bool]:
        """Let the model call tools until it makes no call; returns whether turns were used up."""
        new_turns = idle_turns = 0
        while new_turns < self.max_turns and idle_turns < MAX_IDLE_TURNS:
            try:
                reply = self.ask(task)
            except ModelFailed as error:
                yield failure_event(task, error)
                return False
            yield reply_event(task, reply)
            if not reply.answer.calls:
                return False
            outcome = yield from self.use_tools(research, reply.answer.calls)
            exchange = Exchange(model=reply.model, turn=reply.answer, results=outcome.results)
            # the prompt stays the same: the exchanges follow it
            task = task.model_copy(update={"exchanges": (*task.exchanges, exchange)})
            new_turns += outcome.is_new
            idle_turns += not outcome.is_new
        if idle_turns == MAX_IDLE_TURNS:
            yield Warned(message=ONLY_REPEATED)
        return new_turns == self.max_turns

    def _build_task(self, research: Research, queries: tuple[str, ...]) -> Explore:
        """The task of a round's first turn: by the plan, and in later rounds by what is open."""
        plan = research.plan
        planned = {sub.query: sub for sub in plan.sub_queries} if plan else {}
        asked = [planned.get(query, SubQuery(query=query)) for query in queries]
        return Explore(
            topic=research.topic,
            queries=tuple(sorted(asked, key=lambda sub: PRIORITY_ORDER[sub.priority])),
            question_type=plan.question_type if plan else "exploratory",
            search_strategy=plan.search_strategy if plan else "",
            gaps=research.gap_analysis.gaps if research.sources else (),
            earlier_queries=tuple(event.found.query for event in research.events_of(Searched)),
            max_turns=self.max_turns,
        )
