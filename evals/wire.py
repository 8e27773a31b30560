"""Measures rounds, calls and tokens on invented questions: one-hop, two-hop and unanswerable.

The services are on loopback and speak the real wire formats. The model is scripted and answers
from its prompt alone, so the figures show what the program asks and spends, not how good a model
is. `python -m evals.wire` prints one JSON object.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from agent.answer import Answer
from agent.run import research
from agent.settings import parse_settings
from tests.support.services import ModelRequest, Services, count_prompt_tokens
from tests.support.thinker import Fact, Thinker

COMPANIES = (
    "Velmora Ostrand Quillby Harnesk Tolvane Brixley Sunnerby Calvado Meridun Foxholt".split()
)
PEOPLE = "Ada Lindqvist,Bo Marchetti,Cleo Farrow,Dag Yilmaz,Eva Okonkwo,Finn Castel".split(",")
CITIES = "Uppsala Ravenna Tromso Porto Graz Lublin Cadiz".split()
FILLER = "The firm ships spare parts to forty countries. Its canteen is known for soup. " * 3


class Case(NamedTuple):
    """A question with the rounds that it should take, and its answer (None: nobody says)."""

    question: str
    rounds: int
    answer: str | None
    pages: dict[str, str]
    hits: dict[str, list[str]]
    thinker: Thinker


def cases() -> list[Case]:
    """Twenty questions: eight of one hop, eight of two, four that no page answers."""
    made = []
    for i in range(20):
        company = f"{COMPANIES[i % len(COMPANIES)]} {'Works' if i < 10 else 'Labs'}"
        person, city = PEOPLE[i % len(PEOPLE)], CITIES[i % len(CITIES)]
        made.append((_one_hop if i < 8 else _two_hop if i < 16 else _absent)(company, person, city))
    return made


def _one_hop(company: str, person: str, _: str) -> Case:
    question = f"Who founded {company}?"
    pages = {"firm": f"{FILLER}{company} was founded by {person}.", "noise": FILLER}
    facts = [Fact("founder", person, "was founded by")]
    hits = {question: ["noise", "firm"]}
    return Case(question, 1, person, pages, hits, Thinker(facts, [f"{company} founder"]))


def _two_hop(company: str, person: str, city: str) -> Case:
    question = f"In which city was the founder of {company} born?"
    pages = {
        "firm": f"{FILLER}{company} was founded by {person}.",
        "person": f"{person} was born in {city}. {FILLER}",
    }
    facts = [Fact("founder", person, "was founded by"), Fact("city", city, f"{person} was born")]
    follow = {"city": f"{person} born in city"}
    hits = {question: ["firm"], follow["city"]: ["person"]}
    return Case(question, 2, city, pages, hits, Thinker(facts, [f"{company} founder"], follow))


def _absent(company: str, person: str, _: str) -> Case:
    question = f"What is the shoe size of the founder of {company}?"
    pages = {"firm": f"{FILLER}{company} makes pumps.", "noise": FILLER}
    thinker = Thinker(
        [Fact("shoe_size", "44", "shoe size of the founder is")], [f"{company} shoes"]
    )
    return Case(question, 2, None, pages, {question: ["firm", "noise"]}, thinker)


def ask(case: Case, services: Services, folder: Path) -> Answer:
    """Answer a case, with services set up for it."""
    services.pages, services.hits, services.think = case.pages, case.hits, case.thinker
    run = research(case.question, parse_settings(services.environment(folder, CACHE_TTL="0")))
    for _ in run:
        pass
    return run.answer()


class Spent(NamedTuple):
    """The model calls of an answer before its judge, and their prompt tokens."""

    calls: int
    tokens: int


def spent_before_judge(asked: Sequence[ModelRequest]) -> Spent:
    """What some requests cost without those of the judge, tokens as the services count them."""
    own = [request for request in asked if request.task != "verify"]
    return Spent(len(own), sum(count_prompt_tokens(request) for request in own))


def is_right(case: Case, answer: Answer) -> bool:
    """Whether an answer is the one that the case has, or abstains where it has none."""
    if case.answer is None:
        return answer.status == "insufficient"
    return answer.status == "complete" and case.answer in answer.answer


def measure() -> dict[str, Any]:
    """Run all cases and return what the program asked and spent."""
    made: list[tuple[Case, Answer]] = []
    one_hop: list[Spent] = []
    with Services() as services, tempfile.TemporaryDirectory() as folder:
        for case in cases():
            before = len(services.model_requests)
            made.append((case, ask(case, services, Path(folder))))
            if case.rounds == 1:
                one_hop.append(spent_before_judge(services.model_requests[before:]))
    answered = [(case, answer) for case, answer in made if case.answer]
    return {
        "questions": len(made),
        "right": sum(is_right(case, answer) for case, answer in made),
        "rounds_as_expected": sum(case.rounds == a.usage.rounds for case, a in made),
        **{
            f"{name}_per_answer": round(mean(getattr(a.usage, name) for _, a in answered), 2)
            for name in ("llm_calls", "input_tokens", "searches", "pages")
        },
        "llm_calls_of_one_hop_before_judge": mean(spent.calls for spent in one_hop),
        "input_tokens_of_one_hop_before_judge": round(mean(spent.tokens for spent in one_hop)),
    }


if __name__ == "__main__":
    print(json.dumps(measure()))
