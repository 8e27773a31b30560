"""Each recipe of docs/recipes.md is run as it is written there, with the demo corpus."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.support.processes import interpreter_command
from tests.support.web import Web, configure_from

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "recipes.md").read_text("utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", TEXT, re.S)
ANSWER = "Argentina won the 2022 FIFA World Cup"


def block(language: str, word: str) -> str:
    """The one block of a language that has a word."""
    [found] = [text for kind, text in BLOCKS if kind == language and word in text]
    return str(found)


class Shell:
    """A home of its own, with the commands that a user has."""

    def __init__(self, home: Path) -> None:
        self.home = home
        python = shlex.join(interpreter_command())
        name = (
            "import sys; sys.argv[0] = 'research-agent'; from agent.cli.group import main; main()"
        )
        self.command("research-agent", f'exec {python} -c {shlex.quote(name)} "$@"')
        self.command("python", f'exec {python} "$@"')
        self.command("mail", f'echo "$@" > {home}/mail; cat >> {home}/mail')
        self.command("pip", 'test "$*" = "install ."')  # what it installs is there already

    def command(self, name: str, script: str) -> None:
        (self.home / "bin").mkdir(exist_ok=True)
        file = self.home / "bin" / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)

    def run(self, script: str, shell: str = "sh", **more: str) -> str:
        """What a script prints; it must succeed and say nothing on standard error."""
        environment = {
            "PATH": f"{self.home}/bin:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "HOME": str(self.home),
            "USER": "someone",
            "RUNS_DIR": str(self.home / "runs"),
            "CACHE_DIR": str(self.home / "cache"),
            **more,
        }
        command = [shell, "-e", "-c", script] if shell != "fish" else [shell, "-c", script]
        done = subprocess.run(
            command, cwd=self.home, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0 and not done.stderr, done.stderr
        return done.stdout


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    if shutil.which("jq") is None:
        pytest.skip("jq is not installed")
    return Shell(tmp_path)


def test_jq(shell: Shell) -> None:
    output = shell.run(block("sh", "answer.json\njq"))
    assert output.startswith(ANSWER)
    assert '"winner": "Argentina"' in output and "    corpus:" in output


@pytest.mark.slow
def test_a_table_of_many_questions(shell: Shell) -> None:
    rows = [line.split("\t") for line in shell.run(block("sh", "for question")).splitlines()]
    assert {row[1] for row in rows} <= {"complete", "partial"} and "England" in rows[1][2]


@pytest.mark.slow
def test_the_cron_job_mails_only_what_changed(shell: Shell) -> None:
    script, watched = block("sh", "mail -s"), shell.home / "watched"
    shell.run(script)
    shell.run(script)
    assert not (shell.home / "mail").exists()
    old = json.loads((watched / "today.json").read_text())
    old["slots"]["winner"]["value"] = "France"
    (watched / "today.json").write_text(json.dumps(old))
    shell.run(script)
    subject, _, body = (shell.home / "mail").read_text().partition("\n")
    assert subject == "-s The answer changed someone"
    assert json.loads(body)["slots"]["winner"]["new"]["value"] == "Argentina"


def test_github_actions(shell: Shell) -> None:
    """Each `run:` step of the workflow, as GitHub's runner does it: `bash -e`."""
    steps = yaml.safe_load(block("yaml", "runs-on"))["jobs"]["ask"]["steps"]
    scripts = [step["run"] for step in steps if "run" in step]
    for script in scripts:
        shell.run(script, "bash", GITHUB_STEP_SUMMARY=f"{shell.home}/summary")
    assert len(scripts) == 4 and (shell.home / "summary").read_text().startswith(ANSWER)


@pytest.mark.slow
def test_a_notebook(shell: Shell) -> None:
    (shell.home / "cell.py").write_text(block("python", "research("))
    output = shell.run("python cell.py")
    assert output.startswith("started\n") and f"\n{ANSWER}" in output


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    environment = {"RUNS_DIR": f"{tmp_path}/runs", "CACHE_DIR": f"{tmp_path}/cache"}
    with Web(configure_from(environment, offline=True)) as running:
        yield running


def test_http(shell: Shell, web: Web) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    output = shell.run(block("sh", "curl"), AGENT=web.base)
    assert output.count("# Who won the 2022 FIFA World Cup?") == 2 and "\nanswer\nend\n" in output


@pytest.mark.slow
def test_the_command_of_the_mcp_entry_starts(shell: Shell) -> None:
    server = json.loads(block("json", "mcpServers"))["mcpServers"]["research"]
    asks = {"protocolVersion": "2025-06-18", "capabilities": {}}
    asks["clientInfo"] = {"name": "test", "version": "1"}
    call = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": asks}
    line = shlex.join([server["command"], *server["args"]])
    output = shell.run(f"echo {shlex.quote(json.dumps(call))} | {line} 2> log")
    assert json.loads(output)["result"]["serverInfo"]["name"] == "llm-research-agent"


@pytest.mark.parametrize("kind", ["bash", "zsh", "fish"])
def test_completion(shell: Shell, kind: str) -> None:
    """The line is run by its shell where that is installed; what it defines names the command."""
    text = block(kind, "_RESEARCH_AGENT_COMPLETE")
    if shutil.which(kind):
        shell.run(text, kind)
    script = shell.run("research-agent", _RESEARCH_AGENT_COMPLETE=f"{kind}_source")
    assert "research-agent" in script and "_COMPLETE" in script
    current = "--max-" if kind == "fish" else "1"
    words = {"COMP_WORDS": "research-agent --max-", "COMP_CWORD": current}
    offered = shell.run("research-agent", _RESEARCH_AGENT_COMPLETE=f"{kind}_complete", **words)
    assert {"--max-usd", "--max-seconds"} <= set(re.findall(r"--[a-z-]+", offered))


def test_every_recipe_is_run() -> None:
    """A block that no test above takes is one that nobody has tried."""
    assert sorted(kind for kind, _ in BLOCKS) == sorted(
        ["sh"] * 4 + ["yaml", "python", "json", "bash", "zsh", "fish"]
    )
