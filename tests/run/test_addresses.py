"""What is passed on names a document by its place in the corpus, and no path of this machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.answer.addresses import CorpusAddresses
from agent.answer.file_formats import FORMATS
from tests.support.web import Web, configure_from

TEXT = """# Northwind Energy

Northwind Energy is a maker of batteries in Oslo. Northwind Energy had {n} employees in 2024.
"""
QUESTION = "How many employees did Northwind Energy have in 2024?"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "strategy"), [("déjà vu", "slots"), ("a%20b", "loop"), ("q?&#[x](y)", "report")]
)
def test_nothing_that_is_shared_has_a_path(tmp_path: Path, name: str, strategy: str) -> None:
    """Of an answer with a disagreement, a document that cannot be read, and one of another type."""
    home = tmp_path / "home of ann"
    corpus = home / name
    (corpus / "deep").mkdir(parents=True)
    (corpus / "deep" / "a b.md").write_text(TEXT.format(n="4,200"), encoding="utf-8")
    (corpus / "b.md").write_text(TEXT.format(n="3,850"), encoding="utf-8")
    (corpus / "broken.pdf").write_bytes(b"%PDF-1.4 no")
    (corpus / "picture.xyz").write_bytes(b"x")
    environment = {"RUNS_DIR": f"{home}/runs", "CACHE_DIR": f"{tmp_path}/cache"}
    configure = configure_from(environment, offline=True, corpus=corpus, strategy=strategy)
    with Web(configure) as web:
        response = web.ask(QUESTION)
        path = f"/api/runs/{response.headers['x-run-id']}"
        shared = {
            answer_format: web.client.get(f"{path}/answer", params={"format": answer_format}).text
            for answer_format in FORMATS
        }
        shared["frames"] = web.client.get(f"{path}/events").text.rpartition('{"type": "answer"')[0]
        shared["activity"] = json.dumps(web.client.get(path).json()["activity"])
    urls = {citation["url"] for citation in response.json()["citations"]}
    assert urls and urls <= {"corpus:deep/a%20b.md", "corpus:b.md"}
    for text in shared.values():
        assert "file:" not in text and "home of ann" not in text and "home%20of" not in text
        assert str(tmp_path) not in text
    journal = home / "runs" / response.json()["run"]["journal"]
    header = json.loads(journal.read_text("utf-8").splitlines()[0])
    assert header["corpus"] == str(corpus)  # only the journal knows


SEGMENT = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1)


@given(SEGMENT.filter(lambda s: s.strip(". ")), SEGMENT.filter(lambda s: s not in (".", "..")))
def test_any_document_is_named_by_its_place(folder: str, name: str) -> None:
    from os import fsencode
    from urllib.parse import quote, unquote

    root = f"/home/{folder}/corpus"
    url = f"file://{quote(fsencode(f'{root}/{name}'))}"
    short = CorpusAddresses(root).shorten_url(url)
    assert short.startswith("corpus:") and unquote(short.removeprefix("corpus:")) == name
    assert CorpusAddresses().shorten_url(url) == short  # of a journal that does not say where
    assert CorpusAddresses(root).shorten_text(f"{url} is gone") == f"{short} is gone"
