"""A conversation: runs that follow one another, and what is shown of their answers."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import wait
from contextlib import contextmanager, redirect_stdout
from typing import Any

import click

from agent import shell
from agent.answer import Answer, Citation, build_error_answer, to_json
from agent.answer.phrases import format_usd, group_by_source
from agent.errors import AgentError, Stopped
from agent.outside import spawn
from agent.run import Run, research
from agent.run.progress import with_progress_line
from agent.settings import load_options
from agent.state.sanitizing import sanitize_for_display

HELP = (
    ":new begins anew, :sources shows the quotes of the last answer, :say TEXT, :without URL and "
    ":add URL answer it again, :quit ends."
)
EDITS = ("say", "without", "add")  # commands, by the setting that each adds to
LISTENING = 0.1  # seconds for which a line is waited for before looking whether the run goes on
STOPPING = "Stopping with the best answer so far; once more to leave it."


class Conversation:
    """Replies to lines: questions and commands. Each run follows the last one that had no error."""

    def __init__(self, options: dict[str, Any], as_json: bool) -> None:
        """`options`: of the command, for every run; `follow` among them is of the first run."""
        self._options = options
        self._as_json = as_json
        self._parent: str | None = options["follow"]
        self._last: Answer | None = None
        self.has_failed = False  # a question ended in an error

    def reply(self, line: str) -> None:
        """Write what a line asks for. Messages go to standard error."""
        if line == ":sources":
            self._show_sources()
        elif line == ":new":
            self._parent = self._last = None
            click.echo("The next question follows none.", err=True)
        elif line.startswith(":"):
            self._edit(*line[1:].partition(" ")[::2])
        else:
            self._answer(line, follow=self._parent)

    def _edit(self, name: str, text: str) -> None:
        """Answer the last question again with a change."""
        if name not in EDITS or not text.strip():
            click.echo(HELP, err=True)
        elif self._last is None or self._last.run is None or self._last.run.journal is None:
            click.echo("There is no answer yet.", err=True)
        else:
            self._answer(self._last.topic, edit=self._last.run.journal, **{name: (text.strip(),)})

    def _answer(self, question: str, **changes: Any) -> None:
        answer = self._ask(question, changes)
        self._keep(answer)
        self._show(answer)

    def _show(self, answer: Answer) -> None:
        if self._as_json:
            shell.print_text(to_json(answer, compact=True))
            return
        if not answer.error:
            shell.print_text(_format_answer(answer))
        click.echo(_describe_end(answer), err=True)

    def _ask(self, question: str, changes: dict[str, Any]) -> Answer:
        """Research a question; the answer says why there is none."""
        try:
            with redirect_stdout(sys.stderr):  # libraries may print; the output is for answers
                settings = load_options({**self._options, "follow": None, **changes})
                run = spawn(lambda: research(question, settings)).result()
                stops = shell.interruptible(STOPPING, run.stop, signal.default_int_handler)
                with stops, _listening(run):
                    deque(with_progress_line(run) if sys.stderr.isatty() else run, maxlen=0)
                return run.answer()
        except KeyboardInterrupt:
            return build_error_answer(question, Stopped("The question was left.", "Ask again."))
        except AgentError as error:
            return build_error_answer(question, error)

    def _keep(self, answer: Answer) -> None:
        """Let the next question follow this answer, unless it is an error."""
        self.has_failed = self.has_failed or bool(answer.error)
        if not answer.error:
            self._last = answer
            self._parent = (answer.run and answer.run.journal) or self._parent

    def _show_sources(self) -> None:
        if self._last is None or not self._last.citations:
            click.echo("There is no answer with sources yet.", err=True)
        else:
            shell.print_text("".join(map(_format_citation, self._last.citations)))


@contextmanager
def _listening(run: Run) -> Iterator[None]:
    """On a terminal each line that is typed meanwhile is an instruction to the run."""
    ended = threading.Event()
    if not sys.stdin.isatty() or not hasattr(select, "poll"):  # Windows cannot wait for lines
        yield
        return
    listener = spawn(lambda: _listen(run, ended))
    try:
        yield
    finally:
        ended.set()
        wait([listener])


def _listen(run: Run, ended: threading.Event) -> None:
    while not ended.is_set():
        if not select.select([sys.stdin], [], [], LISTENING)[0]:
            continue
        for line in os.read(sys.stdin.fileno(), 10_000).decode("utf-8", "replace").splitlines():
            try:
                run.say(line.removeprefix(":say "))
                shell.tell(f"It is told: {sanitize_for_display(line)}")
            except AgentError as error:
                shell.tell(error.message)


def _format_answer(answer: Answer) -> str:
    """The answer, or the report, and its sources by number, a line each."""
    sources = (
        f"[{n}] {quotes[0].title} <{quotes[0].url}>"
        for n, quotes in group_by_source(answer.citations).items()
    )
    text = answer.report.markdown if answer.report else answer.answer
    lines = [*text.splitlines(), "", *sources]
    return "\n".join(map(sanitize_for_display, lines)).rstrip() + "\n\n"


def _format_citation(citation: Citation) -> str:
    """A quote with the link that opens its page there."""
    lines = (f"[{citation.id}] {citation.title}", f"    {citation.quote}", f"    {citation.link}")
    return "\n".join(map(sanitize_for_display, lines)) + "\n"


def _describe_end(answer: Answer) -> str:
    """How a question ended: its error, or what the answer is worth and what it cost."""
    if answer.error:
        return f"Error: {answer.error.message}\n{answer.error.remedy}"
    usage = answer.usage
    usd = f", {format_usd(usage.usd)}" if usage.usd else ""
    cost = f"{usage.searches} searches, {usage.pages} pages{usd}, {usage.seconds:.1f} s"
    return f"({answer.status}; {cost}; run {answer.run.id if answer.run else ''})"
