"""The command `research-agent` as people use it: in a terminal, in a pipe, and with its doors."""

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

from agent.answer.formats import to_text
from agent.answer.messages import format_usd
from agent.answer.schema import Answer
from agent.cli.commands import ASK, SUMMARIES
from agent.state import Claim
from tests.support.processes import run_command, run_interpreter, start_command
from tests.support.services import Raw, Services

ROOT = Path(__file__).parents[2]
TOPIC = "Who won the 2022 FIFA World Cup?"
DEMO = Path(__file__).parents[2] / "agent/demo"
CODE = "import sys; sys.argv[0] = '/bin/research-agent'; from agent.cli import main; main()"
STYLE = re.compile(r"\x1b\[[0-9;]*m")


class Said(NamedTuple):
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
) -> Said:
    run = run_command if code == CODE else run_interpreter  # other code says what is imported
    done = run("-c", code, *arguments, cwd=home, env=environment_for(home, more), input=stdin)
    return Said(done.returncode, done.stdout.decode(), done.stderr.decode())


def in_terminal(
    *arguments: str | bytes,
    home: Path,
    columns: int = 80,
    code: str = CODE,
    typed: bytes = b"",
    **more: str,
) -> Said:
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
    return Said(status, shown[1].decode().replace("\r\n", "\n"), shown[0].decode())


@pytest.mark.parametrize("word", SUMMARIES)
def test_help_of_every_door_needs_no_extra(word: str, tmp_path: Path) -> None:
    extras = "fastapi uvicorn starlette mcp prometheus_client ray".split()
    refuse = f"import sys; sys.modules.update(dict.fromkeys({extras!r})); "
    said = in_pipe(word, "--help", home=tmp_path, code=refuse + CODE)
    name = "research-agent" if word == ASK else f"research-agent {word}"
    assert said.status == 0 and said.out.startswith(f"Usage: {name} ") and not said.err
    assert "python -m" not in said.out and f"    {name}" in said.out.replace("\n  ", "\n    ")


def test_help_lists_every_door(tmp_path: Path) -> None:
    told = in_pipe("--help", home=tmp_path).out
    assert all(f"  {word} " in told and says in told for word, says in SUMMARIES.items())


@pytest.mark.slow
def test_the_first_argument_exactly_names_a_door(tmp_path: Path) -> None:
    run = in_pipe(TOPIC, "--offline", "--resume", "monday", home=tmp_path)
    assert json.loads(run.out)["status"] == "complete"
    (tmp_path / "a.json").write_text(run.out)
    assert json.loads(in_pipe("audit", "a.json", home=tmp_path).out)["ok"] is True
    assert TOPIC in in_pipe("runs", "trace", "monday", home=tmp_path).out
    for words in (["ask", "doctor"], ["--topic", "doctor"], ["tables of Rome"]):
        asked = json.loads(in_pipe(*words, "--offline", home=tmp_path).out)
        assert asked["topic"] == words[-1]


@pytest.mark.parametrize("word", ["docter", "Doctors", "chekc"])
def test_nearly_the_name_of_a_command_is_refused_with_it(word: str, tmp_path: Path) -> None:
    said = in_pipe(word, "--offline", home=tmp_path)
    near = "check" if word == "chekc" else "doctor"
    assert said.status == 2 and not said.out and f"Did you mean research-agent {near}?" in said.err


def test_words_without_quotes_are_one_question(tmp_path: Path) -> None:
    said = in_pipe("--offline", *"Who founded LEGO".split(), "--compact", home=tmp_path)
    assert json.loads(said.out)["topic"] == "Who founded LEGO"


def test_a_question_that_begins_with_a_command_is_told_how_to_be_asked(tmp_path: Path) -> None:
    """Its words are not repeated: values may be keys."""
    said = in_pipe("serve", "coffee", "in", "Rome", home=tmp_path)
    assert said.status == 2 and "research-agent ask ..." in said.err and "Rome?" not in said.err
    for words in ("audit --fetch a b", "audit --no-such a b"):
        said = in_pipe(*words.split(), home=tmp_path)
        assert said.status == 2 and "research-agent ask" not in said.err


