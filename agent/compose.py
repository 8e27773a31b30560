"""What a run goes outside with: the one place where calls, journal and providers are composed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import wait
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from agent import USER_AGENT
from agent.budget import Budget, Caps, Cost, spent
from agent.errors import NotConfigured, ReadFailed, UsageError
from agent.evidence import tokens
from agent.journal import Journal
from agent.limits import Files, Limits, Turns, rates
from agent.llm import Generated, Model, Models
from agent.llm.prices import Price, price, table
from agent.outside import A, Ask, Read, Reply, Search, Task, spawn
from agent.recorded import Recorded
from agent.research import Found, Frozen, Page
from agent.settings import Settings
from agent.tools import transcript
from agent.urls import canonical

if TYPE_CHECKING:
    from agent.pages.fetch import PageReader
    from agent.search.corpus import Corpus

V = TypeVar("V", bound=Frozen)

MOST_SKIPPED = 10  # files of a corpus that are named as unreadable
SAMPLE = Generated(text="", input_tokens=1, output_tokens=1)
LAST = {
    "synthesize",
    "draft",
    "verify",
    "mend",
    "recall",
}  # tasks that may use what the budget keeps back
FRAME = 700  # tokens of a prompt around its evidence: instructions, topic, slots, schema
SCHEMA = 200  # tokens of an answer's JSON schema, about
REPLY = 1500  # tokens that a reply may take, thoughts included: five times what tests have seen
LONGEST_ASK = 900.0  # seconds for all models and retries of one task: a net, not a target


def now() -> str:
    """The time as everything stored has it: UTC, ISO 8601, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


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


def _nowhere(_: str) -> Any:
    raise AssertionError("a replay goes nowhere")


#: For a replay, which asks the journal alone.
NOWHERE = Ways(_nowhere, _nowhere, _nothing, _nothing, tuple)


def shared_limits(settings: Settings) -> Limits:
    """The limits of the providers, which every run on this machine with this cache shares.

    Raises UsageError for limits that are none.
    """
    found = rates(settings.rate_limits)
    folder = (settings.cache_dir or user_folder("cache")) / "limits"
    return Limits(found, Files(folder, found, settings.rate_window))


class Kept:
    """A model that many runs share: what it holds is not let go at the end of one of them."""

    def __init__(self, model: Model) -> None:
        self.provider, self.name = model.provider, model.name
        self.generate, self.probe = model.generate, model.probe
        self.price, self.warm = model.price, model.warm

    def close(self) -> None:
        """Nothing: whoever made the model closes it."""


class Shared(NamedTuple):
    """What the runs of one process share: limits, connections to models, the index of a corpus."""

    limits: Limits
    models: Sequence[Model]
    corpus: Corpus | None


def shared(settings: Settings, limits: Limits | None = None) -> Shared:
    """What runs share that have these settings, for as long as the process lives.

    Raises UsageError or NotConfigured for what no run could be made with.
    """
    limits = limits or shared_limits(settings)
    models = [Kept(model) for model in chosen_models(settings)]
    local = settings.offline or settings.corpus is not None
    corpus = _corpus(settings) if local else None
    chosen_ways(settings, corpus=corpus).close()  # a provider that there is not is told now
    models[0].warm()  # else the first requests are counted now, and sent after a second's import
    return Shared(limits, models, corpus)


def chosen_ways(
    settings: Settings, turns: Turns | None = None, corpus: Corpus | None = None
) -> Ways:
    """A corpus where one is named, else the web; both where `corpus` is one of `search`.

    `corpus`: the one that is named, already open; it is then left open. Raises UsageError.
    """
    if settings.corpus is None and not settings.offline:
        return _web(settings, turns)
    opened = corpus or _corpus(settings)
    if "corpus" in settings.search and not settings.offline:
        return _web(settings, turns, opened)
    return _local(opened, _nothing if corpus else opened.close)


def user_folder(kind: str) -> Path:
    """Where journals (`data`) or indexes and caches (`cache`) lie unless the settings say so."""
    from platformdirs import PlatformDirs

    dirs = PlatformDirs("llm-research-agent", appauthor=False)
    return dirs.user_cache_path if kind == "cache" else dirs.user_data_path


def _budget(settings: Settings, journal: Journal, models: Sequence[Model]) -> Budget:
    caps = Caps(
        seconds=settings.max_seconds,
        usd=settings.max_usd,
        tokens=settings.max_tokens,
        calls=settings.max_calls,
    )
    shown = settings.report_tokens if settings.strategy == "report" else settings.evidence_tokens
    kept = cost(models, shown + FRAME)
    return Budget(caps, lambda: spent(journal.calls), lambda: journal.recalled, kept)


def cost(models: Sequence[Model], prompt_tokens: int) -> Cost:
    """What a call of the first model may take; 0 dollars where its price is not known."""
    if not models or models[0].provider == "extractive":
        return Cost()
    full = Generated(text="", input_tokens=prompt_tokens, output_tokens=REPLY)
    return Cost(tokens=prompt_tokens + REPLY, usd=models[0].price(full) or 0.0)


def task_tokens(task: Task[Any]) -> int:
    """About how many tokens a task's prompt is, a tenth added for what the estimate misses."""
    said = tokens(task.system()) + tokens(task.prompt()) + tokens(transcript(task.exchanges))
    return math.ceil(1.1 * said) + SCHEMA


