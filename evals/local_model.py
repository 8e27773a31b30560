"""Runs a small local model through the program, and lists what it delivers as supported.

`OPENAI_BASE_URL=... OPENAI_MODEL=... python -m evals.local_model [--only slots] [--runs N]`: twenty
questions with slots, six with `loop` and six with `report`, over the pages of an invented world
(`evals/firms.py`), with small evidence. Each delivered claim and slot is printed with its verdict,
who judged, whether a gold answer stands in it and whether the facts bear it out. Then the same runs
with a second judge, which knows the facts, in the place of the model's own verdicts. Replies are
kept in `--work`, so a run that was broken off goes on, and the second judge asks little anew.
`--record` keeps the figures in `evals/local_model.json`, from which `python -m evals` writes them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from agent.answer import Answer
from agent.evidence import fold
from agent.llm import Generation, Model
from agent.outside import Task
from agent.outside.journal import Journal
from agent.run import Run
from agent.run.models import make_models
from agent.run.parts import make_parts
from agent.run.request import requested_slots
from agent.run.sources import open_sources
from agent.settings import Settings, parse_settings
from agent.state import Claim
from agent.state.json_data import Json
from evals.firms import FIELDS, FIRMS, gold_in, is_true, named_firms, write_corpus
from evals.judges import Word, judge_prompt
from tests.support.services import parse_claims

RECORD = Path(__file__).with_name("local_model.json")
WORK = Path(tempfile.gettempdir()) / "local-model-replies"
JUDGES = ("own", "facts")
MOST_TOKENS = 800  # of a reply: some of a small model's never end
SIZES = {"slots": 20, "loop": 6, "report": 6}
SMALL = {
    "evidence_tokens": 800,
    "report_tokens": 800,
    "max_rounds": 1,
    "max_steps": 3,
    "max_iterations": 4,
    "min_credibility": 0.0,
    "pages_per_query": 2,
    "pages_per_step": 3,
    "max_words": 60,
}


class Said(NamedTuple):
    """A claim or a slot that was delivered.

    `shown`: the verdict can be shown: it is a page's own sentence, or a recorded call says it.
    """

    kind: str
    text: str
    verdict: str
    by: str
    gold: bool
    true: bool
    shown: bool


class Delivered(NamedTuple):
    """What a run delivered."""

    strategy: str
    judge: str
    topic: str
    status: str
    degraded: bool
    said: tuple[Said, ...]


# --- models --------------------------------------------------------------------------------------


class Remembering:
    """A model whose replies are kept in a folder: the same prompt is put to it once."""

    def __init__(self, model: Model, folder: Path) -> None:
        self._model, self._folder = model, folder
        self.provider, self.name = model.provider, model.name

    def generate(self, task: Task[Any], correction: str) -> Generation:
        """The reply that is kept, or else the model's."""
        turns = [turn.model_dump(mode="json") for turn in task.exchanges]
        said = [self.name, task.name, task.system_prompt(), task.prompt(), correction, turns]
        key = hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
        path = self._folder / f"{key}.json"
        if path.exists():
            return Generation.model_validate_json(path.read_text("utf-8"))
        limit = min(task.max_reply_tokens or MOST_TOKENS, MOST_TOKENS)
        limited = task.model_copy(update={"max_reply_tokens": limit})
        made = self._model.generate(limited, correction)
        path.write_text(made.model_dump_json(), encoding="utf-8")
        return made

    def warm(self) -> None:
        """Warm the model."""
        self._model.warm()

    def close(self) -> None:
        """Close the model."""
        self._model.close()

    def probe(self) -> str:
        """Ask whether the model can be asked."""
        return self._model.probe()

    def cost_usd(self, generation: Generation) -> float | None:
        """What the model costs."""
        return self._model.cost_usd(generation)


class Overruled(Remembering):
    """The same, but the facts of the world judge."""

    def generate(self, task: Task[Any], correction: str) -> Generation:
        """The verdicts by the facts; any other reply is the model's."""
        if task.name != "verify":
            return super().generate(task, correction)

        def judge(text: str, shown: set[int]) -> Word:
            true = is_true(text, task.topic) and bool(shown)
            return Word("supported", _source_of(task, text)) if true else Word("unsupported")

        rows = judge_prompt(task.prompt(), judge, {})
        return Generation(text=json.dumps({"verdicts": rows}))


