"""The options that several commands have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
PATH = click.Path(path_type=Path)


def door_command(epilog: str) -> Callable[[Callable[..., Any]], click.Command]:
    """The decorator of a command: its help is shown for -h too and ends with `epilog`."""
    return click.command(epilog=epilog, context_settings={"help_option_names": ["-h", "--help"]})


def split_commas(
    _: click.Context, __: click.Parameter, value: str | None
) -> tuple[str, ...] | None:
    """The value of an option with commas: each part once, without blanks; None if not given."""
    if value is None:
        return None
    return tuple(dict.fromkeys(part.strip() for part in value.split(",") if part.strip()))


llm_option = click.option(
    "--llm",
    callback=split_commas,
    help="Models in order: gemini, anthropic, openai:MODEL, extractive; for a kind of task: "
    "plan=, read=, write=, judge=MODEL.",
)
search_option = click.option("--search", callback=split_commas, help="Search providers in order.")
corpus_option = click.option("--corpus", type=PATH, help="Search this folder or .jsonl.")
offline_option = click.option(
    "--offline", is_flag=True, default=None, help="No key, no model, no network: quote the corpus."
)
trust_env_option = click.option(
    "--trust-env", is_flag=True, default=None, help="Let .env set addresses beside my own keys."
)
no_cache_option = click.option(
    "--no-cache",
    "cache",
    is_flag=True,
    flag_value=False,
    default=None,
    help="Search and read anew what is in the cache.",
)


def strategy_option(help_text: str | None = None) -> Callable[[F], F]:
    """`--strategy`."""
    choice = StrategyName(["slots", "report", "loop", "auto"])
    return click.option("--strategy", type=choice, help=help_text)


class StrategyName(click.Choice[str]):
    """The names of strategies; those that other packages add are looked up where one is needed."""

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> Any:
        """The name, if there is such a strategy; else click's error."""
        from agent.outside.plugins import plugin_names

        is_added = value not in self.choices and value in plugin_names("strategies")
        return value if is_added else super().convert(value, parameter, context)


def depth_option(help_text: str | None = None) -> Callable[[F], F]:
    """`--depth`."""
    choice = click.Choice(["quick", "normal", "deep"])
    return click.option("--depth", type=choice, help=help_text)


def cap_options(*texts: str, flag: str = "--max-", name: str = "max_") -> Callable[[F], F]:
    """The four caps, each with its help text: of seconds, dollars, tokens and calls."""
    types = {"seconds": float, "usd": float, "tokens": int, "calls": int}
    return _stack(
        [
            click.option(f"{flag}{cap}", f"{name}{cap}", type=types[cap], help=text)
            for cap, text in zip(types, texts, strict=True)
        ]
    )


def server_options(port: int) -> Callable[[F], F]:
    """The options of both servers: where to listen, what to search, the caps of a run."""
    options = [
        click.option(
            "--host", default="127.0.0.1", show_default=True, help="Address to listen on."
        ),
        click.option("--port", type=click.IntRange(0, 65535), default=port, show_default=True),
        offline_option,
        corpus_option,
        trust_env_option,
        cap_options(
            "The most that one run may take; also:",
            "dollars for models,",
            "tokens of models, in and out together,",
            "outside calls.",
        ),
    ]
    return _stack(options)


def _stack(options: Sequence[Callable[[F], F]]) -> Callable[[F], F]:
    """One decorator for several options, which `--help` lists in this order."""

    def decorate(function: F) -> F:
        return reduce(lambda decorated, option: option(decorated), reversed(options), function)

    return decorate
