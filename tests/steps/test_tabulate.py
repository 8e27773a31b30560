"""A question that a table answers as a whole is answered by computing over its rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.answer import to_json
from agent.documents.body_text import BEGINNING, CUT, NO_END
from agent.run import research
from agent.run.audit import audit_answer
from agent.settings import Settings
from agent.state import Hit, Page, PageRead, Research
from agent.steps.tabulate import compute_answer

ROWS = "Order,City,Amount\n1,Lima,10\n2,Oslo,20\n3,Lima,25\n4,Rome,7\n"


@pytest.mark.parametrize("slots", [(), ("city", "orders")])
def test_slots_that_the_user_named_are_read_and_none_is_left_open_beside_a_computed_answer(
    slots: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus/orders.csv").write_text(ROWS)
    own = Settings(offline=True, runs_dir=tmp_path, cache_dir=tmp_path, corpus=tmp_path / "corpus")
    run = research("Which city has the most orders?", own.model_copy(update={"slots": slots}))
    answer = json.loads(to_json(run.answer()))
    is_computed = "Lima = value(City; max count Order)" in answer["answer"]
    assert (is_computed, answer["status"]) == ((False, "partial") if slots else (True, "complete"))
    assert tuple(answer["slots"]) == slots
    assert audit_answer(answer)["ok"]


@pytest.mark.parametrize("told", ["", f"{BEGINNING} 5 characters were read", CUT, NO_END])
def test_a_table_that_may_have_more_rows_than_were_read_is_not_counted(told: str) -> None:
    table = ROWS.replace(",", " | ")
    page = Page.from_text(
        "https://a.org/t.csv", "t", table, "2026-01-01T00:00:00Z", partial_text=told
    )
    run = Research(topic="How many orders are from Lima?")
    run.grow(PageRead(page=page, hit=Hit(url=page.url)))
    assert bool(compute_answer(run)) == (not told)


def test_how_many_rows_were_used_is_told_where_not_all_are_quoted(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    rows = "".join(f"{n},{('Lima', 'Oslo')[n % 3 == 0]},{n}\n" for n in range(60))
    (tmp_path / "corpus/orders.csv").write_text(f"Order,City,Amount\n{rows}")
    own = Settings(offline=True, runs_dir=tmp_path, cache_dir=tmp_path, corpus=tmp_path / "corpus")
    run = research("How many orders are from Lima?", own)
    answer = json.loads(to_json(run.answer()))
    assert "40 = count(Order; City = Lima)" in answer["answer"]
    told = "`40 = count(Order; City = Lima)` is computed from 40 rows, of which the first 10 are"
    assert any(one.startswith(told) for one in answer["warnings"])
    assert audit_answer(answer)["ok"]
