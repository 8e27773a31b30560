"""What a run goes outside with: the one place where calls, journal and providers are composed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import wait
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from agent.errors import UsageError
from agent.evidence import tokens
from agent.llm import Generated, Model, Models
from agent.outside import A, Outside, Reply, Task, spawn
from agent.outside.budget import Budget, Caps, Cost, spent
from agent.outside.journal import Journal
from agent.outside.limits import Files, Limits, Turns, rates, writable
from agent.outside.recorded import Recorded
from agent.outside.tools import transcript
from agent.run.models import chosen_models, extract
from agent.settings import Settings, user_folder
from agent.sources.sources import Sources, open_corpus, open_sources
from agent.state import Found, Frozen, Page
from agent.state.urls import canonical

if TYPE_CHECKING:
    from agent.sources.search.corpus import Corpus

V = TypeVar("V", bound=Frozen)

#: Tasks that may use what the budget keeps back: those from which the answer comes.
LAST = frozenset("synthesize draft verify mend recall".split())
FRAME = 700  # tokens of a prompt around its evidence: instructions, topic, slots, schema
SCHEMA = 200  # tokens of an answer's JSON schema, about
REPLY = 1500  # tokens that a reply may take, thoughts included: five times what tests have seen
LONGEST_ASK = 900.0  # seconds for all models and retries of one task: a net, not a target


def shared_limits(settings: Settings) -> Limits:
    """The limits of the providers, which every run on this machine with this cache shares.

    Raises UsageError for limits that are none, and where they cannot be counted.
    """
    found = rates(settings.rate_limits)
    _known(found)
    folder = (settings.cache_dir or user_folder("cache")) / "limits"
    if found and not writable(folder):
        remedy = "RATE_LIMITS are counted there: name another folder with CACHE_DIR."
        raise UsageError(f"{folder} cannot be written.", remedy)
    window = settings.rate_window
    return Limits(found, Files(folder, found, window), window)


def _known(limits: Iterable[str]) -> None:
    """Raises UsageError for a limit of nobody, which would limit nothing."""
    names = {name.partition(":")[0] for name in limits}
    if not names:
        return
    from agent.sources.search import PROVIDERS

    known = ["gemini", "openai", *PROVIDERS]
    for name in sorted(names.difference(known)):
        fault = f"RATE_LIMITS: there is no provider {name!r}."
        raise UsageError(fault, f"Choose from: {', '.join(known)}.")


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
    corpus = open_corpus(settings) if local else None
    open_sources(settings, corpus=corpus).close()  # a provider that there is not is told now
    models[0].warm()  # else the first requests are counted now, and sent after a second's import
    return Shared(limits, models, corpus)


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


def compose_calls(
    settings: Settings,
    journal: Journal,
    chosen: Sequence[Model],
    sources: Sources,
    turns: Turns | None = None,
) -> Outside:
    """journal( retry and fallback( limits( provider ))), for each of the three calls.

    On the web a cache stands before search and read; what a model says is never cached.
    """
    turns = turns or Turns(shared_limits(settings))
    record = _Recording(journal, _budget(settings, journal, chosen), settings.patience, turns.held)
    models = _models(settings, chosen, record.budget, turns)
    ready = spawn(models.warm)

    def find(query: str) -> Found:
        wait([ready], timeout=2)  # the model waits longest: its import and its request go first
        return sources.search(query)

    def warm() -> None:
        wait([ready], timeout=2)
        sources.warm()

    def close() -> None:
        models.close()
        sources.close()

    search = record.one("search", find, Found, "query", str, settings.search_timeout * 2)
    read = record.one("read", sources.read, Page, "url", canonical, settings.page_timeout + 1)
    ask = record.asks(models, chosen)
    return Outside(ask, extract, search, read, warm, close, sources.notes)


def _models(settings: Settings, chosen: Sequence[Model], budget: Budget, turns: Turns) -> Models:
    """The models with their retries; each try waits for its turn."""
    return Models(
        chosen,
        settings.llm_timeout,
        settings.llm_retry_waits,
        again=budget.again,
        admit=lambda model, task: _admit(turns, model, task),
        refused=lambda model, error: turns.note(error, model.provider, model.name),
    )


def _admit(turns: Turns, model: Model, task: Task[Any]) -> None:
    """Wait until a task may go to a model; its reply is counted at its most."""
    if turns.limited(model.provider, model.name):
        turns.take(model.provider, model.name, task_tokens(task) + REPLY)


class _Recording(NamedTuple):
    """How calls are recorded, and what they ask of the budget before they go out."""

    journal: Journal
    budget: Budget
    patience: float
    held: Callable[[], float]

    def asks(self, models: Models, chosen: Sequence[Model]) -> Recorded[Task[Any], Reply[Any]]:
        """Recorded calls of models; a resumed run goes on with the model that answered last."""
        budget = self.budget
        return Recorded[Task[Any], Reply[Any]](
            self.journal,
            "ask",
            models,
            request=_request,
            encode=lambda reply: reply.model_dump(mode="json", serialize_as_any=True),
            decode=_reply,
            recalled=lambda reply: models.move_to(reply.model),
            permit=lambda task: budget.take(
                cost(chosen, task_tokens(task)), last=task.name in LAST
            ),
            go_on=lambda task: budget.in_time(last=task.name in LAST),
            limit=LONGEST_ASK,
            patience=self.patience,
            held=self.held,
        )

    def one(
        self,
        kind: str,
        go: Callable[[str], V],
        response: type[V],
        name: str,
        key: Callable[[str], str],
        limit: float,
    ) -> Recorded[str, V]:
        """A recorded search or read, whose request is `{name: key(text)}`."""
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
