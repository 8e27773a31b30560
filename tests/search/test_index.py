"""The index of many files: while these change, while it is written, and after it was broken off."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.errors import UsageError
from agent.search.corpus import Corpus
from tests.support.page_server import wait_for

ROOT = Path(__file__).parents[2]


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "sub").mkdir(parents=True)
    for n in range(5):
        write_note(folder, n)
        write_note(folder / "sub", n + 5)
    return folder


@pytest.fixture
def corpus(docs: Path, tmp_path: Path) -> Iterator[Corpus]:
    corpus = Corpus(docs, tmp_path / "cache", rescan_seconds=0)
    yield corpus
    corpus.close()


def write_note(folder: Path, n: int, more: str = "") -> Path:
    file = folder / f"n{n}.md"
    file.write_text(f"# Note {n}\n\nIt is of word{n}{more}.\n")
    return file


def titles(corpus: Corpus, query: str) -> list[str]:
    return [hit.title for hit in corpus.search(query)]


def stored(cache: Path) -> dict[str, int]:
    """The URL of each document in an index file, with its number, which a new one does not keep."""
    with sqlite3.connect(next(cache.glob("*.sqlite"))) as db:
        rows = dict(db.execute("SELECT url, id FROM documents"))
    db.close()
    return rows


# --- files that come, change and go ---------------------------------------------------------------


def test_an_open_corpus_sees_what_becomes_of_a_file(docs: Path, corpus: Corpus) -> None:
    (docs / "n0.md").rename(docs / "sub/other.md")
    (docs / "n1.md").unlink()
    (docs / "n1.md").mkdir()
    write_note(docs / "n1.md", 77)
    (docs / "n2.md").unlink()
    (docs / "n2.md").symlink_to(docs / "nowhere.md")
    shutil.copy2(docs / "n4.md", docs / "n3.md")
    (hit,) = corpus.search("word0")
    assert hit.url.endswith("/sub/other.md")
    assert titles(corpus, "word77") == ["Note 77"]
    assert not titles(corpus, "word1") and not titles(corpus, "word2")
    assert not titles(corpus, "word3") and len(corpus.search("word4")) == 2
    assert corpus.size == 9 and corpus.unknown_files == ("n2.md",)


def test_a_folder_that_is_away_finds_nothing_and_keeps_its_index(
    docs: Path, corpus: Corpus, tmp_path: Path
) -> None:
    before = stored(tmp_path / "cache")
    (url, *_) = before
    for is_mount_point in (False, True):
        docs.rename(tmp_path / "elsewhere")
        if is_mount_point:
            docs.mkdir()
        assert titles(corpus, "word1") == [] and corpus.size == 0
        assert "its index is kept" in corpus.skipped_files[-1]
        with pytest.raises(UsageError, match="exist|its index is kept"):
            Corpus(docs, tmp_path / "cache")
        if is_mount_point:
            docs.rmdir()
        (tmp_path / "elsewhere").rename(docs)
        assert titles(corpus, "word1") == ["Note 1"] and corpus.skipped_files == ()
        assert corpus.read(url)
    assert stored(tmp_path / "cache") == before


# --- rows -----------------------------------------------------------------------------------------


def write_rows(file: Path, numbers: range, more: str = "") -> None:
    with file.open("a") as out:
        for n in numbers:
            out.write(json.dumps({"id": n, "title": f"Row {n}", "text": f"Of word{n}{more}."}))
            out.write("\n")


@pytest.mark.slow
def test_an_update_that_was_killed_amid_a_file_goes_on_where_it_was(tmp_path: Path) -> None:
    file, cache = tmp_path / "rows.jsonl", tmp_path / "cache"
    write_rows(file, range(60_000))
    code = (
        "import sys; from pathlib import Path; from agent.search.corpus import Corpus\n"
        "Corpus(Path(sys.argv[1]), Path(sys.argv[2]))"
    )
    command = [sys.executable, "-c", code, str(file), str(cache)]
    with subprocess.Popen(command, cwd=ROOT) as process:

        def count_rows() -> int:
            try:
                return len(stored(cache))
            except (sqlite3.Error, StopIteration):
                return 0

        assert wait_for(lambda: count_rows() > 0, 30)
        process.kill()
    before = stored(cache)
    corpus = Corpus(file, cache)
    assert corpus.size == 60_000 and corpus.skipped_files == () == tuple(corpus.progress)
    assert titles(corpus, "word59999") == ["Row 59999"]
    corpus.close()
    assert before.items() <= stored(cache).items()


# --- the file of the index ------------------------------------------------------------------------


def test_another_process_searches_while_an_update_writes(docs: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    Corpus(docs, cache).close()
    with sqlite3.connect(next(cache.glob("*.sqlite"))) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("INSERT INTO files VALUES ('x', '', '')")  # the other one is amid this
        corpus = Corpus(docs, cache)
        assert titles(corpus, "word3") == ["Note 3"] and list(cache.glob("*.sqlite*"))
        corpus.close()
        writer.rollback()
    writer.close()