def test_wrong_usage_is_two_lines_and_nothing_on_stdout(tmp_path: Path) -> None:
    for arguments in (["--no-such"], [], ["--offline", " "], ["--offline", "--max-usd", "x", "a"]):
        said = in_pipe(*arguments, home=tmp_path)
        lines = said.err.splitlines()
        assert said.status == 2 and not said.out and len(lines) == 2, said
        assert lines[0].startswith("Error: ")
        assert not in_terminal(*arguments, home=tmp_path).out
    asked = in_pipe("--no-such", "--format", "json", home=tmp_path)
    assert json.loads(asked.out)["error"]["kind"] == "usage"


@pytest.mark.parametrize("words", [["--help"], ["runs", "--help"], ["--version"]])
def test_nothing_heavy_is_imported_for_help(words: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-X", "importtime", "-c", CODE, *words]
    own: Any = {"cwd": tmp_path, "env": environment_for(tmp_path, {}), "text": True}
    told = subprocess.run(command, capture_output=True, check=True, **own).stderr
    imported = {line.rpartition("|")[2].strip() for line in told.splitlines()}
    assert "agent.cli.group" in imported
    assert not imported & {"rich", "pydantic", "asyncio", "filelock", "google", "agent.settings"}


def test_a_terminal_gets_text_and_a_pipe_json(tmp_path: Path) -> None:
    said = in_terminal(TOPIC, "--offline", home=tmp_path)
    text = STYLE.sub("", said.out)
    assert said.status == 0 and "\x1b[1m" in said.out
    state = "Answered. Quoted word for word; no model checked it."
    assert text.startswith(f"{TOPIC}\n\nArgentina won the 2022 FIFA") and f"\n{state}\n" in text
    assert "Fact " not in text, "nobody named a fact"
    assert re.search(r"^Sources\n\[1\] \S.*\n    corpus:.*\n    “Argentina won", text, re.M)
    assert re.search(r"^\d+ searches · \d+ pages · .* · extractive · run", text, re.M)
    assert max(map(len, text.splitlines())) <= 80
    piped = in_pipe(TOPIC, "--offline", home=tmp_path)
    assert json.loads(piped.out)["status"] == "complete" and not piped.err
    as_json = in_terminal(TOPIC, "--offline", "--format", "json", "--compact", home=tmp_path)
    assert json.loads(as_json.out)["answer"]


def test_programs_get_json_on_a_terminal_too(tmp_path: Path) -> None:
    module = "import runpy; runpy.run_module('agent.cli', run_name='__main__', alter_sys=True)"
    said = in_terminal("--offline", "--compact", TOPIC, home=tmp_path, code=module)
    assert said.status == 0 and json.loads(said.out)["status"] == "complete"
    assert said.err == ""  # no line of progress may stand in JSON that a terminal shows


@pytest.mark.parametrize(("more", "width"), [({"NO_COLOR": "1"}, 40), ({"TERM": "dumb"}, 80)])
def test_a_narrow_terminal_is_not_overrun_and_has_no_colours_where_none_are_wanted(
    more: dict[str, str], width: int, tmp_path: Path
) -> None:
    said = in_terminal(TOPIC, "--offline", home=tmp_path, columns=40, **more)
    assert "\x1b" not in said.out and "Argentina won" in said.out
    assert max(map(len, said.out.splitlines())) <= width


def test_disagreement_is_told_first_and_in_amber(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    for name, count in (("a", "4,200"), ("b", "3,850")):
        said = f"# Northwind Energy\n\nIt sells power.\n\nEmployees at the end of 2024: {count}\n"
        (tmp_path / "c" / f"{name}.md").write_text(said)
    question = "Employees of Northwind Energy at the end of 2024?"
    options = ("--offline", "--corpus", "c")
    said = in_terminal(question, *options, home=tmp_path)
    text = STYLE.sub("", said.out)
    box = text[text.index("Sources disagree: ") : text.index("2024: 4,200")]
    first = text[: text.index("Sources disagree.")]
    assert "4,200" in first and "3,850" in first and "╮" in box
    assert "\x1b[33m Sources disagree: " in said.out


def test_lists_and_tables_stay_what_they_are() -> None:
    table = "| Year | Winner |\n| --- | --- |"
    claims = [
        Claim(text="| 1930 | [red]Uruguay[/red] |", citations=(1,), form="row", intro=table),
        Claim(text="| 1934 | Italy |", citations=(2,), form="row", intro=table),
        Claim(text="It began in 1930.", citations=(1,), form="item", verdict="supported"),
        Claim(text="It ended\x1b[2J in 1934.", citations=(), verdict="unsupported"),
    ]
    answer = Answer(topic="Winners?", status="partial", answer="x", claims=tuple(claims))
    text = to_text(answer, 60)
    assert re.search(r"^Year +Winner$", text, re.M)
    assert re.search(r"^1930 +\[red\]Uruguay\[/red\] +\[1\]$", text, re.M)
    assert "\n• It began in 1930 [1].\n" in text
    assert "It ended [2J in 1934. (not confirmed)" in text and "\x1b" not in text


HOSTILE = "The cup of \x1b[31mred\x1b[0m [bold]Talmar[/bold] :smile: was won by Ondra\x07 \x9b2J."


def test_pages_cannot_command_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "x.md").write_text(f"# Title [red]\x1b]0;owned\x07\n\n{HOSTILE}\n")
    question = "Who won the cup of Talmar \x1b[2J[blink]?"
    said = in_terminal(question, "--offline", "--corpus", "c", home=tmp_path)
    assert "Ondra" in said.out and "[bold]Talmar[/bold]" in STYLE.sub("", said.out)
    rest = STYLE.sub("", said.out)
    assert not [char for char in rest if ord(char) < 32 and char != "\n" or 127 <= ord(char) < 160]
    assert "owned" not in said.err.replace("\x1b]", "") or "\x1b]" not in said.err


@pytest.mark.slow
def test_the_file_of_out_has_the_form_of_its_name(tmp_path: Path) -> None:
    for name, begin in (("a.json", "{"), ("a.md", "# "), ("a.html", "<!doctype"), ("a.txt", TOPIC)):
        said = in_terminal(TOPIC, "--offline", "--out", name, home=tmp_path)
        assert said.status == 0 and STYLE.sub("", said.out).startswith(TOPIC)
        kept = (tmp_path / name).read_text("utf-8")
        assert kept.startswith(begin) and "\x1b" not in kept
    in_terminal(TOPIC, "--offline", "--out", "b.md", "--format", "json", home=tmp_path)
    assert json.loads((tmp_path / "b.md").read_text("utf-8"))


def test_an_error_is_told_once(tmp_path: Path) -> None:
    said = in_terminal(TOPIC, home=tmp_path)
    assert said.status == 1 and not said.out
    assert said.err.count("GEMINI_API_KEY is not set") == 1
    piped = in_pipe(TOPIC, home=tmp_path)
    error = json.loads(piped.out)["error"]
    message = "GEMINI_API_KEY is not set. Add it to .env, or run with --offline"
    assert (error["kind"], error["message"]) == ("not_configured", message)


@pytest.mark.slow
def test_progress_is_in_words_on_one_line(world: Services, tmp_path: Path) -> None:
    said = in_terminal(TOPIC, home=tmp_path, **world.environment(tmp_path))
    assert said.status == 0 and "Search: serpapi." in said.err
    assert re.search(r"(Searching: .*|Reading pages), \d+ s.* · \d+ s", said.err), said.err
    assert not re.search(r"\[[A-Z_]{5,}\]", said.err) and "http://" not in said.err
    assert said.err.endswith("\x1b[?25h\r\x1b[1A\x1b[2K")  # the line is taken away at the end
    piped = in_pipe(TOPIC, home=tmp_path, **world.environment(tmp_path))
    assert not piped.err


@pytest.mark.slow
def test_a_model_that_is_down_is_one_line(world: Services, tmp_path: Path) -> None:
    honest = world.think
    world.think = lambda a: Raw(503, "") if a.model == "gemini-3.8-flash" else honest(a)
    environment = world.environment(tmp_path)
    for ask in (in_terminal, in_pipe):
        said = ask(TOPIC, home=tmp_path, **environment)
        lines = [line for line in re.split(r"[\r\n]+", said.err) if "Warning" in line]
        assert len(lines) == 1 and "gemini-3.8-flash" in lines[0]
    told = json.loads(said.out)
    assert told["degraded"] and told["status"] == "complete"


def test_the_only_model_that_is_down_is_one_line_too(tmp_path: Path) -> None:
    environment = {"RESEARCH_AGENT_LLM": "openai", "OPENAI_MODEL": "m", "LLM_RETRY_WAITS": "0"}
    environment["OPENAI_BASE_URL"] = "http://127.0.0.1:9/v1"
    said = in_pipe(TOPIC, "--corpus", str(DEMO), home=tmp_path, **environment)
    assert said.err.count("Warning") == 1 and "openai:m" in said.err
    assert "Check the network" in said.err and json.loads(said.out)["degraded"]


@pytest.mark.slow
def test_only_wikipedia_is_told_once(world: Services, tmp_path: Path) -> None:
    found = {"query": {"search": [{"title": "Final", "snippet": "Argentina won the cup."}]}}
    world.pages["/w/api.php"] = Raw(200, json.dumps(found), {"Content-Type": "application/json"})
    world.pages["/wiki/Final"] = "Argentina won the cup. The score was 4-2."
    names = "exa,tavily,wikipedia"
    environment = world.environment(tmp_path, SEARCH_PROVIDERS=names, WIKIPEDIA_BASE_URL=world.base)
    said = in_pipe(TOPIC, home=tmp_path, **environment)
    assert said.err == "Warning: Only Wikipedia is searched. Not set up: exa, tavily.\n"
    named = in_pipe(TOPIC, "--search", "wikipedia", home=tmp_path, **environment)
    assert not named.err


@pytest.mark.parametrize(
    "options",
    [
        ["--offline", "--since", "2024-01-01"],
        ["--corpus", ".", "--allow-domain", "a.test"],
        ["--offline", "--llm", "gemini"],
        ["--offline", "--retry-failed"],
        ["--offline", "--max-steps", "3"],
        ["--offline", "--credibility", "host"],
        ["--replay", "x", "--max-words", "30"],
        ["--replay", "x", "--resume", "y"],
    ],
)
def test_an_option_without_effect_is_refused(options: list[str], tmp_path: Path) -> None:
    said = in_pipe(TOPIC, *options, home=tmp_path)
    [flag] = re.findall(r"^Error: (--[a-z-]+) has no effect here: ", said.err)
    assert said.status == 2 and not said.out and flag in options
    kept = ["--corpus", ".", "--search", "corpus,wikipedia", "--since", "2024-01-01", "--estimate"]
    assert in_pipe(TOPIC, *kept, home=tmp_path, GEMINI_API_KEY="k").status == 0


def test_a_run_is_replayed_by_its_name(tmp_path: Path) -> None:
    first = json.loads(in_pipe(TOPIC, "--offline", "--resume", "monday", home=tmp_path).out)
    again = json.loads(in_pipe("--replay", "monday", home=tmp_path).out)
    assert again["answer"] == first["answer"] and again["run"]["journal"] == first["run"]["journal"]
    by_path = in_pipe("--replay", first["run"]["journal"], home=tmp_path)
    assert json.loads(by_path.out)["answer"] == first["answer"]
    unknown = in_pipe("--replay", "tuesday", home=tmp_path)
    assert unknown.status == 1 and "tuesday" in json.loads(unknown.out)["error"]["message"]


def test_runs_alone_lists_and_last_is_the_newest(tmp_path: Path) -> None:
    for name in ("monday", "tuesday"):
        in_pipe(TOPIC, "--offline", "--resume", name, home=tmp_path)
    rows = json.loads(in_pipe("runs", home=tmp_path).out)
    assert [(row["id"], row["status"], row["usd"]) for row in rows] == [
        ("tuesday", "complete", 0.0),
        ("monday", "complete", 0.0),
    ]
    table = in_terminal("runs", home=tmp_path).out
    assert re.search(r"^tuesday .*Answered .*\$0\.00", table, re.M)
    shown = json.loads(in_pipe("runs", "show", "last", home=tmp_path).out)
    assert shown["run"]["id"] == "tuesday"
    for option in ("--follow", "--replay", "--resume"):
        question = ["and who scored?"] if option == "--follow" else []
        offline = [] if option == "--replay" else ["--offline"]
        said = in_pipe(option, "last", *question, *offline, home=tmp_path)
        assert said.status == 0 and json.loads(said.out)["citations"], said
    (tmp_path / "none").mkdir()
    assert in_pipe("--replay", "last", home=tmp_path / "none").status == 1


def test_an_audit_is_a_sentence_on_a_terminal(tmp_path: Path) -> None:
    answer = json.loads(in_pipe(TOPIC, "--offline", home=tmp_path).out)
    (tmp_path / "a.json").write_text(json.dumps(answer))
    said = in_terminal("audit", "a.json", home=tmp_path)
    assert said.status == 0 and said.out.startswith("Everything holds: ")
    answer["citations"][0]["quote"] += "!"
    (tmp_path / "a.json").write_text(json.dumps(answer))
    said = in_terminal("audit", "a.json", home=tmp_path)
    assert said.status == 1 and "citations[0].quote: " in said.out and "{" not in said.out


def test_a_watch_without_a_change_says_so_on_a_terminal(tmp_path: Path) -> None:
    watch = ("watch", TOPIC, "--offline", "--once", "--slots", "winner")
    assert "Unchanged" not in in_terminal(*watch, home=tmp_path).err
    said = in_terminal(*watch, home=tmp_path)
    assert said.status == 0 and said.out == "" and said.err.startswith("Unchanged since 20")
    assert in_pipe(*watch, home=tmp_path).err == ""


def test_money_has_the_digits_that_mean_something() -> None:
    amounts = (None, 0, 0.00003, 0.00214999, 12.3456)
    told = ["price unknown", "$0.00", "under $0.0001", "$0.0021", "$12.35"]
    assert [format_usd(usd) for usd in amounts] == told


@pytest.mark.slow
def test_a_docx_is_for_a_file_and_no_terminal(tmp_path: Path) -> None:
    refused = in_terminal(TOPIC, "--offline", "--format", "docx", home=tmp_path)
    assert refused.status == 2 and "A DOCX cannot be shown on a terminal." in refused.err
    for options in ([], ["--format", "docx"]):
        file = tmp_path / f"answer{len(options)}.docx"
        said = in_pipe(TOPIC, "--offline", *options, "--out", str(file), home=tmp_path)
        assert json.loads(said.out)["status"] == "complete"
        assert file.read_bytes().startswith(b"PK")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "status", "told"), [(b"the firm\r", 0, "Which Works: "), (b"\x04", 130, "stopped")]
)
def test_what_is_unclear_is_asked_and_may_be_left(
    typed: bytes, status: int, told: str, services: Services, tmp_path: Path
) -> None:
    unclear = [{"question": "Which Works", "changes_plan": True}]
    services.think = lambda asked: {"unclear": unclear, "prioritized_sub_queries": []}
    environment = services.environment(tmp_path)
    said = in_terminal("What is made?", "--plan", home=tmp_path, typed=typed, **environment)
    assert said.status == status and told in said.err
    plans = [asked.prompt for asked in services.model_requests]
    assert len(plans) == 1 + (status == 0) and ("the firm" in plans[-1]) == (status == 0)
