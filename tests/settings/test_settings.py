"""Who may set what: the shell, the user's own file, and a `.env` that anybody may have written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent.errors import NotConfigured, UsageError
from agent.settings import (
    KNOWN_VARIABLES,
    MAX_FILE,
    OFFLINE_RISKS,
    RISKS,
    Settings,
    Variable,
    make_settings,
    parse_settings,
    read_env_file,
    read_variables,
    user_file,
    warn_once,
)
from agent.settings.variable_names import FREE_FIELDS, USER_FIELDS
from tests.support.catcher import Catcher
from tests.support.processes import RunProcess, start_command, start_run

ROOT = Path(__file__).parents[2]
TOPIC = "Who won the cup?"
PROVIDERS = "gemini openai anthropic serpapi exa tavily serper"
KEYS = {f"{name.upper()}_API_KEY": f"shell-key-{name}" for name in PROVIDERS.split()}
SECRET = "any-secret-of-the-shell"


@pytest.fixture
def catcher() -> Iterator[Catcher]:
    with Catcher() as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The working directory of a run, below which is what `.env` may name."""
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def write_env(file: Path, *lines: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(lines), encoding="utf-8")
    file.chmod(0o600)


def run(folder: Path, *options: str, **variables: str) -> RunProcess:
    """A finished run in a folder; its shell has no key but those of `variables`."""
    home = {"HOME": str(folder.parent), "XDG_CONFIG_HOME": str(folder.parent / "config")}
    environment = {**home, "LLM_RETRY_WAITS": "", "GITHUB_TOKEN": SECRET, **variables}
    process = start_run(TOPIC, *options, cwd=folder, environment=environment)
    process.wait()
    return process


def settings_of(folder: Path, shell: dict[str, str], **overrides: object) -> Settings:
    return make_settings(read_variables(shell, folder), folder, **overrides)


@pytest.mark.parametrize("name", ["GOOGLE_GEMINI_BASE_URL", "SEARXNG_URL", "https_proxy"])
def test_no_address_of_a_folder_gets_a_key_of_the_shell(
    name: str, folder: Path, catcher: Catcher
) -> None:
    llm = "RESEARCH_AGENT_LLM=gemini,openai:x"
    write_env(folder / ".env", f"{name}=http://{catcher.host}", llm)
    with run(folder, **KEYS) as done:
        error = done.answer["error"]
    assert (done.status, error["kind"]) == (1, "not_configured")
    assert name in error["message"] and "GEMINI_API_KEY" in error["message"]
    assert "--trust-env" in error["remedy"] and "RESEARCH_AGENT_TRUST_ENV=1" in error["remedy"]
    assert catcher.requests == []


def test_nothing_of_the_shell_is_interpolated(folder: Path, catcher: Catcher) -> None:
    write_env(
        folder / ".env",
        f"WIKIPEDIA_BASE_URL=http://{catcher.host}/${{GITHUB_TOKEN}}/$GITHUB_TOKEN",
        "RESEARCH_AGENT_USER_AGENT=${GITHUB_TOKEN} ${GITHUB_TOKEN:-x}",
        "SEARCH_PROVIDERS=wikipedia",
        "RESEARCH_AGENT_LLM=extractive",
    )
    with run(folder, "--max-rounds", "1") as done:  # no key: the address may be used
        assert done.answer["attempts"]
    assert "GITHUB_TOKEN" in catcher.text and SECRET not in catcher.text


@pytest.mark.parametrize("kind", ["fifo", "device", "large", "latin", "nul"])
def test_what_is_no_text_file_is_refused(kind: str, folder: Path) -> None:
    file = folder / ".env"
    if kind == "fifo":
        os.mkfifo(file)
    elif kind == "device":
        file.symlink_to("/dev/zero")
    else:
        bodies = {
            "large": b"#" * (MAX_FILE + 1),
            "latin": b"RESEARCH_AGENT_LLM=\xe9",
            "nul": b"RESEARCH_AGENT_LLM=a\0b",
        }
        file.write_bytes(bodies[kind])
    with run(folder, "--offline") as done:
        error = done.answer["error"]
    assert done.status == 2 and ".env cannot be read" in error["message"] and error["remedy"]


