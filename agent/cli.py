"""The command line: a question in, one JSON object out, or a document; the rest goes to stderr."""

from __future__ import annotations

import gc
import os
import signal
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agent import __version__
from agent.errors import AgentError, UsageError
from agent.shell import listed

if TYPE_CHECKING:  # nothing heavy is imported before it is needed: `--help` is instant
    from agent.answer import Answer
    from agent.run import Run
    from agent.settings import Settings
    from agent.state import Event

FORMATS = ("json", "markdown", "html")
EXAMPLES = """\b
Examples:
  research-agent --offline "Who won the 2022 FIFA World Cup?"
  research-agent --topic "..." --slots founded,founders | jq .slots
  research-agent --topic "..." --slots-schema company.json | jq .data
  echo "..." | research-agent - --corpus ~/notes --compact
  research-agent --topic "..." --format html > answer.html

\b
Exit status: 0 an answer; 1 could not run; 2 wrong usage; 3 the sources do
not say; 4 with --strict, an answer with a weakness; 130 interrupted twice.
"""


@click.command(epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("question", required=False)
@click.option("--topic", help="The question; or give it as the argument, or - for stdin.")
@click.option(
    "--strategy",
    type=click.Choice(["slots", "report", "loop", "auto"]),
    help="How to research; auto: by the kind of question.  [default: slots]",
)
@click.option(
    "--depth",
    type=click.Choice(["quick", "normal", "deep"]),
    help="Rounds, steps, pages, words and caps at once.  [default: normal]",
)
@click.option("--slots", callback=listed, help="Facts to find, with commas: winner,score.")
@click.option("--slots-schema", metavar="FILE", help="JSON Schema, or its file: typed slots, data.")
@click.option("--llm", callback=listed, help="Models in order: gemini, openai:MODEL, extractive.")
@click.option("--search", callback=listed, help="Search providers in order.")
@click.option("--corpus", type=click.Path(path_type=Path), help="Search this folder or .jsonl.")
@click.option("--offline", is_flag=True, help="No key, no model, no network: quote the corpus.")
@click.option("--max-rounds", type=int, help="Rounds of slots and report, 1 to 10.  [default: 2]")
@click.option("--max-steps", type=int, help="Decisions of loop, 1 to 20.  [default: 5]")
@click.option("--max-words", type=int, help="Length of the answer.  [default: 80]")
@click.option(
    "--verify",
    type=click.Choice(["unsure", "all", "rules"]),
    help="Claims a model judges: those rules leave open, all, none.  [default: unsure]",
)
@click.option(
    "--on-unsupported",
    type=click.Choice(["drop", "flag"]),
    help="What becomes of a sentence that nothing supports.  [default: drop]",
)
@click.option("--max-seconds", type=float, help="Time for the whole run.")
@click.option("--max-usd", type=float, help="Dollars for models.")
@click.option("--max-tokens", type=int, help="Tokens of models, in and out together.")
@click.option("--max-calls", type=int, help="Outside calls: models, searches and pages together.")
@click.option("--estimate", is_flag=True, help="The range of price, time and calls, as JSON.")
@click.option("--resume", metavar="RUN", help="Go on with a run, or begin one of this name.")
@click.option("--retry-failed", is_flag=True, help="With --resume: ask again what failed.")
@click.option("--replay", type=click.Path(path_type=Path), help="Repeat a journal, going nowhere.")
@click.option("--since", type=click.DateTime(["%Y-%m-%d"]), help="Only pages from this day on.")
@click.option("--allow-domain", callback=listed, help="Only pages of these sites, with commas.")
@click.option("--block-domain", callback=listed, help="No pages of these sites, with commas.")
@click.option("--no-cache", is_flag=True, help="Search and read anew what is in the cache.")
@click.option("--lang", help="Language of the answer.  [default: the question's own]")
@click.option("--format", type=click.Choice(FORMATS), default="json", help="How the answer looks.")
@click.option("--out", type=click.Path(path_type=Path), help="Write the answer to this file too.")
@click.option("--compact", is_flag=True, help="JSON on one line.")
@click.option("--strict", is_flag=True, help="Exit 4 for partial, degraded, unsupported.")
@click.option("--verbose", is_flag=True, help="[EVENT] detail lines on stderr.")
@click.option("--events", is_flag=True, help="Events as JSON lines on stderr.")
@click.option("--schema", is_flag=True, help="Print the answer's JSON Schema and exit.")
@click.version_option(__version__, prog_name="research-agent")
def command(**options: Any) -> int:
    """Research a question and answer as one JSON object with citations that anyone can verify."""
    if options["schema"]:
        return _print_schema()
    topic = ""
    try:
        topic = _topic(options)
        _writable(options["out"])
        if options["estimate"]:
            return _print_estimate(topic, options)
        with redirect_stdout(sys.stderr):  # whatever a library prints is not the answer
            run = _begin(topic, options)
            with _interruptible(run):
                _watch(run, options)
    except AgentError as error:
        return _refuse(topic, error, options)
    except Exception as error:  # a bug: told like any other error
        return _refuse(topic, _bug(error, options["verbose"]), options)
    return _finish(run.answer(), options)


def _bug(error: Exception, verbose: bool) -> AgentError:
    if verbose:
        traceback.print_exception(error)
    remedy = "This is a bug: please report it with what --verbose says."
    return AgentError(f"Internal error: {type(error).__name__}", remedy)


def _topic(options: dict[str, Any]) -> str:
    given = [text for text in (options["topic"], options["question"]) if text is not None]
    if not given and (options["resume"] or options["replay"]):
        return ""  # the journal knows it
    if len(given) != 1:
        fault = "Two questions were given." if given else "No question was given."
        raise UsageError(fault, "Give one: --topic '...', or as the argument, or - for stdin.")
    if given[0] != "-":
        return str(given[0])
    return sys.stdin.buffer.read(1_000_000).decode("utf-8", "replace")


def _writable(out: Path | None) -> None:
    """Learn before anything is spent that a file cannot be written."""
    if out and not (
        out.parent.is_dir() and os.access(out if out.exists() else out.parent, os.W_OK)
    ):
        raise UsageError(f"{out} cannot be written.", "Name a file in a directory of your own.")


def _begin(topic: str, options: dict[str, Any]) -> Run:
    from agent.run import research

    return research(topic, _settings(options))


def _print_estimate(topic: str, options: dict[str, Any]) -> int:
    from agent.run.estimate import estimate
    from agent.run.request import clean_topic

    return _print(estimate(clean_topic(topic), _settings(options)).model_dump_json(indent=2) + "\n")


def _settings(options: dict[str, Any]) -> Settings:
    from dotenv import load_dotenv

    from agent import settings

    try:
        load_dotenv(Path.cwd() / ".env")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f".env cannot be read: {error}", "Write it as UTF-8 text.") from None
    names = "strategy depth slots llm search corpus max_rounds max_steps max_words lang verify "
    names += "on_unsupported resume replay retry_failed max_seconds max_usd max_tokens max_calls"
    given = {name: options[name] for name in names.split()}
    given["slots_schema"] = _schema(options["slots_schema"])
    given["since"] = options["since"] and options["since"].date()
    given["allow_domains"] = options["allow_domain"]
    given["block_domains"] = options["block_domain"]
    given["cache"] = False if options["no_cache"] else None
    return settings.here(offline=options["offline"], **given)


