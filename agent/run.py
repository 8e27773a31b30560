"""A run: the loop that every door reads, and the one place where the outside is composed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from agent import output
from agent.budget import spent
from agent.errors import AgentError, NotConfigured, Stopped, UsageError
from agent.foreign import plain
from agent.journal import Journal, Recorded
from agent.llm import Model, Models
from agent.llm.prices import Price, price, table
from agent.outside import A, Ask, Read, Reply, Search, Task, spawn
from agent.research import Event, Found, Halted, Page, Research, Slot, Started, Warned
from agent.settings import Settings
from agent.steps.generate_queries import GenerateQueries
from agent.steps.reflect import Reflect
from agent.steps.synthesize import Synthesize
from agent.steps.web_search import WebSearchTool
from agent.strategies.slots import Slots
from agent.urls import canonical

LONGEST_TOPIC = 2000  # characters
MOST_SKIPPED = 10  # files of a corpus that are named as unreadable
LONGEST_ASK = 900.0  # seconds for all models and retries of one task: a net, not a target
STOPPED = "The run was stopped before it ended; the answer comes from what had been read."


def research(topic: str, settings: Settings) -> Run:
    """A run, not yet begun: iterate over it for its events, then ask for its `answer()`.

    Raises UsageError for a topic that cannot be researched, NotConfigured for an absent key.
    """
    return Run(clean(topic), settings)


class Run:
    """One topic on its way to an answer. Closing the iterator cancels it."""

    def __init__(self, topic: str, settings: Settings) -> None:
        self._settings = settings
        self._begun = time.monotonic()
        self._error: AgentError | None = None
        slots = tuple(Slot(name=name) for name in settings.slots)
        self.research = Research(topic, slots)
        self.info = _info(now())
        models = Models(chosen_models(settings), settings.llm_timeout, settings.llm_retry_waits)
        ways = _local(settings) if settings.offline or settings.corpus else _web(settings)
        self._journal = _journal(settings, self.info, topic)  # last: what cannot run leaves no file
        self._outside = _outside(settings, self._journal, models, ways)

    def __iter__(self) -> Iterator[Event]:
        try:
            for event in self._events():
                yield self.research.grow(event)
        except AgentError as error:
            self._error = error
        finally:
            self._journal.close()
            self._outside.close()

    def _events(self) -> Iterator[Event]:
        strategy = self._strategy(self._outside.ask)
        research = self.research
        spawn(self._warm)
        yield Started(topic=research.topic, strategy=strategy.name, slots=research.slots)
        yield from self._warnings()
        try:
            yield from strategy(research)
        except Stopped:
            yield Halted(reason=STOPPED)
            yield from self._synthesize(_extract)(research)
        yield from self._warnings()

    def _warnings(self) -> Iterator[Event]:
        """What the user should know and was not yet told."""
        said = {event.message for event in self.research.of(Warned)}
        for note in (self._journal.problem, *self._outside.notes()):
            if note and note not in said:
                yield Warned(message=note)

    def _warm(self) -> None:
        """Prepare, while the first model call waits, what will be needed after it."""
        self._outside.warm()
        output.validator()

    def _strategy(self, ask: Ask) -> Slots:
        settings, outside = self._settings, self._outside
        return Slots(
            GenerateQueries(ask, settings.lang),
            WebSearchTool(outside.search, outside.read, settings.pages_per_query),
            Reflect(ask, _extract, settings.evidence_tokens, settings.lang),
            self._synthesize(ask),
            settings.max_rounds,
        )

    def _synthesize(self, ask: Ask) -> Synthesize:
        settings = self._settings
        return Synthesize(
            ask, _extract, settings.evidence_tokens, settings.max_words, settings.lang
        )

    def stop(self) -> None:
        """Gather no more: the run ends within one outside call, with the best answer so far."""
        self._journal.stop.set()

    def answer(self) -> output.Answer:
        """The answer object, once the iteration has ended; an error is in it, not raised."""
        seconds = round(time.monotonic() - self._begun, 3)
        counts = spent(self._journal.calls).model_dump()
        path = self._journal.path
        return output.answer(
            self.research,
            usage=output.Usage(**counts, rounds=self.research.round, seconds=seconds),
            run=self.info.model_copy(update={"journal": str(path) if path else None}),
            error=self._error,
        )


def clean(topic: str) -> str:
    """A topic on one line, without control characters. Raises UsageError if it cannot be asked."""
    line = plain(topic, 10 * LONGEST_TOPIC)
    if not line:
        raise UsageError("Question cannot be empty", "Give a question: --topic '...'.")
    if len(line) > LONGEST_TOPIC:
        raise UsageError(
            f"The question is too long: at most {LONGEST_TOPIC} characters are allowed.",
            "Shorten it; put long material into a folder and name that with --corpus.",
        )
    return line


def now() -> str:
    """The time as everything stored has it: UTC, ISO 8601, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _info(started_at: str) -> output.RunInfo:
    stamp = started_at.replace(":", "").replace("-", "")
    run_id = f"{stamp}-{os.urandom(4).hex()}"
    return output.RunInfo(id=run_id, strategy=Slots.name, started_at=started_at)


