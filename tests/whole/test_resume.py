"""Resume: wherever a run ended, resuming gives the same answer and pays nothing twice."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

from agent.errors import JournalError
from agent.run.begin import research
from agent.settings import Settings, parse_settings
from agent.state.json_data import Json
from tests.support.processes import TIMEOUT, RunProcess, start_run
from tests.support.services import Raw, Services
from tests.support.thinker import Fact, Thinker
from tests.support.web import wait_until
from tests.support.worlds import (
    World,
    call_subject,
    comparable_events,
    count_requests,
    read_journal_calls,
    read_journal_lines,
    replace_ports,
    run_to_end,
    two_rounds,
    without_times,
)

CALLS = 17  # of a whole run in the world `full`
KILLS = 6
AT_ONCE = 3  # lives that are begun before kills are counted
SLOW = 0.04  # seconds: the most that a service takes to answer while runs are killed


class Whole(NamedTuple):
    """A run that nothing disturbed, with which a resumed one is compared."""

    world: World
    services: Services
    settings: Settings
    journal: bytes
    requests: Counter[tuple[str, str]]
    answer: Json
    events: Any

    def calls(self) -> list[Json]:
        lines = map(json.loads, self.journal.splitlines())
        return [line for line in lines if "call" in line]

    def resumed(self, path: Path, **more: Any) -> tuple[Json, Any]:
        """The answer object and the events of a run that goes on with a journal."""
        self.world.set_up(self.services)
        run, answer = run_to_end("", self.settings, resume=str(path), **more)
        return answer.model_dump(mode="json"), comparable_events(run)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    folder, world = tmp_path_factory.mktemp("whole"), two_rounds()
    with Services() as services:
        environment = world.set_up(services).environment(folder, CACHE_TTL="0")
        settings = parse_settings(environment, patience=60.0)  # no page is given up as late
        run, answer = run_to_end(world.topic, settings, resume="whole")
        assert answer.run and answer.run.journal and answer.status == "complete"
        journal = Path(answer.run.journal).read_bytes()
        requests, value = count_requests(services), answer.model_dump(mode="json")
        yield Whole(world, services, settings, journal, requests, value, comparable_events(run))


def compared(answer: Json) -> Any:
    """All of an answer object that must be the same, wherever the services and the journal are."""
    run = {**answer["run"], "journal": None}
    return json.loads(replace_ports(json.dumps(without_times({**answer, "run": run}))))


# --- cut after each call ----------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kept", range(CALLS + 1))
def test_cut_after_each_call(kept: int, whole: Whole, tmp_path: Path) -> None:
    """Missing calls are made, and no others. Every second journal ends in a torn line."""
    written = whole.journal.splitlines(keepends=True)
    begun = b"".join(written[: kept + 1])
    rest = b"".join(written[kept + 1 : kept + 2])
    path = tmp_path / "whole.jsonl"
    path.write_bytes(begun + (rest[: len(rest) // 2] if kept % 2 else b""))
    answer, events = whole.resumed(path)
    assert answer["run"]["journal"] == str(path)
    assert answer["run"]["started_at"] == whole.answer["run"]["started_at"]
    assert compared(answer) == compared(whole.answer)
    assert events == whole.events
    known = {call_subject(json.loads(line)) for line in written[1 : kept + 1]}
    missing = {what: times for what, times in whole.requests.items() if what not in known}
    assert count_requests(whole.services) == missing
    assert path.read_bytes().startswith(begun)
    keys = [call["key"] for call in read_journal_calls(path)]
    assert sorted(keys) == sorted(call["key"] for call in whole.calls())


def test_a_run_that_ended_is_resumed_without_a_call(whole: Whole, tmp_path: Path) -> None:
    path = tmp_path / "whole.jsonl"
    path.write_bytes(whole.journal)
    answer, events = whole.resumed(path)
    assert not count_requests(whole.services) and path.read_bytes() == whole.journal
    assert events == whole.events
    for key in whole.answer.keys() - {"usage", "run"}:  # even seconds and times
        assert answer[key] == whole.answer[key]


@pytest.mark.parametrize("size", [0, 50])
def test_a_header_that_was_not_written_whole(size: int, whole: Whole, tmp_path: Path) -> None:
    """The run is begun anew, under its name."""
    path = tmp_path / "whole.jsonl"
    path.write_bytes(whole.journal[:size])
    whole.world.set_up(whole.services)
    run, answer = run_to_end(whole.world.topic, whole.settings, resume=str(path))
    value = answer.model_dump(mode="json")
    assert _but_start(value) == _but_start(whole.answer) and comparable_events(run) == whole.events
    assert value["run"]["id"] == "whole" and count_requests(whole.services) == whole.requests


# --- killed -------------------------------------------------------------------------------------


class Life(NamedTuple):
    """A run that is killed now and then, with services of its own."""

    number: int
    services: Services
    folder: Path

    @property
    def path(self) -> Path:
        return self.folder / "runs" / "life.jsonl"

    @property
    def environment(self) -> dict[str, str]:
        return self.services.environment(self.folder, CACHE_TTL="0")

    def begin(self, *arguments: str) -> RunProcess:
        options = {"cwd": self.folder, "environment": self.environment}
        return start_run("--resume", "life", *arguments, **options)

    def finished_calls(self) -> set[tuple[str, str]]:
        """The calls that are in the journal: those that had ended when it was killed."""
        calls = read_journal_calls(self.path) if self.path.exists() else []
        return set(map(call_subject, calls))

    @contextmanager
    def repeats_no_call(self) -> Iterator[None]:
        known, before = self.finished_calls(), count_requests(self.services)
        yield
        assert not known & (count_requests(self.services) - before).keys()


def _one_life(number: int, folder: Path, longest: float) -> tuple[int, Json]:
    """Kill a run one to four times at random moments, then let it end.

    After each crash, nothing of what the journal knew is asked again. Returns how many kills met
    a living process, and the answer.
    """
    chance, topic, crashes = Random(number), two_rounds().topic, 0
    with _calm(number, folder) as life:
        for _ in range(1 + number % 4):
            with life.repeats_no_call(), life.begin(topic) as started:
                if started.ends_within(chance.uniform(0, longest)):
                    break
                crashes += started.kill() == -signal.SIGKILL
        with life.repeats_no_call(), life.begin(topic) as started:
            answer = started.answer
        header, made = read_journal_lines(life.path)[0], read_journal_calls(life.path)
    assert len({call["key"] for call in made}) == len(made) == CALLS
    assert header["run"] == answer["run"]["id"]
    return crashes, answer


@contextmanager
def _calm(number: int, folder: Path) -> Iterator[Life]:
    """Services that refuse nothing once: what a killed run had seen refused is not in a journal."""
    chance = Random(number)
    folder.mkdir()
    with Services() as services:
        two_rounds()._replace(busy=frozenset()).set_up(services)
        services.latency = lambda: chance.random() * SLOW
        yield Life(number, services, folder)


@pytest.mark.slow
def test_kills_at_random_moments(tmp_path: Path) -> None:
    """Some hit the start, some a call, some the writing of a line, some a run that was resumed."""
    _undisturbed(tmp_path / "warm")
    longest, undisturbed = _undisturbed(tmp_path / "timed")
    crashes = 0
    with ThreadPoolExecutor(3) as pool:
        for first in range(0, 20 * AT_ONCE, AT_ONCE):
            numbers = range(first, first + AT_ONCE)
            lives = pool.map(lambda n: _one_life(n, tmp_path / str(n), longest), numbers)
            for killed, answer in lives:
                crashes += killed
                if _late(answer) == _late(undisturbed):
                    assert _but_start(answer) == undisturbed
            if crashes >= KILLS:
                break
    assert crashes >= KILLS


def _undisturbed(folder: Path) -> tuple[float, Any]:
    """How long a run takes that nobody kills, and its answer."""
    begun = time.monotonic()
    with _calm(0, folder) as life, life.begin(two_rounds().topic) as started:
        answer = started.answer
    assert answer["status"] == "complete"
    return time.monotonic() - begun, _but_start(answer)


def _late(answer: Json) -> list[str]:
    """What was given up as much slower than the rest: on a busy machine that is chance."""
    return [warning for warning in answer["warnings"] if "was given up" in warning]


def _but_start(answer: Json) -> Any:
    value = compared(answer)
    for name in ("started_at", "id"):
        del value["run"][name]
    return value


# --- stopped, twice at once -----------------------------------------------------------------------


@pytest.fixture
def life(tmp_path: Path) -> Iterator[Life]:
    with Services() as services:
        two_rounds().set_up(services)
        yield Life(0, services, tmp_path)


def block_task(life: Life, task: str) -> threading.Event:
    """Let the model think about a task until the event that is returned is set."""
    release, honest = threading.Event(), life.services.think

    def think(request: Any) -> Any:
        if request.task == task:
            release.wait(TIMEOUT)
        return honest(request)

    life.services.think = think
    return release


@pytest.mark.slow
def test_an_interrupted_run_goes_on_to_the_full_answer(life: Life, whole: Whole) -> None:
    release = block_task(life, "reflect")
    with life.begin(whole.world.topic) as started:
        wait_until(lambda: "reflect" in life.services.tasks(), TIMEOUT)
        started.send(signal.SIGTERM)
        partial = started.answer
    release.set()
    # the passages of what was read, or none that fits: no model had a word
    assert (partial["status"], started.status) in {("partial", 0), ("insufficient", 3)}
    assert partial["answer"]
    before = count_requests(life.services)
    with life.repeats_no_call(), life.begin() as started:
        answer = started.answer
    assert _but_start(answer) == _but_start(whole.answer)
    assert answer["run"]["started_at"] == partial["run"]["started_at"]
    assert count_requests(life.services) != before


@pytest.mark.slow
def test_of_many_that_begin_one_run_at_once_one_does(life: Life, whole: Whole) -> None:
    """The others end at once with an error, and make no call."""
    release = block_task(life, "generate_queries")
    with ExitStack() as stack:
        many = [stack.enter_context(life.begin(whole.world.topic)) for _ in range(6)]
        wait_until(lambda: sum(one.ends_within(0) for one in many) == 5, TIMEOUT)
        release.set()
        errors = [one.answer["error"] for one in many]
    assert sorted(one.wait() for one in many) == [0, 1, 1, 1, 1, 1]
    refusals = [error for error in errors if error]
    assert [error["kind"] for error in refusals] == ["journal"] * 5
    assert "another run" in refusals[0]["message"] and refusals[0]["remedy"]
    assert life.services.tasks().count("generate_queries") == 1


def test_another_question_or_none_is_wrong_usage(life: Life, whole: Whole) -> None:
    with life.begin() as started:
        answer = started.answer
    assert started.status == 2 and "question" in answer["error"]["remedy"].lower()
    assert not life.path.exists()
    life.path.parent.mkdir(exist_ok=True)
    life.path.write_bytes(whole.journal)
    with life.begin("Who founded another firm?") as started:
        answer = started.answer
    assert started.status == 2 and answer["error"]["kind"] == "usage"
    assert whole.world.topic in answer["error"]["message"]
    assert life.path.read_bytes() == whole.journal and not count_requests(life.services)


# --- full disk, no permission ---------------------------------------------------------------------


# --- settings of the journal ----------------------------------------------------------------------


def test_a_run_goes_on_as_it_was_begun_and_with_the_model_that_it_had_moved_to(
    services: Services, tmp_path: Path
) -> None:
    """Slots and rounds are those of the beginning; a model that was down is not tried again."""
    services.pages, services.default_hits = {"final": "Argentina won the cup."}, ["final"]
    honest = Thinker([Fact("winner", "Argentina", "Argentina won")], ["cup winner"])
    services.think = lambda a: Raw(503, "") if a.model == "gemini-3.8-flash" else honest(a)
    settings = parse_settings(services.environment(tmp_path, CACHE_TTL="0"))
    _, whole = run_to_end("Who won the cup?", settings, resume="x", slots=("winner",))
    path = tmp_path / "runs" / "x.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    kept = next(i for i, line in enumerate(lines) if b'"reflect"' in line)
    path.write_bytes(b"".join(lines[:kept]))
    services.model_requests.clear()
    _, resumed = run_to_end("", settings, resume="x")
    assert resumed.slots == whole.slots and resumed.citations == whole.citations
    assert {request.model for request in services.model_requests} == {"gemini-3.5-flash-lite"}


@pytest.mark.parametrize("header", [{"journal": 1}, {"journal": 1, "topic": 5}])
def test_a_header_of_no_run_is_an_error(header: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(header) + "\n")
    for request in ({"replay": path}, {"resume": str(path)}):
        with pytest.raises(JournalError):
            research("", Settings(offline=True), **request)
