"""The command `doctor`: its checks of keys, services and the machine; no secret is ever shown."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.cli.diagnosis.checks import find_secrets, missing_requirements, redact, run_checks
from agent.cli.diagnosis.results import Check
from tests.support.processes import run_command
from tests.support.services import OPENAI_KEY, Raw, Services

ROOT = Path(__file__).parents[2]
NOWHERE = "http://127.0.0.1:9"  # nothing listens there
FAKE = {
    "GEMINI_API_KEY": "AIzaQ7xkW2vB9mJ4tLp",
    "OPENAI_API_KEY": "sk-R8dYc3ZfH6nTqE1u",
    "ANTHROPIC_API_KEY": "sk-ant-Vb5KwP0eXo",
    "SERPAPI_API_KEY": "f00dcafe71b3a92d4e68",
    "EXA_API_KEY": "9c1d7fe0-aa55-4be2",
    "TAVILY_API_KEY": "tvly-Xk29PqLmZs7v",
    "SERPER_KEY_ID": "0b6Wj+5Ns/Ug8hVi=",
}


@pytest.fixture
def services(services: Services) -> Services:
    """The services, with a model that answers what the doctor asks."""
    services.think = lambda asked: {"capital": "Paris"}
    return services


def find_checks(
    environment: dict[str, str], folder: Path, deadline: float = 8.0
) -> dict[str, Check]:
    return {check.name: check for check in run_checks(environment, folder, deadline)}


def doctor(
    *arguments: str, cwd: Path, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    keep = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    given = {**keep, "PYTHONPATH": str(ROOT), **environment}
    return run_command("-m", "agent.cli", "doctor", *arguments, cwd=cwd, env=given, text=True)


def reported(*, cwd: Path, environment: dict[str, str]) -> tuple[int, dict[str, Any]]:
    done = doctor("--json", cwd=cwd, environment=environment)
    value = json.loads(done.stdout)
    assert value.keys() == {"ok", "checks"}
    for row in value["checks"]:
        assert row.keys() == {"name", "status", "detail", "remedy", "seconds"}
        assert row["status"] in ("ok", "warn", "fail") and row["detail"]
    return done.returncode, value


def test_all_is_well(services: Services, tmp_path: Path) -> None:
    services.default_hits = ["a page"]
    found = find_checks(services.environment(tmp_path), tmp_path)
    assert missing_requirements(list(found.values())) == []
    assert found["model gemini:gemini-3.8-flash"].status == "ok"
    detail = found["model gemini:gemini-3.8-flash"].detail
    assert "window: 1,048,576 tokens" in detail and "for a million tokens in, $" in detail
    assert found["search serpapi"].detail == "answers; hits: 1"
    assert "answered in 0." in detail and services.tasks() == ["try"], "of the first one alone"
    assert services.search_queries == ["Wikipedia"]
    assert not list((tmp_path / "runs").iterdir()), "the trial file is gone"


def test_with_nothing_set_it_names_the_settings_and_exits_1(tmp_path: Path) -> None:
    folders = {name: str(tmp_path / name) for name in ("RUNS_DIR", "CACHE_DIR")}
    search = "serpapi,exa,tavily,serper,wikipedia,searxng"
    environment = {"WIKIPEDIA_BASE_URL": NOWHERE, "SEARCH_PROVIDERS": search, **folders}
    status, value = reported(cwd=tmp_path, environment=environment)
    rows = {row["name"]: row for row in value["checks"]}
    assert (status, value["ok"]) == (1, False)
    assert rows[".env"]["status"] == "warn" and rows["model"]["status"] == "fail"
    assert "GEMINI_API_KEY" in rows["model"]["detail"] and "Claude" in rows["model"]["remedy"]
    assert rows["search wikipedia"]["status"] == "fail" and rows["search wikipedia"]["remedy"]
    done = doctor(cwd=tmp_path, environment=environment)
    assert done.stdout.startswith("Not ready: no model, no search. It works with --offline")


def test_what_a_folder_may_not_set_is_reported_and_not_used(
    services: Services, tmp_path: Path
) -> None:
    environment = services.environment(tmp_path)
    address = environment.pop("GOOGLE_GEMINI_BASE_URL")
    (tmp_path / ".env").write_text(f"GOOGLE_GEMINI_BASE_URL={address}\n")
    found = find_checks(environment, tmp_path)
    assert found["settings"].status == "fail" and "--trust-env" in found["settings"].remedy
    assert "GOOGLE_GEMINI_BASE_URL" in found["settings"].detail
    assert missing_requirements(list(found.values())) == ["settings", "model", "search"]
    assert not services.search_queries and not services.model_requests
    trusted = run_checks(environment, tmp_path, 8.0, trust_env=True)
    assert "settings" not in {check.name for check in trusted}


def test_openai_is_tried(services: Services, tmp_path: Path) -> None:
    own = {"OPENAI_API_KEY": OPENAI_KEY, "OPENAI_BASE_URL": f"{services.base}/openai"}
    environment = services.environment(
        tmp_path, RESEARCH_AGENT_LLM="openai", OPENAI_MODEL="gpt-test", **own
    )
    found = find_checks(environment, tmp_path)["model openai:gpt-test"]
    assert found.status == "ok" and "; the server lists the model" in found.detail
    assert "s, asked by json_schema" in found.detail and services.tasks() == ["try"]


@pytest.mark.slow
def test_a_service_that_hangs_is_reported_and_blocks_nothing_else(
    services: Services, tmp_path: Path
) -> None:
    release = threading.Event()
    services.fault = lambda: Raw(500, "") if release.wait() else None
    found = find_checks(services.environment(tmp_path), tmp_path, deadline=2.5)
    release.set()
    assert found["search serpapi"].status == "fail"
    assert found["search serpapi"].detail.startswith("no answer within 2.")
    assert found["model gemini:gemini-3.8-flash"].detail.startswith("no answer within 2.")
    assert found["agent"].status == "ok"


def parts(keys: dict[str, str]) -> set[str]:
    """Every piece of four characters of the keys; of an address, of its password."""
    bare = [key.rpartition("@")[0].rpartition(":")[2] or key for key in keys.values()]
    return {key[i : i + 4] for key in bare for i in range(len(key) - 3)}


@pytest.mark.slow
@pytest.mark.parametrize("status", [200, 401, 500])
def test_no_key_is_shown_whatever_a_service_replies(
    services: Services, tmp_path: Path, status: int
) -> None:
    message = " ".join(f"Bad {key}! ***{key[-4:]}, key={key[:6]}..." for key in FAKE.values())
    body = {"error": {"code": status, "message": message, "status": "INVALID_ARGUMENT"}}
    text = json.dumps({"error": message} if status == 200 else body)
    services.fault = lambda: Raw(status, text, {"X-Echo": "1"})
    urls = dict.fromkeys("EXA TAVILY SERPER SERPAPI WIKIPEDIA".split(), f"{services.base}/serpapi")
    environment = {
        **services.environment(tmp_path),
        **{f"{name}_BASE_URL": url for name, url in urls.items()},
        **FAKE,
        "SEARCH_PROVIDERS": "serpapi,exa,tavily,serper,wikipedia",
        "RESEARCH_AGENT_LLM": "gemini,openai:some-model",
        "OPENAI_BASE_URL": f"{services.base}/openai",
    }
    done = doctor(*(["--json"] if status == 401 else ["-v"]), cwd=tmp_path, environment=environment)
    assert done.returncode == 1 and done.stdout.count("fail") >= 7
    shown = done.stdout + done.stderr
    assert not [piece for piece in parts(FAKE) if piece in shown], shown


@pytest.mark.slow
def test_a_key_in_the_wrong_place_is_not_shown(services: Services, tmp_path: Path) -> None:
    key = FAKE["GEMINI_API_KEY"]
    environment = services.environment(
        tmp_path, GEMINI_API_KEY=key, GEMINI_MODEL=key, RESEARCH_AGENT_LLM=key
    )
    done = doctor(cwd=tmp_path, environment=environment)
    assert done.returncode == 1
    assert not [piece for piece in parts({"": key}) if piece in done.stdout + done.stderr]
    environment |= {"RESEARCH_AGENT_LLM": "gemini", "SEARCH_PROVIDERS": f"{key},serpapi"}
    done = doctor(cwd=tmp_path, environment=environment)
    shown = (done.stdout + done.stderr).casefold()
    assert not [piece for piece in parts({"": key.casefold()}) if piece in shown], shown


KEYS = st.text("abcdefXYZ0189-_+/=", min_size=6, max_size=30)


@given(KEYS, st.text(max_size=20), st.text(max_size=20), st.integers(0, 26))
def test_no_piece_of_a_key_is_left(key: str, before: str, after: str, start: int) -> None:
    piece = key[start:] if len(key) - start >= 4 else key
    row = Check("x", "fail", f"{before}{piece}{after} {key}", f"try {before} {key}", 0.0)
    [shown] = redact([row], find_secrets({"SOME_API_KEY": key}))
    pieces = [key[i : i + 4] for i in range(len(key) - 3)]
    assert not [p for p in pieces if p in shown.detail + shown.remedy + shown.name]
