"""What an edited run costs beside the same run anew, with a scripted reader.

20 questions on matches, in a closed world on loopback that speaks as a model, a search and the web
do: of 635 matches a page with the score, one with the city, one with the referee, one of no use. A
run takes two rounds, for score and city. It is edited in six ways; *anew*: with the same settings,
but not as an edit; there is no cache. Means of the *calls* of models, *searches* and *pages* that
were paid for. *same answer*: as anew. *audit holds*: of the edited run's answer, with its replay.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from agent.answer import Answer
from agent.evidence.words import content_words
from agent.run import research
from agent.run.audit import audit_answer
from agent.settings import parse_settings
from evals import harness
from evals.harness import PATIENT, Bench, Evaluation, Table, average, count, read_rows, size
from tests.support.services import ModelRequest, Reply, Services
from tests.support.thinker import Fact, Thinker

QUESTIONS, HITS = 20, 2
SAID = "also say who was the referee"
SAYS = {"score": "had the score", "city": "was in the city of", "referee": "had the referee"}


class Match(NamedTuple):
    """A match, and what its pages say of it."""

    id: str
    name: str
    facts: dict[str, str]


class Outcome(NamedTuple):
    """An edited run, and the run anew beside it."""

    option: str
    edited: Answer
    anew: Answer
    audited: bool


def _read_matches(data: Path) -> Iterator[Match]:
    for row in read_rows(data / "worldcup/matches.dev.jsonl"):
        name = f"{row['home']} basest {row['away']} on {row['date']}"
        yield Match(row["match_id"], name, row | {"referee": row["referee"][0]})


@cache
def _read_pages(data: Path) -> dict[str, str]:
    """The pages of the world, by their names."""
    pages = {}
    for match in _read_matches(data):
        pages[f"about-{match.id}"] = f"{match.name} is remembered. It rained in the evening."
        for slot, told in SAYS.items():
            pages[f"{slot}-{match.id}"] = f"{match.name} {told} {match.facts[slot]}."
    return pages


@cache
def _words(text: str) -> frozenset[str]:
    return frozenset(content_words(text.replace("-", "")))


def _search(pages: dict[str, str], query: str) -> list[str]:
    """The pages that share most words with a query."""
    wanted = _words(query)
    return sorted(pages, key=lambda name: (-len(wanted & _words(pages[name])), name))[:HITS]


def _think(match: Match, asked: ModelRequest) -> Reply:
    """Plan for the score, look for the city next, and tell what is shown; the referee if told."""
    if asked.task == "heed":
        return {"queries": [f"referee {match.name}"]}
    slots = list(SAYS)[: 3 if SAID in asked.prompt or asked.task == "verify" else 2]
    facts = [Fact(slot, match.facts[slot], f"{match.name} {SAYS[slot]}") for slot in slots]
    return Thinker(facts, [f"score {match.name}"], {"city": f"city {match.name}"})(asked)


def measure(match: Match, bench: Bench) -> Iterator[Outcome]:
    """Research a question, edit the run in each way, and ask for each anew."""
    pages = _read_pages(bench.data)
    with tempfile.TemporaryDirectory() as folder, Services() as services:
        services.think = lambda asked: _think(match, asked)
        services.pages = {**pages, "extra": f"{match.name} drew crowds."}
        services.hits = lambda query: _search(pages, query)
        settings = parse_settings(services.environment(Path(folder), CACHE_TTL="0"))

        def ask(topic: str, **changes: Any) -> Answer:
            return harness.finish(research(topic, settings, **PATIENT, **changes)).answer()

        base = {"topic": f"What was the score of {match.name}, and where was it?"}
        first = ask(**base, resume="first")
        options: dict[str, dict[str, Any]] = {
            "unchanged": {},
            "--add": {"add": (services.url("extra"),)},
            "--without": {"without": (first.citations[0].url,)},
            "--say": {"say": (SAID,)},
            "--slots": {"slots": ("city",)},
            "another question": {"topic": f"In which city was {match.name}?"},
        }
        for option, changes in options.items():
            edited = ask(**{"topic": "", "edit": "first", **changes})
            audit, anew = audit_answer(edited.model_dump(mode="json")), ask(**{**base, **changes})
            yield Outcome(option, edited, anew, bool(audit["ok"] and audit["replayed"]))


PAID = {"calls": "llm_calls", "searches": "searches", "pages": "pages"}
SIDES = [(paid, side) for paid in PAID for side in ("edited", "anew")]
COST = {f"{paid}, {side}": average(f"{side}.usage.{PAID[paid]}", ".2f") for paid, side in SIDES}
SAME = count(lambda one: one.edited.answer == one.anew.answer)
CELLS = {"n": size, **COST, "same answer": SAME, "audit holds": count("audited")}
EVALUATION = Evaluation(
    title="Runs that are edited",
    load=lambda data: harness.draw(_read_matches(data), lambda one: one.id, QUESTIONS),
    measure=measure,
    needs="worldcup",
    tables=(Table({"edit": "option"}, CELLS),),
    score="audited",
)

if __name__ == "__main__":
    harness.main("edits")
