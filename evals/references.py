"""How many of the references of a survey are found by asking for one, without a model.

The 100 prompts of ReportBench 1.1 (https://github.com/ByteDance-BandAI/ReportBench, Apache-2.0; its
files lie in `reportbench/` of the data), each with the references of the survey that it was made
from. The 14,000 works of all lists are a closed world on loopback, where Crossref, OpenAlex and
Semantic Scholar know four fifths each, by title and author alone, and rank by BM25. *recall*: of
the references of a prompt among the works that a run found in one round; *precision*: of the works
that it found. *prompt alone*: the same, for the prompt as one query to a service that knows all
works, up to as many works as the run found.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from agent.evidence.words import content_words
from agent.run import research
from agent.settings import parse_settings
from evals.harness import Bench, Evaluation, Table, average, finish, half, main, read_rows, size
from evals.harness import share as part
from tests.support.scholar_world import _WRITERS, ScholarWorld

SERVICES = ("crossref", "openalex", "semantic_scholar")
MAX_PROMPT = 2000  # characters


class Work(NamedTuple):
    """A reference, with the fields of a `Paper` that services write."""

    n: int
    title: str
    services: tuple[str, ...]

    kind, abstract, is_retracted = "work", "", False

    @property
    def drug(self) -> str:
        return str(self.n)

    @property
    def doi(self) -> str:
        return f"10.5555/work.{self.n}"


class Prompt(NamedTuple):
    """A prompt, and the keys of the works that its survey cites."""

    id: str
    text: str
    gold: frozenset[str]


class Outcome(NamedTuple):
    """What was found for a prompt."""

    prompt: Prompt
    found: int
    hits: int  # of those found that are references
    alone: int  # the same, of the prompt alone

    @property
    def recall(self) -> float:
        return self.hits / len(self.prompt.gold)

    @property
    def recall_alone(self) -> float:
        return self.alone / len(self.prompt.gold)

    @property
    def precision(self) -> float | None:
        return self.hits / self.found if self.found else None

    @property
    def length(self) -> str:
        return "a sentence" if len(self.prompt.text) < 300 else "more"


def key_of(title: str) -> str:
    """A title without case and signs."""
    return " ".join(re.findall(r"\w+", title.casefold()))


@cache
def load(data: Path) -> Sequence[Prompt]:
    folder = data / "reportbench"
    rows = read_rows(folder / "ReportBench_v1.1.jsonl")
    return [Prompt(r["arxiv_id"], r["prompt"][:MAX_PROMPT], _read_gold(folder, r)) for r in rows]


def _read_gold(folder: Path, row: dict[str, Any]) -> frozenset[str]:
    rows = read_rows(folder / "ReportBench_v1.1_GT" / f"{row['arxiv_id']}.jsonl")
    return frozenset(key for one in rows if (key := key_of(one["title"] or "")))


class Library:
    """All works, ranked by BM25 (k1 1.2, b 0: titles are short)."""

    def __init__(self, data: Path) -> None:
        titles = sorted({key for prompt in load(data) for key in prompt.gold})
        services = [
            tuple(s for k, s in enumerate(SERVICES) if (n + k) % 5) for n in range(len(titles))
        ]
        self.works = [Work(n, t, s) for n, (t, s) in enumerate(zip(titles, services, strict=True))]
        self._posted: defaultdict[str, list[int]] = defaultdict(list)
        for work in self.works:
            for word in {*content_words(work.title)}:
                self._posted[word].append(work.n)

    def rank(self, query: str, service: str = "") -> list[Work]:
        """The works that share words with a query, best first."""
        scores: Counter[int] = Counter()
        for word in {*content_words(query)}:
            posted = self._posted.get(word, [])
            weight = math.log(1 + len(self.works) / (len(posted) + 0.5))
            for n in posted:
                scores[n] += weight  # type: ignore[assignment]
        order = sorted(scores, key=lambda n: (-scores[n], n))
        return [self.works[n] for n in order if not service or service in self.works[n].services]


@cache
def open_library(data: Path) -> Library:
    return Library(data)


class WorkWorld(ScholarWorld):
    """The services, which know the works of a library."""

    def __init__(self, library: Library) -> None:
        super().__init__([])
        self._library = library

    def _search(self, name: str, told: dict[str, str]) -> tuple[int, bytes, str]:
        if name not in SERVICES:
            return super()._search(name, told)
        query = told.get("query") or told["search"]
        works: Any = self._library.rank(query, name)[:10]
        return 200, json.dumps(_WRITERS[name](works, self.base)).encode(), "application/json"


def measure(prompt: Prompt, bench: Bench) -> Iterator[Outcome]:
    """Search for a prompt, in one round."""
    library = open_library(bench.data)
    folders = {"RUNS_DIR": str(bench.work / "runs"), "CACHE_DIR": str(bench.work / prompt.id)}
    with WorkWorld(library) as world:
        settings = parse_settings({**world.environment, **folders, "LLM": "extractive"})
        run = finish(research(prompt.text, settings.model_copy(update={"max_rounds": 1})))
    found = {key_of(hit.title) for hit in run.research.hits.values()}
    alone = {work.title for work in library.rank(prompt.text)[: len(found)]}
    hits, base = (len(prompt.gold & some) for some in (found, alone))
    yield Outcome(prompt, len(found), hits, base)


EVALUATION = Evaluation(
    title="References of surveys",
    load=load,
    measure=measure,
    needs="reportbench",
    tables=(
        Table(
            {"half": lambda one: half(one.prompt.id), "prompt": "length"},
            {
                "n": size,
                "references": average(lambda one: len(one.prompt.gold), ".0f"),
                "found": average("found"),
                "recall": part("recall"),
                "precision": part("precision"),
                "recall, prompt alone": part("recall_alone"),
            },
            total=True,
        ),
    ),
    score="recall",
)

if __name__ == "__main__":
    main("references")
