"""A disk that fails costs a run nothing but the cache."""

from __future__ import annotations

import os
import resource
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.support.caches import (
    URL,
    FakeWeb,
    check_failing_cache,
    make_page,
    new_cache,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "kept" / "web"


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "web"
    problem = check_failing_cache(new_cache(folder))
    assert problem == f"The cache in {folder} is not used in this run: not a directory."


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may write anywhere: be someone else for a while."""
    if os.getuid():
        yield
        return
    os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


def test_a_folder_that_cannot_be_written() -> None:
    top = Path(tempfile.mkdtemp())  # not tmp_path, into which only its owner can look
    folder, web = top / "web", FakeWeb(make_page())
    try:
        new_cache(folder).wrap_read(web)(URL)
        for path, mode in ((top, 0o755), (folder, 0o555), (folder / "cache.db", 0o444)):
            path.chmod(mode)
        with as_nobody():
            cache = new_cache(folder)
            assert cache.wrap_read(web)(URL) == web.answer and len(web.asked) == 1
            assert check_failing_cache(cache).endswith("it cannot be written.")
    finally:
        folder.chmod(0o755)
        shutil.rmtree(top)


def test_a_full_disk(folder: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    small = FakeWeb(make_page())
    new_cache(folder).wrap_read(small)(URL)
    big = FakeWeb(make_page(f"{URL}/big", text="word " * 100_000))
    cache = new_cache(folder)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    try:
        assert cache.wrap_read(big)(f"{URL}/big") == big.answer
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert cache.problem
    assert new_cache(folder).wrap_read(small)(URL) and len(small.asked) == 1


@pytest.mark.slow
def test_a_write_that_another_process_never_ends(folder: Path) -> None:
    web = FakeWeb(make_page())
    new_cache(folder).wrap_read(web)(URL)
    with closing(sqlite3.connect(folder / "cache.db")) as other:
        other.execute("BEGIN EXCLUSIVE")
        cache = new_cache(folder)
        assert cache.wrap_read(web)(URL) == web.answer and len(web.asked) == 1  # reading goes on
        assert check_failing_cache(cache).endswith("it is locked.")


@pytest.mark.slow
def test_a_file_that_another_process_never_lets_go(folder: Path) -> None:
    """The library alone would wait for a minute."""
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "cache.db")) as other:
        other.execute("CREATE TABLE mine (x)")
        other.execute("BEGIN EXCLUSIVE")
        assert check_failing_cache(new_cache(folder)).endswith("it did not answer in time.")
