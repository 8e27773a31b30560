"""A server and a browser tab for each test of the page."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.page.driver import Page
from tests.support.browser import Browser
from tests.support.services import Services
from tests.support.web import Web, configure_from


@pytest.fixture(scope="module")
def world() -> Iterator[Services]:
    with Services() as running:
        yield running


@pytest.fixture(scope="module")
def web(world: Services, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    environment = world.environment(tmp_path_factory.mktemp("ui"), CACHE_TTL="0")
    with Web(configure_from(environment)) as running:
        yield running


@pytest.fixture
def page(browser: Browser, web: Web, world: Services) -> Iterator[Page]:
    """A new tab; at the end it made no foreign request and no script failed."""
    world.fault = lambda: None
    with browser.tab(1280, 900) as tab:
        yield Page(tab, web, world)
        assert tab.foreign_requests() == [] and tab.errors == []


@pytest.fixture
def offline_page(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """A tab of a server over the demo corpus, which has no runs yet."""
    environment = {"RUNS_DIR": f"{tmp_path}/runs", "CACHE_DIR": f"{tmp_path}/cache"}
    configure = configure_from(environment, offline=True, api_documents=True)
    with Web(configure) as web, browser.tab(1280, 900) as tab:
        yield Page(tab, web, None)  # type: ignore[arg-type]
        assert tab.foreign_requests() == [] and tab.errors == []


@pytest.fixture
def gate(world: Services) -> Iterator[threading.Event]:
    """The model waits for this after `pause_model`."""
    event = threading.Event()
    yield event
    event.set()
