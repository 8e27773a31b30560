"""Tables of matches of World Cups: right cells, and what they cost in tokens, calls and time.

A closed world on loopback: a page a match, written from the public data, and a search that finds it
beside the pages of two other matches. A scripted model reads what the page of a match says; one
page in five names no referee, so that cell must stay empty and say why. Columns are a date, an
integer and three texts. *one run a cell*: the same table of one column at a time, on eight rows.
*repeated*: calls whose reply stood in a journal when the table was killed (SIGKILL, at half of its
rows) and which were made again; *lost*: those under way then, which no journal can hold. *times one
row*: every outside call takes a second, eight rows at once, on two cores; one row by itself, whose
first calls wait for imports, took 8 to 12 seconds on a busy machine. The public list questions of
WideSearch name entities and no values of cells, so none of them is here.
"""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date
from operator import itemgetter
from pathlib import Path
from typing import Any

from evals.harness import ROOT, Bench, Evaluation, Table, main, only
from evals.slots import load_matches
from tests.support.services import ModelRequest, Services, parse_claims, source_ids

SIZES = (8, 27, 200)
COLUMNS = ("date:date", "score", "referee", "city", "goals:integer")
SAMPLE = 8  # rows of the table that is filled by one run a cell
LATENCY = 1.0  # seconds of each outside call, where time is measured
COUNTS = "cells right wrong missing lost repeated".split()
COSTS = ("tokens a cell", "one run a cell", "seconds", "times one row")
SENTENCES = {
    "date": "It was played on {}.",
    "score": "The final score was {}.",
    "referee": "Its referee was {}.",
    "city": "Its city was {}.",
    "goals": "In all, {} goals were scored.",
}


