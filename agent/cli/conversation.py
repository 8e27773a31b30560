"""A conversation: runs that follow one another, and what is shown of their answers."""

from __future__ import annotations

import signal
import sys
from collections import deque
from contextlib import redirect_stdout
from typing import Any

import click

from agent.answer.build import build_error_answer
from agent.answer.json_format import to_json
from agent.answer.messages import format_usd, group_by_source
from agent.answer.schema import Answer, Citation
from agent.calls import spawn
from agent.cli import shell
from agent.errors import AgentError, Stopped
from agent.run.begin import research
from agent.run.progress import with_progress_line
from agent.settings import load_options
from agent.state import sanitize_for_display

HELP = ":new starts a new topic, :sources shows the last answer's quotes, exit ends."
STOPPING = "Stopping with the best answer so far. Press Ctrl-C again to cancel."


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
            click.echo("The next question is a new topic.", err=True)
        elif line.startswith(":"):
            click.echo(HELP, err=True)
        else:
            self._answer(line)

    def _answer(self, question: str) -> None:
        answer = self._ask(question)
        self._keep(answer)
        self._show(answer)

    def _show(self, answer: Answer) -> None:
        if self._as_json:
            shell.print_text(to_json(answer, compact=True))
            return
        if not answer.error:
            shell.print_text(_format_answer(answer))
        click.echo(_describe_end(answer), err=True)

    def _ask(self, question: str) -> Answer:
        """Research a question; the answer says why there is none."""
        try:
            with redirect_stdout(sys.stderr):  # libraries may print; the output is for answers
                settings = load_options(self._options)
                run = spawn(lambda: research(question, settings, follow=self._parent)).result()
                with shell.interruptible(STOPPING, run.stop, signal.default_int_handler):
                    deque(with_progress_line(run) if sys.stderr.isatty() else run, maxlen=0)
                return run.answer()
        except KeyboardInterrupt:
            return build_error_answer(
                question, Stopped("The question was cancelled.", "Ask again.")
            )
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