# --- the outside, composed ---------------------------------------------------------------------


class Outside(NamedTuple):
    """The three calls, and how to let go of what they hold."""

    ask: Ask
    search: Search
    read: Read
    warm: Callable[[], None]
    close: Callable[[], None]
    notes: Callable[[], tuple[str, ...]]


class Ways(NamedTuple):
    """How this run searches and reads: the web, or a corpus."""

    search: Callable[[str], Found]
    read: Callable[[str], Page]
    warm: Callable[[], None]  # imports what reading needs
    close: Callable[[], None]
    notes: Callable[[], tuple[str, ...]]  # what the user should know by now, in words


def _nothing() -> None:
    pass


def _journal(settings: Settings, info: output.RunInfo, topic: str) -> Journal:
    folder = settings.runs_dir or user_folder("data") / "runs"
    header = {"run": info.id, "topic": topic, "strategy": info.strategy, "at": info.started_at}
    return Journal(folder / f"{info.id}.jsonl", header)


def user_folder(kind: str) -> Path:
    """Where journals (`data`) or indexes and caches (`cache`) lie unless the settings say so."""
    from platformdirs import PlatformDirs

    dirs = PlatformDirs("llm-research-agent", appauthor=False)
    return dirs.user_cache_path if kind == "cache" else dirs.user_data_path


def _outside(settings: Settings, journal: Journal, models: Models, ways: Ways) -> Outside:
    """journal( retry and fallback( provider )), for each of the three calls.

    On the web a cache stands before search and read; what a model says is never cached.
    """
    ready = spawn(models.warm)

    def find(query: str) -> Found:
        wait([ready], timeout=2)  # the model waits longest: its import and its request go first
        return ways.search(query)

    def warm() -> None:
        wait([ready], timeout=2)
        ways.warm()

    def close() -> None:
        models.close()
        ways.close()

    ask = Recorded[Task[Any], Reply[Any]](
        journal,
        "ask",
        models,
        request=lambda task: {"task": task.name, "system": task.system(), "prompt": task.prompt()},
        encode=lambda reply: reply.model_dump(mode="json", serialize_as_any=True),
        decode=_reply,
        limit=LONGEST_ASK,
        patience=settings.patience,
    )
    search = Recorded[str, Found](
        journal,
        "search",
        find,
        request=lambda query: {"query": query},
        encode=lambda found: found.model_dump(mode="json"),
        decode=lambda _, line: Found.model_validate(line),
        limit=settings.search_timeout * 2,
        patience=settings.patience,
    )
    read = Recorded[str, Page](
        journal,
        "read",
        ways.read,
        request=lambda url: {"url": canonical(url)},
        encode=lambda page: page.model_dump(mode="json"),
        decode=lambda _, line: Page.model_validate(line),
        limit=settings.page_timeout + 1,
        patience=settings.patience,
    )
    return Outside(ask, search, read, warm, close, ways.notes)


def _reply(task: Task[A], line: dict[str, Any]) -> Reply[A]:
    answer = task.answer.model_validate(line["answer"])
    return Reply[A].model_validate({**line, "answer": answer})


def chosen_models(settings: Settings) -> list[Model]:
    """The models in the order of `llm`. Raises NotConfigured, UsageError."""
    if settings.offline:
        return _extractive(settings, "")
    models: list[Model] = []
    for name in settings.llm or (_usual(settings),):
        provider, _, model = name.partition(":")
        make = MODELS.get(provider)
        if make is None:
            known = ", ".join(MODELS)
            raise UsageError(f"Unknown model provider {provider!r}.", f"Use one of: {known}.")
        models.extend(make(settings, model))
    return models


def _usual(settings: Settings) -> str:
    """The provider where none is named."""
    other = settings.openai_model and not settings.gemini_api_key.get_secret_value()
    return "openai" if other else "gemini"


def _gemini(settings: Settings, model: str) -> list[Model]:
    from agent.llm.gemini import Connection, Gemini

    key = settings.gemini_api_key.get_secret_value()
    if not key:
        raise NotConfigured(
            "GEMINI_API_KEY is not set. Add it to .env, or run with --offline",
            "Add a line GEMINI_API_KEY=... to .env in this directory, or run with --offline.",
        )
    connection = Connection(
        key, settings.gemini_base_url, settings.gemini_api_version, settings.llm_timeout
    )
    names = [model] if model else [settings.gemini_model, *settings.gemini_fallback_models]
    return [Gemini(name, connection, _price(settings, name)) for name in dict.fromkeys(names)]


