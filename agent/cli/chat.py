"""A chat: question after question, each following the last, at the terminal or as lines."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING, Any

import click

from agent.cli import shell

if TYPE_CHECKING:
    from agent.cli.conversation import Conversation

ENDS = ("exit", "quit")
EPILOG = """\b
While it runs:
  :new      start a new topic
  :sources  the quotes of the last answer, with their links
  exit      end, as do quit and Ctrl-D; Ctrl-C stops an answer, not the chat

\b
Examples:
  research-agent chat --follow monday      # follow up on an earlier run

\b
Exit status: 0; 1 could not run, or a question from a pipe ended in an error;
2 wrong usage.
"""


@shell.command(EPILOG)
@shell.options("strategy depth llm search mcp corpus offline no-cache trust-env lang")
@click.option("--follow", metavar="RUN", help="The first question follows this run.")
@shell.cap_options("each answer")
@click.option("--json", "as_json", is_flag=True, help="Each answer as a JSON object on one line.")
def command(as_json: bool, **options: Any) -> int:
    """Ask question after question; each is understood after the last one.

    What earlier answers read is searched first, free and offline. Only what stays open is
    searched on the web.
    """
    shell.require_stdin()
    shell.require_stdout()
    _require_settings(options)
    from agent.cli.conversation import Conversation

    signal.signal(signal.SIGTERM, lambda *_: shell.exit_now(shell.INTERRUPTED))
    conversation = Conversation(options, as_json)
    if sys.stdin.isatty():
        _talk(conversation)
        return 0
    for raw in shell.require_stdin():
        line = raw.decode("utf-8", "replace").strip()
        if line in ENDS:
            break
        if line:
            conversation.reply(line)
    return int(conversation.has_failed)


def _require_settings(options: dict[str, Any]) -> None:
    """Raise what no question could be asked with: UsageError, NotConfigured, JournalError."""
    from agent.run.follow import describe_followed
    from agent.run.models import make_models
    from agent.settings import load_options, make_request

    settings = load_options(options)
    make_models(settings)
    describe_followed(settings, make_request(options))


def _talk(conversation: Conversation) -> None:
    """Reply to what is typed until it ends; an interrupt ends nothing, whenever it comes."""
    import readline  # noqa: F401 - gives `input` its editing and its history

    while True:
        try:
            line = _prompt().strip()
            if line in ENDS:
                return
            if line:
                conversation.reply(line)
        except KeyboardInterrupt:
            click.echo("\nexit or Ctrl-D ends the chat.", err=True)
        except EOFError:
            click.echo(err=True)
            return


def _prompt() -> str:
    """A line that the user types; the prompt is never in output that goes elsewhere."""
    if sys.stdout.isatty():
        return input("> ")
    click.echo("> ", nl=False, err=True)
    return input()