class World:
    """Pages about matches, a model that reads them, and the tables that are made of them."""

    def __init__(self, services: Services, matches: Sequence[dict[str, Any]], folder: Path) -> None:
        self._services, self._folder = services, folder
        self.gold = {_name(row): _facts(row, n) for n, row in enumerate(matches)}
        self._names = list(self.gold)
        self._hits = {name: self._serve(n) for n, name in enumerate(self._names)}
        services.hits, services.think = self._search, self._think

    def _serve(self, n: int) -> list[str]:
        """The pages that a search for a match finds; no other search finds them."""
        others = [(n + step) % len(self._names) for step in (1, 0, 2)]
        pages = {f"{n}-{other}": self._page(self._names[other]) for other in others}
        self._services.pages |= pages
        return list(pages)

    def _page(self, name: str) -> str:
        facts = self.gold[name].items()
        told = [SENTENCES[key].format(_shown(value)) for key, value in facts if value is not None]
        return "\n".join([f"This page is about {name}.", *told])

    def _search(self, query: str) -> list[str]:
        return next(hits for name, hits in self._hits.items() if name in query)

    def _think(self, asked: ModelRequest) -> dict[str, Any]:
        topic = re.search(r"<topic[^>]*>(?:match )?(.*?)</topic>", asked.prompt)
        name = topic[1] if topic else ""
        if asked.task == "generate_queries":
            return {"queries": [name], "slots": []}
        shown = source_ids(asked.prompt).items()
        if asked.task == "verify":
            claims = parse_claims(asked.prompt).items()
            return {"verdicts": [_judge(n, text, dict(shown)) for n, (_, text) in claims]}
        own = [(n, text) for n, text in shown if f"about {name}." in text]
        rows = [row for n, text in own for row in _read(n, text)]
        said = "".join(f"{row['quote'].rstrip('.')} [{row['source']}]. " for row in rows[:1])
        cited = [{"source": row["source"], "quote": row["quote"]} for row in rows[:1]]
        answer = {"answerable": bool(rows), "answer": said, "citations": cited}
        return {"slots": rows, "need_more": not rows, "new_queries": [], **answer}

    def begin(self, title: str, rows: int, columns: Sequence[str]) -> subprocess.Popen[str]:
        """Start the command, or let it go on."""
        home = self._folder / title
        home.mkdir(parents=True, exist_ok=True)
        with (home / "names.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("match",), *((name,) for name in self._names[:rows])])
        command = [sys.executable, "-m", "agent.cli", "table", str(home / "names.csv"), "--columns"]
        command += [",".join(columns), "--out", str(home / "out.json")]
        environment = os.environ | self._services.environment(home)
        quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(command, cwd=ROOT, env=environment, text=True, **quiet)

    def fill(self, title: str, rows: int, columns: Sequence[str] = COLUMNS) -> dict[str, Any]:
        """The summary of a table that is filled to its end."""
        shown: dict[str, Any] = json.loads(self.begin(title, rows, columns).communicate()[0])
        return shown

    def cells(self, title: str) -> Iterator[tuple[Any, Any]]:
        """What each cell of a table says, and what is right. Empty without a reason is "empty"."""
        for row in json.loads((self._folder / title / "out.json").read_text("utf-8"))["rows"]:
            for column, cell in row["cells"].items():
                said = cell["value"] if cell["reason"] or cell["value"] is not None else "empty"
                yield said, self.gold[row["name"]][column]

    def kill(self, rows: int) -> tuple[int, int]:
        """Kill a table at half of its rows and let it go on; the calls lost, and repeated."""
        home, process = self._folder / "killed", self.begin("killed", rows, COLUMNS)
        done = home / "out.json.rows.jsonl"
        while not done.exists() or done.read_text("utf-8").count("\n") < rows // 2:
            time.sleep(0.05)
        process.kill()
        process.communicate()
        before, kept = self._asked(), set(_journaled(home))
        self.fill("killed", rows)
        since = self._asked() - before
        return len(before.keys() - kept), sum(since[call] for call in kept)

    def _asked(self) -> Counter[str]:
        """The calls that the services got."""
        asked = self._services.model_requests
        prompts = [one.task + one.prompt for one in asked]
        return Counter(prompts + self._services.search_queries + self._services.page_requests)


def _journaled(home: Path) -> Iterator[str]:
    """The calls whose replies the journals of a table hold."""
    for file in (home / "runs").glob("*.jsonl"):
        for line in file.read_text("utf-8").splitlines():
            with suppress(ValueError):  # the last line of a process that was killed
                asked = json.loads(line).get("request", {})
                yield asked.get("task", "") + asked.get("prompt", "") + asked.get("query", "")
                yield asked.get("url", "").rpartition("/")[2]


def _name(row: dict[str, Any]) -> str:
    return f"{row['home']} against {row['away']} at the {row['tournament']}"


def _facts(row: dict[str, Any], n: int) -> dict[str, Any]:
    referee = row["referee"][0] if n % 5 else None
    goals = sum(map(int, row["score"].split("-")))
    said = {"date": row["date"], "score": row["score"], "referee": referee}
    return {**said, "city": row["city"], "goals": goals}


def _shown(fact: Any) -> str:
    """A fact as a page says it: a date in words."""
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", str(fact)):
        return str(fact)
    day = date.fromisoformat(fact)
    return f"{day.day} {day:%B %Y}"


def _judge(claim: int, text: str, shown: dict[int, str]) -> dict[str, Any]:
    """The verdict on a sentence of a page, or on a column with its value."""
    name, _, value = text.partition(": ")
    said = SENTENCES[name].format(_shown(value)) if name in SENTENCES else text
    source = next((n for n, page in shown.items() if said in page), None)
    verdict = "supported" if source else "unsupported"
    return {"claim": claim, "verdict": verdict, "source": source}


def _read(n: int, text: str) -> Iterator[dict[str, Any]]:
    for name, sentence in SENTENCES.items():
        before, after = map(re.escape, sentence.split("{}"))
        if said := re.search(f"^{before}(.+){after}$", text, re.M):
            yield {"name": name, "value": said[1], "source": n, "quote": said[0]}


def measure(rows: int, bench: Bench) -> Iterator[dict[str, Any]]:
    """Fill a table at once, by one run a cell, through a kill, and with slow services."""
    with Services() as services:
        world = World(services, load_matches(bench.data)[:rows], bench.work / f"table-{rows}")
        killed = world.kill(rows)
        alone = [world.fill(column, SAMPLE, [column]) for column in COLUMNS]
        services.latency = lambda: LATENCY
        one, whole = world.fill("one", 1), world.fill("whole", rows)
        cells = list(world.cells("whole"))
        right = sum(said == gold for said, gold in cells)
        missing = sum(said is None and gold is not None for said, gold in cells)
        wrong = len(cells) - right - missing
        counted = (len(cells), right, wrong, missing, *killed)
        single = sum(map(_tokens, alone)) / (SAMPLE * len(COLUMNS))
        times = round(whole["seconds"] / one["seconds"], 1)
        costs = (round(_tokens(whole) / len(cells)), round(single), whole["seconds"], times)
        yield dict(zip(("rows", *COUNTS, *COSTS), (rows, *counted, *costs), strict=True))


def _tokens(summary: dict[str, Any]) -> int:
    usage = summary["usage"]
    return int(usage["input_tokens"] + usage["output_tokens"])


EVALUATION = Evaluation(
    title="Tables of many things",
    load=lambda _: SIZES,
    measure=measure,
    needs="worldcup",
    tables=(
        Table(
            {"rows": itemgetter("rows")},
            {head: only(itemgetter(head)) for head in (*COUNTS, *COSTS)},
        ),
    ),
    score=lambda one: one["right"] / one["cells"],
)

if __name__ == "__main__":
    main("tables")
