"""The Ray engine of a batch: runs in the workers of a cluster; one actor enforces rate limits.

Workers read and write journals under `runs_dir`, which must be a directory that all nodes share.
When a worker is lost, Ray starts another with the same topics, whose
runs resume from their journals. Keys are never sent to a worker: it takes them from its own
environment, and all other settings from the command.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import Future
from functools import cached_property
from typing import Any

from agent.calls.budget import CallUsage
from agent.calls.rate_limits import RateLimit, parse_rate_limits
from agent.errors import AgentError, JournalBusy, NotConfigured, UsageError
from agent.run.batch.local import research_row
from agent.run.batch.topics import Topic
from agent.run.header import journal_path
from agent.run.resources import SharedResources, open_rate_limits, share_resources
from agent.settings import Settings, load_settings
from agent.state import Json, RunRequest

MAX_RETRIES = 5  # of a topic whose worker was lost
JOURNAL_WAIT = 60.0  # seconds to wait for a journal that an abandoned worker may still hold
START_TIMEOUT = 120.0  # seconds for the workers to start


class RayEngine:
    """Researches topics in the workers of a Ray cluster, which is started here without address."""

    def __init__(self, settings: Settings, address: str | None, concurrency: int) -> None:
        """Raises UsageError if Ray is not installed or the cluster cannot be used, NotConfigured if
        a worker lacks a key.
        """
        self._ray = _connect(address)
        name, settings_json = f"limits-{os.urandom(6).hex()}", _serialize_settings(settings)
        counter = self._define_actor(
            CounterActor,
            _prefer_this_node(self._ray),
            name=name,
            max_task_retries=-1,
            max_concurrency=1000,  # calls that wait for their turn
        )
        self._counter = counter.remote(settings_json)  # the actor lives as long as this reference
        cpus = int(self._ray.cluster_resources().get("CPU", 1))
        count = max(1, min(concurrency, cpus))
        worker = self._define_actor(
            Worker, "SPREAD", max_concurrency=-(-concurrency // count), max_task_retries=MAX_RETRIES
        )
        self._workers = [worker.remote(settings_json, name) for _ in range(count)]
        self._load = [0] * count  # topics in flight by worker
        self._check_workers()

    def _define_actor(self, actor_class: type, strategy: Any, **options: Any) -> Any:
        return self._ray.remote(actor_class).options(
            num_cpus=0, max_restarts=-1, scheduling_strategy=strategy, **options
        )

    def _check_workers(self) -> None:
        """Raise before the first topic what would make every topic fail."""
        results = [worker.find_fault.remote() for worker in self._workers]
        try:
            faults = [fault for fault in self._ray.get(results, timeout=START_TIMEOUT) if fault]
        except self._ray.exceptions.GetTimeoutError:
            raise UsageError("The workers do not start.", "Look at `ray status`.") from None
        if faults:
            message, remedy = faults[0]
            raise NotConfigured(f"A worker says: {message}", f"On each node: {remedy}")

    def start(self, topic: Topic, request: RunRequest) -> Future[Json]:
        """Start to research a topic in the least busy worker; the result is its row."""
        worker = self._load.index(min(self._load))
        self._load[worker] += 1
        call = (
            self._workers[worker]
            .research.remote(topic._asdict(), request.model_dump_json())
            .future()
        )
        result: Future[Json] = Future()
        call.add_done_callback(lambda done: self._finish(worker, done, result))
        return result

    def _finish(self, worker: int, done: Future[Json], result: Future[Json]) -> None:
        """Pass on what a call of a worker returned or raised, in our own errors."""
        self._load[worker] -= 1
        error = done.exception()
        if error is None:
            result.set_result(done.result())
        elif isinstance(error, self._ray.exceptions.RayActorError):
            fault = f"Its worker was lost {MAX_RETRIES + 1} times."
            result.set_exception(AgentError(fault, "Look at `ray status`, then --retry-failed."))
        else:
            result.set_exception(error)

    def usage_in_flight(self) -> list[CallUsage]:
        """Always empty: the usage of a run is known only when it ends."""
        return []

    def close(self) -> None:
        """Disconnect from the cluster; one that was started here is shut down."""
        self._ray.shutdown()


class Worker:
    """Researches topics in threads of one process of the cluster."""

    def __init__(self, settings: str, counter: str) -> None:
        """`settings`: as JSON, without secrets; `counter`: the name of the CounterActor."""
        self._sent_settings = Settings.model_validate_json(settings)
        self._counter = counter

    @cached_property
    def _settings(self) -> Settings:
        """The settings of the command, with the secrets of this worker's environment."""
        local = load_settings(trust_env=self._sent_settings.trust_env or None)
        secrets = {name: getattr(local, name) for name in _blank_secrets()}
        return self._sent_settings.model_copy(update=secrets)

    @cached_property
    def _resources(self) -> SharedResources:
        rates = parse_rate_limits(self._settings.rate_limits)
        return share_resources(self._settings, ClusterRateLimits(rates, self._counter))

    def find_fault(self) -> tuple[str, str] | None:
        """The message and remedy of what prevents any run here; None: nothing does."""
        try:
            assert self._resources
        except AgentError as error:
            return error.message, error.remedy
        return None

    def research(self, topic: Json, request: str) -> Json:
        """The row of a topic. Waits while an abandoned worker still holds its journal."""
        asked = RunRequest.model_validate_json(request)
        deadline = time.monotonic() + JOURNAL_WAIT
        while True:
            try:
                return research_row(
                    Topic(**topic), self._settings, asked, self._resources, raise_busy=True
                )
            except JournalBusy:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.5)


class CounterActor:
    """The actor that counts requests for the whole cluster, in the files of its node."""

    def __init__(self, settings: str) -> None:
        self._limits = open_rate_limits(Settings.model_validate_json(settings))

    def wait(self, name: str, tokens: int) -> None:
        """As `RateLimits.wait`."""
        self._limits.wait(name, tokens)


class ClusterRateLimits:
    """Rate limits that the CounterActor of this name counts."""

    def __init__(self, limits: dict[str, RateLimit], actor_name: str) -> None:
        self.limits, self._actor_name = limits, actor_name

    @cached_property
    def _actor(self) -> Any:
        import ray

        return ray.get_actor(self._actor_name)

    def wait(self, name: str, tokens: int) -> None:
        """As `RateLimits.wait`."""
        import ray

        ray.get(self._actor.wait.remote(name, tokens))


def _connect(address: str | None) -> Any:
    """Import Ray and connect to the cluster, or start a local one. Raises UsageError."""
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


def _prefer_this_node(ray: Any) -> Any:
    """A scheduling strategy that puts an actor on the command's node, so that a node that is lost
    with its workers does not take the counters with it."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    node = ray.get_runtime_context().get_node_id()
    return NodeAffinitySchedulingStrategy(node_id=node, soft=True)


def _blank_secrets() -> dict[str, Any]:
    """The default, which is empty, of every setting with secrets."""
    fields = Settings.model_fields.items()
    secret = {name: field for name, field in fields if "SecretStr" in str(field.annotation)}
    return {name: field.get_default() for name, field in secret.items()}


def _serialize_settings(settings: Settings) -> str:
    """Settings as JSON, without secrets and with absolute paths, to be used on any node."""
    paths = {"runs_dir": journal_path(settings, "any").parent.resolve()}
    if settings.corpus:
        paths["corpus"] = settings.corpus.resolve()
    return settings.model_copy(update={**paths, **_blank_secrets()}).model_dump_json()