def _openai(settings: Settings, model: str) -> list[Model]:
    from agent.llm.openai_compatible import OpenAICompatible

    name = model or settings.openai_model
    key = settings.openai_api_key.get_secret_value()
    if not name:
        raise NotConfigured(
            "OPENAI_MODEL is not set.", "Add it to .env, or use --llm openai:MODEL."
        )
    if not key and settings.openai_base_url == Settings.model_fields["openai_base_url"].default:
        remedy = "Add it to .env, or set OPENAI_BASE_URL to a server that needs none."
        raise NotConfigured("OPENAI_API_KEY is not set.", remedy)
    price = _price(settings, name)
    return [OpenAICompatible(name, settings.openai_base_url, key, settings.llm_timeout, price)]


def _price(settings: Settings, model: str) -> Price | None:
    return price(table(settings.prices_file), model, datetime.now(UTC).date())


def _extractive(settings: Settings, model: str) -> list[Model]:
    from agent.llm.extractive import Extractive

    return [Extractive()]


def _extract(task: Task[A]) -> Reply[A]:
    """The stand-in where no model answers: sentences quoted from the evidence."""
    from agent.llm.extractive import Extractive

    return Models([Extractive()], timeout=60.0, waits=())(task)


MODELS: dict[str, Callable[[Settings, str], list[Model]]] = {
    "gemini": _gemini,
    "openai": _openai,
    "extractive": _extractive,
}


def _local(settings: Settings) -> Ways:
    """Search and read a corpus and nothing else: nothing of a private document leaves by search."""
    from agent.search import SearchChain
    from agent.search.corpus import Corpus

    path = settings.corpus or Path(__file__).parent / "demo"
    corpus = Corpus(path, settings.cache_dir or user_folder("cache"))
    skipped = tuple(f"Not in the corpus: {reason}" for reason in corpus.skipped[:MOST_SKIPPED])
    chain = _dated(SearchChain([corpus], local=True))
    return Ways(chain, corpus.read, _nothing, corpus.close, lambda: skipped)


def _web(settings: Settings) -> Ways:
    from agent.pages.fetch import PageReader
    from agent.search import build
    from agent.search.options import Options

    options = Options(
        language=settings.lang,
        since=settings.since,
        allow_domains=settings.allow_domains,
        block_domains=settings.block_domains,
    )
    reader = PageReader(
        timeout=settings.page_timeout,
        max_bytes=settings.page_max_bytes,
        allow_private_network=settings.allow_private_network,
        through_proxy=settings.fetch_through_proxy,
        respect_robots=settings.respect_robots,
    )
    web = Ways(_dated(build(settings, options)), reader, reader.warm, reader.close, lambda: ())
    return _cached(settings, web) if settings.cache and settings.cache_ttl else web


def _dated(search: Callable[[str], Found]) -> Callable[[str], Found]:
    return lambda query: search(query).model_copy(update={"at": now()})


def _cached(settings: Settings, web: Ways) -> Ways:
    """The web, asked only for what no earlier run has found or read."""
    from agent.cache import open_cache

    folder = (settings.cache_dir or user_folder("cache")) / "web"
    cache = open_cache(settings.cache_url.get_secret_value(), folder, settings.cache_ttl)

    def warm() -> None:
        web.warm()
        cache.warm()

    def close() -> None:
        web.close()
        cache.close()

    search = cache.search(web.search, **_search_rules(settings))
    read = cache.read(web.read, **_read_rules(settings))
    return Ways(search, read, warm, close, lambda: (*web.notes(), cache.problem))


def _search_rules(settings: Settings) -> dict[str, Any]:
    """What changes the answer to a query, keys apart: who is asked, where, for what."""
    keys = (f"{name}_api_key" for name in settings.search)
    kept = {"search", "searxng_url", "lang", "since", "allow_domains", "block_domains"}
    kept |= {f"{name}_base_url" for name in settings.search} & Settings.model_fields.keys()
    rules = settings.model_dump(mode="json", include=kept)
    return {**rules, "keys": [bool(getattr(settings, key, "")) for key in keys]}


def _read_rules(settings: Settings) -> dict[str, Any]:
    """What permits reading: a page that this run may not read, the cache does not show it."""
    return settings.model_dump(
        mode="json", include={"allow_private_network", "fetch_through_proxy", "respect_robots"}
    )
