"""What the page offers before a question is asked: examples, and what each way to answer takes."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any, Literal, get_args

from agent.run.estimate import Range, estimate
from agent.run.retriever import find_corpus
from agent.server.research_request import Configure
from agent.settings import Settings
from agent.state import Frozen

STRATEGIES = ("slots", "report", "loop")


class Example(Frozen):
    """A question that can be answered with what is configured, and the way to ask it."""

    question: str
    strategy: str = "slots"
    slots: tuple[str, ...] = ()


class WayPrice(Frozen):
    """What a run takes at least and at most; `usd` is null where a price is not known."""

    strategy: str
    depth: str
    seconds: Range
    usd: Range | None


class Choices(Frozen):
    """Examples, and prices by strategy and depth."""

    examples: tuple[Example, ...]
    prices: tuple[WayPrice, ...]


def load_examples(kind: Literal["web", "demo"]) -> tuple[Example, ...]:
    """The examples of `examples.toml` for the web, or for the demo's documents."""
    table = tomllib.loads(files("agent.server").joinpath("examples.toml").read_text("utf-8"))
    return tuple(map(Example.model_validate, table[kind]))


def describe_choices(configure: Configure) -> Choices:
    """The choices of a server as its settings are now. Raises UsageError or NotConfigured."""
    depths = get_args(Settings.model_fields["depth"].annotation)
    ways = [(strategy, depth) for strategy in STRATEGIES for depth in depths]
    prices = tuple(_price(configure, strategy, depth) for strategy, depth in ways)
    return Choices(examples=_find_examples(configure({})), prices=prices)


def _find_examples(settings: Settings) -> tuple[Example, ...]:
    """Of the user's own documents there are none."""
    if find_corpus(settings) is None or "corpus" in settings.search and not settings.offline:
        return load_examples("web")
    return () if settings.corpus else load_examples("demo")


def _price(configure: Configure, strategy: str, depth: str) -> WayPrice:
    wanted: dict[str, Any] = {"strategy": strategy, "depth": depth}
    taken = estimate("a question of usual length?", configure(wanted))
    return WayPrice(strategy=strategy, depth=depth, seconds=taken.seconds, usd=taken.usd)
