"""Replay: the same answer, byte for byte, with no key, no network and no clock."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.answer.json_format import to_json
from agent.answer.schema import Answer
from agent.settings import Settings, parse_settings
from agent.state.json_data import Json
from tests.support.services import Raw, Services, as_html
from tests.support.worlds import (
    call_subject,
    conflict,
    count_requests,
    read_journal_calls,
    read_journal_lines,
    run_to_end,
    two_rounds,
)
from tests.whole.golden.__main__ import FOLDER, NAMES, record

ROOT = Path(__file__).parents[2]
PROVEN = ("answer", "citations", "slots", "claims")  # equal after a replay, byte for byte
OTHER_MACHINES = {
    "full": {"TZ": "Pacific/Kiritimati", "LC_ALL": "tr_TR.UTF-8", "PYTHONHASHSEED": "4242"},
    "conflict": {"TZ": "", "LC_ALL": "POSIX", "PYTHONHASHSEED": "77", "PYTHONUTF8": "0"},
}


def proof(answer: Json | Answer) -> dict[str, str]:
    value = answer.model_dump(mode="json") if isinstance(answer, Answer) else answer
    return {name: json.dumps(value[name]) for name in PROVEN}


def replayed(path: Path) -> Answer:
    _, answer = run_to_end("", Settings(), replay=path)
    to_json(answer)
    return answer


class Recorded(NamedTuple):
    """Runs whose services are gone: only their journals are left."""

    journals: dict[str, Path]
    answers: dict[str, Json]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    folder = tmp_path_factory.mktemp("recorded")
    runs = Recorded({}, {})
    with Services() as services:
        environment = services.environment(folder, CACHE_TTL="0")
        for name, world in {"full": two_rounds(), "conflict": conflict()}.items():
            world.set_up(services)
            _, answer = run_to_end(world.topic, parse_settings(environment), resume=name)
            runs.journals[name] = folder / "runs" / f"{name}.jsonl"
            runs.answers[name] = json.loads(to_json(answer))
    return runs


def elsewhere(path: Path, machine: dict[str, str], home: Path) -> subprocess.CompletedProcess[str]:
    """Replay in a process that knows nothing of the first: no key, another place and language."""
    folder = home / "nowhere"
    folder.mkdir(parents=True)
    environment = {
        **{name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ},
        **{name: str(home) for name in ("HOME", "TMPDIR")},
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        **machine,
    }
    command = [sys.executable, "-m", "agent.cli", "--replay", str(path)]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", timeout=60
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHER_MACHINES)
def test_replay_on_another_machine(name: str, recorded: Recorded, tmp_path: Path) -> None:
    path = tmp_path / "moved.jsonl"
    path.write_bytes(recorded.journals[name].read_bytes())
    path.chmod(0o400)
    done = elsewhere(path, OTHER_MACHINES[name], tmp_path / "home")
    assert done.returncode == 0 and done.stderr == ""
    answer = json.loads(done.stdout)
    assert proof(answer) == proof(recorded.answers[name])
    assert answer["attempts"] == recorded.answers[name]["attempts"]
    left = sorted(str(one.relative_to(tmp_path)) for one in tmp_path.rglob("*"))
    assert left == ["home", "home/nowhere", "moved.jsonl"]  # nothing was written
    assert path.read_bytes() == recorded.journals[name].read_bytes()


@pytest.mark.slow
def test_a_call_that_the_journal_lacks_is_named(recorded: Recorded, tmp_path: Path) -> None:
    """Every line in turn is taken out; for the shell, one of them."""
    written = recorded.journals["full"].read_bytes().splitlines(keepends=True)
    path = tmp_path / "less.jsonl"
    for number, line in enumerate(written[1:-1], 1):  # the last one is the answer
        call = json.loads(line)
        request = call["request"]
        named = request.get("query") or request.get("url") or request["task"]
        path.write_bytes(b"".join(written[:number] + written[number + 1 :]))
        answer = replayed(path)
        assert answer.status == "error" and answer.error and answer.error.kind == "journal"
        assert f"{call['call']} {named}" in answer.error.message
    done = elsewhere(path, OTHER_MACHINES["full"], tmp_path / "home")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert json.loads(done.stdout)["error"]["kind"] == "journal"


@pytest.mark.parametrize("kind", ["ask", "search", "read"])
@pytest.mark.parametrize("nonsense", [{"response": {"x": 1}}, {"error": {}}])
def test_a_line_that_cannot_be_used_is_named(
    kind: str, nonsense: Json, recorded: Recorded, tmp_path: Path
) -> None:
    """It was edited, or a later version wrote it; it is no reason to wait for ever."""
    written = read_journal_lines(recorded.journals["full"])
    spoilt = next(n for n, line in enumerate(written) if line.get("call") == kind)
    kept = {name: written[spoilt][name] for name in ("call", "key", "request")}
    written[spoilt] = {**kept, **nonsense}
    path = tmp_path / "spoilt.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in written))
    answer = replayed(path)
    assert answer.error and answer.error.kind == "damaged"
    assert f"cannot be used: {kind} " in answer.error.message


foreign = st.builds(
    lambda key, kind, query: {
        "call": kind,
        "key": f"foreign-{key}",
        "request": {"query": query},
        "response": {"text": query},
        "seconds": 0.1,
    },
    st.integers(),
    st.sampled_from(["ask", "search", "read", "another kind"]),
    st.text(max_size=20),
)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(st.randoms(use_true_random=False), st.lists(foreign, max_size=5))
def test_lines_in_any_order_and_among_foreign_ones(
    recorded: Recorded, chance: Random, others: list[Json]
) -> None:
    for name in ("full", "conflict"):
        header, *made = read_journal_lines(recorded.journals[name])
        mixed = made + others
        chance.shuffle(mixed)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "mixed.jsonl"
            text = "".join(f"{json.dumps(line)}\n" for line in [header, *mixed])
            path.write_text(text, encoding="utf-8")
            answer = replayed(path)
        assert proof(answer) == proof(recorded.answers[name])
        counts = answer.usage.model_dump(exclude={"seconds"})
        assert counts.items() <= recorded.answers[name]["usage"].items()


@pytest.fixture
def late(services: Services, tmp_path: Path) -> Settings:
    """A world whose pages are slower than its searches, and whose last answer is slower yet."""
    world = two_rounds()._replace(busy=frozenset())
    kind = {"Content-Type": "text/html"}
    world.set_up(services).pages = {
        name: Raw(200, as_html(name, text), kind, 0.1) for name, text in world.pages.items()
    }

    def think(asked: Any) -> Any:
        if asked.task == "synthesize":
            services.latency = lambda: 0.25
        return world.think(asked)

    services.think = think
    return parse_settings(services.environment(tmp_path, CACHE_TTL="0"))


@pytest.mark.slow
@pytest.mark.parametrize("most", [3, 14])
def test_a_run_that_its_budget_ended(most: int, late: Settings, services: Services) -> None:
    """It replays to its partial answer; gone on with, to its full one."""
    assert late.runs_dir
    path = late.runs_dir / "late.jsonl"
    _, partial = run_to_end(two_rounds().topic, late, resume="late", max_calls=most)
    assert partial.status == "partial" or partial.slots["city"].value is None
    assert proof(replayed(path)) == proof(partial)
    known, before = (
        {call_subject(call) for call in read_journal_calls(path)},
        count_requests(services),
    )
    _, answer = run_to_end("", late, resume="late")
    assert answer.status == "complete" and answer.slots["city"].value == "Uppsala"
    assert not known & (count_requests(services) - before).keys()
    assert proof(replayed(path)) == proof(answer)


@pytest.mark.slow
def test_a_run_that_was_stopped_and_goes_on(late: Settings, services: Services) -> None:
    from agent.run.begin import research

    assert late.runs_dir
    path = late.runs_dir / "late.jsonl"
    for count in (1, 8, 16):
        run = research(two_rounds().topic, late, resume="late")
        for number, _ in enumerate(run, 1):
            if number == count:
                run.stop()
        stopped = run.answer()
        assert stopped.status == ("partial" if stopped.citations else "insufficient")
        assert proof(replayed(path)) == proof(stopped)
    _, answer = run_to_end("", late, resume="late")
    assert answer.status == "complete" and proof(replayed(path)) == proof(answer)


@pytest.mark.parametrize("name", NAMES)
def test_golden(name: str) -> None:
    """The same services give the same calls and answer. See `tests/whole/golden/__main__.py`."""
    assert record(name) == json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
