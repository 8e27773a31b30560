"""Progress on a terminal: what the run does and waits for, what it took, and what it has found."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from agent.answer.addresses import CorpusAddresses
from agent.answer.messages import describe_usage
from agent.run.early_passages import SHORT_WAIT, describe_wait, find_passages
from agent.state import Event, sanitize_for_display

if TYPE_CHECKING:
    from agent.run.loop import Run

REFRESHES = 4  # a second
MAX_TITLES, MAX_FOUND = 4, 2


def with_progress_line(run: Run) -> Iterator[Event]:
    """The events of a run; the terminal under standard error shows its progress meanwhile."""
    console = Console(stderr=True)
    line = ProgressLine(run)
    with Live(line, console=console, transient=True, refresh_per_second=REFRESHES):
        yield from run


class ProgressLine:
    """The progress as it is now; rich asks for it a few times a second, from its own thread."""

    def __init__(self, run: Run) -> None:
        self._run, self._waits = run, "Starting"
        self._start_time = time.monotonic()
        self._spinner = Spinner("dots")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        seconds = time.monotonic() - self._start_time
        facts = " · ".join(["", *describe_usage(self._run.call_usage()), f"{seconds:.0f} s"])
        calls, pages = self._run.waited_for(), len(self._run.research.sources)
        self._waits = describe_wait(calls, pages, least=0) or self._waits
        phase = Text(self._waits)
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
