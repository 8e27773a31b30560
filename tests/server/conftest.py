"""A server over the demo corpus, one for all tests of a file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.web import Web, configure_from


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """A server over the demo corpus."""
    folder = str(tmp_path_factory.mktemp("web"))
    environment = {"RUNS_DIR": f"{folder}/runs", "CACHE_DIR": f"{folder}/cache"}
    with Web(configure_from(environment, offline=True)) as running:
        yield running
