"""The command line as a user meets it: a process, its stdout, its stderr and its exit status."""

from __future__ import annotations

import json
import signal
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from agent import __version__
from tests.support.processes import clean_environment, start_command
from tests.support.services import GEMINI_KEY, SERPAPI_KEY, ModelRequest, Raw, Services
from tests.support.web import wait_until

ROOT = Path(__file__).parents[2]
TOPIC = "Who won the 2022 FIFA World Cup?"


class Done(subprocess.CompletedProcess[bytes]):
    """A finished command; its stdout must be one JSON object."""

    @property
    def answer(self) -> dict[str, Any]:
        assert self.stdout.endswith(b"\n") and b"Traceback" not in self.stderr, self.stderr
        value = json.loads(self.stdout)
        jsonschema.Draft202012Validator(printed_schema()).validate(value)
        assert isinstance(value, dict)
        return value


def start(
    *arguments: str | bytes, cwd: Path, environment: dict[str, str] | None = None, **pipes: Any
) -> subprocess.Popen[bytes]:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **pipes}
    given = clean_environment({"PYTHONPATH": str(ROOT), **(environment or {})})
    return start_command("-m", "agent.cli", *arguments, cwd=cwd, env=given, **pipes)


def cli(*arguments: str | bytes, stdin: bytes = b"", **where: Any) -> Done:
    process = start(*arguments, stdin=subprocess.PIPE, **where)
    out, err = process.communicate(stdin, timeout=60)
    return Done(process.args, process.returncode, out, err)


@cache
def printed_schema() -> dict[str, Any]:
    """The schema of an answer, as `--schema` prints it."""
    process = start("--schema", cwd=ROOT)
    value = json.loads(process.communicate(timeout=60)[0])
    assert isinstance(value, dict) and not process.returncode
    return value


def test_schema_is_a_json_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(printed_schema())
    assert printed_schema()["$schema"].endswith("2020-12/schema")
    assert {"answer", "citations", "status", "error"} <= set(printed_schema()["required"])
    assert cli("--version", cwd=ROOT).stdout.decode().strip().endswith(__version__)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(printed_schema()).validate({"answer": "no citations"})


def test_offline_answers_the_demo_question(tmp_path: Path) -> None:
    done = cli("--offline", "--topic", TOPIC, cwd=tmp_path)
    answer = done.answer
    assert done.returncode == 0 and answer["status"] == "complete"
    assert not answer["degraded"]  # it is what was asked for
    assert "Argentina" in answer["answer"] and answer["citations"]
    assert answer["slots"]["winner"]["value"] == "Argentina"
    assert answer["usage"]["llm_calls"] == 0 and answer["usage"]["usd"] == 0


def test_a_full_run_over_the_wire(world: Services, tmp_path: Path) -> None:
    done = cli(TOPIC, "--compact", cwd=tmp_path, environment=world.environment(tmp_path))
    assert done.returncode == 0 and done.stdout.count(b"\n") == 1
    assert done.answer["answer"] == "The winner is Argentina [1]."
    assert done.stderr == b""  # a pipe gets no progress


@pytest.mark.slow
def test_verbose_and_events_go_to_stderr(world: Services, tmp_path: Path) -> None:
    environment = world.environment(tmp_path)
    done = cli(TOPIC, "--verbose", cwd=tmp_path, environment=environment)
    kinds = [line.split("]")[0][1:] for line in done.stderr.decode().splitlines()]
    assert kinds[0] == "STARTED" and kinds[-3:] == ["ANSWERED", "ASKED", "VERIFIED"]
    assert "PAGE_READ" in kinds
    assert "[1]" not in done.stderr.decode()  # sources have no numbers before the answer
    assert done.answer["status"] == "complete"
    done = cli(TOPIC, "--events", cwd=tmp_path, environment=environment)
    events = [json.loads(line) for line in done.stderr.splitlines()]
    assert [event["type"].upper() for event in events] == kinds
    assert not {"[1]", '"source"', '"citations"'} & set(done.stderr.decode().split())
    assert not any(key in done.stderr.decode() for key in (GEMINI_KEY, SERPAPI_KEY))


def test_the_question_from_stdin_and_a_dotenv(world: Services, tmp_path: Path) -> None:
    environment = world.environment(tmp_path)
    key = environment.pop("GEMINI_API_KEY")
    (tmp_path / ".env").write_text(f"GEMINI_API_KEY={key}\nSERPAPI_API_KEY=not-this-one\n")
    done = cli("-", cwd=tmp_path, environment=environment, stdin=f"{TOPIC}\n".encode())
    assert done.returncode == 0 and done.answer["topic"] == TOPIC


