"""What the page offers before a question is asked: examples, and what each way to answer takes."""

from __future__ import annotations

from typing import Any, get_args

from agent.run.estimate import Range, estimate
from agent.run.sources import find_corpus
from agent.server.request import Configure
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


WEB_EXAMPLES = (
    Example(question="Which cities have hosted the Summer Olympics more than once?"),
    Example(
        question="When was Nokia founded, by whom, and where is its head office?",
        slots=("founded", "founders", "head office"),
    ),
    Example(question="What is known about how bees find their way home?", strategy="report"),
    Example(question="In which city was the founder of IKEA born?", strategy="loop"),
)
#: Each is answered from the demo's documents without a model: server/test_choices.py asks all.
DEMO_EXAMPLES = (
    Example(question="Who won the 2022 FIFA World Cup?"),
    Example(question="Who founded LEGO, and when?", slots=("founder", "founded")),
    Example(question="How do HPA and KEDA differ?", strategy="report"),
    Example(question="When was the James Webb Space Telescope launched?", slots=("launched",)),
)


def describe_choices(configure: Configure) -> Choices:
    """The choices of a server as its settings are now. Raises UsageError or NotConfigured."""
    depths = get_args(Settings.model_fields["depth"].annotation)
    ways = [(strategy, depth) for strategy in STRATEGIES for depth in depths]
    prices = tuple(_price(configure, strategy, depth) for strategy, depth in ways)
    return Choices(examples=_find_examples(configure({})), prices=prices)


def _find_examples(settings: Settings) -> tuple[Example, ...]:
    """Of the user's own documents there are none."""
    if find_corpus(settings) is None or "corpus" in settings.search and not settings.offline:
        return WEB_EXAMPLES
    return () if settings.corpus else DEMO_EXAMPLES


def _price(configure: Configure, strategy: str, depth: str) -> WayPrice:
    wanted: dict[str, Any] = {"strategy": strategy, "depth": depth}
    taken = estimate("a question of usual length?", configure(wanted))
    return WayPrice(strategy=strategy, depth=depth, seconds=taken.seconds, usd=taken.usd)