def outside(
    settings: Settings,
    journal: Journal,
    chosen: Sequence[Model],
    ways: Ways,
    turns: Turns | None = None,
) -> Outside:
    """journal( retry and fallback( limits( provider ))), for each of the three calls.

    On the web a cache stands before search and read; what a model says is never cached.
    """
    budget = _budget(settings, journal, chosen)
    turns = turns or Turns(shared_limits(settings))
    models = Models(
        chosen,
        settings.llm_timeout,
        settings.llm_retry_waits,
        again=budget.again,
        admit=lambda model, task: _admit(turns, model, task),
        refused=lambda model, error: turns.note(error, model.provider, model.name),
    )
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
        request=_request,
        encode=lambda reply: reply.model_dump(mode="json", serialize_as_any=True),
        decode=_reply,
        recalled=lambda reply: models.move_to(reply.model),
        permit=lambda task: budget.take(cost(chosen, task_tokens(task)), last=task.name in LAST),
        go_on=lambda task: budget.in_time(last=task.name in LAST),
        limit=LONGEST_ASK,
        patience=settings.patience,
        held=turns.held,
    )
    gather = _Gathering(journal, budget, settings.patience, turns.held)
    search = gather.call("search", find, Found, "query", str, settings.search_timeout * 2)
    read = gather.call("read", ways.read, Page, "url", canonical, settings.page_timeout + 1)
    return Outside(ask, search, read, warm, close, ways.notes)


def _admit(turns: Turns, model: Model, task: Task[Any]) -> None:
    """Wait until a task may go to a model; its reply is counted at its most."""
    if turns.limited(model.provider, model.name):
        turns.take(model.provider, model.name, task_tokens(task) + REPLY)


class _Gathering(NamedTuple):
    """What searches and pages have in common: one text asks, and the budget counts calls."""

    journal: Journal
    budget: Budget
    patience: float
    held: Callable[[], float]

    def call(
        self,
        kind: str,
        go: Callable[[str], V],
        response: type[V],
        name: str,
        key: Callable[[str], str],
        limit: float,
    ) -> Recorded[str, V]:
        """A recorded call whose request is `{name: key(text)}`."""
        return Recorded[str, V](
            self.journal,
            kind,
            go,
            request=lambda text: {name: key(text)},
            encode=lambda value: value.model_dump(mode="json"),
            decode=lambda _, line: response.model_validate(line),
            permit=lambda _: self.budget.take(),
            go_on=lambda _: self.budget.in_time(),
            limit=limit,
            patience=self.patience,
            held=self.held,
        )


def _request(task: Task[Any]) -> dict[str, Any]:
    """What identifies a task. Turns with tools are part of it, as they were recorded."""
    asked = {"task": task.name, "system": task.system(), "prompt": task.prompt()}
    turns = [exchange.model_dump(mode="json") for exchange in task.exchanges]
    return {**asked, "exchanges": turns} if turns else asked


def _reply(task: Task[A], line: dict[str, Any]) -> Reply[A]:
    answer = task.answer.model_validate(line["answer"])
    return Reply[A].model_validate({**line, "answer": answer})


def chosen_models(settings: Settings) -> list[Model]:
    """The models in the order of `llm`. Raises NotConfigured, UsageError."""
    models = _extractive(settings, "") if settings.offline else _named_models(settings)
    if settings.max_usd is not None and models[0].price(SAMPLE) is None:
        raise UsageError(
            f"--max-usd: the price of {models[0].name} is not known.",
            "Tell it in a file named by PRICES_FILE, or use --max-tokens.",
        )
    return models


def _named_models(settings: Settings) -> list[Model]:
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


def extract(task: Task[A]) -> Reply[A]:
    """The stand-in where no model answers: sentences quoted from the evidence."""
    from agent.llm.extractive import Extractive

    return Models([Extractive()], timeout=60.0, waits=())(task)


MODELS: dict[str, Callable[[Settings, str], list[Model]]] = {
    "gemini": _gemini,
    "openai": _openai,
    "extractive": _extractive,
}


def _corpus(settings: Settings) -> Corpus:
    from agent.search.corpus import Corpus

    path = settings.corpus or Path(__file__).parent / "demo"
    return Corpus(path, settings.cache_dir or user_folder("cache"))


def _local(corpus: Corpus, close: Callable[[], None]) -> Ways:
    """Search and read a corpus and nothing else: nothing of a private document leaves by search."""
    from agent.search import SearchChain

    skipped = tuple(f"Not in the corpus: {reason}" for reason in corpus.skipped[:MOST_SKIPPED])
    chain = _dated(SearchChain([corpus]))
    return Ways(chain, corpus.read, _nothing, close, lambda: skipped)


def page_reader(settings: Settings) -> PageReader:
    """What reads pages of the web. Close it."""
    from agent.pages.fetch import PageReader

    return PageReader(
        timeout=settings.page_timeout,
        max_bytes=settings.page_max_bytes,
        allow_private_network=settings.allow_private_network,
        through_proxy=settings.fetch_through_proxy,
        respect_robots=settings.respect_robots,
        user_agent=settings.user_agent or USER_AGENT,
    )


def _web(settings: Settings, turns: Turns | None, corpus: Corpus | None = None) -> Ways:
    """The web and, where there is one, a corpus among its providers; then nothing is cached."""
    from agent.search import build
    from agent.search.options import Options

    options = Options(
        language=settings.lang,
        since=settings.since,
        allow_domains=settings.allow_domains,
        block_domains=settings.block_domains,
    )
    reader = page_reader(settings)
    search = _dated(build(settings, options, corpus, turns))
    if corpus:
        return Ways(search, _either(corpus, reader), reader.warm, reader.close, lambda: ())
    web = Ways(search, reader, reader.warm, reader.close, lambda: ())
    return _cached(settings, web) if settings.cache and settings.cache_ttl else web


def _either(corpus: Corpus, reader: PageReader) -> Callable[[str], Page]:
    """A document of the corpus by its address, else the page of the web."""

    def read(url: str) -> Page:
        try:
            return corpus.read(url)
        except ReadFailed:
            return reader(url)

    return read


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
