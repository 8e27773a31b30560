"""The command `research-agent` as people use it: in a terminal, in a pipe, with its commands."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.processes import run_command, run_interpreter, start_command
from tests.support.services import Services

ROOT = Path(__file__).parents[2]
TOPIC = "Who won the 2022 FIFA World Cup?"
CODE = "import sys; sys.argv[0] = '/bin/research-agent'; from agent.cli import main; main()"
STYLE = re.compile(r"\x1b\[[0-9;]*m")


class Output(NamedTuple):
    status: int
    out: str
    err: str


def environment_for(home: Path, more: dict[str, str]) -> dict[str, str]:
    names = ("PATH", "LANG")
    kept = {name: os.environ[name] for name in names if name in os.environ}
    own = {"HOME": str(home), "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"}
    return {**kept, **own, **more}


def in_pipe(
    *arguments: str | bytes, home: Path, stdin: bytes = b"", code: str = CODE, **more: str
) -> Output:
    run = run_command if code == CODE else run_interpreter  # other code says what is imported
    done = run("-c", code, *arguments, cwd=home, env=environment_for(home, more), input=stdin)
    return Output(done.returncode, done.stdout.decode(), done.stderr.decode())


def in_terminal(
    *arguments: str | bytes,
    home: Path,
    columns: int = 80,
    code: str = CODE,
    typed: bytes = b"",
    **more: str,
) -> Output:
    """What a terminal shows of standard output, and of standard error, each a terminal.

    `typed` is what the user types, at the latter.
    """
    shown: list[bytes] = []
    pairs = [pty.openpty(), pty.openpty()]
    for _, slave in pairs:
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    (out, out_slave), (err, err_slave) = pairs
    os.write(err, typed)
    stdin = err_slave if typed else subprocess.DEVNULL
    pipes = {"stdin": stdin, "stdout": out_slave, "stderr": err_slave}
    own: Any = {"cwd": home, "env": environment_for(home, more), "start_new_session": True}
    process = start_command("-c", code, *arguments, **own, **pipes)
    os.close(out_slave)
    os.close(err_slave)
    for master in (err, out):
        pieces = []
        with suppress(OSError):  # the terminal is gone when the process is
            while piece := os.read(master, 65536):
                pieces.append(piece)
        os.close(master)
        shown.append(b"".join(pieces))
    status = process.wait(timeout=60)
    return Output(status, shown[1].decode().replace("\r\n", "\n"), shown[0].decode())


@pytest.mark.parametrize("word", ["serve", "mcp", "batch"])
def test_help_of_a_command_needs_no_extra(word: str, tmp_path: Path) -> None:
    extras = "fastapi uvicorn starlette mcp prometheus_client ray".split()
    refuse = f"import sys; sys.modules.update(dict.fromkeys({extras!r})); "
    done = in_pipe(word, "--help", home=tmp_path, code=refuse + CODE)
    assert done.status == 0 and done.out.startswith(f"Usage: research-agent {word} ")


def test_a_misspelt_command_is_refused_with_its_name(tmp_path: Path) -> None:
    done = in_pipe("chekc", "--offline", home=tmp_path)
    assert done.status == 2 and not done.out and "Did you mean research-agent check?" in done.err


def test_the_format_is_that_of_the_option_or_of_the_file(tmp_path: Path) -> None:
    out = tmp_path / "answer.html"
    asked = ("--offline", "Who founded LEGO?", "--format", "markdown", "--out", str(out))
    done = in_pipe(*asked, home=tmp_path)
    assert done.status == 0 and done.out.startswith("# Who founded LEGO?")
    html = in_pipe(*asked[:2], "--out", str(out), home=tmp_path)
    assert html.status == 0 and out.read_text("utf-8").startswith("<!doctype html>")


def test_a_question_that_begins_with_a_command_has_a_remedy(tmp_path: Path) -> None:
    """Its words are not repeated: values may be keys."""
    done = in_pipe("serve", "coffee", "in", "Rome", home=tmp_path)
    assert done.status == 2 and "research-agent ask ..." in done.err and "Rome?" not in done.err


def test_wrong_usage_is_two_lines_and_nothing_on_stdout(tmp_path: Path) -> None:
    for arguments in (["--no-such"], [], ["--offline", " "]):
        done = in_pipe(*arguments, home=tmp_path)
        lines = done.err.splitlines()
        assert done.status == 2 and not done.out and len(lines) == 2, done
        assert lines[0].startswith("Error: ")
    asked = in_pipe("--no-such", "--format", "json", home=tmp_path)
    assert json.loads(asked.out)["error"]["kind"] == "usage"


def test_nothing_heavy_is_imported_for_help(tmp_path: Path) -> None:
    command = [sys.executable, "-X", "importtime", "-c", CODE, "runs", "--help"]
    own: Any = {"cwd": tmp_path, "env": environment_for(tmp_path, {}), "text": True}
    times = subprocess.run(command, capture_output=True, check=True, **own).stderr
    imported = {line.rpartition("|")[2].strip() for line in times.splitlines()}
    assert "agent.cli.group" in imported
    assert not imported & {"rich", "pydantic", "asyncio", "filelock", "google", "agent.settings"}


def test_a_terminal_gets_text_and_a_pipe_json(tmp_path: Path) -> None:
    done = in_terminal(TOPIC, "--offline", home=tmp_path)
    text = STYLE.sub("", done.out)
    assert done.status == 0 and "\x1b[1m" in done.out
    state = "Answered. Quoted word for word; no model checked it."
    assert text.startswith(f"{TOPIC}\n\nArgentina won the 2022 FIFA") and f"\n{state}\n" in text
    assert re.search(r"^Sources\n\[1\] \S.*\n    corpus:.*\n    “Argentina won", text, re.M)
    assert max(map(len, text.splitlines())) <= 80
    piped = in_pipe(TOPIC, "--offline", home=tmp_path)
    assert json.loads(piped.out)["status"] == "complete" and not piped.err
    narrow = in_terminal(TOPIC, "--offline", home=tmp_path, columns=40, NO_COLOR="1").out
    assert "\x1b" not in narrow and max(map(len, narrow.splitlines())) <= 40


def test_programs_get_json_on_a_terminal_too(tmp_path: Path) -> None:
    module = "import runpy; runpy.run_module('agent.cli', run_name='__main__', alter_sys=True)"
    done = in_terminal("--offline", "--compact", TOPIC, home=tmp_path, code=module)
    assert done.status == 0 and json.loads(done.out)["status"] == "complete"
    assert done.err == ""  # a line of progress would break the JSON that a terminal shows


def test_a_disagreement_comes_first_and_in_amber(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    for name, count in (("a", "4,200"), ("b", "3,850")):
        page = f"# Northwind Energy\n\nIt sells power.\n\nEmployees at the end of 2024: {count}\n"
        (tmp_path / "c" / f"{name}.md").write_text(page)
    question = "Employees of Northwind Energy at the end of 2024?"
    options = ("--offline", "--corpus", "c")
    done = in_terminal(question, *options, home=tmp_path)
    text = STYLE.sub("", done.out)
    box = text[text.index("Sources disagree: ") : text.index("2024: 4,200")]
    first = text[: text.index("Sources disagree.")]
    assert "4,200" in first and "3,850" in first and "╮" in box
    assert "\x1b[33m Sources disagree: " in done.out


HOSTILE = "The cup of \x1b[31mred\x1b[0m [bold]Talmar[/bold] :smile: was won by Ondra\x07 \x9b2J."


def test_pages_cannot_command_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "x.md").write_text(f"# Title [red]\x1b]0;owned\x07\n\n{HOSTILE}\n")
    question = "Who won the cup of Talmar \x1b[2J[blink]?"
    done = in_terminal(question, "--offline", "--corpus", "c", home=tmp_path)
    assert "Ondra" in done.out and "[bold]Talmar[/bold]" in STYLE.sub("", done.out)
    rest = STYLE.sub("", done.out)
    assert not [char for char in rest if ord(char) < 32 and char != "\n" or 127 <= ord(char) < 160]
    assert "owned" not in done.err.replace("\x1b]", "") or "\x1b]" not in done.err


def test_an_error_is_reported_once(tmp_path: Path) -> None:
    done = in_terminal(TOPIC, home=tmp_path)
    assert done.status == 1 and not done.out
    assert done.err.count("GEMINI_API_KEY is not set") == 1
    piped = in_pipe(TOPIC, home=tmp_path)
    error = json.loads(piped.out)["error"]
    message = "GEMINI_API_KEY is not set. Add it to .env, or run with --offline"
    assert (error["kind"], error["message"]) == ("not_configured", message)


@pytest.mark.parametrize(
    "options",
    [
        ["--corpus", ".", "--allow-domain", "a.test"],
        ["--offline", "--llm", "gemini"],
        ["--offline", "--max-steps", "3"],
        ["--replay", "x", "--max-words", "30"],
    ],
)
def test_an_option_without_effect_is_refused(options: list[str], tmp_path: Path) -> None:
    done = in_pipe(TOPIC, *options, home=tmp_path)
    [flag] = re.findall(r"^Error: (--[a-z-]+) has no effect here: ", done.err)
    assert done.status == 2 and not done.out and flag in options


def test_runs_alone_lists_and_last_is_the_newest(tmp_path: Path) -> None:
    for name in ("monday", "tuesday"):
        in_pipe(TOPIC, "--offline", "--resume", name, home=tmp_path)
    rows = json.loads(in_pipe("runs", home=tmp_path).out)
    assert [row["id"] for row in rows] == ["tuesday", "monday"]
    table = in_terminal("runs", home=tmp_path).out
    assert re.search(r"^tuesday .*Answered .*\$0\.00", table, re.M)
    shown = json.loads(in_pipe("runs", "show", "last", home=tmp_path).out)
    assert shown["run"]["id"] == "tuesday"
    for option in ("--follow", "--replay", "--resume"):
        question = ["and who scored?"] if option == "--follow" else []
        offline = [] if option == "--replay" else ["--offline"]
        done = in_pipe(option, "last", *question, *offline, home=tmp_path)
        assert done.status == 0 and json.loads(done.out)["citations"], done


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "status", "prompt"), [(b"the firm\r", 0, "Which Works: "), (b"\x04", 130, "stopped")]
)
def test_what_is_unclear_is_asked_and_may_be_left(
    typed: bytes, status: int, prompt: str, services: Services, tmp_path: Path
) -> None:
    unclear = [{"question": "Which Works", "changes_plan": True}]
    services.think = lambda asked: {"unclear": unclear, "prioritized_sub_queries": []}
    environment = services.environment(tmp_path)
    done = in_terminal("What is made?", "--plan", home=tmp_path, typed=typed, **environment)
    assert done.status == status and prompt in done.err
    plans = [asked.prompt for asked in services.model_requests]
    assert len(plans) == 1 + (status == 0) and ("the firm" in plans[-1]) == (status == 0)