def test_every_service_down(tmp_path: Path) -> None:
    with Services() as gone:
        environment = gone.environment(tmp_path)
    done = cli(TOPIC, cwd=tmp_path, environment=environment)
    assert done.returncode == 1 and done.answer["status"] == "error"
    assert "serpapi" in done.answer["error"]["message"].lower()


def test_no_results(world: Services, tmp_path: Path) -> None:
    world.default_hits = []
    done = cli(TOPIC, cwd=tmp_path, environment=world.environment(tmp_path))
    assert done.returncode == 3 and done.answer["status"] == "insufficient"


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("Argentina it was [1].", [{"source": 1, "quote": "the cup went to Buenos Aires"}]),
        ("Argentina it was.", []),
    ],
)
def test_an_answer_is_not_lost_to_how_it_quotes(
    text: str, cited: list[Any], world: Services, tmp_path: Path
) -> None:
    """Nothing of it is anchored, so what fits it best is; it is not said that nothing was found."""
    honest = world.think

    def think(asked: ModelRequest) -> Any:
        if asked.task in ("reflect", "synthesize"):
            return {**honest(asked), "answer": text, "citations": cited, "slots": []}
        return "no JSON" if asked.task == "verify" else honest(asked)

    world.think = think
    done = cli(TOPIC, cwd=tmp_path, environment=world.environment(tmp_path))
    assert done.returncode == 0 and done.answer["status"] == "partial"
    assert done.answer["answer"].startswith("Argentina it was")
    assert {claim["verdict"] for claim in done.answer["claims"]} == {"unchecked"}
    assert "Not confirmed: 1 of 1 sentence." in done.answer["warnings"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "topic",
    [
        b"{{7*7}} ${HOME} %s {0} who won?",
        b"who \xff\xfe won?",
        b'"quotes\' and \\backslashes" NEAR OR AND * ( who won',
    ],
)
def test_hostile_topics(topic: bytes, world: Services, tmp_path: Path) -> None:
    environment = world.environment(tmp_path)
    for arguments in (("--",), ("--offline", "--")):
        done = cli(*arguments, topic, cwd=tmp_path, environment=environment)
        assert done.returncode == (0 if done.answer["citations"] else 3)
        assert not any(ord(char) < 32 for char in done.answer["topic"])


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        (["--offline", "-"], b"x" * 1_000_000, "at most 2000"),
        (["--offline", "-"], "Who won?".encode("utf-16-le"), "not UTF-8"),
        (["--offline"], b"", "No question"),
        (["--offline", "--max-rounds", "0", "a"], b"", "--max-rounds"),
        (["--offline", "--corpus", "/nowhere/at/all", "a"], b"", "does not exist"),
        (["--offline", "--out", "/nowhere/at/a.json", "a"], b"", "There is no folder /nowhere/at"),
    ],
)
def test_wrong_usage(arguments: list[str], stdin: bytes, message: str, tmp_path: Path) -> None:
    done = cli(*arguments, cwd=tmp_path, stdin=stdin)
    error = done.answer["error"]
    assert done.returncode == 2 and error["kind"] == "usage"
    assert message in error["message"] and error["remedy"]


@pytest.mark.slow
def test_the_first_interrupt_asks_for_the_best_answer_so_far(
    world: Services, tmp_path: Path
) -> None:
    """Interrupted while the last model call hangs: the answer is quoted from what was read."""
    honest = world.think
    world.think = lambda a: honest(a) if a.task != "synthesize" else Raw(200, "{}", delay=30)
    environment = world.environment(tmp_path)
    process = start("Who won the cup?", cwd=tmp_path, environment=environment)
    wait_until(lambda: "synthesize" in world.tasks())
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=10)
    answer = Done(process.args, process.returncode, out, err).answer
    assert process.returncode == 0 and answer["status"] == "partial" and answer["degraded"]
    assert "Argentina won the cup [1]." in answer["answer"]


def test_the_second_interrupt_ends_at_once(world: Services, tmp_path: Path) -> None:
    world.think = lambda asked: Raw(200, "{}", delay=30)
    world.hits = lambda query: Raw(200, "{}", delay=30)
    process = start(TOPIC, cwd=tmp_path, environment=world.environment(tmp_path))
    wait_until(lambda: bool(world.model_requests))
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=10)
    assert process.returncode in (130, 0, 3)  # it may have answered between the two
