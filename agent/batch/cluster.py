"""A batch on a Ray cluster: the same runs, in workers; limits are counted by one actor.

Workers read and write journals under `runs_dir`, which every node must see; or, where the batch has
a URL, each brings those of its topics from there and copies them back. When a worker is lost, Ray
starts another and gives it the same topics, whose runs go on from their journals. Keys do not
travel: each worker takes them from its own environment, all other settings from the command.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import Future
from functools import cached_property, partial
from typing import Any

from pydantic import SecretStr

from agent.batch.local import mirrored, row
from agent.batch.mirror import Mirror
from agent.batch.topics import Topic
from agent.errors import AgentError, JournalBusy, NotConfigured, UsageError
from agent.outside.budget import Spent
from agent.outside.limits import Limits, rates
from agent.run.begin import journal_path
from agent.run.calls import Shared, shared, shared_limits
from agent.settings import Settings, here

RETRIES = 5  # how often a topic is begun again whose worker was lost
STALE = 60.0  # seconds that a worker which is given up may still write a journal
READY = 120.0  # seconds for the workers to start

Json = dict[str, Any]


class Cluster:
    """Runs in the workers of a Ray cluster, started here where no address is given."""

    def __init__(
        self, settings: Settings, address: str | None, concurrency: int, url: str | None = None
    ) -> None:
        """`url`: where the journals have their copies. Raises UsageError where Ray or the cluster
        is not there, NotConfigured where a worker lacks a key."""
        self._ray = _ray(address)
        name, told = f"limits-{os.urandom(6).hex()}", _travelling(settings)
        home = _at_home(self._ray)
        # it lives as long as it is held here
        self._counter = self._actor(Counter, home, name=name, max_task_retries=-1).remote(told)
        cpus = int(self._ray.cluster_resources().get("CPU", 1))
        count = max(1, min(concurrency, cpus))
        each = -(-concurrency // count)
        worker = self._actor(Worker, "SPREAD", max_concurrency=each, max_task_retries=RETRIES)
        self._workers = [worker.remote(told, name, url) for _ in range(count)]
        self._load = [0] * count
        self._check()

    def _actor(self, kind: type, strategy: Any, **options: Any) -> Any:
        made = self._ray.remote(kind)
        return made.options(num_cpus=0, max_restarts=-1, scheduling_strategy=strategy, **options)

    def _check(self) -> None:
        """What no topic could be researched with is told before the first."""
        asked = [worker.fault.remote() for worker in self._workers]
        try:
            faults = [fault for fault in self._ray.get(asked, timeout=READY) if fault]
        except self._ray.exceptions.GetTimeoutError:
            raise UsageError("The workers do not start.", "Look at `ray status`.") from None
        if faults:
            message, remedy = faults[0]
            raise NotConfigured(f"A worker says: {message}", f"On each node: {remedy}")

    def start(self, topic: Topic, settings: Settings) -> Future[Json]:
        """The row of a topic, when it has ended in the worker that has least to do."""
        least = self._load.index(min(self._load))
        self._load[least] += 1
        given = topic._asdict(), settings.resume
        flight = self._workers[least].row.remote(*given).future()
        ended: Future[Json] = Future()
        flight.add_done_callback(lambda done: self._settle(least, done, ended))
        return ended

    def _settle(self, worker: int, done: Future[Json], ended: Future[Json]) -> None:
        self._load[worker] -= 1
        error = done.exception()
        if error is None:
            ended.set_result(done.result())
        elif isinstance(error, self._ray.exceptions.RayActorError):
            fault = f"Its worker was lost {RETRIES + 1} times."
            ended.set_exception(AgentError(fault, "Look at `ray status`, then --retry-failed."))
        else:
            ended.set_exception(error)

    def spent(self) -> list[Spent]:
        """Nothing: what runs under way spend is known when they end."""
        return []

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        self._ray.shutdown()


class Worker:
    """Runs topics in threads, in a process of the cluster."""

    def __init__(self, settings: str, counter: str, url: str | None) -> None:
        self._given = Settings.model_validate_json(settings)
        self._counter = counter
        self._url = url

    @cached_property
    def _settings(self) -> Settings:
        own = here()
        return self._given.model_copy(update={name: getattr(own, name) for name in _blank()})

    @cached_property
    def _shared(self) -> Shared:
        found = rates(self._settings.rate_limits)
        window = self._settings.rate_window
        return shared(self._settings, Limits(found, Counted(self._counter), window))

    @cached_property
    def _mirror(self) -> Mirror | None:
        return Mirror(self._url, self._settings) if self._url else None

    def fault(self) -> tuple[str, str] | None:
        """Why no run could be made here: message and remedy."""
        try:
            assert self._shared and (self._mirror or not self._url)
        except AgentError as error:
            return error.message, error.remedy
        return None

    def row(self, topic: Json, name: str) -> Json:
        """The row of a topic. Waits for a journal that a worker given up has not let go of yet."""
        settings = self._settings.model_copy(update={"resume": name})
        work = partial(row, Topic(**topic), settings, self._shared, patient=True)
        until = time.monotonic() + STALE
        while True:
            try:
                return mirrored(self._mirror, settings, work)
            except JournalBusy:
                if time.monotonic() > until:
                    raise
                time.sleep(0.5)


class Counter:
    """The actor that counts for the whole cluster, in the files of its node."""

    def __init__(self, settings: str) -> None:
        self._limits = shared_limits(Settings.model_validate_json(settings))

    def take(self, name: str, tokens: int) -> float:
        """As `Store.take`."""
        return self._limits.store.take(name, tokens)

    def refuse(self, name: str, seconds: float) -> None:
        """As `Store.refuse`."""
        self._limits.store.refuse(name, seconds)


class Counted:
    """The store of a worker: it asks the actor of this name."""

    def __init__(self, counter: str) -> None:
        self._name = counter

    @cached_property
    def _counter(self) -> Any:
        import ray

        return ray.get_actor(self._name)

    def take(self, name: str, tokens: int) -> float:
        """Count a request and return 0, or say in how many seconds to ask again."""
        import ray

        return float(ray.get(self._counter.take.remote(name, tokens)))

    def refuse(self, name: str, seconds: float) -> None:
        """A provider said 429."""
        self._counter.refuse.remote(name, seconds)


def _ray(address: str | None) -> Any:
    try:
        import ray
    except ImportError:
        remedy = "Install it: pip install 'llm-research-agent[ray]'."
        raise UsageError("--engine ray needs Ray.", remedy) from None
    options = {} if address else {"include_dashboard": False}
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", **options)
    except (ConnectionError, ValueError, RuntimeError, TimeoutError) as error:
        fault = f"The Ray cluster cannot be reached: {str(error)[:200]}"
        raise UsageError(fault, "Check --address, and that `ray status` answers.") from None
    return ray


def _at_home(ray: Any) -> Any:
    """Beside the command: lost workers do not take the counts with them."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = ray.get_runtime_context().get_node_id()
    return NodeAffinitySchedulingStrategy(node_id=here, soft=True)


def _blank() -> dict[str, SecretStr]:
    """Nothing in the place of every secret."""
    fields = Settings.model_fields.items()
    return {name: SecretStr("") for name, field in fields if field.annotation is SecretStr}


def _travelling(settings: Settings) -> str:
    """Settings as JSON without secrets, whose paths mean the same on every node."""
    paths = {"runs_dir": journal_path(settings, "any").parent.resolve()}
    if settings.corpus:
        paths["corpus"] = settings.corpus.resolve()
    return settings.model_copy(update={**paths, **_blank()}).model_dump_json()
