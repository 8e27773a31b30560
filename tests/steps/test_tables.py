"""Questions over the rows of tables: one SELECT in the worker, its answer computed and audited."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from agent.answer.json_format import to_json
from agent.evidence.text_tables import find_tables
from agent.run.audit_answer import audit_answer
from agent.settings import Settings
from agent.state import Hit, Page, Source
from agent.state.excerpts import Excerpt
from agent.steps.table_queries import (
    NamedTable,
    TableQuery,
    answer_query,
    name_tables,
    run_statement,
)
from tests.support.services import ModelRequest, Services
from tests.support.worlds import run_to_end

HEAD = ["order", "town", "price"]
TOWNS = ["Arlen", "Borsk", "Cull"]


def rows_of(count: int) -> list[list[str]]:
    return [[str(n), TOWNS[n % 3], f"{n * 7 % 1000}.50"] for n in range(1, count + 1)]


def write_csv(count: int, head: list[str] = HEAD, rows: list[list[str]] | None = None) -> str:
    text = io.StringIO()
    csv.writer(text).writerows([head, *(rows or rows_of(count))])
    return text.getvalue()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "orders.csv").write_text(write_csv(5000))
    people = [["Arlen", "Ada"], ["Borsk", "Bo"], ["Cull", "Cy"], ["Dorn", "Di"], ["Elm", "Ed"]]
    (folder / "managers.csv").write_text(
        write_csv(0, ["town", "manager", "floor"], [[*row, "1"] for row in people])
    )
    return folder


def ask(folder: Path, services: Services, settings: Settings, topic: str, **query: str) -> Any:
    """A run over the folder whose model answers with this query."""

    def think(asked: ModelRequest) -> dict[str, Any]:
        if asked.task == "generate_queries":
            slots = [{"name": "count", "topic_words": "orders"}]
            return {"queries": ["orders managers town"], "slots": slots}
        assert asked.task == "reflect" and '<table name="t1"' in asked.prompt, asked
        nothing = {"answer": "", "citations": [], "slots": [], "answerable": True}
        return {**query, **nothing, "need_more": False, "new_queries": []}

    services.think = think
    return run_to_end(topic, settings.model_copy(update={"corpus": folder}))[1]


TOPIC = "How many orders of Arlen town are there?"
COUNT = "SELECT count(*) FROM t1 WHERE town = 'Arlen'"


def test_an_aggregate_is_computed_and_cites_the_heading_row(
    folder: Path, services: Services, settings: Settings
) -> None:
    (folder / "managers.csv").unlink()
    said = {"statement": COUNT, "sentence": "Arlen has {} orders."}
    answer = ask(folder, services, settings, TOPIC, **said)
    assert answer.answer == "Arlen has 1666 orders [1]."
    assert answer.status == "complete", answer.warnings
    (claim,) = answer.claims
    assert (claim.verdict, claim.by) == ("supported", "calculation")
    made = claim.calculation
    assert made and (made.expression, made.value, made.is_query) == (COUNT, 1666, True)
    assert answer.citations[0].quote == "order | town | price"
    assert [one.text for one in made.operands] == ["t1: heading row", "5000 rows"]
    assert services.tasks() == ["generate_queries", "reflect"]
    told = json.loads(to_json(answer))
    journal = Path(str(answer.run.journal))
    assert audit_answer(told, journal)["ok"]
    for field, false in (("value", 1667), ("expression", COUNT.replace("Arlen", "Borsk"))):
        changed = json.loads(to_json(answer))
        changed["claims"][0]["calculation"][field] = false
        assert not audit_answer(changed, journal)["ok"]
    changed = json.loads(to_json(answer).replace("1666 orders", "1667 orders"))
    assert any("SELECT" in one["what"] for one in audit_answer(changed, journal)["failures"])


def named_tables(count: int = 2000) -> list[NamedTable]:
    text = "\n".join(" | ".join(row) for row in [HEAD, *rows_of(count)])
    page = Page.from_text("https://example.org/t", "T", text, "2026-01-01T00:00:00Z")
    source = Source(n=1, page=page, hit=Hit(url=page.url))
    return [NamedTable("t1", source, table) for table in find_tables(text)]


ATTACKS = {
    "attach": "ATTACH 'file:/tmp/x.db' AS x",
    "pragma function": "SELECT * FROM pragma_table_info('t1'), t1",
    "extension": "SELECT load_extension('x') FROM t1",
    "write": "DELETE FROM t1",
    "two": "SELECT count(*) FROM t1; DELETE FROM t1",
    "schema": "SELECT sql FROM sqlite_master, t1",
    "endless": "WITH RECURSIVE n(x) AS (SELECT price FROM t1 UNION ALL SELECT x + 1 FROM n) "
    "SELECT count(*) FROM n",
    "blob": "SELECT hex(randomblob(1000000000)) FROM t1",
    "many": "SELECT price FROM t1",
    "heap": "SELECT group_concat(a.town || b.town || hex(zeroblob(400000))) FROM t1 a, t1 b",
    "constant": "SELECT 42 FROM t1 LIMIT 1",
    "aggregate of nothing": "SELECT max(42) FROM (SELECT 1)",
    "nothing": "",
    "surrogate": "SELECT '\ud800' FROM t1",
    "long": "SELECT " + "+".join(["price"] * 1000) + " FROM t1",
    "deep": "SELECT " + "(" * 900 + "price" + ")" * 900 + " FROM t1",
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_statement_does_more_than_read(attack: str) -> None:
    """Each is refused in words, in its time, and the next statement runs."""
    assert isinstance(run_statement(ATTACKS[attack], named_tables()), str)
    after = run_statement("SELECT count(*) FROM t1", named_tables())
    assert isinstance(after, dict) and after["rows"] == [[2000]]


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("SELECT 'Quillan' || town FROM t1 LIMIT 1", "The winner is {}."),
        ("SELECT count(*) FROM t1", "{} of {} orders."),
        ("SELECT count(*) FROM t1", "Of 77 shops {} are open."),
    ],
)
def test_a_sentence_says_only_what_the_table_gives(statement: str, sentence: str) -> None:
    query = TableQuery(statement=statement, sentence=sentence)
    assert isinstance(answer_query(query, named_tables(), "Which one?"), str)


def test_two_tables_are_joined_and_both_are_cited() -> None:
    text = "town | manager | floor\n"
    text += "\n".join(
        f"town: {town} | manager: {town[0]}da | floor: 1" for town in (*TOWNS, "Dorn", "Elm")
    )
    page = Page.from_text("https://example.org/m", "M", text, "2026-01-01T00:00:00Z")
    (table,) = find_tables(text)
    other = NamedTable("t2", Source(n=2, page=page, hit=Hit(url=page.url)), table)
    statement = (
        "SELECT manager, sum(price) FROM t1 JOIN t2 USING (town) GROUP BY manager ORDER BY 2 DESC"
    )
    query = TableQuery(statement=f"{statement} LIMIT 1", sentence="{} sold most, for {}.")
    answered = answer_query(query, [*named_tables(), other], "Who sold most?")
    assert not isinstance(answered, str), answered
    sums = {t: sum(float(r[2]) for r in rows_of(2000) if r[1] == t) for t in TOWNS}
    best = max(sums, key=sums.__getitem__)
    assert answered.text == f"{best[0]}da sold most, for {sums[best]:.10g} [1][2]."


def test_a_table_is_found_with_its_rows() -> None:
    text = "Prices\n\nItem | Price | Note\nItem: Tea | Price: 1,250.50\nItem: A | B | Price: 2\n"
    text += "Item: Milk | Price: $3 | Note: x: y\nItem: Egg\nEnd."
    (table,) = find_tables(text)
    assert [text[row.start : row.end].split(":")[0] for row in table.rows] == ["Item"] * 4
    cells = [row.cells for row in table.rows]
    assert cells == [
        ("Tea", "1,250.50", ""),
        ("A | B", "2", ""),
        ("Milk", "$3", "x: y"),
        ("Egg", "", ""),
    ]
    assert table.columns == ("item", "price", "note") and table.are_numbers(1)
    assert not find_tables("a | b\nc | d\ne | f\ng | h\ni | j")  # no heading row


def test_a_reader_is_shown_few_columns_and_whole_pages_alone() -> None:
    names = [f"n{n}" for n in range(90)]
    wide = "\n".join(" | ".join(f"{name}: {i}" for name in names) for i in range(9))
    text = f"{' | '.join(names)}\n{wide}"
    page = Page.from_text("https://example.org/w", "W", text, "2026-01-01T00:00:00Z")
    cut = page.model_copy(update={"partial_text": "cut"})
    sources = [Source(n=n, page=p, hit=Hit(url=p.url)) for n, p in enumerate((cut, page, page), 1)]
    shown = [Excerpt.of(source, [text]) for source in sources]
    assert [one.source.n for one in name_tables(sources, shown)] == [2]
    assert name_tables(sources, shown[:1]) == []
