"""Invented companies and their founders: questions, the pages that answer them, a search."""

from __future__ import annotations

import random
from typing import NamedTuple

from agent.evidence import rank_texts
from tests.support.services import as_html

COMPANIES = (
    "Velmora Ostrand Quillby Harnesk Tolvane Brixley Sunnerby Calvado Meridun Foxholt "
    "Pellworth Drasko Umbria Kestler Norvane Ivarson Lathbury Zellick Corvane Wexmoor"
).split()
FIRST = "Ada Bo Cleo Dag Eva Finn Greta Hugo Ines Jonas".split()
LAST = "Lindqvist Marchetti".split()
CITIES = "Uppsala Ravenna Tromso Porto Graz Lublin Cadiz Odense Leiden Bergen".split()
FILLERS = (
    "{0} ships spare parts to forty countries.",
    "The canteen of {0} is known for its soup.",
    "A second hall was added to the plant of {0} after the flood.",
    "Visitors of {0} are shown the old turbine on weekdays.",
    "{0} keeps a small museum of hand tools near the river.",
    "Engineers at {0} publish a newsletter about bearings and seals.",
    "In winter the yard of {0} is lit until late in the evening.",
    "Orders at {0} are packed by two shifts in a wooden hall.",
)
PAGE_SENTENCES = 60  # of a page, around the one that answers: some 4,000 characters
MOST_HITS = 5


class Question(NamedTuple):
    """A question and the words of a right answer (empty: no page has the answer)."""

    text: str
    answer: str
    hops: int


class World(NamedTuple):
    """Questions, and pages by name, each as title and text."""

    questions: tuple[Question, ...]
    pages: dict[str, tuple[str, str]]

    def html(self, name: str) -> str:
        return as_html(*self.pages[name])

    def search(self, query: str) -> list[str]:
        """The names of the best pages for a query by BM25; a page with no common word is no hit."""
        names = list(self.pages)
        scores = rank_texts([" ".join(self.pages[name]) for name in names], query)
        best = sorted(range(len(names)), key=lambda i: (-scores[i], i))[:MOST_HITS]
        return [names[i] for i in best if scores[i]]


def make_world(count: int = 20) -> World:
    """A world of `count` questions: 40% with one hop, 40% with two, 20% without an answer."""
    pages: dict[str, tuple[str, str]] = {}
    questions = []
    for i, company in enumerate(COMPANIES[:count]):
        company += " Works" if i % 2 else " Labs"
        person, city = f"{FIRST[i % 10]} {LAST[i // 10]}", CITIES[(i * 3) % 10]
        pages[f"{i}-firm"] = (
            company,
            _make_page_text(i, company, f"{company} was founded by {person}."),
        )
        pages[f"{i}-visit"] = f"A visit to {company}", _make_page_text(i + 100, company, "")
        pages[f"{i}-person"] = (
            person,
            _make_page_text(i + 200, person, f"{person} was born in {city}."),
        )
        questions.append(_make_question(i % 5, company, person, city))
    return World(tuple(questions), pages)


def _make_question(kind: int, company: str, person: str, city: str) -> Question:
    if kind in (0, 1):
        return Question(f"Who founded {company}?", person, 1)
    if kind in (2, 3):
        return Question(f"In which city was the founder of {company} born?", city, 2)
    return Question(f"What is the shoe size of the founder of {company}?", "", 2)


def _make_page_text(seed: int, name: str, fact: str) -> str:
    """Filler sentences with the fact in the middle, six a line; always the same for a seed."""
    chance = random.Random(seed)
    sentences = [chance.choice(FILLERS).format(name) for _ in range(PAGE_SENTENCES)]
    sentences[PAGE_SENTENCES // 2 : PAGE_SENTENCES // 2] = [fact] if fact else []
    return "\n".join(" ".join(sentences[i : i + 6]) for i in range(0, len(sentences), 6))
