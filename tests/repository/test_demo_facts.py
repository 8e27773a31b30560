"""The pages of the demo corpus: their form, and the facts of the finals against real data.

The facts are compared with The Fjelstul World Cup Database where it is next to the project.
In a page about a final, every number written as an ordinal (23rd), as stoppage time (45+1) or,
in Chinese, as a numbered minute is the minute of a goal and belongs to the goalscorer named
last before it; the comparison goes both ways, so a page can neither leave out a goal nor make
one up.
"""

from __future__ import annotations

import json
import re
import unicodedata
from calendar import month_name
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

DEMO = Path(__file__).parents[2] / "agent/demo"
DATA = Path(__file__).parents[3] / "shared/data/worldcup"
YEARS = [year for year in range(1930, 2023, 4) if year not in (1942, 1946)]
FORM = re.compile(r"---\ntitle: (\S[^\n]*)\nsee_also: (https://[^\s/]+/\S*)\n---\n(\S.*)\n", re.S)
MINUTE = r"\b\d+\+\d+\b|\b\d+(?=(?:st|nd|rd|th)\b)|(?<=第)\d+(?:\+\d+)?(?=分钟)"
MONTHS = list(month_name)[1:]

Match = dict[str, Any]


class Page(NamedTuple):
    name: str
    title: str
    see_also: str
    body: str


class Case(NamedTuple):
    page: Page
    match: Match


def read_page(path: Path) -> Page:
    found = FORM.fullmatch(path.read_text(encoding="utf-8"))
    assert found, f"{path.name} has not the form of a demo page"
    return Page(path.name, *found.groups())


@cache
def pages() -> dict[str, Page]:
    return {path.name: read_page(path) for path in sorted(DEMO.glob("*.md"))}


def fold(text: str) -> str:
    """Without accents and case: Stábile and stabile are one name, Stabil is another."""
    split = unicodedata.normalize("NFKD", text)
    return "".join(c for c in split if not unicodedata.combining(c)).casefold()


def read_lines(name: str) -> list[dict[str, Any]]:
    text = (DATA / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines() if line]


def decides(match: Match) -> bool:
    """A final, or the match of the final round of 1950 that decided it."""
    if match["stage"] == "final":
        return True
    teams = {match["home"], match["away"]}
    return match["stage"] == "final round" and teams == {"Uruguay", "Brazil"}


def deciding_matches() -> dict[str, Match]:
    """The deciding match of every men's tournament of the data, by year, with its host."""
    tournaments = read_lines("tournaments.dev.jsonl")
    matches = [match for match in read_lines("matches.dev.jsonl") if decides(match)]
    matches += [{**t["final"], "host": t["host"]} for t in tournaments if t["final"]]
    return {m["tournament"][:4]: m for m in matches if " Men's " in m["tournament"]}


def cases() -> list[Case]:
    if not DATA.is_dir():
        return []
    return [
        Case(page, match)
        for year, match in sorted(deciding_matches().items())
        for name, page in pages().items()
        if name.startswith(f"world-cup-final-{year}")
    ]


CASES = cases()
needs_data = pytest.mark.skipif(not CASES, reason="the World Cup data is not next to the project")


def from_winner(score: str, match: Match) -> str:
    home, away = score.split("-")
    return f"{home}-{away}" if match["winner"] == match["home"] else f"{away}-{home}"


def result_sentence(body: str, winner: str, loser: str) -> str:
    """The first sentence that names both teams and a score."""
    for sentence in re.split(r"(?<=[.!?])\s+", body):
        if winner in sentence and loser in sentence and re.search(r"\b\d+-\d+\b", sentence):
            return sentence
    return ""


def result_mistakes(body: str, match: Match) -> list[str]:
    winner = match["winner"]
    loser = match["away"] if winner == match["home"] else match["home"]
    sentence = result_sentence(body, winner, loser)
    won = f" {from_winner(match['penalties'], match)} on penalties" if match["penalties"] else ""
    score = from_winner(match["score"], match)
    right = {
        f"{winner} before {loser}": 0 <= sentence.find(winner) < sentence.find(loser),
        f"score {score}": re.search(rf"\b{score}\b(?! on penalties)", sentence) is not None,
        f"shoot-out{won}": won in sentence and bool(won) == ("on penalties" in sentence),
        f"extra time {match['extra_time']}": match["extra_time"] == ("extra time" in sentence),
    }
    return [what for what, holds in right.items() if not holds]


