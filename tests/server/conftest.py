"""A server over the demo corpus, one for all tests of a file."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from tests.support.services import Raw, Services
from tests.support.web import Web, configure_from
from tests.support.worlds import one_hop


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """A server over the demo corpus."""
    folder = str(tmp_path_factory.mktemp("web"))
    environment = {"RUNS_DIR": f"{folder}/runs", "CACHE_DIR": f"{folder}/cache"}
    with Web(configure_from(environment, offline=True)) as running:
        yield running


@pytest.fixture
def world(services: Services) -> Services:
    """Services for a run that takes as long as a test wants."""
    return one_hop().set_up(services)


@pytest.fixture
def gate(world: Services) -> Iterator[threading.Event]:
    """No service replies until this is set, as it is when the test is over."""
    event = threading.Event()
    world.fault = lambda: None if event.wait(60) else Raw(500, "late")
    yield event
    event.set()