def _source_of(task: Task[Any], text: str) -> int | None:
    """The source that is the page of the firm that a claim is about."""
    firms = {firm.name for firm in named_firms(text) or named_firms(task.topic)}
    return next((one.source for one in task.evidence if one.title in firms), None)


# --- runs ----------------------------------------------------------------------------------------


def topics(strategy: str) -> Iterator[str]:
    """The questions of a strategy."""
    for firm in FIRMS[: SIZES[strategy]]:
        if strategy == "slots":
            yield f"Who founded {firm.name}, when, where is it, and how many employees has it?"
        else:
            yield f"Who founded {firm.name}, and when?"


def run_topic(topic: str, strategy: str, judge: str, settings: Settings, work: Path) -> Delivered:
    """Run one question with the model of the settings and one of the judges."""
    wrap = Remembering if judge == "own" else Overruled
    models: list[Model] = [wrap(model, work) for model in make_models(settings)]
    header = {"run": "eval", "topic": topic, "at": "2026-01-01T00:00:00Z", "strategy": strategy}
    journal = Journal(header)
    parts = make_parts(settings, journal, models, open_sources(settings))
    run = Run(parts, requested_slots(settings))
    for _ in run:
        pass
    answer = run.answer()
    texts = [source.page.text for source in run.research.sources]
    composed = run.research.answer
    sections = composed.report.themes if composed and composed.report else ()
    more = [claim for section in sections for claim in section.claims]
    said = tuple(list_said(topic, answer, more, journal.calls, texts))
    return Delivered(strategy, judge, topic, answer.status, answer.degraded, said)


def list_said(
    topic: str,
    answer: Answer,
    more: Sequence[Claim],
    calls: Sequence[Json],
    texts: Sequence[str],
) -> Iterator[Said]:
    """Every claim and filled slot of an answer; `more`: the claims of its report."""
    judged = supported_in(calls)
    pages = [fold(text) for text in texts]
    for text, verdict, by, kind in _delivered_texts(answer, more):
        proved = by == "rule" and any(fold(text).strip(" .") in page for page in pages)
        shown = verdict != "supported" or proved or (by != "rule" and fold(text) in judged)
        true = is_true(text, topic)
        yield Said(kind, text, verdict, by, gold_in(text, topic), true, shown)


def _delivered_texts(answer: Answer, more: Sequence[Claim]) -> Iterator[tuple[str, str, str, str]]:
    for claim in dict.fromkeys((*answer.claims, *more)):
        yield claim.text, str(claim.verdict), claim.by, "claim"
    for name, slot in answer.slots.items():
        if slot.status == "filled":
            yield f"{name}: {slot.value}", str(slot.verdict), slot.by, "slot"


def supported_in(calls: Sequence[Json]) -> set[str]:
    """The claims, folded, that a model called supported in a call of a journal."""
    found = set()
    for call in calls:
        request, response = call.get("request", {}), call.get("response")
        if request.get("task") == "verify" and response:
            shown = parse_claims(request["prompt"])
            for row in response["answer"]["verdicts"]:
                if row["verdict"] == "supported" and row["claim"] in shown:
                    found.add(fold(shown[row["claim"]][1]))
    return found


def measure(
    environment: Mapping[str, str],
    work: Path,
    strategies: Sequence[str] = tuple(SIZES),
    runs: int | None = None,
    judges: Sequence[str] = JUDGES,
) -> Iterator[Delivered]:
    """Run all questions of some strategies with each judge; `runs`: so many of each at most."""
    work.mkdir(parents=True, exist_ok=True)
    corpus = write_corpus(work / "firms.jsonl")
    kept = {"corpus": corpus, "cache_dir": work / "cache", "runs_dir": work / "runs"}
    for judge in judges:
        for strategy in strategies:
            slots = FIELDS if strategy == "slots" else ()
            given = {**SMALL, **kept, "strategy": strategy, "slots": slots}
            settings = parse_settings(environment, **given)
            for topic in list(topics(strategy))[:runs]:
                yield run_topic(topic, strategy, judge, settings, work)


