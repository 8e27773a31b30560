"""How well slots are filled from long real pages, without a model.

135 pages of Wikipedia about World Cups as a folder of HTML. Of every tournament whose pages are
among them, the slots winner, score and goalscorers; of a sample of their matches, the score and the
referee. *n*: rows that have such a fact (a draw has no winner). *wrong*: given, and not right, also
where there was none to give. *goalscorers* are right if all are there and nobody else. *answer
tells it*: the first slot's gold stands in the answer. Of matches, rules were written with the wrong
values of the *tune* half in view, and of the *report* half with this table alone. The tournaments
are few and were all looked at: their report half is not unseen.
"""

from __future__ import annotations

import gzip
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from evals.harness import (
    HALVES,
    Bench,
    Evaluation,
    Table,
    count,
    draw,
    half,
    main,
    read_rows,
    share,
)

SAMPLE = 60  # matches of each half
PAGES = "worldcup/wikipedia_pages.jsonl.gz"
FOLDER = "cup-pages"
Mark = Literal["right", "wrong", "missing", "none to give"]


class SlotQuestion(NamedTuple):
    """A question, and for each slot the values that are right (any of them; all where a list)."""

    id: str
    half: str
    suite: str
    question: str
    gold: dict[str, list[str]]


class MarkedSlot(NamedTuple):
    """The result of a slot of a question."""

    asked: SlotQuestion
    slot: str
    mark: Mark
    value: str | None
    confidence: float | None  # None: it is not filled
    form: str  # how its quote holds it
    told: bool | None  # the answer holds what was asked for; None: another slot has it
    abstained: bool | None

    @property
    def right(self) -> bool | None:
        """Whether it is right; None where there is none to give."""
        return None if self.mark == "none to give" else self.mark == "right"


def load(data: Path) -> Iterator[SlotQuestion]:
    """The questions about tournaments and matches that have pages."""
    pages = {row["file"] for row in read_pages(data)}
    cups = tournament_questions(data, pages)
    yield from cups
    yield from match_questions(data, {cup.id.removeprefix("WC-") for cup in cups})


@cache
def read_pages(data: Path) -> tuple[dict[str, Any], ...]:
    """The pages of Wikipedia."""
    with gzip.open(data / PAGES, "rt", encoding="utf-8") as rows:
        return tuple(map(json.loads, rows))


def tournament_questions(data: Path, pages: set[str]) -> list[SlotQuestion]:
    """The questions who won, of the tournaments that have a page."""
    return [
        SlotQuestion(row["id"], half(row["id"]), "tournament", row["question"], _gold_of_final(row))
        for row in read_rows(data / "worldcup/tournaments.dev.jsonl")
        if pages & set(row["pages"])
    ]


def _gold_of_final(row: dict[str, Any]) -> dict[str, list[str]]:
    match = row["final"]
    scorers = sorted({goal["family_name"] for goal in match["goals"]})
    return {"winner": [row["winner"]], "score": _scores(match), "goalscorers": scorers}


def _scores(match: dict[str, Any]) -> list[str]:
    """The result either way round; of a match with a shoot-out, that of either."""
    found = [match["score"], match["penalties"]]
    return [way for s in found if s for way in (s, "-".join(reversed(s.split("-"))))]


def match_questions(data: Path, years: set[str]) -> list[SlotQuestion]:
    """Questions about matches of the years that have pages: a sample by SHA-1 of each half."""
    rows = [row for row in load_matches(data) if row["tournament"][:4] in years]
    asked = []
    for side in reversed(HALVES):
        drawn = [row for row in rows if half(row["match_id"]) == side][:SAMPLE]
        asked += [question for row in drawn for question in _questions_of_match(row, side)]
    return asked


def load_matches(data: Path) -> list[dict[str, Any]]:
    """Matches of two sides that met once at a cup, in the order of the SHA-1 of their ids."""
    rows = read_rows(data / "worldcup/matches.dev.jsonl")
    pairs = Counter(_pair(row) for row in rows)
    return draw((row for row in rows if pairs[_pair(row)] == 1), lambda row: str(row["match_id"]))


def _pair(row: dict[str, Any]) -> tuple[str, ...]:
    return row["tournament"], *sorted((row["home"], row["away"]))


