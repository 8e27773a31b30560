"""An evaluation: questions through arms, side by side, each kept as it ends; then the figures."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from agent.errors import UsageError
from agent.evaluate.arms import LONGEST, Arm, at_equal_tokens
from agent.evaluate.contamination import Contamination
from agent.evaluate.figures import Row, differences, figures
from agent.evaluate.judge import Judge, Sample, agreement, by_rules
from agent.evaluate.questions import Question
from agent.evaluate.trials import Trial, attempt, crashed, store, stored
from agent.outside import spawn
from agent.run.begin import new_name
from agent.settings import Settings, user_folder
from agent.sources.sources import open_sources

T = TypeVar("T")
GRACE = 30.0  # seconds that a run has to end by itself when its time is up
UNABLE = "Unable to find the answer"  # system D's words


class Plan(NamedTuple):
    """What is to be evaluated. `judge` None: deterministic matching."""

    questions: Sequence[Question]
    arms: Sequence[Arm]
    folder: Path
    contamination: Contamination
    judge: Judge | None = None
    sample: Sequence[Sample] = ()
    concurrency: int = 4


def new_folder(settings: Settings) -> Path:
    """Where results are kept if the user names no folder: beside the runs."""
    runs = settings.runs_dir or user_folder("data") / "runs"
    return runs.parent / "evaluations" / new_name()


class Evaluation:
    """Iterate over it: one question after another ends. Then ask for its `results()`.

    Every trial is kept in the folder; an evaluation of the same folder goes on where it ended,
    down to single calls of a question that was under way.
    """

    def __init__(self, plan: Plan) -> None:
        """Raises UsageError where the folder holds other arms of these names."""
        self._plan = plan
        self._arms = [arm for arm in plan.arms if not arm.skipped]
        self._begun = time.monotonic()
        self._rows: dict[tuple[int, str], Row] = {}
        self._agree_on_arms()

    def _agree_on_arms(self) -> None:
        path = self._plan.folder / "arms.json"
        try:
            kept = dict(json.loads(path.read_text("utf-8")) if path.exists() else {})
        except (OSError, ValueError, TypeError):
            raise UsageError(f"{path} cannot be read.", "Name another --results.") from None
        for arm in self._plan.arms:
            if kept.setdefault(arm.name, arm.kept) != arm.kept:
                fault = f"{self._plan.folder} holds an arm {arm.name!r} with other settings."
                raise UsageError(fault, "Name another folder with --results.")
        store(path, json.dumps(kept, ensure_ascii=False, indent=2))

    def __iter__(self) -> Iterator[list[Row]]:
        """The rows of each question as it ends: one an arm."""
        open_sources(self._plan.arms[0].settings).close()  # an index of a corpus is built once
        numbered = list(enumerate(self._plan.questions))
        for (n, _), rows in side_by_side(self._question, numbered, self._plan.concurrency):
            self._rows |= {(n, row.trial.arm): row for row in rows}
            yield rows

    def _question(self, numbered: tuple[int, Question]) -> list[Row]:
        """A question in all arms, one after another: later ones may spend what the first did."""
        n, question = numbered
        rows: list[Row] = []
        for arm in self._arms:
            spent = rows[0].trial.answer.usage.input_tokens if rows else 0
            trial = self._trial(n, question, arm, spent)
            rows.append(self._judged(question, trial))
        return rows

    def _judged(self, question: Question, trial: Trial) -> Row:
        judge = self._plan.judge
        sound = judge.supported(trial.answer) if judge and trial.text else None
        return Row(question, trial, self._label(question, trial), sound)

    def _trial(self, n: int, question: Question, arm: Arm, spent: int) -> Trial:
        name = f"{n:05d}-{question.key}"
        path = self._plan.folder / "trials" / arm.slug / f"{name}.json"
        if known := stored(path):
            return known
        run = str(self._plan.folder / "runs" / arm.slug / f"{name}.jsonl")
        more = {"resume": run, "retry_failed": True}
        settings = at_equal_tokens(arm, spent).model_copy(update=more)
        flight = spawn(lambda: attempt(question, arm, settings, self._plan.contamination))
        wait([flight], timeout=LONGEST + GRACE)
        trial = _landed(flight) or crashed(question, arm, _fault(flight))
        store(path, trial.model_dump_json(indent=1))
        return trial

    def _label(self, question: Question, trial: Trial) -> str:
        if trial.failed:
            return "failed"
        label = self._plan.judge and self._plan.judge(question, trial.text)
        return label or by_rules(question, trial.text)

    def rows(self, arm: str) -> list[Row]:
        """What an arm has come to so far, in the order of the questions."""
        return [row for (_, name), row in sorted(self._rows.items(), key=_place) if name == arm]

    def predictions(self) -> str:
        """The first arm's answers so far, as JSON in the order of the questions."""
        told = [
            {"prompt": row.question.prompt, "answer": row.trial.text or UNABLE}
            for row in self.rows(self._arms[0].name)
        ]
        return json.dumps(told, ensure_ascii=False, indent=2) + "\n"

    def results(self) -> dict[str, Any]:
        """All figures: those of the first arm, then of all arms, and how they differ."""
        made = [(arm.name, self.rows(arm.name)) for arm in self._arms]
        told: dict[str, Any] = {name: figures(rows) for name, rows in made}
        skipped = {arm.name: {"skipped": arm.skipped} for arm in self._plan.arms if arm.skipped}
        blocked = {
            (block.url, block.reason): {"arm": name, "prompt": row.question.prompt, **dict(block)}
            for name, rows in made
            for row in rows
            for block in row.trial.blocked
        }
        return {
            "arm": made[0][0],
            **told[made[0][0]],
            "judged_by": self._judged_by(),
            "arms": {**told, **skipped},
            "differences": differences(made),
            "blocked": list(blocked.values()),
            "wall_seconds": round(time.monotonic() - self._begun, 3),
            "results": str(self._plan.folder),
        }

    def _judged_by(self) -> dict[str, Any]:
        judge = self._plan.judge
        agreed = agreement(self._plan.sample, judge)
        if judge is None:
            rule = "deterministic: a gold answer stands in the answer, case and punctuation apart"
            return {"model": None, "rule": rule, "agreement": agreed}
        spent = judge.spent.model_dump(mode="json", include={"llm_calls", "usd"})
        return {"model": judge.model, "prompt": judge.prompt, "agreement": agreed, **spent}


def _place(item: tuple[tuple[int, str], Row]) -> tuple[int, str]:
    return item[0]


def _landed(flight: Future[Trial]) -> Trial | None:
    return flight.result() if flight.done() and not flight.exception() else None


def _fault(flight: Future[Trial]) -> BaseException:
    late = TimeoutError(f"it took longer than {LONGEST:g} s")
    return (flight.exception() if flight.done() else None) or late


def side_by_side(work: Callable[[T], Any], items: Sequence[T], most: int) -> Iterator[Any]:
    """Each item with what came of it, as they end; at most `most` are under way."""
    waiting, flying = deque(items), dict[Future[Any], T]()
    while waiting or flying:
        while waiting and len(flying) < most:
            item = waiting.popleft()
            flying[spawn(partial(work, item))] = item
        for flight in wait(flying, return_when=FIRST_COMPLETED).done:
            yield flying.pop(flight), flight.result()
