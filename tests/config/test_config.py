"""The settings file of a user, changed by `research-agent config` as a process."""

from __future__ import annotations

import os
import pty
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from agent.settings import read_env_file
from tests.cli.test_people import CODE, environment_for, in_pipe
from tests.support.processes import start_command

KEY = "sk-Ab0'\"\\ #=$x"  # every character that a reader of such files treats in its own way


def file_of(home: Path) -> Path:
    return Path(in_pipe("config", "path", home=home).out.strip())


def type_at_prompt(typed: bytes, *arguments: str, home: Path) -> bytes:
    """What one terminal shows, to which a line is typed once it shows a prompt."""
    master, slave = pty.openpty()
    pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), slave)
    own: Any = {"cwd": home, "env": environment_for(home, {}), "start_new_session": True}
    process = start_command("-c", CODE, *arguments, **own, **pipes)
    os.close(slave)
    shown = b""
    with suppress(OSError):  # the terminal is gone when the process is
        while piece := os.read(master, 4096):
            shown += piece
            if shown.endswith(b": ") and typed:
                os.write(master, typed)
                typed = b""
    os.close(master)
    assert process.wait(timeout=60) == 0
    return shown


def test_a_value_is_kept_for_its_owner_alone_and_used(tmp_path: Path) -> None:
    said = in_pipe("config", "set", "gemini_api_key", KEY, home=tmp_path)
    file = file_of(tmp_path)
    assert said.status == 0 and not said.out and KEY not in said.err
    assert file.is_relative_to(tmp_path) and stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert read_env_file(file) == {"GEMINI_API_KEY": KEY}
    in_pipe("config", "set", "RESEARCH_AGENT_LLM", "nobody", home=tmp_path)
    asked = in_pipe("Who?", home=tmp_path)
    assert asked.status == 2 and "nobody" in asked.err  # the file counts, and no key is missing
    over = in_pipe("Who founded LEGO?", home=tmp_path, LLM="extractive", SEARCH_PROVIDERS="nowhere")
    assert "nowhere" in over.err and "nobody" not in over.err  # the shell wins, by an old name too


def test_a_key_is_asked_for_without_echo_or_read_from_a_pipe(tmp_path: Path) -> None:
    shown = type_at_prompt(b"exa-secret\n", "config", "set", "exa_api_key", home=tmp_path)
    assert b"EXA_API_KEY: " in shown and b"exa-secret" not in shown
    in_pipe("config", "set", "tavily-api-key", home=tmp_path, stdin=b"tavily-secret\n")
    values = read_env_file(file_of(tmp_path))
    assert values == {"EXA_API_KEY": "exa-secret", "TAVILY_API_KEY": "tavily-secret"}


def test_list_hides_keys_and_says_who_set_what(tmp_path: Path) -> None:
    for name, value in (
        ("openai_api_key", "my-secret-1"),
        ("cache_url", "redis://me:my-secret-2@host"),
        ("https_proxy", "http://me:my-secret-3@proxy.test"),
        ("max_usd", "0.05"),
    ):
        assert in_pipe("config", "set", name, value, home=tmp_path).status == 0
    said = in_pipe("config", "list", home=tmp_path, EXA_API_KEY="my-secret-4")
    assert "secret" not in said.out and said.out.count("(hidden)") == 4
    assert "RESEARCH_AGENT_MAX_USD" in said.out and "0.05  (this file)" in said.out
    assert "(the shell)" in said.out and "proxy.test" in said.out


def test_one_name_of_a_thing_stands_in_the_file_and_all_else_stays(tmp_path: Path) -> None:
    in_pipe("config", "set", "exa_api_key", "e", home=tmp_path)
    file = file_of(tmp_path)
    file.write_text("# mine\nAGENT_MAX_USD=1\nexport LLM=openai\nOTHER='x'\n")
    file.chmod(0o644)
    in_pipe("config", "set", "max_usd", "2", home=tmp_path)
    kept = "# mine\nexport LLM=openai\nOTHER='x'\nRESEARCH_AGENT_MAX_USD=2\n"
    assert file.read_text() == kept and stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "no longer set" in in_pipe("config", "unset", "llm", home=tmp_path).err
    assert "is not set" in in_pipe("config", "unset", "llm", home=tmp_path).err
    assert file.read_text() == kept.replace("export LLM=openai\n", "")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["set", "max_usdd", "1"], "Did you mean max_usd?"),
        (["set", "max_usd", "much"], "RESEARCH_AGENT_MAX_USD or --max-usd"),
        (["set", "exa_api_key", "a\nLLM=b"], "cannot be its value"),
        (["set", "user_agent", "x" * 5000], "cannot be its value"),
        (["set", "trust_env", "1"], "no setting"),
        (["unset", "nothing"], "no setting"),
    ],
)
def test_what_cannot_be_set_is_not_written(arguments: list[str], told: str, tmp_path: Path) -> None:
    said = in_pipe("config", *arguments, home=tmp_path)
    assert said.status == 2 and told in said.err and not file_of(tmp_path).exists()


def test_a_file_that_is_no_text_is_not_touched(tmp_path: Path) -> None:
    file = file_of(tmp_path)
    file.parent.mkdir(parents=True)
    file.write_bytes(b"\xff\xfe\0")
    for arguments in (["set", "max_usd", "1"], ["unset", "max_usd"], ["list"]):
        said = in_pipe("config", *arguments, home=tmp_path)
        assert said.status == 2 and "cannot be read" in said.err
    assert file.read_bytes() == b"\xff\xfe\0"