def _schema(given: str | None) -> Any:
    """A schema of slots: the JSON itself, or the file that holds it."""
    import json

    if given is None:
        return None
    try:
        text = given if given.lstrip()[:1] == "{" else Path(given).read_text("utf-8")
        return json.loads(text)
    except OSError as error:
        fault = f"{given} cannot be read: {error.strerror}."
    except (ValueError, RecursionError) as error:
        fault = f"It is not JSON: {str(error)[:100]}."
    raise UsageError(f"--slots-schema: {fault}", "Name a file with a JSON Schema of an object.")


def _watch(run: Run, options: dict[str, Any]) -> None:
    """Go through the run, showing its events as was asked."""
    from agent.answer.events import event_json, event_line
    from agent.state import Halted
    from agent.state.plain import printable

    events: Iterable[Event] = run
    if sys.stderr.isatty() and not (options["verbose"] or options["events"]):
        events = _with_progress(run)
    for event in events:
        if isinstance(event, Halted) and not options["events"]:
            click.echo(f"Warning: {printable(event.reason)}", err=True)
        if options["verbose"]:
            click.echo(event_line(event), err=True)
        if options["events"]:
            click.echo(event_json(event), err=True)


def _with_progress(run: Run) -> Iterator[Event]:
    from rich.console import Console
    from rich.markup import escape

    from agent.answer.events import event_line

    console = Console(stderr=True)
    with console.status("Starting") as status:
        for event in run:
            status.update(escape(event_line(event)[: max(20, console.width - 4)]))
            yield event


