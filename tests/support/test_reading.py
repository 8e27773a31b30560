"""The scripted model that only reads: it answers from what it is shown, and tells what it lacks."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from agent.evidence import render_sources
from agent.outside import Excerpt, Task
from agent.state import Frozen
from evals.harness import Bench
from evals.reader import HonestReader, make_key, make_steps
from evals.reading import (
    ARMS,
    EVALUATION,
    Outcome,
    Trial,
    draw_questions,
    long_page,
    write_long_pages,
)
from evals.scripted import run_scripted

QUESTION: dict[str, Any] = {
    "id": "q",
    "dataset": "musique",
    "question": "In which city was the founder of Velmora Works born?",
    "answers": ["Uppsala"],
    "gold": ["firm", "person"],
    "decomposition": [
        {"question": "Velmora Works >> founder", "answer": "Ada Lindqvist"},
        {"question": "Where was #1 born?", "answer": "Uppsala"},
    ],
}
FIRM = "Velmora Works makes pumps. It was founded by Ada Lindqvist in 1901."
PERSON = "Ada Lindqvist was an engineer. She was born in Uppsala and died in Graz."
PASSAGES = {
    "firm": {"id": "firm", "title": "Velmora Works", "text": FIRM},
    "person": {"id": "person", "title": "Ada Lindqvist", "text": PERSON},
    "city": {"id": "city", "title": "Uppsala", "text": "Uppsala is a city north of Stockholm."},
}
BOTH = [{"source": 1, "quote": "It was founded by Ada Lindqvist in 1901."}]
BOTH += [{"source": 2, "quote": "She was born in Uppsala and died in Graz."}]


class SlotsAndAnswer(Frozen):
    answerable: bool
    answer: str
    citations: list[dict[str, Any]]
    slots: list[dict[str, Any]]
    need_more: bool
    new_queries: list[str]


class ReadOnce(Task[SlotsAndAnswer]):
    name = "reflect"

    def system_prompt(self) -> str:
        return "Read."

    def prompt(self) -> str:
        return render_sources(self.evidence)


def reader(with_steps: bool = False) -> HonestReader:
    steps = make_steps(QUESTION) if with_steps else ()
    return HonestReader(QUESTION["question"], make_key(QUESTION, PASSAGES), steps)


def ask(model: HonestReader, *names: str, text: str = "") -> dict[str, Any]:
    known = [(PASSAGES[name]["title"], name, text or PASSAGES[name]["text"]) for name in names]
    evidence = tuple(
        Excerpt(source=n, title=title, url=url, passages=(said,))
        for n, (title, url, said) in enumerate(known, 1)
    )
    asked = ReadOnce(topic=QUESTION["question"], evidence=evidence)
    return dict(json.loads(model.generate(asked, "").text))


def test_a_reading_is_answered_in_the_order_of_its_fields() -> None:
    reply = ask(reader(), "firm", "person")
    assert list(reply) == list(SlotsAndAnswer.model_fields)
    assert (reply["answer"], reply["citations"]) == ("Uppsala [1][2].", BOTH)
    assert reply["answerable"] and not reply["need_more"] and reply["new_queries"] == []
    assert reply["slots"][0]["value"] == "Uppsala" and reply["slots"][0]["source"] == 2


def test_without_one_of_the_passages_it_answers_nothing_and_wants_more() -> None:
    """The answer's word on a page that does not tell is no answer; what it will need is cited."""
    reply = ask(reader(), "firm", "city")
    assert (reply["answer"], reply["citations"]) == ("", BOTH[:1])
    assert reply["need_more"] and not reply["answerable"]
    assert reply["slots"][0]["value"] is None
    model = reader()  # nor does it understand a passage of which the wrong part is shown
    assert ask(model, "firm", "person", text="Velmora Works makes pumps.")["need_more"]
    assert not model.has_answered


def test_it_searches_for_names_that_it_read_and_asks_the_sub_question_of_them() -> None:
    assert "Ada Lindqvist" in ask(reader(), "firm")["new_queries"]
    assert "Ada Lindqvist" not in ask(reader(), "city")["new_queries"]
    asked = "Where was Ada Lindqvist born?"
    assert ask(reader(with_steps=True), "firm")["new_queries"][0] == asked
    assert asked not in ask(reader(with_steps=True), "city")["new_queries"]


def test_sub_questions_of_triples_wait_for_their_subjects() -> None:
    triples = [["Velmora Works", "founder", "Ada Lindqvist"], ["Ada Lindqvist", "born", "Uppsala"]]
    first, second = make_steps({**QUESTION, "evidences": triples})
    assert (first.query, first.needs) == ("Velmora Works founder", ())
    assert (second.query, second.needs) == ("Ada Lindqvist born", ("Ada Lindqvist",))


@pytest.mark.parametrize("arm", list(ARMS))
def test_every_strategy_leads_it_to_both_passages(arm: str, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("".join(f"{json.dumps(row)}\n" for row in PASSAGES.values()), "utf-8")
    model = reader()
    bench = Bench(tmp_path, tmp_path)
    answer = run_scripted(QUESTION["question"], model, corpus, bench, **ARMS[arm]).answer()
    assert "Uppsala" in answer.answer and answer.status in ("complete", "partial")
    before_judge = sum(tokens for task, tokens in model.spent if task != "verify")
    assert 0 < before_judge < answer.usage.input_tokens


def test_a_long_page_has_its_passage_once_at_a_place_that_its_id_draws(tmp_path: Path) -> None:
    others = {f"o{n}": {"title": f"Other {n}", "text": "word " * 50} for n in range(40)}
    web = {**PASSAGES, **others}
    page = long_page("firm", web, sorted(others), 1000)
    assert page == long_page("firm", web, sorted(others), 1000)
    assert page.count(FIRM) == 1 and page.count("## Other") == 20
    assert page.find(FIRM) != long_page("person", web, sorted(others), 1000).find(PERSON)
    target = write_long_pages([QUESTION], web, tmp_path / "long.jsonl", 1000)
    rows = [json.loads(line) for line in target.read_text("utf-8").splitlines()]
    assert [row["id"] for row in rows] == ["firm", "person"]
    assert PERSON not in rows[0]["text"]


def test_questions_are_drawn_from_one_half_by_their_ids(data: Path) -> None:
    drawn = draw_questions(data, "tune", {"musique": 3, "nq": 2})
    assert [row["dataset"] for row in drawn] == ["musique"] * 3 + ["nq"] * 2
    keys = [hashlib.sha1(row["id"].encode()).digest() for row in drawn]
    assert keys[:3] == sorted(keys[:3]) and all(key[0] % 2 == 0 for key in keys)
    assert not {row["id"] for row in drawn} & {
        row["id"] for row in draw_questions(data, "report", {"musique": 70, "nq": 82})
    }


def test_the_table_counts_tokens_by_right_answers_and_the_judge_apart() -> None:
    trial = Trial({**QUESTION, "half": "report"}, PASSAGES, "short pages", "names", "a")
    right, wrong = Outcome(trial, "", 2, 800, 1, 300, 3), Outcome(trial, "lost", 3, 1600, 0, 0, 3)
    told = EVALUATION.report([right, wrong])
    line = next(line for line in told.splitlines() if "several hops" in line)
    cells = [cell.strip() for cell in line.split("|")[6:-1]]
    assert cells == ["2", "1", "1,200", "2,400", "2.50", "0.50", "150", "3.0", *"0001"]
