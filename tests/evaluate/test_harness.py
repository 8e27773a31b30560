"""What all evaluations share: halves, tables, comparisons, and answers that can be repeated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from evals.harness import (
    NAMES,
    Bench,
    Evaluation,
    Table,
    compare,
    count,
    draw,
    half,
    interval,
    load_evaluation,
    measure,
    old_sections,
    share,
    size,
    spread,
    write_page,
)


class Outcome(NamedTuple):
    kind: str
    side: str
    right: bool | None
    state: str = "complete"


BOTH = (Outcome("a", "report", True), Outcome("b", "report", False, "partial"))
OUTCOMES = (*BOTH, Outcome("a", "report", None))


def test_a_table_has_a_row_for_each_key_and_all_of_them() -> None:
    cells = {"n": size, "right": count("right"), "share": share("right")}
    states = {"states": spread("state", ("complete", "partial"))}
    table = Table({"kind": "kind", "half": "side"}, cells | states, total=True)
    assert table.render(OUTCOMES).splitlines()[2:] == [
        "| a | report | 2 | 1 | 100.0% | 100 / 0 |",
        "| b | report | 1 | 0 | 0.0% | 0 / 100 |",
        "| all | report | 3 | 1 | 50.0% | 67 / 33 |",
    ]


def test_a_share_of_nothing_is_empty_and_all_of_few_is_no_certainty() -> None:
    assert share("right")([OUTCOMES[2]]) == interval("right")([OUTCOMES[2]]) == ""
    assert interval("right")([OUTCOMES[0]] * 20) == "100.0% (83.2% to 100.0%)"


def test_one_of_ten_lost_is_seen_and_one_of_a_hundred_is_not() -> None:
    before = [1.0] * 100
    assert compare(before, before).endswith("(+0/-0), difference +0.0% (+0.0% to +0.0%)")
    assert "(+0/-1), difference -1.0% (-3.0% to +0.0%)" in compare(before, [0.0, *before[1:]])
    lost = compare(before, [0.0] * 10 + before[10:])
    assert "100.0% to 90.0% (+0/-10)" in lost and lost.endswith("to -5.0%)")


def test_questions_are_drawn_the_same_each_time() -> None:
    keys = [f"question {n}" for n in range(200)]
    assert draw(keys, str, 9) == draw(reversed(keys), str, 9) == draw(keys, str)[:9]
    assert 70 < [half(key) for key in keys].count("tune") < 130


def test_a_page_keeps_the_sections_that_are_not_measured(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    first, second = (load_evaluation(name).title for name in NAMES[:2])
    write_page({second: f"## {second}\n\nold"}, page)
    write_page({first: f"## {first}\n\nnew"}, page)
    assert list(old_sections(page.read_text("utf-8"))) == [first, second]


@pytest.mark.parametrize("name", NAMES)
def test_an_evaluation_says_what_it_measures(name: str) -> None:
    evaluation = load_evaluation(name)
    assert evaluation.tables and evaluation.title and all(t.cells for t in evaluation.tables)


def _ask(question: int, bench: Bench) -> Iterator[Outcome]:
    yield Outcome(f"{question % 2}", (bench.work / "shared").read_text("utf-8"), True)


def test_questions_are_measured_side_by_side_in_their_order(tmp_path: Path) -> None:
    def prepare(_: Path, bench: Bench) -> None:
        (bench.work / "shared").write_text("tune")

    table = Table({"kind": "kind"}, {"n": size})
    evaluation = Evaluation("T", lambda _: range(40), _ask, (table,), prepare=prepare)
    made = measure(evaluation, tmp_path, tmp_path)
    assert [one.kind for one in made] == ["0", "1"] * 20 and made[0].side == "tune"
    assert len(measure(evaluation, tmp_path, tmp_path, 7)) == 7