@contextmanager
def _interruptible(run: Run) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM asks for the best answer so far, the second ends the process."""

    def interrupt(*_: object) -> None:
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, lambda *_: os._exit(130))
        click.echo("Stopping; once more to end at once.", err=True)
        run.stop()

    before = {name: signal.signal(name, interrupt) for name in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)


def _finish(answer: Answer, options: dict[str, Any]) -> int:
    """Print the answer, and say by the exit status what it is worth."""
    text = _text(answer, options)
    out: Path | None = options["out"]
    if out:
        try:
            out.write_text(text, encoding="utf-8")
        except OSError as error:
            click.echo(f"{out} could not be written: {error.strerror}", err=True)
            _print(text)
            return 1
    if answer.error:
        click.echo(f"Error: {answer.error.message}\n{answer.error.remedy}", err=True)
    return _print(text) or _status(answer, options["strict"])


def _text(answer: Answer, options: dict[str, Any]) -> str:
    """The answer in the form that was asked for; in every form it fits the schema."""
    from agent.answer import to_json

    text = to_json(answer, compact=options["compact"])
    if options["format"] == "markdown":
        from agent.answer.document import document

        return document(answer)
    if options["format"] == "html":
        from agent.answer.page import page

        return page(answer)
    return text


def _refuse(topic: str, error: AgentError, options: dict[str, Any]) -> int:
    from agent.answer import make_failure

    return _finish(make_failure(topic, error), {**options, "out": None})


def _status(answer: Answer, strict: bool) -> int:
    if answer.error:
        return 2 if answer.error.kind == "usage" else 1
    if answer.status == "insufficient":
        return 3
    weak = answer.status == "partial" or answer.degraded
    weak = weak or any(claim.verdict != "supported" for claim in answer.claims)
    return 4 if strict and weak else 0


def _print_schema() -> int:
    import json

    from agent.answer import answer_schema

    return _print(json.dumps(answer_schema(), indent=2) + "\n")


def _print(text: str) -> int:
    """Write to standard output; 1 if nobody reads it any more or the disk is full."""
    try:
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        sys.stdout.flush()
    except OSError as error:
        click.echo(f"The answer could not be written: {error.strerror}", err=True)
        return 1
    return 0


def run_cli(arguments: list[str]) -> int:
    """The exit status of a command line; wrong usage gets an answer on stdout as well."""
    try:
        return int(command.main(arguments, standalone_mode=False) or 0)
    except click.ClickException as error:
        fault: AgentError = UsageError(error.format_message(), "See --help.")
    except click.exceptions.Abort:
        return 130
    options = {"out": None, "compact": False, "strict": False, "format": _form(arguments)}
    return _refuse("", fault, options)


def _form(arguments: list[str]) -> str:
    """The form that a command line asks for, which click could not read for another fault."""
    words = [part for word in arguments for part in word.split("=", 1)]
    named = [form for flag, form in pairwise(words) if flag == "--format" and form in FORMATS]
    return named[-1] if named else "json"


def main() -> None:
    """The console command. Ends the process at once: nothing that hangs may keep it alive."""
    gc.set_threshold(50_000)  # a short process with big imports: collecting costs a tenth of them
    status = run_cli(sys.argv[1:])
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    main()
