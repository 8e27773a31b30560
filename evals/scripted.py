"""Scripted models: what they reply to a task is known beforehand, and all they see is prompts."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agent.calls import Task
from agent.evidence import estimate_tokens
from agent.llm import Generation
from evals.harness import PATIENT, Bench, finish
from evals.knowing import Word, judge_prompt
from evals.questions import contains_answer

if TYPE_CHECKING:
    from agent.run.loop import Run

_SOURCE = re.compile(r'<source id="(\d+)" title="([^"]*)"[^>]*>(.*?)</source>', re.S)
Think = Callable[[Task[Any]], Mapping[str, Any]]


class Scripted:
    """A model that replies what a function makes of a task; it costs nothing."""

    provider = "scripted"
    name = "scripted"

    def __init__(self, think: Think) -> None:
        self._think = think
        self.seen: list[str] = []
        self.spent: list[tuple[str, int]] = []  # the task and the prompt's tokens of each call

    def generate(self, task: Task[Any], _: str) -> Generation:
        """The reply, without the fields that are not asked for."""
        said = self._think(task)
        self.seen.append(task.prompt())
        asked = {field: said[field] for field in task.answer_type.model_fields if field in said}
        text = json.dumps(asked, ensure_ascii=False)
        spent = estimate_tokens(task.system_prompt()) + estimate_tokens(self.read(task))
        self.spent.append((task.name, spent))
        return Generation(text=text, input_tokens=spent, output_tokens=estimate_tokens(text))

    def read(self, task: Task[Any]) -> str:
        """What it sees of a task besides the standing instructions."""
        return task.prompt()

    def warm(self) -> None:
        """Nothing is needed."""

    def close(self) -> None:
        """Nothing is held."""

    def probe(self) -> str:
        """It can always be asked."""
        return "it needs nothing"

    def cost_usd(self, _: Generation) -> float:
        """Nothing."""
        return 0.0


def run_scripted(topic: str, model: Any, corpus: Path, bench: Bench, **settings: Any) -> Run:
    """A finished run with a scripted model and a corpus as the web."""
    from agent.calls.journal import Journal
    from agent.calls.rate_limits import RateLimiter, no_rate_limits
    from agent.run.compose_calls import compose_calls
    from agent.run.header import RunSpec
    from agent.run.loop import Run
    from agent.run.run_retriever import open_cached_retriever
    from agent.run.validate_request import requested_slots
    from agent.settings import Settings
    from agent.state import RunRequest

    made = Settings(corpus=corpus, **bench.folders, **PATIENT, **settings)
    header = {"run": "eval", "topic": topic, "at": "2026-01-01T00:00:00Z"}
    journal = Journal({**header, "strategy": made.strategy})
    spec = RunSpec(Path(), journal.header, made, RunRequest())
    limiter = RateLimiter(no_rate_limits())
    retriever = open_cached_retriever(made)
    calls = compose_calls(spec, journal, [model], retriever, limiter)
    return finish(Run(spec, journal, calls, requested_slots(made)))


class Shown(NamedTuple):
    """A source as a prompt shows it."""

    n: int
    title: str
    text: str


def shown_sources(prompt: str) -> list[Shown]:
    """The sources of a prompt."""
    found = _SOURCE.findall(prompt)
    return [Shown(int(n), html.unescape(title), html.unescape(text)) for n, title, text in found]


# --- a model that reports ------------------------------------------------------------------------

ANSWER = {"name": "answer", "description": "what is asked", "needed": True}
Sources = dict[int, str]  # the texts that a prompt shows, by their number
Row = Mapping[str, Any]  # of a slot: name, value, source, quote


class Reporter(NamedTuple):
    """Reports what each source that it is shown states, and knows nothing else.

    `values`: the rows of slots that sources give. `judge`: what it says of a claim. `write`: the
    answer from a row. `slots`: what it asks for.
    """

    queries: Sequence[str]
    values: Callable[[Sources], Iterable[Row]]
    judge: Callable[[Sources, str], Word]
    write: Callable[[Row], str] = lambda row: f"{row['value']} [{row['source']}]."
    slots: Sequence[Row] = (ANSWER,)

    def __call__(self, task: Task[Any]) -> Mapping[str, Any]:
        """The reply to a task."""
        shown = {source.n: source.text for source in shown_sources(task.prompt())}
        if task.name == "generate_queries":
            return {"queries": list(self.queries), "slots": list(self.slots)}
        if task.name == "verify":
            judged = judge_prompt(task.prompt(), lambda claim, _: self.judge(shown, claim), {})
            return {"verdicts": judged}
        rows = list(self.values(shown))
        answer = "".join(map(self.write, rows[:1]))
        cited = [{"source": r["source"], "quote": r["quote"]} for r in rows[:1] if answer]
        coverage = {"slots": rows, "need_more": not rows, "new_queries": []}
        return {"answerable": bool(rows), "answer": answer, "citations": cited, **coverage}


def judge_by_value(shown: Sources, claim: str) -> Word:
    """Supported by the first source that has the value of a claim, or all of it."""
    value = claim.partition(": ")[2] or claim
    n = next((n for n, text in shown.items() if contains_answer(text, [value])), None)
    return Word("supported" if n else "unsupported", n)