# --- figures -------------------------------------------------------------------------------------


def lines(one: Delivered) -> Iterator[str]:
    """A run as lines: its status, then all that it delivered."""
    yield f"{one.strategy}, judge: {one.judge}: {one.topic} {one.status}"
    for said in one.said:
        marks = [f"by {said.by or 'nobody'}", "gold" if said.gold else "no gold"]
        marks.append("true" if said.true else "NOT TRUE")
        marks += [] if said.shown else ["NO CALL SHOWS IT"]
        yield f"  {said.kind} {said.verdict} ({', '.join(marks)}): {said.text}"


def summarize(made: Sequence[Delivered]) -> list[dict[str, Any]]:
    """The figures of each strategy and judge."""
    groups = dict.fromkeys((one.judge, one.strategy) for one in made)
    return [
        {
            "judge": judge,
            "strategy": strategy,
            **_figures([o for o in made if o[:2] == (strategy, judge)]),
        }
        for judge, strategy in groups
    ]


def _figures(made: Sequence[Delivered]) -> dict[str, Any]:
    said = [said for one in made for said in one.said]
    supported = [one for one in said if one.verdict == "supported"]
    return {
        "runs": len(made),
        "status": dict(Counter(one.status for one in made)),
        "delivered": len(said),
        "supported": len(supported),
        "by_rule": sum(one.by == "rule" for one in supported),
        "with_gold": sum(one.gold for one in supported),
        "not_true": sum(not one.true for one in supported),
        "not_shown": sum(not one.shown for one in supported),
    }


HEAD = (
    "| model | strategy | judge | runs | status | delivered | supported | by rule | with a gold "
    f"answer | **not true** | no call shows it |\n|{'---|' * 11}"
)
NOTES = """
Questions about an invented world; evidence of 800 tokens. *judge: own*: the model judges what it
wrote itself; *facts*: a judge that knows the world, in its place. *delivered*: claims and filled
slots. The columns from *by rule* on count those delivered as supported. *not true*: the facts do
not bear it out, or it says more than can be told (such a sentence counts against us). *no call
shows it*: neither is it a sentence of a page, nor does a recorded call call it supported."""


def report(record: Path = RECORD) -> str:
    """The part of RESULTS.md: the models that were measured and kept."""
    if not record.exists():
        return "Not measured yet: it needs a model. `python -m evals.local_model --record`"
    kept: dict[str, list[dict[str, Any]]] = json.loads(record.read_text("utf-8"))
    rows = (_row(model, found) for model, groups in kept.items() for found in groups)
    return "\n".join([HEAD, *rows, NOTES])


def _row(model: str, found: Mapping[str, Any]) -> str:
    status = ", ".join(f"{n} {name}" for name, n in sorted(found["status"].items()))
    names = ("delivered", "supported", "by_rule", "with_gold")
    cells = [model, found["strategy"], found["judge"], found["runs"], status]
    cells += [*(found[name] for name in names), f"**{found['not_true']}**", found["not_shown"]]
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    """Run, print each run as it ends, and the table."""
    parser = argparse.ArgumentParser(prog="python -m evals.local_model")
    parser.add_argument("--only", action="append", choices=SIZES, help="only this strategy")
    parser.add_argument("--judge", action="append", choices=JUDGES, help="only this judge")
    parser.add_argument("--runs", type=int, help="at most so many of each")
    parser.add_argument("--work", type=Path, default=WORK, help="where replies are kept")
    parser.add_argument("--record", action="store_true", help="keep the figures for RESULTS.md")
    given = parser.parse_args()
    chosen = (given.only or tuple(SIZES), given.runs, given.judge or JUDGES)
    made = []
    for one in measure(os.environ, given.work, *chosen):
        made.append(one)
        print("\n".join(lines(one)), flush=True)
    found, name = summarize(made), make_models(parse_settings(os.environ))[0].name
    print("\n".join([HEAD, *(_row(name, group) for group in found)]))
    if given.record:
        known = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {}
        RECORD.write_text(f"{json.dumps({**known, name: found}, indent=1)}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
