"""Measures how well slots are filled from long real pages, without a model.

`python -m evals.slots [--data DIR]`: 135 pages of Wikipedia about World Cups as a folder of HTML,
through the same path as the product. Of every tournament whose pages are among them, the slots
winner, score and goalscorers; of a sample of their matches, the score and the referee. The rules
were written with one half of the matches in view (`tune`, by the SHA-1 of their id). The
tournaments are few, and all of them were in view. A value that is given and not right is `wrong`;
no value is `missing`.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import re
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from agent.state import Finding
from evals.extractive import HALVES, ROOT

SAMPLE = 60  # matches of each half
Mark = Literal["right", "wrong", "missing", "none to give"]


class SlotQuestion(NamedTuple):
    """A question, and for each slot the values that are right (any of them; all where a list)."""

    id: str
    half: str
    suite: str
    question: str
    gold: dict[str, list[str]]


class MarkedAnswer(NamedTuple):
    """The result of a question."""

    asked: SlotQuestion
    marks: dict[str, Mark]
    values: dict[str, str | None]
    filled: dict[str, Finding]
    told: bool  # the answer holds what was asked for
    abstained: bool
    seconds: float


def half(key: str) -> str:
    """Return the half that a row belongs to."""
    return HALVES[hashlib.sha1(key.encode(), usedforsecurity=False).digest()[0] % 2]


def write_pages(data: Path, folder: Path) -> set[str]:
    """Write the pages as HTML files into a folder; return their names in the data set."""
    names = set()
    with gzip.open(data / "worldcup/wikipedia_pages.jsonl.gz", "rt", encoding="utf-8") as rows:
        for row in map(json.loads, rows):
            name = re.sub(r"\W+", "-", row["title"])
            (folder / f"{name}.html").write_text(row["html"], encoding="utf-8")
            names.add(row["file"])
    return names


def tournament_questions(data: Path, pages: set[str]) -> list[SlotQuestion]:
    """The questions who won, of the tournaments that have a page."""
    return [
        SlotQuestion(row["id"], half(row["id"]), "tournament", row["question"], _gold_of_final(row))
        for row in _rows(data / "worldcup/tournaments.dev.jsonl")
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
    rows = [
        row for row in _rows(data / "worldcup/matches.dev.jsonl") if row["tournament"][:4] in years
    ]
    pairs = Counter((row["tournament"], *sorted((row["home"], row["away"]))) for row in rows)
    once = [r for r in rows if pairs[r["tournament"], *sorted((r["home"], r["away"]))] == 1]
    once.sort(key=lambda row: hashlib.sha1(row["match_id"].encode()).hexdigest())
    asked = []
    for side in HALVES:
        drawn = [row for row in once if half(row["match_id"]) == side][:SAMPLE]
        asked += [question for row in drawn for question in _questions_of_match(row, side)]
    return asked


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


def _rows(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


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


def run_question(asked: SlotQuestion, corpus: Path, work: Path) -> MarkedAnswer:
    """Run one question with the product."""
    from agent.run import research
    from agent.settings import Settings

    settings = Settings(offline=True, corpus=corpus, cache_dir=work, runs_dir=work / "runs")
    run = research(asked.question, settings)
    for _ in run:
        pass
    answer = run.answer()
    values = {
        name: answer.slots[name].value if name in answer.slots else None for name in asked.gold
    }
    main = next(iter(asked.gold))
    return MarkedAnswer(
        asked,
        {name: mark_value(name, values[name], gold) for name, gold in asked.gold.items()},
        values,
        {n: f for n, f in run.research.findings.items() if n in values and f.status == "filled"},
        any(normalize(gold) in normalize(answer.answer) for gold in asked.gold[main]),
        answer.status == "insufficient",
        answer.usage.seconds,
    )


# --- the table ---------------------------------------------------------------------------------

HEAD = (
    "| question | half | slot | n | right | wrong | missing | wrong of those given "
    "| answer tells it | abstained |\n|---|---|---|---|---|---|---|---|---|---|"
)


def table(made: Sequence[MarkedAnswer]) -> Iterator[str]:
    """A row a suite, half and slot."""
    for side in reversed(HALVES):
        for suite in dict.fromkeys(one.asked.suite for one in made):
            rows = [one for one in made if (one.asked.suite, one.asked.half) == (suite, side)]
            for at, slot in enumerate(rows[0].marks if rows else ()):
                yield _row(f"{suite} | {side} | {slot}", rows, slot, first=not at)


def _row(name: str, rows: Sequence[MarkedAnswer], slot: str, first: bool) -> str:
    marks = Counter(row.marks[slot] for row in rows)
    given = marks["right"] + marks["wrong"]
    count = given + marks["missing"]
    cells = [str(count), *(str(marks[m]) for m in ("right", "wrong", "missing"))]
    cells.append(f"{marks['wrong'] / given:.1%}" if given else "")
    for what in ("told", "abstained"):
        share = sum(getattr(row, what) for row in rows) / len(rows)
        cells.append(f"{share:.1%}" if first else "")
    return f"| {name} | {' | '.join(cells)} |"


def measure(data: Path) -> list[MarkedAnswer]:
    """Run every question on two processes, after the index has been built once."""
    from agent.search.corpus import Corpus

    with tempfile.TemporaryDirectory() as folder:
        corpus, work = Path(folder) / "pages", Path(folder) / "work"
        corpus.mkdir()
        pages = write_pages(data, corpus)
        Corpus(corpus, work).close()
        cups = tournament_questions(data, pages)
        years = {cup.id.removeprefix("WC-") for cup in cups}
        with ProcessPoolExecutor(2) as pool:
            one = partial(run_question, corpus=corpus, work=work)
            return list(pool.map(one, [*cups, *match_questions(data, years)], chunksize=4))


def report(made: Sequence[MarkedAnswer]) -> str:
    """The part of RESULTS.md."""
    return "\n".join(
        [
            HEAD,
            *table(made),
            "",
            "135 pages of Wikipedia about World Cups as a folder of HTML; the question as given.",
            "*n*: rows that have such a fact (a draw has no winner). *wrong*: given, and not",
            "right, also where there was none to give. *goalscorers* are right if all are there",
            "and nobody else. *answer tells it*: the first slot's gold stands in the answer.",
            "Of matches, rules were written with the wrong values of the *tune* half in view, and",
            "of the *report* half with this table alone. The tournaments are few and were all",
            "looked at: their report half is not unseen.",
        ]
    )


def main() -> None:
    """Measure and print the table; with --wrong, every value that is wrong."""
    parser = argparse.ArgumentParser(prog="python -m evals.slots")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared/data")
    parser.add_argument("--wrong", action="store_true", help="show what is wrong in the tune half")
    given = parser.parse_args()
    made = measure(given.data.resolve())
    print(report(made))
    for one in made if given.wrong else []:
        bad = {n: (one.values[n], one.asked.gold[n]) for n, m in one.marks.items() if m != "right"}
        if bad and one.asked.half == "tune":
            print(one.asked.question, bad)


if __name__ == "__main__":
    main()
