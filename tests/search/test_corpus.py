"""The corpus: a user's files, found and read, whatever is in them and whoever asks."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
from pathlib import Path

import pytest

from agent.documents.plain_text import unwrap_paragraphs
from agent.errors import ReadFailed, UsageError
from agent.run.retriever import open_retriever
from agent.search.corpus import Corpus
from agent.settings import parse_settings


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    (docs / "sub").mkdir(parents=True)
    (docs / "refunds.md").write_text("# Refund policy\n\nThe refund period is 30 days.\n")
    (docs / "sub/travel notes.txt").write_text("Travel expenses are approved by Dana Weiss.\n")
    (docs / "cats.md").write_text(
        "---\ntitle: 猫の話\nurl: https://example.org/cats\n---\n黒猫が好き。\n"
    )
    (docs / "page.html").write_text(
        "<html><head><title>Parking</title></head>"
        "<body><p>Visitors park behind the mill.</p></body>"
    )
    return docs


def titles(corpus: Corpus, query: str) -> list[str]:
    return [hit.title for hit in corpus.search(query)]


def test_finds_and_reads_every_kind_of_file(folder: Path, tmp_path: Path) -> None:
    corpus = Corpus(folder, tmp_path / "cache")
    hit = corpus.search("How long is the refund period?")[0]
    assert hit.title == "Refund policy"
    assert hit.snippet == "The refund period is 30 days."
    assert hit.url == f"file://{folder.as_posix()}/refunds.md"
    page = corpus.read(hit.url)
    assert "The refund period is 30 days." in page.text
    assert page.title == hit.title and page.via == "page" and len(page.sha256) == 64
    assert titles(corpus, "who approved the travel expenses") == ["travel notes"]
    assert titles(corpus, "visitors parking") == ["Parking"]
    assert corpus.skipped_files == ()


def test_urls_are_percent_encoded_and_front_matter_gives_title_and_url(folder: Path) -> None:
    corpus = Corpus(folder, None)
    assert corpus.search("travel")[0].url.endswith("/sub/travel%20notes.txt")
    hit = corpus.search("黒猫")[0]
    assert (hit.url, hit.title) == ("https://example.org/cats", "猫の話")
    assert corpus.read(hit.url).text == "黒猫が好き。"


@pytest.mark.parametrize("query", ["黒猫", "好", "猫の話"])
def test_finds_chinese_and_japanese_by_any_part_of_a_run(folder: Path, query: str) -> None:
    assert titles(Corpus(folder, None), query) == ["猫の話"]


def test_nothing_found_is_empty_not_an_error(folder: Path) -> None:
    corpus = Corpus(folder, None)
    assert corpus.search("zeppelin") == () == corpus.search("") == corpus.search("?!")
    with pytest.raises(ReadFailed) as caught:
        corpus.read("file:///etc/passwd")
    assert caught.value.outcome == "not_found"


def test_odd_rows_are_used_or_counted(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    used = [
        '{"text": "alpha", "score": NaN, "size": -Infinity, "id": true}',
        '{"text": "beta \\ud800 \\u001b[2J", "title": "\\udfff", "url": "\\ud800"}',
        '{"text": "gamma", "title": ["no"], "url": 7, "id": ' + "9" * 4000 + "}",
    ]
    bad = ["[" * 100_000, '{"text": "x", "n": ' + "9" * 5000 + "}", '{"text": 1}', "\xff", "NaN"]
    file.write_bytes("\n".join([*bad, *used]).encode("latin-1"))
    corpus = Corpus(file, None)
    assert corpus.skipped_files == ("rows.jsonl: 5 unusable rows",)
    hits = [corpus.search(word)[0] for word in ("alpha", "beta", "gamma")]
    assert [hit.url.rpartition("?")[2] for hit in hits] == ["id=True", "row=7", "row=8"]
    assert corpus.read(hits[1].url).text == "beta  [2J"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["zeros.jsonl.gz", "long.txt"])
def test_files_without_end_take_no_more_than_the_time_that_is_left(
    tmp_path: Path, name: str
) -> None:
    """A compression bomb and one long document: each takes ten times longer."""
    long = {
        "zeros.jsonl.gz": gzip.compress(b"\0" * 10**7) * 1000,
        "long.txt": b"The pump speaks of pumps and of other things. " * 800_000,
    }
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / name).write_bytes(long[name])
    path = tmp_path / "docs" / (name if "jsonl" in name else "")
    try:
        faults = Corpus(path, None, seconds=0.3).skipped_files
    except UsageError as error:
        faults = (error.message,)
    assert "no time was left" in faults[0] or "too long" in faults[0]


def test_two_documents_of_one_url_do_not_hide_each_other(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    row = {"title": "Same", "url": "https://example.org/same"}
    texts = ("first part alpha", "second part beta")
    file.write_text("\n".join(json.dumps({**row, "text": text}) for text in texts))
    corpus = Corpus(file, None)
    assert [corpus.read(corpus.search(w)[0].url).text for w in ("alpha", "beta")] == list(texts)


def test_unreadable_files_are_skipped_with_the_reason(folder: Path) -> None:
    (folder / "broken.pdf").write_bytes(b"%PDF-1.4 nothing here")
    (folder / "latin.txt").write_bytes("Überraschung".encode("latin-1"))
    (folder / "empty.md").write_text("  \n")
    (folder / "binary.txt").write_bytes(b"\0\1\2")
    (folder / "picture.gif").write_bytes(b"GIF89")
    with (folder / "large.txt").open("wb") as file:
        file.truncate(50_000_001)
    corpus = Corpus(folder, None)
    names = [line.split(":")[0] for line in corpus.skipped_files]
    assert names == ["binary.txt", "broken.pdf", "empty.md", "large.txt"]
    assert titles(corpus, "Überraschung") == ["latin"]
    assert titles(corpus, "refund") == ["Refund policy"]


def test_odd_files_are_no_more_than_files_that_are_left_out(folder: Path, tmp_path: Path) -> None:
    odd = os.fsencode(folder / "caf") + b"\xe9.md"
    Path(os.fsdecode(odd)).write_text("# Swordfish\n\nThe swordfish is on the menu.")
    (folder / "loop.md").symlink_to(folder / "loop.md")
    (folder / "far.html").write_bytes(
        b"<html><head><meta charset=base64></head><body><p>K\xe4se costs two pounds.</p></body>"
    )
    (folder / "colour.html").write_text("<p style='color:rgba(0,0,0,1.2.3)'>The door is green.</p>")
    (folder / "rows.jsonl").write_text('{"id": "\\ud800", "text": "Rows about herons."}\n')
    (folder / "letter.docx").write_bytes(b"PK")
    for _ in (1, 2):  # the second time from the stored index
        corpus = Corpus(folder, tmp_path / "cache")
        (hit,) = corpus.search("swordfish menu")
        assert hit.url.endswith("/caf%E9.md") and corpus.read(hit.url).title == "Swordfish"
        assert corpus.search("pounds") and corpus.search("green door")
        assert corpus.unknown_files == ("loop.md", "rows.jsonl")
        (fault,) = corpus.skipped_files
        assert fault.startswith("letter.docx: it is damaged")
        corpus.close()
    assert Corpus(folder / "rows.jsonl", None).search("herons")


def test_files_that_are_passed_over_are_named_with_their_number(folder: Path) -> None:
    for n in range(12):
        (folder / f"{n:02}.gif").write_bytes(b"GIF89")
        (folder / f"{n:02}.txt").write_bytes(b"\0")
    changes = {"corpus": folder, "cache_dir": folder / ".cache"}
    sources = open_retriever(parse_settings({}).model_copy(update=changes))
    warnings = sources.warnings()
    sources.close()
    assert warnings[0] == "Not in the corpus: 00.txt: is not text" and len(warnings) == 12
    assert warnings[-2].startswith("Not in the corpus: 2 more files")
    assert "12 files of another type: 00.gif, 01.gif" in warnings[-1]


def test_characters_that_control_a_screen_are_taken_out(tmp_path: Path) -> None:
    word = "\u0645\u06cc\u200c\u062e"  # Persian, with a joiner that belongs to it
    (tmp_path / "a.md").write_text(f"# A \x1b]0;title\x07\n\nHerons\u202e eat\x9b {word}\x85daily.")
    page = Corpus(tmp_path, None).read(f"file://{tmp_path.as_posix()}/a.md")
    assert page.title == "A ]0;title" and page.text.endswith(f"Herons eat {word}\ndaily.")


def test_links_out_of_the_folder_are_not_followed(folder: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key.txt").write_text("the launch code is swordfish")
    (folder / "link.txt").symlink_to(secret / "key.txt")
    (folder / "linked").symlink_to(secret)
    (folder / "dangling.md").symlink_to(tmp_path / "gone.md")
    (folder / "inside.md").symlink_to(folder / "refunds.md")
    corpus = Corpus(folder, None)
    assert corpus.search("swordfish launch code") == ()
    assert len(corpus.search("refund")) == 2


@pytest.mark.parametrize("name", ["missing", "empty", "letter.docx"])
def test_a_corpus_without_documents_is_a_usage_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "letter.docx").write_bytes(b"PK")
    with pytest.raises(UsageError) as caught:
        Corpus(tmp_path / name, None)
    assert caught.value.remedy


def test_unchanged_files_are_not_read_again(folder: Path, tmp_path: Path) -> None:
    Corpus(folder, tmp_path).close()
    with sqlite3.connect(next(tmp_path.glob("*.sqlite"))) as db:
        db.execute("UPDATE documents SET text = replace(text, '30', '99')")
    db.close()
    corpus = Corpus(folder, tmp_path)
    assert "99" in corpus.search("refund")[0].snippet
    corpus.close()
    file = folder / "refunds.md"
    status = file.stat()
    file.write_text(file.read_text().replace("30", "45"))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))  # same size, same time
    assert "45" in Corpus(folder, tmp_path).search("refund")[0].snippet


@pytest.mark.parametrize("body", [b"not a database at all", b"SQLite format 3\0" + b"\xff" * 5000])
def test_a_damaged_index_is_built_again(folder: Path, tmp_path: Path, body: bytes) -> None:
    cache = tmp_path / "cache"
    Corpus(folder, cache).close()
    index = next(cache.glob("*.sqlite"))
    index.write_bytes(body)
    for _ in (1, 2):
        corpus = Corpus(folder, cache)
        assert titles(corpus, "refund") == ["Refund policy"]
        corpus.close()


def test_an_index_of_another_version_is_built_again(folder: Path, tmp_path: Path) -> None:
    Corpus(folder, tmp_path).close()
    index = next(tmp_path.glob("*.sqlite"))
    with sqlite3.connect(index) as db:
        db.execute("PRAGMA user_version = 999")
    db.close()
    assert titles(Corpus(folder, tmp_path), "refund") == ["Refund policy"]


def test_works_where_no_cache_can_be_kept(folder: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("a file where the cache should be")
    assert titles(Corpus(folder, blocked / "cache"), "refund") == ["Refund policy"]
    assert titles(Corpus(folder, Path("/proc/none")), "refund") == ["Refund policy"]


HOSTILE = [
    'refund" OR "x', "refund NEAR(period, 2)", "(refund", "title:refund", "refund AND NOT",
    "^refund", "refund\0period", "{refund}", "refund'; DROP TABLE words; --", "refund " * 150_000,
]  # fmt: skip


@pytest.mark.parametrize("query", HOSTILE, ids=range(len(HOSTILE)))
def test_no_syntax_comes_out_of_a_query(folder: Path, query: str) -> None:
    corpus = Corpus(folder, None)
    assert titles(corpus, query) == ["Refund policy"]


def test_paragraphs_are_unwrapped_and_columns_keep_their_lines() -> None:
    """Of a manual page, too."""
    wrapped = (
        "       Each commit names the ones that came before it, its parents, by the\n"
        "       hash of what is in them, so none can be changed without changing all."
    )
    assert unwrap_paragraphs(wrapped) == " ".join(wrapped.split("\n       "))
    kept = "    Item that is a long name for a thing that is sold   Price in pounds\n    Tea     3"
    assert unwrap_paragraphs(kept) == kept


# --- while it is used -----------------------------------------------------------------------------


@pytest.mark.slow
def test_a_corpus_answers_while_it_is_read_and_goes_on_another_time(tmp_path: Path) -> None:
    """The first process has no patience, and ends before it has read all files."""
    docs = tmp_path / "docs"
    docs.mkdir()
    count = 1200
    for n in range(count):
        (docs / f"n{n:05}.md").write_text(f"# Note {n}\n\nIt is of word{n}. " + "Filler. " * 200)
    corpus = Corpus(docs, tmp_path / "cache", patience=0)
    changes = {"corpus": docs, "cache_dir": tmp_path / "cache"}
    sources = open_retriever(parse_settings({}).model_copy(update=changes), corpus=corpus)
    assert sources.warnings()[-1].endswith("Ask again for the rest.")
    sources.close()
    first = corpus.size
    assert 0 < first < count and "The corpus is being indexed" in corpus.progress
    assert titles(corpus, "word0") == ["Note 0"]
    corpus.close()
    with sqlite3.connect(next((tmp_path / "cache").glob("*.sqlite"))) as db:
        (kept,) = db.execute("SELECT count(*) FROM documents").fetchone()
    db.close()
    assert first <= kept < count
    whole = Corpus(docs, tmp_path / "cache")
    assert (whole.size, whole.progress, whole.skipped_files) == (count, "", ())
    assert titles(whole, f"word{count - 1}") == [f"Note {count - 1}"]
    whole.close()
