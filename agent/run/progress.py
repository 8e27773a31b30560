"""Progress on a terminal: what the run does and waits for, what it took, and what it has found."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from agent import state
from agent.answer.addresses import CorpusAddresses
from agent.answer.messages import describe_usage
from agent.run.passages import find_passages
from agent.state.sanitizing import sanitize_for_display

if TYPE_CHECKING:
    from agent.run.loop import Run

REFRESHES = 4  # a second
SHORT_WAIT = 2.0  # seconds: a call is named from then on
MAX_TITLES, MAX_FOUND = 4, 2
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


def describe_wait(calls: Sequence[tuple[str, float]], pages: int) -> str:
    """What a run waits for, in words; `calls` as a journal has them; "" where nothing takes long.

    A model is named before a search, and that before pages.
    """
    kinds = {kind: rest for kind in ("read", "search", "ask") if (rest := _longest(calls, kind))}
    if not kinds:
        return ""
    kind, (subject, seconds) = [*kinds.items()][-1]
    if seconds < SHORT_WAIT:
        return ""
    if kind == "read":
        what = "Reading pages"
    elif kind == "search":
        what = f"Searching: {subject}"
    elif subject == "reflect" and pages:
        what = f"The model is reading {pages} page{'s' * (pages != 1)}"
    else:
        what = f"The model is {TASKS.get(subject, 'writing')}"
    return f"{sanitize_for_display(what)}, {seconds:.0f} s"


def _longest(calls: Sequence[tuple[str, float]], kind: str) -> tuple[str, float] | None:
    own = [(name.partition(" ")[2], seconds) for name, seconds in calls if name.startswith(kind)]
    return max(own, key=lambda row: row[1], default=None)


def with_progress_line(run: Run) -> Iterator[state.Event]:
    """The events of a run; the terminal under standard error shows its progress meanwhile."""
    console = Console(stderr=True)
    line = ProgressLine(run)
    with Live(line, console=console, transient=True, refresh_per_second=REFRESHES):
        for event in run:
            line.phase = describe_phase(event) or line.phase
            yield event


class ProgressLine:
    """The progress as it is now; rich asks for it a few times a second, from its own thread."""

    def __init__(self, run: Run) -> None:
        self.phase = "Starting"
        self._run = run
        self._start_time = time.monotonic()
        self._spinner = Spinner("dots")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        seconds = time.monotonic() - self._start_time
        facts = " · ".join(["", *describe_usage(self._run.call_usage()), f"{seconds:.0f} s"])
        phase = Text(self._run.waited_for() or self.phase)
        phase.truncate(max(10, options.max_width - len(facts) - 3), overflow="ellipsis")
        self._spinner.update(text=phase + Text(facts))
        yield self._spinner
        if seconds > SHORT_WAIT:
            yield from (_short(line, options) for line in describe_findings(self._run))


def _short(line: str, options: ConsoleOptions) -> Text:
    text = Text(line, style="dim", no_wrap=True)
    text.truncate(options.max_width - 1, overflow="ellipsis")
    return text


def describe_findings(run: Run) -> Iterator[str]:
    """Titles that were found, then sentences of pages that were read, until there is an answer."""
    research = run.look_ahead()
    if research.answer:
        return
    passages = [*find_passages(research, CorpusAddresses(run.corpus))][:MAX_FOUND]
    titles = dict.fromkeys(hit.title for hit in research.hits.values() if hit.title)
    yield from (f"  {sanitize_for_display(title)}" for title in [*titles][:MAX_TITLES])
    if passages:
        yield "  Found, not checked:"
    yield from (f"  “{sanitize_for_display(one.text)}”" for one in passages)


def describe_phase(event: state.Event) -> str:  # noqa: C901 - one case an event is clearer than a table
    """What a run does after an event, in words; "" where it goes on as before."""
    match event:
        case state.Started():
            return "Planning what to search"
        case state.Planned():
            return "Searching"
        case state.Queried():
            return f"Searching: {sanitize_for_display(event.queries[0])}" if event.queries else ""
        case state.Searched() | state.PageRead():
            return "Reading pages"
        case state.Decided(action="search_web"):
            return "Searching"
        case state.Doubted(gaps=gaps) if gaps:
            return "Searching again for what is missing"
        case state.Reflected(need_more=True):
            return "Searching again for what is missing"
        case state.Reflected() | state.Doubted() | state.Decided(action="return_answer"):
            return "Writing the answer"
        case state.Answered():
            return "Checking each sentence"
        case state.Halted():
            return "Answering from what was read so far"
    return ""
