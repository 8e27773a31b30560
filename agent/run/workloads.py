"""The calls that a run makes by its strategy: at least, as is likely, and at most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import NamedTuple

from agent.errors import UsageError
from agent.settings import Settings
from agent.state import CitedReport, PlannedSection, RunRequest, Slot, SubQuery
from agent.steps.generate_queries import MAX_QUERIES, MAX_SLOTS
from agent.steps.page_choice import most_pages
from agent.steps.reflect import MAX_NEW_QUERIES
from agent.strategies.check.read_cited import MOST_SEARCHED, PAGES_EACH
from agent.strategies.loop.decide import MAX_STEP_QUERIES
from agent.strategies.report.gather import MAX_IDLE_TURNS, count_rounds
from agent.strategies.report.tool_results import PAGE_TOKENS
from agent.strategies.report.tool_use import MAX_CALLS_PER_TURN

CALLS_PER_TURN = 3  # tool calls, about
SHORT_SENTENCE = 10  # words of a claim, about
#: What is likely, as seen in `evals.reports` and `evals.reading`: tokens of a prompt around its
#: evidence, of what a prompt shows of a page, of a sentence or a fact in a prompt, of a reply.
SHOWN_OF_PAGE, FACT = 110, 80
ASKED, SEARCHED = 4, 2  # questions and searches of a section, before it is planned
AGAIN = 1.25  # readings of a section
TURN_TOKENS = 1500  # of the tool results before a turn


class Workload(NamedTuple):
    """The calls that a strategy makes. Rounds follow one another, and so do model calls."""

    asks: int
    rounds: int
    searches: int
    pages: int
    evidence_tokens: int  # in a prompt
    chain: int | None = None  # of its asks those that follow one another; None: all do

    @property
    def calls(self) -> int:
        """External calls of all kinds."""
        return self.asks + self.searches + self.pages


class Workloads(NamedTuple):
    """The minimum, what is likely, and the maximum of a strategy."""

    least: Workload
    likely: Workload
    most: Workload


def _slots_workloads(settings: Settings, _: Sequence[Slot]) -> Workloads:
    rounds, tokens = settings.max_rounds, settings.effort.evidence_tokens
    searches = MAX_QUERIES + MAX_NEW_QUERIES * (rounds - 1)
    fewest, most_checks = _count_verify_asks(settings)
    asks = rounds + 2 + most_checks
    limit = settings.effort.pages_per_query
    pages = most_pages(1, MAX_QUERIES, limit)
    pages += (rounds - 1) * most_pages(2, MAX_NEW_QUERIES, limit)
    shown = min(tokens, SHOWN_OF_PAGE * limit * 4)
    likely = Workload(2 + fewest, 1, 4, 4 * limit, shown)
    most = Workload(asks, rounds, searches, pages, tokens)
    return Workloads(Workload(2 + fewest, 1, 1, 1, tokens), likely, most)


def _loop_workloads(settings: Settings, slots: Sequence[Slot]) -> Workloads:
    steps, tokens = settings.max_steps, settings.effort.evidence_tokens
    double_checks = int(settings.effort.double_check)
    asks = steps + 1 + double_checks + bool(slots)
    fewest, most_checks = _count_verify_asks(settings)
    asks += most_checks
    most = Workload(
        asks, steps, steps * MAX_STEP_QUERIES, steps * settings.effort.pages_per_step, tokens
    )
    taken, pages = min(steps, 3), 2 * settings.effort.pages_per_step
    shown = min(tokens, SHOWN_OF_PAGE * pages)
    likely = Workload(taken + double_checks + fewest, taken, 2 * taken, pages, shown)
    return Workloads(Workload(2 + double_checks + fewest, 1, 1, 1, tokens), likely, most)


def _report_workloads(settings: Settings, slots: Sequence[Slot]) -> Workloads:
    """By its plan; before there is one it may have one section, or as many as may be planned."""
    sections = settings.plan.sections if settings.plan else ()
    uses_tools = settings.depth == "quick" or not any(one.questions for one in sections)
    if sections and not uses_tools:
        return _sections_workloads(sections, settings)
    least, most = _tools_workloads(settings, slots)
    if sections:
        return Workloads(least, _likely_with_tools(sections, settings), most)
    if settings.depth == "quick":
        guess = PlannedSection(heading="?")
        parts = (guess,) * ceil(settings.most_sections * 2 / 3)
        return Workloads(least, _likely_with_tools(parts, settings), most)
    asked = tuple(f"{n}?" for n in range(ASKED))
    searches = tuple(SubQuery(query=f"{n}") for n in range(SEARCHED))
    guess = PlannedSection(heading="?", questions=asked, searches=searches)
    planned = _sections_workloads((guess,) * ceil(settings.most_sections * 2 / 3), settings)
    likely = planned.likely._replace(asks=planned.likely.asks + 1)
    largest = max(most, planned.most, key=lambda load: load.asks * load.evidence_tokens)
    return Workloads(least, likely, largest)


def _tools_workloads(settings: Settings, slots: Sequence[Slot]) -> tuple[Workload, Workload]:
    """One section for which a model searches with tools: found in one round, or all its turns.

    Results of tools add up within a round, so in the maximum a prompt shows half of them.
    """
    turns, rounds = settings.max_iterations, count_rounds(settings)
    tool_tokens = turns // rounds * CALLS_PER_TURN * PAGE_TOKENS  # at the end of a round
    tokens = settings.effort.evidence_tokens + tool_tokens // 2
    fewest, most_checks = _count_verify_asks(settings)
    asks = turns + rounds * MAX_IDLE_TURNS + rounds + 3 + bool(slots) + 2 * most_checks
    least = Workload(4 + fewest, 1, 1, 1, tokens)
    return least, Workload(asks, turns, turns * MAX_CALLS_PER_TURN, 0, tokens)


def _likely_with_tools(sections: Sequence[PlannedSection], settings: Settings) -> Workload:
    """One round of some turns, then as for any section. A turn's prompt has the results so far."""
    searches = sum(max(1, len(one.searches)) for one in sections)
    turns, rest = min(4, settings.max_iterations), 2 * len(sections) + 3
    shown = turns * TURN_TOKENS + rest * SHOWN_OF_PAGE * 8
    return Workload(turns + rest, 1, searches, searches, shown // (turns + rest))


def _sections_workloads(sections: Sequence[PlannedSection], settings: Settings) -> Workloads:
    """Sections are read for, and written, side by side; at best in one round each."""
    count, waiting = len(sections), sum(bool(one.after) for one in sections)
    rounds, tokens = settings.max_rounds, settings.effort.evidence_tokens
    searches = sum(max(1, len(one.searches)) for one in sections)
    pages = min(settings.effort.max_sources, searches)
    checks = [_count_verify_asks(settings)[0], 0]
    if checks[0]:
        checks[1] = ceil(settings.report_words / SHORT_SENTENCE / settings.claims_per_call) + 2
    deep = min(waiting, 1) + 1  # sections that follow one another
    least = Workload(
        2 * count + waiting + 2 * checks[0], 1, searches, pages, tokens, 3 * deep + checks[0]
    )
    most = Workload(
        (rounds + 1) * count + waiting + 2 + checks[1],
        rounds * deep,
        searches + MAX_NEW_QUERIES * count * (rounds - 1),
        settings.effort.max_sources,
        tokens,
        (rounds + 1) * deep + 3 + min(checks[1], 4),
    )
    return Workloads(least, _likely_sections(sections, settings, searches, deep), most)


def _likely_sections(
    sections: Sequence[PlannedSection], settings: Settings, searches: int, deep: int
) -> Workload:
    """Each section is read once, some of them twice, and written from what answers its questions.

    Half of the sentences need a judge, and those of the summary.
    """
    count, facts = len(sections), sum(len(one.slots) for one in sections)
    again = AGAIN if settings.max_rounds > 1 else 1.0
    pages = min(settings.effort.max_sources, searches * 3 // 2)
    shown = min(settings.effort.evidence_tokens, SHOWN_OF_PAGE * pages // count)
    judged = (facts + 5) * bool(_count_verify_asks(settings)[0])
    checks = ceil(judged / settings.claims_per_call)
    reads = ceil(again * count)
    asks = reads + count + 1 + checks
    evidence = reads * shown + facts * FACT + (facts + judged) * FACT // 2
    rounds = deep + (again > 1)
    return Workload(
        asks,
        rounds,
        ceil(again * searches),
        pages,
        evidence // asks,
        rounds + deep + 2 + (checks > 0),
    )


def _count_verify_asks(settings: Settings) -> tuple[int, int]:
    """The model calls of Verify: one to judge, and at most all of those, a mending, one anew."""
    if settings.verify == "rules":
        return 0, 0
    claims = settings.max_words // SHORT_SENTENCE + MAX_SLOTS
    return 1, ceil(claims / settings.claims_per_call) + 2


def _check_workloads(settings: Settings, report: CitedReport, *, search_uncited: bool) -> Workloads:
    """Each cited page is read; the rules decide all sentences, or the model judges all."""
    cited = sum(bool(one.sources) for one in report.sentences)
    pages = sum(bool(one.url) for one in report.sources)
    searches = min(len(report.sentences) - cited, MOST_SEARCHED) if search_uncited else 0
    asks = ceil((cited + searches) / settings.claims_per_call) if settings.verify == "model" else 0
    tokens = settings.effort.report_tokens
    most = Workload(asks, 1, searches, pages + searches * PAGES_EACH, tokens)
    likely = Workload(ceil(asks / 2), 1, searches, pages, tokens // 2)
    return Workloads(Workload(0, 1, searches, pages, tokens), likely, most)


WORKLOADS: dict[str, Callable[[Settings, Sequence[Slot]], Workloads]] = {
    "slots": _slots_workloads,
    "report": _report_workloads,
    "loop": _loop_workloads,
}


def find_workloads(
    strategy: str, settings: Settings, request: RunRequest, slots: Sequence[Slot]
) -> Workloads:
    """The calls that a run makes. Raises UsageError for a strategy of another package."""
    if request.report:
        return _check_workloads(settings, request.report, search_uncited=request.search_uncited)
    if strategy not in WORKLOADS:
        remedy = "Leave --estimate out, or name another --strategy."
        raise UsageError(f"There is no estimate for the strategy {strategy}.", remedy)
    return WORKLOADS[strategy](settings, slots)


def add_parent(loads: Workloads, settings: Settings, strategy: str) -> Workloads:
    """The workloads of a run that follows another, whose pages cost nothing.

    At best they answer, and nothing is searched. At worst they are read in vain before all else;
    what understands the question plans as well, but for a report.
    """
    more = int(strategy == "report")
    least = loads.least._replace(asks=loads.least.asks + more, rounds=0, searches=0, pages=0)
    likely = loads.likely._replace(asks=loads.likely.asks + more)
    return Workloads(least, likely, loads.most._replace(asks=loads.most.asks + 1 + more))