def test_only_known_names_reach_the_process(folder: Path, tmp_path: Path) -> None:
    names = "SSLKEYLOGFILE PYTHONSTARTUP AWS_ENDPOINT_URL"
    names += " RESEARCH_AGENT_TRUST_ENV GEMINI_API_KEY"
    lines = [f"{name}=1" for name in names.split()]
    write_env(folder / ".env", *lines, "https_proxy=http://127.0.0.1:9")
    code = (
        "import os; before = dict(os.environ); from agent.settings import load_settings; "
        "load_settings(); print(sorted(set(os.environ.items()) - set(before.items())))"
    )
    shell = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    pipes = {"capture_output": True, "text": True, "check": True}
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=shell, **pipes)
    assert done.stdout.strip() == "[('https_proxy', 'http://127.0.0.1:9')]"


COMMANDS = [
    "serve --port 0",
    "batch topics.txt --out out.jsonl",
    "mcp",
    "doctor",
    "evaluate set.json",
]


def test_every_command_refuses_what_a_question_refuses(folder: Path, catcher: Catcher) -> None:
    write_env(folder / ".env", f"GOOGLE_GEMINI_BASE_URL=http://{catcher.host}")
    (folder / "topics.txt").write_text(TOPIC)
    (folder / "set.json").write_text(json.dumps([{"prompt": TOPIC, "answer": "France"}]))
    shell = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(folder.parent)}
    shell |= {"GEMINI_API_KEY": KEYS["GEMINI_API_KEY"], "SEARCH_PROVIDERS": "serpapi"}
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    processes = [
        start_command(
            *("-m", "agent.cli", *command.split()),
            **{"cwd": folder, "env": shell, "stdin": subprocess.DEVNULL, **pipes},
        )
        for command in COMMANDS
    ]
    for command, process in zip(COMMANDS, processes, strict=True):
        output, _ = process.communicate(timeout=60)
        assert process.returncode == 1, (command, output)
        assert "GOOGLE_GEMINI_BASE_URL" in output and "Traceback" not in output, (command, output)
    assert catcher.requests == []


def test_the_shell_wins_over_the_users_file_and_that_one_over_the_folder(folder: Path) -> None:
    write_env(user_file(), "GEMINI_MODEL=user", "EXA_API_KEY=user", "RESEARCH_AGENT_PAGE_TIMEOUT=")
    write_env(folder / ".env", "GEMINI_MODEL=f", "EXA_API_KEY=f", "RESEARCH_AGENT_PAGE_TIMEOUT=7")
    variables = read_variables({"GEMINI_MODEL": "shell", "OPENAI_MODEL": ""}, folder)
    assert variables["GEMINI_MODEL"] == ("shell", "shell")
    assert variables["EXA_API_KEY"] == ("user", "user")
    # an empty line of a file sets nothing; an empty variable of the shell does
    assert variables["RESEARCH_AGENT_PAGE_TIMEOUT"] == ("7", "folder")
    assert settings_of(folder, {"RESEARCH_AGENT_PAGE_TIMEOUT": ""}).page_timeout == 15


def test_two_names_of_one_key_count_as_one(folder: Path) -> None:
    write_env(folder / ".env", "SERPER_API_KEY=theirs", "SERPER_BASE_URL=http://theirs.test")
    with pytest.raises(NotConfigured, match="SERPER_BASE_URL"):
        settings_of(folder, {"SERPER_KEY_ID": "mine"})
    write_env(folder / ".env", "https_proxy=http://theirs.test")
    variables = read_variables({"HTTPS_PROXY": "http://mine.test"}, folder)
    assert "https_proxy" not in variables


def test_a_key_in_the_file_is_no_excuse_where_the_shell_has_it_too(folder: Path) -> None:
    write_env(folder / ".env", "EXA_API_KEY=bait", "EXA_BASE_URL=http://theirs.test")
    assert settings_of(folder, {"SERPAPI_API_KEY": "mine"}).base_url("exa") == "http://theirs.test"
    assert settings_of(folder, {"EXA_API_KEY": ""}).key("exa") == ""
    with pytest.raises(NotConfigured, match="EXA_BASE_URL"):
        settings_of(folder, {"EXA_API_KEY": "mine"})


