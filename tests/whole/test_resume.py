"""Resume: wherever a run ended, going on gives the same answer and pays nothing twice."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
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

from agent.errors import JournalError, UsageError
from agent.run.begin import research
from agent.settings import Settings, parse_settings
from agent.state.json_data import Json
from tests.support.processes import ROOT, TIMEOUT, RunProcess, start_run
from tests.support.services import Raw, Services, as_html
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
KILLS = 12
AT_ONCE = 6  # lives that are begun before kills are counted
SLOW = 0.04  # seconds: the most that a service takes to answer while runs are killed


class Whole(NamedTuple):
    """A run that nothing disturbed: what a resumed one is held against."""

    world: World
    services: Services
    settings: Settings
    journal: bytes
    asked: Counter[tuple[str, str]]
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
        settings = parse_settings(environment)
        run, answer = run_to_end(world.topic, settings, resume="whole")
        assert answer.run and answer.run.journal and answer.status == "complete"
        journal = Path(answer.run.journal).read_bytes()
        asked, value = count_requests(services), answer.model_dump(mode="json")
        yield Whole(world, services, settings, journal, asked, value, comparable_events(run))


def compared(answer: Json) -> Any:
    """All of an answer object that must be the same, wherever the services and the journal are."""
    run = {**answer["run"], "journal": None}
    return json.loads(replace_ports(json.dumps(without_times({**answer, "run": run}))))


# --- cut after each call ----------------------------------------------------------------------


def test_the_whole_run_has_what_is_worth_cutting(whole: Whole) -> None:
    made = whole.calls()
    assert len(made) == CALLS and len({call["key"] for call in made}) == CALLS
    kinds = Counter(call["call"] for call in made)
    assert kinds == {"ask": 4, "search": 6, "read": 7}
    failed = Counter(call["call"] for call in made if "error" in call)
    assert failed == {"search": 1, "read": 2}
    assert whole.answer["usage"]["rounds"] == 2 and whole.answer["usage"]["llm_calls"] == 5
    assert whole.answer["slots"]["city"]["value"] == "Uppsala"


@pytest.mark.slow
@pytest.mark.parametrize("torn", [False, True], ids=["whole", "torn"])
@pytest.mark.parametrize("kept", range(CALLS + 1))
def test_cut_after_each_call(kept: int, torn: bool, whole: Whole, tmp_path: Path) -> None:
    """What is missing goes outside, nothing else, and all else is as if nothing had happened."""
    written = whole.journal.splitlines(keepends=True)
    begun = b"".join(written[: kept + 1])
    rest = b"".join(written[kept + 1 : kept + 2])
    path = tmp_path / "whole.jsonl"
    path.write_bytes(begun + (rest[: len(rest) // 2] if torn else b""))
    answer, events = whole.resumed(path)
    assert answer["run"]["journal"] == str(path)
    assert answer["run"]["started_at"] == whole.answer["run"]["started_at"]
    assert compared(answer) == compared(whole.answer)
    assert events == whole.events
    known = {call_subject(json.loads(line)) for line in written[1 : kept + 1]}
    missing = {what: times for what, times in whole.asked.items() if what not in known}
    assert count_requests(whole.services) == missing
    assert path.read_bytes().startswith(begun)
    keys = [call["key"] for call in read_journal_calls(path)]
    assert sorted(keys) == sorted(call["key"] for call in whole.calls())


def test_a_clock_that_was_set_back(whole: Whole, tmp_path: Path) -> None:
    """The journal is of the future: what it knows keeps its times, and all else goes on."""
    future = re.sub(rb'(_?at": )"20\d\d-', rb'\1"2099-', whole.journal)
    written = future.splitlines(keepends=True)
    for kept in (0, 6, 12, CALLS):
        path = tmp_path / f"{kept}" / "whole.jsonl"
        path.parent.mkdir()
        path.write_bytes(b"".join(written[: kept + 1]))
        answer, events = whole.resumed(path)
        assert answer["run"]["started_at"].startswith("2099-")
        assert events == whole.events
        assert _but_recency(answer) == _but_recency(whole.answer)
        assert whole.services.page_requests.count("firm") == (
            b"/web/firm" not in _reads(written[: kept + 1])
        )
    assert all(page["retrieved_at"].startswith("2099-") for page in answer["citations"])


def _reads(written: list[bytes]) -> bytes:
    return b"".join(line[:300] for line in written if b'"call": "read"' in line[:40])


def _but_recency(answer: Json) -> Any:
    """How old a page is counts from the year in which the run began."""
    value = compared(answer)
    del value["run"]["started_at"]
    for citation in value["citations"]:
        del citation["credibility"]
    return value


def test_a_run_that_ended_is_told_again_without_a_call(whole: Whole, tmp_path: Path) -> None:
    path = tmp_path / "whole.jsonl"
    path.write_bytes(whole.journal)
    answer, events = whole.resumed(path)
    assert not count_requests(whole.services) and path.read_bytes() == whole.journal
    assert events == whole.events
    for key in whole.answer.keys() - {"usage", "run"}:  # even seconds and times
        assert answer[key] == whole.answer[key]


@pytest.mark.slow
def test_what_failed_stays_failed_unless_asked_for(whole: Whole, tmp_path: Path) -> None:
    path = tmp_path / "whole.jsonl"
    path.write_bytes(whole.journal)
    failed = Counter(call_subject(call) for call in whole.calls() if "error" in call)
    assert failed.keys() == {("search", "a query that fails"), ("read", "gone"), ("read", "lost")}
    answer, events = whole.resumed(path, retry_failed=True)
    assert count_requests(whole.services) == failed  # it fails again, and the answer is the same
    assert compared(answer) == compared(whole.answer) and events == whole.events
    whole.services.pages["lost"] = "This page is back."
    whole.services.page_requests.clear()
    _, mended = run_to_end("", whole.settings, resume=str(path), retry_failed=True)
    assert "lost" in whole.services.page_requests and mended.sources.failed == 1
    known = {call["key"]: call for call in read_journal_calls(path)}.values()
    assert Counter(call_subject(call) for call in known if "error" in call) == failed - Counter(
        [("read", "lost")]
    )


@pytest.mark.parametrize("size", [0, 1, 50])
def test_a_header_that_was_not_written_whole(size: int, whole: Whole, tmp_path: Path) -> None:
    """The run is begun anew, under its name."""
    path = tmp_path / "whole.jsonl"
    path.write_bytes(whole.journal[:size])
    whole.world.set_up(whole.services)
    run, answer = run_to_end(whole.world.topic, whole.settings, resume=str(path))
    value = answer.model_dump(mode="json")
    assert _but_start(value) == _but_start(whole.answer) and comparable_events(run) == whole.events
    assert value["run"]["id"] == "whole" and count_requests(whole.services) == whole.asked


@pytest.mark.slow
def test_what_was_not_late_then_is_not_given_up_now(services: Services, tmp_path: Path) -> None:
    """Each page took a minute, which the journal knows; those that it has come at once now."""
    world, kind = two_rounds(), {"Content-Type": "text/html"}
    environment = world.set_up(services).environment(tmp_path, CACHE_TTL="0")
    settings = parse_settings(environment)
    _, first = run_to_end(world.topic, settings, resume="a", patience=30)
    assert first.run and first.run.journal and first.sources.failed == 2
    path = Path(first.run.journal)
    header, calls = read_journal_lines(path)[0], read_journal_calls(path)
    calls = [{**call, "seconds": 60.0} if call["call"] == "read" else call for call in calls]
    for page in ("firm", "noise"):
        services.pages[page] = Raw(200, as_html(page, world.pages[page]), kind, 1.0)
        less = [call for call in calls if not str(call["request"].get("url")).endswith(page)]
        assert len(less) == len(calls) - 1
        path.write_text("".join(f"{json.dumps(line)}\n" for line in [header, *less]))
        _, answer = run_to_end("", settings, resume="a", patience=0.2)
        assert answer.sources == first.sources and answer.slots == first.slots


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

    def begin(self, *arguments: str, largest: int = 0) -> RunProcess:
        how: dict[str, Any] = {"environment": self.environment, "largest": largest}
        return start_run("--resume", "life", *arguments, cwd=self.folder, **how)

    def known(self) -> set[tuple[str, str]]:
        """The calls that had ended when it was killed, and stand in the journal."""
        calls = read_journal_calls(self.path) if self.path.exists() else []
        return set(map(call_subject, calls))

    @contextmanager
    def asks_nothing_that_it_knows(self) -> Iterator[None]:
        known, before = self.known(), count_requests(self.services)
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
            with life.asks_nothing_that_it_knows(), life.begin(topic) as started:
                if started.ends_within(chance.uniform(0, longest)):
                    break
                crashes += started.kill() == -signal.SIGKILL
        with life.asks_nothing_that_it_knows(), life.begin(topic) as started:
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


# --- stopped, twice at once, without a disk -------------------------------------------------------


@pytest.fixture
def life(tmp_path: Path) -> Iterator[Life]:
    with Services() as services:
        two_rounds().set_up(services)
        yield Life(0, services, tmp_path)


def held(life: Life, task: str) -> threading.Event:
    """Let the model think about a task until the event that is returned is set."""
    release, honest = threading.Event(), life.services.think

    def think(asked: Any) -> Any:
        if asked.task == task:
            release.wait(TIMEOUT)
        return honest(asked)

    life.services.think = think
    return release


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_goes_on_to_the_full_answer(
    number: signal.Signals, life: Life, whole: Whole
) -> None:
    release = held(life, "reflect")
    with life.begin(whole.world.topic) as started:
        wait_until(lambda: "reflect" in life.services.tasks(), TIMEOUT)
        started.send(number)
        partial = started.answer
    release.set()
    # the passages of what was read, or none that fits: no model had a word
    assert (partial["status"], started.status) in {("partial", 0), ("insufficient", 3)}
    assert partial["answer"]
    before = count_requests(life.services)
    with life.asks_nothing_that_it_knows(), life.begin() as started:
        answer = started.answer
    assert _but_start(answer) == _but_start(whole.answer)
    assert answer["run"]["started_at"] == partial["run"]["started_at"]
    assert count_requests(life.services) != before


@pytest.mark.slow
def test_a_second_process_is_refused_and_the_first_goes_on(life: Life, whole: Whole) -> None:
    release = held(life, "reflect")
    with life.begin(whole.world.topic) as first:
        wait_until(lambda: "reflect" in life.services.tasks(), TIMEOUT)
        with life.begin(whole.world.topic) as second:
            refused = second.answer
        assert second.status == 1 and refused["error"]["kind"] == "journal"
        assert "another run" in refused["error"]["message"] and refused["error"]["remedy"]
        release.set()
        assert _but_start(first.answer) == _but_start(whole.answer) and first.status == 0
    assert count_requests(life.services) == whole.asked


@pytest.mark.slow
def test_of_many_that_begin_one_run_at_once_one_does(life: Life, whole: Whole) -> None:
    """The others are told so at once, and ask nobody."""
    release = held(life, "generate_queries")
    with ExitStack() as stack:
        many = [stack.enter_context(life.begin(whole.world.topic)) for _ in range(6)]
        wait_until(lambda: sum(one.ends_within(0) for one in many) == 5, TIMEOUT)
        release.set()
        errors = [one.answer["error"] for one in many]
    assert sorted(one.wait() for one in many) == [0, 1, 1, 1, 1, 1]
    assert [error["kind"] for error in errors if error] == ["journal"] * 5
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


# --- no room, no permission -----------------------------------------------------------------------


@pytest.mark.slow
def test_a_full_disk_is_told_and_costs_no_answer(life: Life, whole: Whole) -> None:
    with life.begin(whole.world.topic, "--verbose", largest=9000) as started:
        answer = started.answer
    assert started.status == 0 and answer["answer"] == whole.answer["answer"]
    warned = [warning for warning in answer["warnings"] if "journal" in warning]
    assert len(warned) == 1 and "cannot be written (File too large" in warned[0]
    assert f"[WARNED] {warned[0]}" in started.stderr and answer["run"]["journal"] is None
    known, before = life.known(), count_requests(life.services)
    assert 0 < len(known) < CALLS
    with life.begin() as started:  # there is room again
        assert _but_start(started.answer)["slots"] == _but_start(whole.answer)["slots"]
    again = (count_requests(life.services) - before).keys()
    assert len(again) == CALLS - len(known) and not known & again


def powerless(life: Life, *arguments: str) -> tuple[int, Json, str]:
    """The command line by a user who may not write what is not writable: not root, that is."""
    drop = "ctypes.CDLL(None).prctl(24, 1)"  # PR_CAPBSET_DROP, CAP_DAC_OVERRIDE: counts at exec
    code = f"import ctypes, os, sys; {drop}; os.execv(sys.executable, sys.argv[1:])"
    command = [sys.executable, "-c", code, sys.executable, "-m", "agent.cli", *arguments]
    environment = {**os.environ, **life.environment, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=life.folder, env=environment, capture_output=True, text=True, timeout=TIMEOUT
    )
    return done.returncode, json.loads(done.stdout), done.stderr


@pytest.mark.slow
def test_a_directory_that_is_read_only(life: Life, whole: Whole) -> None:
    """A new run is told so and goes on; a run that stands there can only be replayed."""
    life.path.parent.mkdir()
    life.path.write_bytes(whole.journal)
    life.path.chmod(0o400)
    life.path.parent.chmod(0o500)
    status, answer, err = powerless(life, "--resume", "new", whole.world.topic, "--verbose")
    assert status == 0 and answer["answer"] == whole.answer["answer"]
    warned = [warning for warning in answer["warnings"] if "journal" in warning]
    assert len(warned) == 1 and "Permission denied" in warned[0] and warned[0] in err
    before = count_requests(life.services)
    status, answer, err = powerless(life, "--resume", "life")
    assert status == 1 and "--replay" in answer["error"]["remedy"] and "Traceback" not in err
    status, answer, _ = powerless(life, "--replay", str(life.path))
    assert status == 0 and answer["answer"] == whole.answer["answer"]
    assert count_requests(life.services) == before
    life.path.parent.chmod(0o700)


# --- offline --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_offline_with_a_corpus(tmp_path: Path) -> None:
    """Killed, resumed; and when the corpus is gone, replayed."""
    corpus = tmp_path / "corpus"
    shutil.copytree(ROOT / "agent/demo", corpus)
    folders = {name: str(tmp_path / name) for name in ("RUNS_DIR", "CACHE_DIR")}
    offline = ["--offline", "--corpus", str(corpus), "Who won the 2022 FIFA World Cup?"]

    def run(*arguments: str) -> Json:
        with start_run(*arguments, cwd=tmp_path, environment=folders) as started:
            answer = started.answer
        assert started.status == 0, answer["error"]
        return answer

    first = run(*offline, "--resume", "local")
    assert "Argentina" in first["answer"] and first["citations"]
    path = Path(first["run"]["journal"])
    written = path.read_bytes().splitlines(keepends=True)
    for kept in range(1, len(written) + 1, 3):
        path.write_bytes(b"".join(written[:kept]) + b'{"torn')
        assert compared(run(*offline, "--resume", "local")) == compared(first)
        assert sorted(path.read_bytes().splitlines()[0:1]) == [written[0].rstrip()]
        assert len(read_journal_calls(path)) == len(written) - 2
    shutil.rmtree(corpus)
    again = run("--replay", str(path))
    assert compared(again) == compared(first)


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
    assert {asked.model for asked in services.model_requests} == {"gemini-3.5-flash-lite"}


@pytest.mark.parametrize("content", [b"", b'{"journal": 1, "ru'])
def test_a_run_of_which_nothing_was_written_asks_for_its_question(
    content: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "runs" / "x.jsonl"
    path.parent.mkdir()
    path.write_bytes(content)
    settings = Settings(offline=True, runs_dir=path.parent)
    with pytest.raises(UsageError):
        research("", settings, resume="x")
    assert run_to_end("What is Nokia?", settings, resume="x")[1].citations


@pytest.mark.parametrize("header", [{"journal": 1}, {"journal": 1, "topic": 5}])
def test_a_header_of_no_run_is_said(header: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(header) + "\n")
    for request in ({"replay": path}, {"resume": str(path)}):
        with pytest.raises(JournalError):
            research("", Settings(offline=True), **request)