def place_mistakes(body: str, match: Match) -> list[str]:
    day = date.fromisoformat(match["date"])
    wanted = [match["stadium"], match["city"], f"{day.day} {MONTHS[day.month - 1]} {day.year}"]
    wanted += [name.split()[-1] for name in match["referee"]]
    wanted += match.get("host", "").split(", ")
    text = fold(body)
    return [what for what in wanted if not re.search(rf"\b{re.escape(fold(what))}\b", text)]


def goals_written(body: str, families: set[str]) -> set[tuple[str, str]]:
    """Every minute of the text, with the goalscorer named last before it in its paragraph."""
    names = "|".join(re.escape(name) for name in sorted(families, key=len, reverse=True)) or "(?!)"
    goals = set()
    for paragraph in fold(body).split("\n\n"):
        scorer = ""
        for found in re.finditer(rf"\b(?P<name>{names})\b|(?P<minute>{MINUTE})", paragraph):
            if found["name"]:
                scorer = found["name"]
            else:
                goals.add((scorer, found["minute"]))
    return goals


def goal_mistakes(body: str, match: Match) -> list[str]:
    goals = {(fold(g["family_name"]), g["minute"].replace("'", "")) for g in match["goals"]}
    written = goals_written(body, {family for family, _ in goals})
    missing = [f"goal left out: {name} {minute}" for name, minute in sorted(goals - written)]
    return missing + [f"no such goal: {name} {minute}" for name, minute in sorted(written - goals)]


def kind_mistakes(body: str, match: Match) -> list[str]:
    wanted = {"own goal": "own_goal", "penalty": "penalty"}
    given = {word for word, key in wanted.items() if any(g[key] for g in match["goals"])}
    return [word for word in sorted(given) if word not in body]


def english_mistakes(body: str, match: Match) -> list[str]:
    mistakes = result_mistakes(body, match) + place_mistakes(body, match)
    return mistakes + goal_mistakes(body, match) + kind_mistakes(body, match)


def chinese_mistakes(body: str, match: Match) -> list[str]:
    day = date.fromisoformat(match["date"])
    wanted = [f"{day.year}年{day.month}月{day.day}日", from_winner(match["score"], match)]
    if match["penalties"]:
        wanted.append(from_winner(match["penalties"], match))
    wanted += [match["stadium"], *match["referee"]]
    missing = [what for what in wanted if what.replace("-", "比") not in body]
    return missing + goal_mistakes(body, match)


def mistakes(case: Case) -> list[str]:
    check = chinese_mistakes if case.page.name.endswith("-zh.md") else english_mistakes
    return check(case.page.body, case.match)


def test_every_final_has_a_page_and_each_page_an_address_and_a_title_of_its_own() -> None:
    assert len(YEARS) == 22
    assert {f"world-cup-final-{year}.md" for year in YEARS} <= set(pages())
    assert len({page.see_also for page in pages().values()}) == len(pages())
    assert len({page.title for page in pages().values()}) == len(pages())
    licence = (DEMO / "LICENSE").read_text(encoding="utf-8")
    assert "creativecommons.org/publicdomain/zero" in licence and "CC BY-SA 4.0" in licence


@pytest.mark.parametrize("path", sorted(DEMO.glob("*.md")), ids=lambda path: path.stem)
def test_form_and_size(path: Path) -> None:
    page = read_page(path)
    assert path.stat().st_size <= 4096
    assert page.see_also.isascii()
    assert "](" not in page.body and "http" not in page.body and "|" not in page.body


@needs_data
@pytest.mark.parametrize("case", CASES, ids=[case.page.name for case in CASES])
def test_final_agrees_with_the_data(case: Case) -> None:
    assert mistakes(case) == []
    goals = [goal["minute"].strip("'") for goal in case.match["goals"]]
    for fact in (case.match["winner"], case.match["date"][:4], *goals[:1]):
        altered = case.page._replace(body=case.page.body.replace(fact, "77"))
        assert altered == case.page or mistakes(case._replace(page=altered)), "it is seen"