@pytest.mark.parametrize("name", ["RUNS_DIR", "CACHE_DIR", "RESEARCH_AGENT_PRICES_FILE"])
def test_a_path_of_a_folder_is_for_journals_inside_it(
    name: str, folder: Path, tmp_path: Path
) -> None:
    """A cache or a file of prices may have been filled by the author of the folder."""
    (folder / "link").symlink_to(tmp_path)
    for path in ("runs", "./a/b", str(folder / "x"), "a/../b", "."):
        write_env(folder / ".env", f"RUNS_DIR={path}")
        assert settings_of(folder, KEYS)
    for path in ("..", str(tmp_path), "a/../../b", "link", "link/a/../x", f"{folder}2"):
        write_env(folder / ".env", f"{name}={path}")
        for offline in (True, False):
            with pytest.raises(NotConfigured, match=name):
                settings_of(folder, KEYS, offline=offline)
        assert settings_of(folder, {}), "there is no key"
        assert settings_of(folder, KEYS, trust_env=True)


@pytest.mark.parametrize("place", ["evil.test/x", "a@evil.test", "x\n"])
def test_a_location_of_google_cloud_names_no_host(place: str) -> None:
    """It becomes the first part of the host that gets the token."""
    assert parse_settings({"GOOGLE_CLOUD_LOCATION": "us-central1"})
    with pytest.raises(UsageError, match="google-cloud-location"):
        parse_settings({}, google_cloud_location=place)


FLAGS = "ALLOW_PRIVATE_NETWORK FETCH_THROUGH_PROXY RESEARCH_AGENT_API_DOCUMENTS"
RISKY = dict.fromkeys(f"{FLAGS} GOOGLE_GENAI_USE_VERTEXAI".split(), "1")
RISKY |= {"RESEARCH_AGENT_API_HOSTS": "a.test", "OPENAI_SERVERS": "a=http://theirs.test"}
RISKY |= dict.fromkeys(("RUNS_DIR", "CACHE_DIR", "RESEARCH_AGENT_PRICES_FILE"), "/theirs")


@pytest.mark.parametrize("field", RISKS)
def test_every_risk_is_refused_beside_a_key(field: str, folder: Path) -> None:
    for name in [name for name, other in KNOWN_VARIABLES.items() if other == field]:
        write_env(folder / ".env", f"{name}={RISKY.get(name, 'http:/theirs.test')}")
        with pytest.raises(NotConfigured, match=name):
            settings_of(folder, {"EXA_API_KEY": "k"})
        if field not in OFFLINE_RISKS:
            assert settings_of(folder, KEYS, offline=True), "nothing of it is used"


@pytest.mark.parametrize("field", sorted({*KNOWN_VARIABLES.values()}))
def test_every_setting_says_who_may_set_it(field: str) -> None:
    """What names a program, a file, a folder, a proxy or an address is never anybody's."""
    assert [field in kind for kind in (USER_FIELDS, RISKS, FREE_FIELDS)].count(True) == 1
    kind = str(Settings.model_fields[field].annotation) if field in Settings.model_fields else ""
    words = "url path file dir folder proxy private host server vertexai project command".split()
    if "Path" in kind or ("key" not in field and any(word in field.lower() for word in words)):
        assert field not in FREE_FIELDS


@pytest.mark.parametrize("name", ["PAGE_BROWSER_PATH", "MCP_SERVERS"])
def test_a_folder_names_no_program_whatever_is_trusted(name: str, folder: Path) -> None:
    write_env(folder / ".env", f"RESEARCH_AGENT_{name}=/theirs")
    for trust in (None, True):
        assert getattr(settings_of(folder, {}, trust_env=trust), name.lower()) is None
    settings = settings_of(folder, {f"RESEARCH_AGENT_{name}": "/mine"})
    assert str(getattr(settings, name.lower())) == "/mine"


def test_what_changes_nothing_is_no_risk(folder: Path) -> None:
    defaults = ["OPENAI_BASE_URL=https://api.openai.com/v1", "ALLOW_PRIVATE_NETWORK=0"]
    write_env(folder / ".env", *defaults, "FETCH_THROUGH_PROXY=false", "WIKIPEDIA_BASE_URL=")
    assert settings_of(folder, KEYS)
    write_env(folder / ".env", "RUNS_DIR=/theirs", "CACHE_DIR=/theirs")
    assert settings_of(folder, KEYS, runs_dir="mine", cache_dir="mine"), "the options win"


def test_trust_is_not_taken_from_a_file(folder: Path) -> None:
    write_env(folder / ".env", "EXA_BASE_URL=http://theirs.test", "RESEARCH_AGENT_TRUST_ENV=1")
    for trust in ({}, {"RESEARCH_AGENT_TRUST_ENV": "0"}):
        with pytest.raises(NotConfigured):
            settings_of(folder, {**KEYS, **trust})
    with pytest.raises(UsageError, match="trust-env"):
        settings_of(folder, {**KEYS, "RESEARCH_AGENT_TRUST_ENV": "perhaps"})


