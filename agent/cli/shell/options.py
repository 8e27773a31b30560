"""The options that several commands have."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from pathlib import Path
from typing import Any, TypeVar

import click

from agent.cli.shell.process import Command, Fail, fail_in_lines

F = TypeVar("F", bound=Callable[..., Any])
PATH = click.Path(path_type=Path)
HELP: dict[str, Any] = {"help_option_names": ["-h", "--help"]}  # settings of a context


def command(
    epilog: str, fail: Fail = fail_in_lines, cls: type[Command] = Command
) -> Callable[[Callable[..., Any]], click.Command]:
    """The decorator of a command; `fail` writes an error and gives the exit status."""
    return click.command(cls=cls, epilog=epilog, context_settings=HELP, fail=fail)


def split_commas(
    _: click.Context, __: click.Parameter, value: str | None
) -> tuple[str, ...] | None:
    """The value of an option with commas: each part once, without blanks; None if not given."""
    if value is None:
        return None
    return tuple(dict.fromkeys(part.strip() for part in value.split(",") if part.strip()))


class StrategyName(click.Choice[str]):
    """The names of strategies; those that other packages add are looked up where one is needed."""

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> Any:
        """The name, if there is such a strategy; else click's error."""
        from agent.calls.plugins import plugin_names

        is_added = value not in self.choices and value in plugin_names("strategies")
        return value if is_added else super().convert(value, parameter, context)


_LIST: dict[str, Any] = {"callback": split_commas}
_FLAG: dict[str, Any] = {"is_flag": True}
_MANY: dict[str, Any] = {"multiple": True}
_UNLESS_GIVEN: dict[str, Any] = {"is_flag": True, "default": None}  # the setting counts then
#: How each option is read, and what `--help` says of it.
_OPTIONS: dict[str, dict[str, Any]] = {
    "strategy": {
        "type": StrategyName(["slots", "report", "loop"]),
        "metavar": "NAME",
        "help": "slots, report or loop.  [default: slots]",
    },
    "depth": {
        "type": click.Choice(["quick", "normal", "deep"]),
        "metavar": "DEPTH",
        "help": "quick, normal or deep: how much to read and write.",
    },
    "slots": {**_LIST, "metavar": "LIST", "help": "Facts to find: winner,score."},
    "llm": {
        **_LIST,
        "metavar": "LIST",
        "help": "Models in order: gemini, anthropic, openai:MODEL ...",
    },
    "search": {**_LIST, "metavar": "LIST", "help": "Search providers in order: exa,tavily."},
    "mcp": {
        **_MANY,
        "metavar": "URL|COMMAND",
        "help": "Also search and read this MCP server; repeatable.",
    },
    "corpus": {"type": PATH, "help": "Search this folder, or .jsonl file."},
    "offline": {**_UNLESS_GIVEN, "help": "No key, no model, no network: quote documents."},
    "verify": {
        "type": click.Choice(["model", "rules"]),
        "help": "Who checks each sentence: a model, or rules alone.  [default: model]",
    },
    "browser": {
        "type": click.Choice(["auto", "always", "never", "off"]),
        "help": "Render pages in an installed Chromium: where they need scripts, always, or "
        "never (off).  [default: auto]",
    },
    "archive": {**_UNLESS_GIVEN, "help": "Read archived copies of unreadable pages."},
    "estimate": {**_FLAG, "help": "Print an estimate of price, time and calls."},
    "resume": {"metavar": "RUN", "help": "Continue a run, or start one with this name."},
    "retry-failed": {**_FLAG, "help": "With --resume: ask again what failed."},
    "no-cache": {
        **_UNLESS_GIVEN,
        "flag_value": False,
        "help": "Ignore the cache: search and read again.",
    },
    "trust-env": {**_UNLESS_GIVEN, "help": "Trust addresses in .env with keys of the shell."},
    "lang": {"help": "Language of the answer.  [default: the question's own]"},
    "out": {"type": PATH, "help": "Write the answer to this file too."},
    "verbose": {**_FLAG, "help": "[EVENT] detail lines on stderr."},
    "schema": {**_FLAG, "help": "Print the JSON Schema of the output and exit."},
    "host": {"default": "127.0.0.1", "show_default": True, "help": "Address to listen on."},
}
#: The field of an option that is named otherwise.
_FIELDS = {"no-cache": "cache", "browser": "page_browser"}


def options(names: str) -> Callable[[F], F]:
    """A decorator for several options, which `--help` lists in this order."""
    return _stack(
        click.option(f"--{name}", _FIELDS.get(name, name.replace("-", "_")), **_OPTIONS[name])
        for name in names.split()
    )


def cap_options(what: str, flag: str = "--max-", name: str = "max_") -> Callable[[F], F]:
    """The four caps of something."""
    rows = (
        ("seconds", float, "Seconds for"),
        ("usd", float, "US dollars for the models of"),
        ("tokens", int, "Tokens in and out, for"),
        ("calls", int, "External calls for"),
    )
    return _stack(
        click.option(f"{flag}{cap}", f"{name}{cap}", type=kind, help=f"{text} {what}.")
        for cap, kind, text in rows
    )


def batch_options(whole: str, one: str) -> Callable[[F], F]:
    """How many runs go on at once, where, and the caps of the whole and of one of them."""
    count, engines = click.IntRange(1, 1000), click.Choice(["local", "ray"])
    return _stack(
        [
            click.option("--concurrency", type=count, default=8, show_default=True),
            click.option("--engine", type=engines, default="local", show_default=True),
            click.option("--address", help="Address of a Ray cluster.  [default: start one here]"),
            cap_options(f"the whole {whole}", name="batch_"),
            cap_options(f"one {one}", flag="--each-max-"),
        ]
    )


def server_options(port: int) -> Callable[[F], F]:
    """The options of both servers: where to listen, what to search, the caps of a run."""
    at = click.option("--port", type=click.IntRange(0, 65535), default=port, show_default=True)
    return _stack(
        [options("host"), at, options("offline corpus mcp trust-env"), cap_options("a run")]
    )


def _stack(decorators: Iterable[Callable[[F], F]]) -> Callable[[F], F]:
    """One decorator for several, the first outermost."""
    inmost_first = [*decorators][::-1]
    return lambda function: reduce(lambda done, decorate: decorate(done), inmost_first, function)
