"""What the page offers before a question is asked: examples, and what each way to answer takes."""

from __future__ import annotations

import threading
from typing import Any, get_args

from agent.evidence import content_words
from agent.run.estimate import Range, estimate
from agent.run.sources import find_corpus, open_corpus
from agent.search.corpus import Corpus
from agent.serving.request import Configure
from agent.settings import Settings
from agent.state import Frozen

MOST_EXAMPLES = 4
LONGEST_TITLE = 80  # characters of a document's title that makes a question
MOST_LOOKED_UP = 40  # titles
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
    Example(question="When was the James Webb Space Telescope launched?"),
)


class ChoiceDescriber:
    """Describes the choices of a server. Documents are looked at once, as they were then."""

    def __init__(self, configure: Configure) -> None:
        self._configure = configure
        self._lock = threading.Lock()
        self._of_documents: tuple[Example, ...] | None = None

    def describe(self) -> Choices:
        """The choices as the settings are now. Raises UsageError or NotConfigured."""
        settings = self._configure({})
        return Choices(examples=self._find_examples(settings), prices=self._list_prices())

    def _find_examples(self, settings: Settings) -> tuple[Example, ...]:
        if find_corpus(settings) is None or "corpus" in settings.search and not settings.offline:
            return WEB_EXAMPLES
        if settings.corpus is None:
            return DEMO_EXAMPLES
        with self._lock:
            self._of_documents = self._of_documents or _ask_about_documents(settings)
            return self._of_documents

    def _list_prices(self) -> tuple[WayPrice, ...]:
        depths = get_args(Settings.model_fields["depth"].annotation)
        return tuple(self._price(name, depth) for name in STRATEGIES for depth in depths)

    def _price(self, strategy: str, depth: str) -> WayPrice:
        wanted: dict[str, Any] = {"strategy": strategy, "depth": depth}
        taken = estimate("a question of usual length?", self._configure(wanted))
        return WayPrice(strategy=strategy, depth=depth, seconds=taken.seconds, usd=taken.usd)


def _ask_about_documents(settings: Settings) -> tuple[Example, ...]:
    """A question about each of a few documents, by its title; they stand apart in the corpus."""
    corpus = open_corpus(settings)
    try:
        titles = [title for title in corpus.titles() if 3 <= len(title) <= LONGEST_TITLE]
        titles = titles[:: max(1, len(titles) // MOST_LOOKED_UP)]
        told = [title for title in titles if _is_told_of(title, corpus)]
    finally:
        corpus.close()
    step = max(1, len(told) // MOST_EXAMPLES)
    chosen = told[::step][:MOST_EXAMPLES]
    return tuple(Example(question=f"What is {title}?") for title in chosen)


def _is_told_of(title: str, corpus: Corpus) -> bool:
    """Whether a sentence of a document has the words of a title, so that it can be an answer."""
    words = set(content_words(title))
    hits = corpus.search(title)[:1]
    return bool(words) and any(words <= set(content_words(hit.snippet)) for hit in hits)
