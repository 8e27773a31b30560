"""Progress on a terminal: one line that says what the run does now and what it has taken so far."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from agent import state
from agent.answer.messages import describe_usage
from agent.state.sanitizing import sanitize_for_display

if TYPE_CHECKING:
    from agent.run.loop import Run

REFRESHES = 4  # a second


def with_progress_line(run: Run) -> Iterator[state.Event]:
    """The events of a run; the terminal under standard error shows the line meanwhile."""
    console = Console(stderr=True)
    line = ProgressLine(run)
    with Live(line, console=console, transient=True, refresh_per_second=REFRESHES):
        for event in run:
            line.phase = describe_phase(event) or line.phase
            yield event


class ProgressLine:
    """The line as it is now; rich asks for it anew a few times a second, from its own thread."""

    def __init__(self, run: Run) -> None:
        self.phase = "Starting"
        self._run = run
        self._start_time = time.monotonic()
        self._spinner = Spinner("dots")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        taken = f"{time.monotonic() - self._start_time:.0f} s"
        facts = " · ".join(["", *describe_usage(self._run.call_usage()), taken])
        phase = Text(self.phase)
        phase.truncate(max(10, options.max_width - len(facts) - 3), overflow="ellipsis")
        self._spinner.update(text=phase + Text(facts))
        yield self._spinner


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