def _questions_of_match(row: dict[str, Any], side: str) -> Iterator[SlotQuestion]:
    cup = row["tournament"].replace("FIFA Men's", "FIFA")
    sides = f"{row['home']} against {row['away']}"
    yield SlotQuestion(
        row["match_id"],
        side,
        "match score",
        f"What was the score of {sides} at the {cup}?",
        {"score": _scores(row), "winner": [row["winner"]] if row["winner"] else []},
    )
    yield SlotQuestion(
        row["match_id"],
        side,
        "match referee",
        f"Who refereed {sides} at the {cup}?",
        {"who": row["referee"]},
    )


# --- marking -----------------------------------------------------------------------------------


def normalize(text: str) -> str:
    """Normalize a text: no case, accents or kinds of dash."""
    split = unicodedata.normalize("NFKD", text.replace("–", "-"))
    return "".join(c for c in split if not unicodedata.combining(c)).casefold()


def mark_value(slot: str, value: str | None, gold: Sequence[str]) -> Mark:
    """Mark a value: goalscorers must be exactly the gold ones, other slots one of the gold."""
    if not value:
        return "missing" if gold else "none to give"
    told = normalize(value)
    if slot == "goalscorers":
        named = [part for part in re.split(r",| and ", told) if part.strip()]
        people = {_family_name(name) for name in gold}
        strangers = [n for n in named if not any(_mentions(person, n) for person in people)]
        every = all(any(_mentions(person, n) for n in named) for person in people)
        return "right" if every and not strangers else "wrong"
    if slot == "score":
        shown = re.findall(r"\d+-\d+", told)
        return "right" if shown and set(shown) <= {normalize(g) for g in gold} else "wrong"
    return "right" if any(_mentions(_family_name(g), told) for g in gold) else "wrong"


def _family_name(name: str) -> str:
    return re.split(r"[\s-]", normalize(name))[-1]


def _mentions(family: str, told: str) -> bool:
    return bool(re.search(rf"\b{re.escape(family)}\b", told))


# --- measuring ---------------------------------------------------------------------------------


def prepare(_: Sequence[SlotQuestion], bench: Bench) -> None:
    """Write the pages as HTML files into a folder, and build its index."""
    folder = bench.work / FOLDER
    folder.mkdir(exist_ok=True)
    for row in read_pages(bench.data):
        name = re.sub(r"\W+", "-", row["title"])
        (folder / f"{name}.html").write_text(row["html"], encoding="utf-8")
    bench.open_index(folder)


def measure(asked: SlotQuestion, bench: Bench) -> Iterator[MarkedSlot]:
    """Ask a question; mark each of its slots."""
    from agent.slots.weighing import tell_form

    run = bench.run(asked.question, bench.work / FOLDER)
    answer, findings = run.answer(), run.research.findings
    for n, (name, gold) in enumerate(asked.gold.items()):
        value = answer.slots[name].value if name in answer.slots else None
        found = findings.get(name)
        filled = found if found and found.status == "filled" else None
        told = any(normalize(one) in normalize(answer.answer) for one in gold)
        yield MarkedSlot(
            asked,
            name,
            mark_value(name, value, gold),
            value,
            filled.confidence if filled else None,
            tell_form(filled.value or "", filled.quotes[0]) if filled else "",
            None if n else told,
            None if n else answer.status == "insufficient",
        )


def _is(mark: Mark) -> Any:
    return lambda one: one.mark == mark


EVALUATION = Evaluation(
    title="Slots without a model: long real pages",
    load=load,
    prepare=prepare,
    measure=measure,
    needs="worldcup",
    tables=(
        Table(
            {"question": "asked.suite", "half": "asked.half", "slot": "slot"},
            {
                "n": count(lambda one: one.right is not None),
                "right": count("right"),
                "wrong": count(_is("wrong")),
                "missing": count(_is("missing")),
                "wrong of those given": share(
                    lambda one: one.mark == "wrong" if one.mark in ("right", "wrong") else None
                ),
                "answer tells it": share("told"),
                "abstained": share("abstained"),
            },
        ),
    ),
    missed=lambda one: (
        f"{one.asked.question} {one.slot}: {one.value}, not {one.asked.gold[one.slot]}"
        if one.asked.half == "tune" and one.mark in ("wrong", "missing")
        else ""
    ),
)

if __name__ == "__main__":
    main("slots")
