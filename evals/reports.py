"""How much of a topic a report tells, and what that takes, with a scripted reader.

The scores of 20 matches of each of 17 World Cups, each told on one of 635 pages of matches; four
sections of five questions. The reader never errs and sees prompts alone. *told*: facts that a
sentence of the report says. *cited*: those whose sentence cites the page of that fact. *tokens*: of
all prompts. *one section*: a plan without sections, of the same searches, gathered for with tools,
its evidence as many tokens as all prompts of the sections. *disputed*: of four matches an almanac
tells another score in other words, and the next section asks for it in others; *disputes told*:
with both sides, as a conflict; *contradictions*: told as if both were true. *twice*: sentences of
summary and sections. *chain*: the model calls that followed one another.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from agent.answer.report import all_claims
from agent.calls import Task
from agent.settings import Effort
from agent.state import HOLDING, Composed
from evals.harness import (
    Bench,
    Evaluation,
    Table,
    average,
    main,
    read_rows,
    share,
    size,
    write_rows,
)
from evals.knowing import judge_prompt
from evals.scripted import Scripted, Sources, judge_by_value, run_scripted, shown_sources

FACTS, SECTIONS = 20, 4
BEST = 5  # hits of a search that a model reads
_HIT = re.compile(r'<hit url="([^"]*)"')
CUPS, DISPUTED = "World Cups", "World Cups, disputed"
CORPORA = {CUPS: "matches.jsonl", DISPUTED: "disputed.jsonl"}


class Fact(NamedTuple):
    """A question, its answer, and the sentence and the title of the page that has it."""

    question: str
    value: str
    sentence: str
    title: str


class Topic(NamedTuple):
    """A topic of a set, and the facts that its report is to tell."""

    set: str
    topic: str
    facts: tuple[Fact, ...]
    rivals: tuple[Fact, ...] = ()  # the same questions with another value, for another section


class Told(NamedTuple):
    """What a report tells of a topic, and what it took."""

    set: str
    way: str
    told: float
    cited: float
    supported: float
    twice: int
    tokens: int
    calls: int
    chain: int
    disputed: float | None  # of the questions with rivals: told with both sides as a conflict
    contradicted: int | None  # of the others: sections tell both values

    @property
    def right(self) -> float:
        """The score of a comparison."""
        return self.cited


def _read_match(row: dict[str, Any]) -> Fact:
    sides, cup = f"{row['home']} against {row['away']}", row["tournament"]
    told = f"{sides}, played on {row['date']} in {row['city']}, ended {row['score']}."
    question = f"What was the score of {sides} on {row['date']}?"
    return Fact(question, row["score"], told, f"{sides}, {row['stage']} of the {cup}")


def _oppose(fact: Fact) -> Fact:
    """The same match with more goals, asked and told in other words."""
    sides, rest = fact.sentence.split(", played on ")
    date, city = rest.partition(", ended")[0].split(" in ", 1)
    value = "7" + fact.value[1:]
    told = f"In {city}, {sides.replace(' against ', ' and ')} parted at {value} on {date}."
    question = f"Which goals did {city} see on {date}?"
    return Fact(question, value, told, f"Almanac of {city}, {date}")


def load(data: Path) -> Iterator[Topic]:
    """The World Cups with their first matches."""
    rows = read_rows(data / "worldcup/matches.dev.jsonl")
    for cup in dict.fromkeys(row["tournament"] for row in rows):
        own = tuple(_read_match(row) for row in rows if row["tournament"] == cup)[:FACTS]
        if len(own) == FACTS:
            topic = f"The matches of the {cup} and their scores"
            yield Topic(CUPS, topic, own)
            rivals = tuple(map(_oppose, own[:: FACTS // SECTIONS]))
            yield Topic(DISPUTED, topic, own, rivals)


def prepare(topics: Sequence[Topic], bench: Bench) -> None:
    """A page for each match, with what is beside the point before and after."""
    rows = read_rows(bench.data / "worldcup/matches.dev.jsonl")
    pages = [
        {
            "title": match.title,
            "text": f"{row['stadium']} was full that day. {match.sentence} The referee was "
            f"{' and '.join(row['referee']) or 'not named'}. It rained in the evening.",
        }
        for row in rows
        for match in [_read_match(row)]
    ]
    against = [
        {"title": rival.title, "text": f"Of all matches in brief. {rival.sentence} So it is told."}
        for topic in topics
        for rival in topic.rivals
    ]
    sets = {CUPS: pages, DISPUTED: pages + against}
    bench.open_index(*(write_rows(bench.work / CORPORA[n], rows) for n, rows in sets.items()))


class Writer(NamedTuple):
    """A reader that tells what it is shown of the facts of a topic."""

    topic: Topic
    has_sections: bool

    def __call__(self, task: Task[Any]) -> Mapping[str, Any]:
        """The reply to a task."""
        shown = {one.n: one.text for one in shown_sources(task.prompt())}
        said = {slot.name for slot in task.slots}
        known = [one for one in self._find(shown) if one[0].question in said or not said]
        replies: dict[str, Callable[[], Mapping[str, Any]]] = {
            "plan": self._plan,
            "verify": lambda: {
                "verdicts": judge_prompt(task.prompt(), lambda c, _: judge_by_value(shown, c), {})
            },
            "gather": lambda: self._call(task),
            "summary": lambda: {
                "title": self.topic.topic,
                "summary": _sum_up(task),
                "contradictions": list(self._find_contradictions(task)),
            },
            "section": lambda: {"sentences": _cite(known)},
            "synthesize": lambda: _answer(known),
            "reflect": lambda: {"slots": [_fill(*one) for one in known]},
        }
        return replies[task.name]()

    def _find(self, shown: Sources) -> list[tuple[Fact, int]]:
        return [
            (match, n)
            for match in (*self.topic.facts, *self.topic.rivals)
            for n in [next((n for n, text in shown.items() if match.sentence in text), 0)]
            if n
        ]

    def _plan(self) -> Mapping[str, Any]:
        size = FACTS // SECTIONS
        queries = [
            {"query": f"{one.question} {self.topic.topic}", "section": n // size + 1}
            for n, one in enumerate(self.topic.facts)
        ]
        again = {(n + 1) % SECTIONS: rival for n, rival in enumerate(self.topic.rivals)}
        queries += [{"query": rival.title, "section": n + 1} for n, rival in again.items()]
        sections = [
            {
                "heading": f"Facts, part {n + 1}",
                "questions": [
                    one.question
                    for one in (
                        *self.topic.facts[n * size : (n + 1) * size],
                        *(rival for at, rival in again.items() if at == n),
                    )
                ],
            }
            for n in range(SECTIONS)
        ]
        made = {"sections": sections} if self.has_sections else {}
        return {"question_type": "factual", "prioritized_sub_queries": queries, **made}

    def _find_contradictions(self, task: Task[Any]) -> Iterator[Mapping[str, int]]:
        """The numbers of the sentences of a report that tell a match otherwise."""
        told = [text for own in getattr(task, "sections", ()) for text in own]
        for fact, rival in _pair_rivals(self.topic):
            if fact in told and rival in told:
                yield {"first": told.index(fact) + 1, "second": told.index(rival) + 1}

    def _call(self, task: Task[Any]) -> Mapping[str, Any]:
        """Search what was not searched yet, eight queries a turn, and read the best of each."""
        done = [call for one in task.exchanges for call in one.turn.calls]
        searched = [one for one in done if one.name == "search_web"]
        queries = [row.query for row in getattr(task, "queries", ())][len(searched) :][:8]
        read = [one.arguments["url"] for one in done if one.name == "fetch_page"]
        lists = [_HIT.findall(told) for one in task.exchanges for told in one.results]
        best = dict.fromkeys(url for found in lists for url in found[:BEST])
        unread = [url for url in map(html.unescape, best) if url not in read][:8]
        wanted = [("search_web", {"query": one}) for one in queries]
        wanted = wanted or [("fetch_page", {"url": url}) for url in unread]
        return {"calls": [{"name": name, "arguments": given} for name, given in wanted]}


def _fill(match: Fact, n: int) -> Mapping[str, Any]:
    return {"name": match.question, "value": match.value, "source": n, "quote": match.sentence}


def _cite(known: Sequence[tuple[Fact, int]]) -> list[Mapping[str, Any]]:
    return [
        {"text": one.sentence, "citations": [{"source": n, "quote": one.sentence}]}
        for one, n in known
    ]


def _answer(known: Sequence[tuple[Fact, int]]) -> Mapping[str, Any]:
    cited = [{"source": n, "quote": one.sentence} for one, n in known]
    text = " ".join(f"{one.sentence[:-1]} [{n}]." for one, n in known)
    return {"answer": text, "citations": cited}


def _sum_up(task: Task[Any]) -> list[Mapping[str, Any]]:
    first = [rows[0] for rows in getattr(task, "sections", ())]
    starts = [sum(map(len, getattr(task, "sections", ())[:n])) + 1 for n in range(len(first))]
    return [{"text": f"In short: {a}", "of": [n]} for a, n in zip(first, starts, strict=True)]


def measure(topic: Topic, bench: Bench) -> Iterator[Told]:
    """The report of sections, and the one draft with as much evidence."""
    made = {"strategy": "report", "depth": "deep", "credibility": "host"}
    sections = _run("sections", topic, bench, has_sections=True, **made)
    yield sections
    if topic.rivals:
        return
    wide = {"effort": Effort(evidence_tokens=min(sections.tokens, 32_000))}
    yield _run("one section", topic, bench, has_sections=False, **made, **wide)


def _run(way: str, topic: Topic, bench: Bench, *, has_sections: bool, **settings: Any) -> Told:
    model = Scripted(Writer(topic, has_sections))
    run = run_scripted(topic.topic, model, bench.work / CORPORA[topic.set], bench, **settings)
    composed = run.research.answer
    claims = all_claims(composed) if composed else []
    pages = {source.n: source.page.text for source in run.research.sources}
    told = {m: [c for c in claims if m.sentence[:-1] in c.text] for m in topic.facts}
    right = [
        any(m.sentence in pages[n] for claim in own for n in claim.citations)
        for m, own in told.items()
    ]
    opposed = composed.report.conflicts if composed and composed.report else ()
    texts = [claim.text for claim in claims[: len(claims) - len(opposed)]]
    names = [name for name, _ in model.spent]
    chain = len(names) - sum(max(0, names.count(one) - 1) for one in ("section",))
    if has_sections:
        chain -= names.count("reflect") - run.research.round
    return Told(
        topic.set,
        way,
        sum(map(bool, told.values())) / len(told),
        sum(right) / len(right),
        sum(claim.verdict in HOLDING for claim in claims) / max(1, len(claims)),
        len(texts) - len(set(texts)),
        sum(tokens for _, tokens in model.spent),
        len(names),
        chain,
        *_find_disputes(topic, composed),
    )


def _pair_rivals(topic: Topic) -> list[tuple[str, str]]:
    """What is told of each match that an almanac tells otherwise, both ways."""
    first = topic.facts[:: FACTS // SECTIONS] if topic.rivals else ()
    return [(a.sentence, b.sentence) for a, b in zip(first, topic.rivals, strict=True)]


def _find_disputes(topic: Topic, composed: Composed | None) -> tuple[float | None, int | None]:
    """What became of the planted contradictions."""
    if not (composed and composed.report and topic.rivals):
        return None, None
    pairs = _pair_rivals(topic)
    opposed = " ".join(claim.text for claim in composed.report.conflicts)
    said = " ".join(claim.text for claim in all_claims(composed))
    told = [all(one[:-1] in opposed for one in pair) for pair in pairs]
    both = [all(one[:-1] in said for one in pair) for pair in pairs]
    silent = sum(x and not y for x, y in zip(both, told, strict=True))
    return sum(told) / len(told), silent


EVALUATION = Evaluation(
    title="Reports: how much of a topic is told",
    load=load,
    measure=measure,
    prepare=prepare,
    needs="worldcup",
    tables=(
        Table(
            {"set": "set", "way": "way"},
            {
                "topics": size,
                "told": share("told"),
                "cited": share("cited"),
                "supported": share("supported"),
                "twice": average("twice"),
                "disputes told": share("disputed"),
                "contradictions": average("contradicted"),
                "tokens": average("tokens", ",.0f"),
                "tokens a fact": average(lambda o: o.tokens / max(1, FACTS * o.cited), ",.0f"),
                "model calls": average("calls"),
                "chain": average("chain"),
            },
        ),
    ),
)

if __name__ == "__main__":
    main("reports")
