"""Without a model nothing is called complete or disputed that a finder cannot know."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from agent.answer.schema import Answer
from agent.run.begin import research
from agent.settings import Settings

ASKED: dict[str, Any] = tomllib.loads(Path(__file__).with_name("finder.toml").read_text("utf-8"))


@pytest.fixture(scope="module")
def invented(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("invented") / "pages.jsonl"
    rows = [{"title": title, "text": text.strip()} for title, text in ASKED["pages"].items()]
    file.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return file


def ask(
    question: str, folder: Path, corpus: Path | None = None, slots: tuple[str, ...] = ()
) -> Answer:
    kept = {"runs_dir": folder / "runs", "cache_dir": folder / "cache"}
    return research(question, Settings(offline=True, corpus=corpus, slots=slots, **kept)).answer()


def check_modest(answer: Answer) -> None:
    """It is at most passages that may answer, in words too, and no slot is in dispute."""
    assert answer.status in ("partial", "insufficient")
    assert not any(slot.status == "conflict" for slot in answer.slots.values())
    name = answer.state.name if answer.state else ""
    assert name == ("Passages that may answer" if answer.status == "partial" else "Not found")
    assert len(answer.closest) <= 1
    assert not any("disagree" in warning for warning in answer.warnings)


@pytest.mark.parametrize("question", ASKED["demo"])
def test_over_the_demo_no_answer_is_too_sure(question: str, tmp_path: Path) -> None:
    check_modest(ask(question, tmp_path))


@pytest.mark.parametrize("question", ASKED["invented"])
def test_over_invented_pages_no_answer_is_too_sure(
    question: str, invented: Path, tmp_path: Path
) -> None:
    check_modest(ask(question, tmp_path, invented))


@pytest.mark.parametrize(
    ("question", "slots"),
    [
        ("Who is the mayor of Zum in Ohio?", {"mayor": "Bo Lind"}),
        ("What is the length of the Lund bridge?", {"length": "503 m"}),
        ("What is the deposit of flat Vega?", {"deposit": "2,200 crowns"}),
    ],
)
def test_a_field_completes_the_slot_of_its_name_and_no_question(
    question: str, slots: dict[str, str], invented: Path, tmp_path: Path
) -> None:
    named, plain = ask(question, tmp_path, invented, (*slots,)), ask(question, tmp_path, invented)
    assert (named.status, plain.status) == ("complete", "partial")
    for answer in (named, plain):
        found = {name: slot.value for name, slot in answer.slots.items()}
        assert slots.items() <= found.items()


def test_a_field_that_has_every_word_of_a_question_completes_it(
    invented: Path, tmp_path: Path
) -> None:
    answer = ask("Who opened the Malmo bridge?", tmp_path, invented)
    assert answer.status == "complete"
    assert answer.slots["who_opened_the_bridge"].value == "Clara Holm"
