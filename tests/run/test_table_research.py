"""A table of many things: its rows, its cells with their quotes, and how it is written."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from agent.answer.table_formats import to_table_csv, to_table_html, to_table_xlsx
from agent.answer.table_result import Cell, CellSource, Column, TableAnswer, TableRow, merge_rows
from agent.cli.shell import run_command
from agent.cli.table import command

TOWNS = {"Arnvik": ("Holm", 1200), "Brekke": ("Lund", 3400), "Dalen": ("Vik", 560)}


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any, str]:
    status = run_command(command, arguments)
    shown = capsys.readouterr()
    return status, json.loads(shown.out), shown.err


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    names = ", ".join(TOWNS)
    (folder / "county.md").write_text(f"# Norddal\n\nThe towns of Norddal are {names} and Elva.\n")
    for name, (river, people) in TOWNS.items():
        text = f"# {name}\n\n{name} is a town.\n\nCapital: {river}\n"
        (folder / f"{name}.md").write_text(f"{text}Population: {people:,}\n")
    return folder


def calls(tmp_path: Path) -> int:
    return sum(len(file.read_text().splitlines()) for file in (tmp_path / "runs").glob("*.jsonl"))


def test_rows_are_found_and_each_cell_has_its_quote(
    tmp_path: Path, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "towns.json"
    asked = ["towns of Norddal", "--columns", "capital,population:integer", "--offline"]
    asked += ["--corpus", str(corpus), "--rows", "4", "--out", str(out)]
    status, summary, _ = run(capsys, *asked)
    assert (status, summary["rows"], summary["left"]) == (0, 4, 0)
    assert summary["cells"] == {"filled": 6, "missing": 2} and not summary["warnings"]
    table = json.loads(out.read_text())
    for row in table["rows"][:3]:
        for name, value in zip(("capital", "population"), TOWNS[row["name"]], strict=True):
            cell = row["cells"][name]
            source = cell["source"]
            assert cell["value"] == value and cell["status"] == "filled"
            assert str(value) in source["quote"].replace(",", "")
            assert source["end"] - source["start"] == len(source["quote"])
    last = table["rows"][3]
    assert last["name"] == "Elva" and last["cells"]["capital"]["reason"]

    before = calls(tmp_path)  # what has a row is not done again
    status, again, _ = run(capsys, *asked)
    assert (status, again["cells"]) == (0, summary["cells"])
    assert calls(tmp_path) == before and json.loads(out.read_text()) == table


def test_names_of_a_file_are_rows_once(
    tmp_path: Path, corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "towns.csv", tmp_path / "out.csv"
    file.write_text("Town,id\nArnvik,1\narnvik,2\nAtlantis,3\n")
    asked = [str(file), "--columns", "capital,population:integer", "--offline", "--strict"]
    status, summary, _ = run(capsys, *asked, "--corpus", str(corpus), "--out", str(out))
    assert (status, summary["cells"]) == (4, {"filled": 2, "missing": 2})
    head, first, second = csv.reader(io.StringIO(out.read_text()))
    assert head == ["name", "capital", "capital source", "population", "population source"]
    assert first[:2] == ["Arnvik", "Holm"] and first[3] == "1200"
    assert second == ["Atlantis", "", "", "", ""]


def row(name: str, url: str = "", quote: str = "", start: int = 0, **more: Any) -> TableRow:
    source = CellSource(url=url, title="", quote=quote, start=start, end=start + 1, link=url)
    return TableRow(name=name, cells={"x": Cell(value="v", source=source, **more)})


def test_one_entity_is_one_row() -> None:
    rows = [row("Czechia", "a", "Its capital is Prague."), row("The Netherlands", "b", "q")]
    rows += [row("Czech Republic", "a", "Its capital is Prague."), row("netherlands", "c", "r")]
    rows += [row("France", "d", "France and Italy."), row("Italy", "d", "France and Italy.")]
    merged = merge_rows(rows)
    assert [(one.name, one.also) for one in merged] == [
        ("Czechia", ("Czech Republic",)),
        ("The Netherlands", ("netherlands",)),
        ("France", ()),
        ("Italy", ()),
    ]


def test_foreign_text_is_no_formula_and_no_markup() -> None:
    column = Column(name="=1+1")
    source = CellSource(
        url="javascript:x", title="t", quote="<b>", start=0, end=3, link="javascript:x"
    )
    cell = Cell(value="=cmd()", status="conflict", source=source)
    one = TableRow(name="@name", cells={"=1+1": cell})
    table = TableAnswer(topic="<i>", columns=(column,), rows=(one,))
    heads, row = to_table_csv(table).splitlines()
    assert heads == "name,'=1+1,'=1+1 source" and row.startswith("'@name,'=cmd()")
    page = to_table_html(table)
    assert "<b>" not in page and "<i>" not in page and "href" not in page
    with zipfile.ZipFile(io.BytesIO(to_table_xlsx(table))) as book:
        assert b"<f>" not in book.read("xl/worksheets/sheet1.xml")
        assert b"&lt;b&gt;" in book.read("xl/comments1.xml")
