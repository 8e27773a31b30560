"""Rounds, calls and tokens of twenty invented questions, over the services' real wire formats.

Eight of one hop, eight of two, four that no page answers. The services are on loopback. The model
is scripted and answers from its prompt alone, so the figures show what the program asks and spends,
not how good a model is. *before the judge*: without the calls of `verify`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from agent.run import research
from agent.settings import parse_settings
from evals.harness import Bench, Evaluation, Table, average, count, finish, main, size
from tests.support.services import Services, count_prompt_tokens
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

    @property
    def kind(self) -> str:
        return "nobody says" if self.answer is None else f"{self.rounds} hops"


class Outcome(NamedTuple):
    """What the program answered, asked and spent."""

    case: Case
    right: bool
    rounds: int
    calls: int
    tokens: int
    searches: int
    pages: int
    calls_before_judge: int
    tokens_before_judge: int


def load(_: Path) -> Iterator[Case]:
    """The questions."""
    for i in range(20):
        company = f"{COMPANIES[i % len(COMPANIES)]} {'Works' if i < 10 else 'Labs'}"
        person, city = PEOPLE[i % len(PEOPLE)], CITIES[i % len(CITIES)]
        yield (_one_hop if i < 8 else _two_hop if i < 16 else _absent)(company, person, city)


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


def measure(case: Case, bench: Bench) -> Iterator[Outcome]:
    """Answer a case, with services set up for it."""
    with Services() as services:
        services.pages, services.hits, services.think = case.pages, case.hits, case.thinker
        settings = parse_settings(services.environment(bench.work, CACHE_TTL="0"))
        answer = finish(research(case.question, settings)).answer()
    own = [request for request in services.model_requests if request.task != "verify"]
    right = answer.status == "complete" and str(case.answer) in answer.answer
    used = answer.usage
    yield Outcome(
        case,
        answer.status == "insufficient" if case.answer is None else right,
        used.rounds,
        used.llm_calls,
        used.input_tokens,
        used.searches,
        used.pages,
        len(own),
        sum(map(count_prompt_tokens, own)),
    )


EVALUATION = Evaluation(
    title="Rounds, calls and tokens with a scripted model",
    load=load,
    measure=measure,
    tables=(
        Table(
            {"questions": "case.kind"},
            {
                "n": size,
                "right": count("right"),
                "rounds as expected": count(lambda one: one.rounds == one.case.rounds),
                "model calls": average("calls", ".2f"),
                "prompt tokens": average("tokens", ",.0f"),
                "searches": average("searches"),
                "pages": average("pages"),
                "calls before the judge": average("calls_before_judge", ".2f"),
                "tokens before the judge": average("tokens_before_judge", ",.0f"),
            },
            total=True,
        ),
    ),
)

if __name__ == "__main__":
    main("wire")
