"""Research a question: the options, and how a run begins, fails and ends."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from contextlib import redirect_stdout
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import click

from agent.cli import inputs, output, planning, shell
from agent.cli.commands import SUMMARIES
from agent.errors import AgentError, OutputFailed, Stopped
from agent.version import __version__

if TYPE_CHECKING:  # nothing heavy is imported before it is needed: `--help` is instant
    from agent.run.loop import Run


ALL = "agent.cli.help_all"  # in the context: every option is shown
EXAMPLES = """Examples:
  research-agent --offline "Who won the 2022 FIFA World Cup?"
  research-agent "Who founded LEGO?" --corpus ~/notes --out answer.html
  research-agent "Tell me about LEGO" --slots founded,founders | jq .slots
"""
EPILOG = f"\b\n{EXAMPLES}"
LONG_EPILOG = f"""\b
{EXAMPLES}\
  research-agent --topic "..." --slots-schema company.json | jq .data
  echo "..." | research-agent - --corpus ~/notes --compact
  research-agent --follow last "and who scored?"

\b
Exit status: 0 an answer; 1 could not run; 2 wrong usage; 3 the sources do
not say; 4 with --strict, an answer with a weakness; 130 interrupted twice,
or before there was anything to answer from.
"""
#: The options that `--help` shows; `--help-all` shows every one.
COMMON = (
    "offline corpus search llm strategy depth slots max_usd follow format out verbose help_all"
).split()


class AskCommand(shell.Command):
    """The command that takes a question; its help lists the other commands too."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, then the common options, or all of them."""
        with formatter.section("Commands"):
            formatter.write_dl([*SUMMARIES.items()])
        shown = [p for p in self.params if ctx.meta.get(ALL) or p.name in COMMON]
        with formatter.section("Options"):
            formatter.write_dl([row for p in shown if (row := p.get_help_record(ctx))], col_max=22)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples; below all options also the exit statuses."""
        self.epilog = LONG_EPILOG if ctx.meta.get(ALL) else EPILOG
        super().format_epilog(ctx, formatter)

    def report(self, error: AgentError, arguments: Sequence[str], obj: Any) -> int:
        """Print wrong usage in the format that the arguments ask for; to people else in lines."""
        form = _requested_format(arguments)
        own = {"format": form or "json", "for_people": bool(obj) and not form}
        return output.print_failure(
            "", error, {"out": None, "compact": False, "strict": False} | own
        )


def _print_all_help(ctx: click.Context, _: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        ctx.meta[ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


def _complete_word(_: click.Context, __: click.Parameter, begun: str) -> list[str]:
    """The commands whose names begin so, for completion in a shell."""
    return [word for word in SUMMARIES if word.startswith(begun)]


@shell.command(EPILOG, cls=AskCommand)
@click.argument("words", metavar="[QUESTION]", nargs=-1, shell_complete=_complete_word)
@click.option("--topic", help="The question, if no argument gives it; - reads stdin.")
@shell.options("strategy depth slots")
@click.option("--slots-schema", metavar="FILE", help="JSON Schema (or its file) for typed slots.")
@shell.options("llm search mcp corpus offline")
@click.option("--max-rounds", type=int, help="Rounds of slots and report, 1 to 10.  [default: 2]")
@click.option("--max-steps", type=int, help="Steps of loop, 1 to 20.  [default: 5]")
@click.option("--max-words", type=int, help="Longest answer, in words.  [default: 80]")
@shell.options("browser archive verify")
@click.option(
    "--on-unsupported",
    type=click.Choice(["drop", "flag"]),
    help="Drop an unsupported sentence, or flag it.  [default: drop]",
)
@click.option(
    "--credibility",
    type=click.Choice(["host", "source-design"]),
    help="How reports rate pages: by host or by formula.  [default: host]",
)
@shell.cap_options("the whole run")
@click.option("--follow", metavar="RUN", help="Follow up on a run: what it read is used first.")
@click.option("--for", "reader", metavar="TEXT", help="Who to write for: children, engineers ...")
@click.option("--citations", "max_citations", type=int, help="Maximum citations per sentence.")
@click.option(
    "--plan",
    is_flag=False,
    flag_value="",
    metavar="[FILE]",
    help="Print a report's plan and stop; with FILE, run that plan.",
)
@shell.options("estimate resume retry-failed")
@click.option("--replay", metavar="RUN", help="Repeat a run from its journal, offline.")
@click.option("--since", type=click.DateTime(["%Y-%m-%d"]), help="Only pages from this date on.")
@click.option(
    "--allow-domain", callback=shell.split_commas, help="Only these sites, comma-separated."
)
@click.option(
    "--block-domain", callback=shell.split_commas, help="Not these sites, comma-separated."
)
@shell.options("no-cache trust-env lang out verbose schema")
@click.option(
    "--format",
    type=click.Choice(list(shell.FORMATS)),
    metavar="FORMAT",
    help="json, text, markdown, html ...  [default: text on a terminal]",
)
@click.option("--compact", is_flag=True, help="JSON on one line.")
@click.option("--strict", is_flag=True, help="Exit 4 if partial, degraded or unsupported.")
@click.option("--events", is_flag=True, help="Events as JSON lines on stderr.")
@click.version_option(__version__, prog_name="research-agent")
@click.option(
    "--help-all",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_all_help,
    help="Show every option.",
)
@click.pass_obj
def command(for_people: bool | None, /, words: tuple[str, ...], **options: Any) -> int:
    """Research a question and answer as one JSON object with citations that anyone can verify."""
    given, is_terminal = options["format"], bool(for_people) and sys.stdout.isatty()
    own = {
        "question": " ".join(words) if words else None,
        "format": given or ("text" if is_terminal else "json"),
        "out_format": _file_format(options),
        "for_people": bool(for_people) and not given,
    }
    return research_question({**options, **own})


def _file_format(options: dict[str, Any]) -> str:
    """The format of the file of `--out`: the one that is asked for, else that of its name."""
    if options["format"] or options["out"] is None:
        return str(options["format"] or "json")
    return shell.format_of_file(options["out"])


def research_question(options: dict[str, Any]) -> int:
    """Do what the options ask for; returns the exit status.

    With `for_people` among them, standard output has nothing where the usage is wrong.
    """
    if options["schema"]:
        from agent.answer.schema import answer_schema

        shell.print_json(answer_schema())
        return 0
    topic = ""
    try:
        options = inputs.read_plan_option(options)
        topic = inputs.read_topic(options)
        shell.require_writable(options["out"])
        if options["out"] is None:
            shell.require_stdout()
        if options["estimate"]:
            return _print_estimate(topic, options)
        if options["plan"] == "":
            return planning.print_plan(topic, options)
        options = output.require_formats(options)
        with redirect_stdout(sys.stderr):  # libraries may print; standard output is the answer's
            run = _begin_run(topic, options)
            with shell.interruptible("Stopping. Press Ctrl-C again to quit at once.", run.stop):
                output.follow(run, options)
    except (click.Abort, KeyboardInterrupt):  # at a question, or while an index is built
        stopped = Stopped("The run was stopped before it started.")
        return output.print_failure(topic, stopped, options)
    except OutputFailed:
        raise  # there is nowhere to print an answer object
    except AgentError as error:
        return output.print_failure(topic, error, options)
    except Exception as error:  # a bug gets an answer object too
        bug = _internal_error(error, options["verbose"])
        return output.print_failure(topic, bug, options)
    return output.print_answer(run.answer(), options)


def _begin_run(topic: str, options: dict[str, Any]) -> Run:
    """A run. It is made on a thread, so that Ctrl-C ends the wait whatever the thread does."""
    from agent.calls.threads import spawn
    from agent.run.begin import research
    from agent.settings import make_request

    settings, request = inputs.read_settings(options), make_request(options)
    request = planning.clarify(topic, settings, request, options)
    return spawn(lambda: research(topic, settings, request)).result()


def _print_estimate(topic: str, options: dict[str, Any]) -> int:
    from agent.run.estimate import estimate
    from agent.run.validate_request import clean_topic
    from agent.settings import make_request

    settings, request = inputs.read_settings(options), make_request(options)
    figures = estimate(clean_topic(topic), settings, request)
    shell.print_text(figures.model_dump_json(indent=None if options["compact"] else 2) + "\n")
    return 0


def _internal_error(error: Exception, verbose: bool) -> AgentError:
    if verbose:
        traceback.print_exception(error)
    remedy = "This is a bug: please report it with the output of --verbose."
    return AgentError(f"Internal error: {type(error).__name__}", remedy)


def _requested_format(arguments: Sequence[str]) -> str:
    """The value of `--format` in a command line that click refused for another reason, or ""."""
    words = [part for argument in arguments for part in argument.split("=", 1)]
    formats = [
        word for flag, word in pairwise(words) if flag == "--format" and word in shell.FORMATS
    ]
    return formats[-1] if formats else ""
