"""What all tests share: services on loopback, settings that point at them, and no way out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings as hypothesis_settings
from pytest_socket import socket_allow_hosts

from agent.settings import Settings, load
from tests.browser import Browser, executable
from tests.services import Services

hypothesis_settings.register_profile("tests", deadline=None)  # a busy machine is no failure
hypothesis_settings.load_profile("tests")

DATA = Path(__file__).parents[2] / "shared" / "data"


@pytest.fixture(autouse=True)
def _no_network() -> None:
    """A missed fake fails: nothing beyond loopback can be reached."""
    socket_allow_hosts(["127.0.0.1", "::1"], allow_unix_socket=True)


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Journals and indexes of a test go to its own folder, and no key of the machine counts."""
    for name in list(__import__("os").environ):
        if name.endswith(("_API_KEY", "_BASE_URL")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.setenv("CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def services() -> Iterator[Services]:
    """Gemini, SerpAPI and a small web on one loopback port."""
    with Services() as running:
        yield running


@pytest.fixture
def settings(services: Services, tmp_path: Path) -> Settings:
    """Settings for a run against `services`, with no waiting between retries."""
    return load(services.environment(tmp_path, CACHE_TTL="0"))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium, started once."""
    program = executable()
    if program is None:
        pytest.skip("chromium is not installed: what a browser shows is not tested")
    with Browser(program) as running:
        yield running


@pytest.fixture
def data() -> Path:
    """The real data to measure on."""
    if not DATA.is_dir():
        pytest.skip("shared/data is not beside this checkout")
    return DATA