def test_a_users_file_others_read_is_reported(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_env(user_file(), "EXA_API_KEY=mine")
    read_variables({}, folder)
    assert not caplog.records
    user_file().chmod(0o644)
    read_variables({}, folder)
    read_variables({}, folder)
    assert [record.getMessage() for record in caplog.records] == [
        f"{user_file()} can be read or changed by others: chmod 600 it."
    ]


def test_without_a_home_no_folder_is_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "config")
    monkeypatch.chdir(folder)
    write_env(folder / "config" / "research-agent" / "env", "EXA_API_KEY=theirs")
    assert read_variables({}, Path()) == {}


def test_the_forms_that_people_write(folder: Path) -> None:
    text = "\ufeffA=1\r\nexport B = 'two words' # why\r\nC=\"x\\ny\"\nD=$A ${A} #x\nE\nF=\n=\n"
    assert read_env_file(folder) == {}, "a directory, as of a virtual environment, is no file"
    (folder / ".env").write_text(text, encoding="utf-8")
    found = {"A": "1", "B": "two words", "C": "x\ny", "D": "$A ${A}"}
    assert read_env_file(folder / ".env") == found
    (folder / ".env").write_text(f"A=b{' ' * (MAX_FILE - 20)}c\nB=1\n", encoding="utf-8")
    assert read_env_file(folder / ".env") == {"B": "1"}, "python-dotenv alone needs hours"


@given(st.binary(max_size=300))
@example(b"A='\\")
@example(b'A="${HOME}"')
def test_any_bytes_are_variables_or_refused(body: bytes) -> None:
    file = Path(os.environ["CACHE_DIR"]) / "any"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(body)
    try:
        found = read_env_file(file)
    except UsageError:
        return
    assert all(name and value for name, value in found.items())


PLAIN = st.characters(codec="utf-8", exclude_characters="\"'#\\", categories=["L", "P", "S"])


@given(st.text(PLAIN))
@example("${PATH}$PATH${PATH:-x}%PATH%$(id)`id`")
def test_a_value_is_not_interpreted(value: str) -> None:
    file = Path(os.environ["CACHE_DIR"]) / "value"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"A={value}\n", encoding="utf-8")
    assert read_env_file(file) == ({"A": value} if value else {})


def test_an_unknown_model_judges_claims_one_by_one() -> None:
    local = "http://localhost:8080/v1"
    assert Settings(llm=("openai:gpt-x",)).claims_per_call == 8
    assert Settings(llm=("openai:qwen",), openai_base_url=local).claims_per_call == 1
    assert Settings(llm=("gemini", "openai"), openai_base_url=local).claims_per_call == 8


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("AGENT_MAX_USD=s3cret", "AGENT_MAX_USD is not read: use RESEARCH_AGENT_MAX_USD."),
        ("LLM_JUDGE=s3cret", "LLM_JUDGE is not read: use RESEARCH_AGENT_LLM=judge=MODEL."),
        (
            "RESEARCH_AGENT_X=s3cret",
            "RESEARCH_AGENT_X is not read: see .env.example for all names.",
        ),
        ("GOOGLE_API_KEY=s3cret\nGEMINI_API_KEY=mine", ""),
    ],
)
def test_a_variable_that_is_gone_or_unknown_is_named_once(
    line: str, message: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    warn_once.cache_clear()
    write_env(folder / ".env", line)
    for _ in range(2):
        settings_of(folder, {"PATH": "/bin", "SOME_URL": "x"})
    assert [record.getMessage() for record in caplog.records] == [message] * bool(message)


def test_a_token_of_github_is_a_key_where_github_is_asked(tmp_path: Path) -> None:
    """Else it is in the shell for other programs; no folder can have it sent elsewhere."""
    shell = {"GITHUB_TOKEN": Variable("ghp_1", "shell")}
    searx = {"SEARXNG_URL": Variable("http://own.example", "folder")}
    assert make_settings({**shell, **searx}, tmp_path).base_url("searxng") == "http://own.example"
    evil = {"GITHUB_BASE_URL": Variable("http://evil.example", "folder")}
    github = {"SEARCH_PROVIDERS": Variable("wikipedia,github_issues", "folder")}
    for more in (evil, searx | github):
        with pytest.raises(NotConfigured, match="beside a key from elsewhere: GITHUB_TOKEN"):
            make_settings({**shell, **more}, tmp_path)
