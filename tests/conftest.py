"""Fixtures of all tests: services on loopback, settings for them, and no network beyond."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
from hypothesis import settings as hypothesis_settings
from pytest_socket import socket_allow_hosts

from agent.pages.fetch import PageReader
from agent.settings import Settings, parse_settings
from tests.support.browser import Browser, find_chromium
from tests.support.page_server import PageServer
from tests.support.services import Services
from tests.support.thinker import FINAL, Fact, Thinker

#: A slow machine must not fail a test, nor a draw that nobody saw before: `make fuzz` looks for
#: those. `--hypothesis-profile=default` draws anew.
hypothesis_settings.register_profile("tests", deadline=None, derandomize=True, max_examples=30)
hypothesis_settings.load_profile("tests")

DATA = Path(__file__).parents[2] / "shared" / "data"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--shuffle SEED`: no test may depend on those before it."""
    parser.addoption("--shuffle", type=int, help="run the tests in the random order of this seed")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the tests into the order that was asked for."""
    seed = config.getoption("--shuffle")
    if seed is not None:
        Random(seed).shuffle(items)


@pytest.fixture(autouse=True)
def _no_network() -> None:
    """Block all connections beyond loopback, so that a request without a fake fails."""
    socket_allow_hosts(["127.0.0.1", "::1"], allow_unix_socket=True)


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Direct journals and caches to the test's folder, and hide the machine's keys."""
    for name in list(__import__("os").environ):
        if name.endswith(("_API_KEY", "_BASE_URL", "_TOKEN", "_APP_ID")) or name.lower().endswith(
            "_proxy"
        ):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))  # nor the developer's own file
    monkeypatch.setenv("RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.setenv("CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def services() -> Iterator[Services]:
    """Serve Gemini, SerpAPI and a small web on one loopback port."""
    with Services() as running:
        yield running


@pytest.fixture
def public(services: Services, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the pages of `services` are: at a public name without an address, behind a proxy."""
    services.site = "http://page.example"
    monkeypatch.setenv("http_proxy", services.base)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return services.site


@pytest.fixture
def settings(services: Services, tmp_path: Path) -> Settings:
    """Settings of a run against `services`, without waits between retries."""
    return parse_settings(services.environment(tmp_path, CACHE_TTL="0"))


@pytest.fixture
def world(services: Services) -> Services:
    """One page that says who won, and a model that reads it."""
    services.pages = {"final": FINAL}
    services.default_hits = ["final"]
    services.think = Thinker([Fact("winner", "Argentina", "Argentina won")], ["final"])
    return services


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium, started once per session."""
    program = find_chromium()
    if program is None:
        pytest.skip("chromium is not installed: what a browser shows is not tested")
    with Browser(program) as running:
        yield running


@pytest.fixture
def web() -> Iterator[PageServer]:
    """A web server that can misbehave in any way."""
    with PageServer() as server:
        yield server


@pytest.fixture
def reader() -> Iterator[PageReader]:
    """A reader of pages that may reach loopback."""
    with closing(PageReader(timeout=30, allow_private_network=True)) as page_reader:
        yield page_reader


@pytest.fixture
def data() -> Path:
    """The folder of real data sets; skips the test where it is absent."""
    if not DATA.is_dir():
        pytest.skip("shared/data is not next to this checkout")
    return DATA
