"""An evaluation: each question in each arm, stored as it ends; then all metrics."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from agent.answer.formats import to_markdown
from agent.errors import UsageError
from agent.evaluate.arms import MAX_QUESTION_SECONDS, Arm, settings_at_equal_tokens
from agent.evaluate.contamination import ContaminationDetector
from agent.evaluate.judge import Judge, LabelledAnswer, judge_by_rules, measure_agreement
from agent.evaluate.questions import EvaluationQuestion
from agent.evaluate.summary import TrialRow, compare_arms, summarize_trials
from agent.evaluate.trials import Trial, build_failed_trial, load_trial, run_trial, write_atomically
from agent.outside import spawn
from agent.run.begin import new_run_name
from agent.run.sources import open_sources
from agent.settings import Settings, user_folder

T = TypeVar("T")
GRACE = 30.0  # seconds that a run has to end by itself after its time limit
#: The text of a prediction without an answer, as in the experiment in docs/evaluation.md.
ABSTENTION = "Unable to find the answer"


class EvaluationPlan(NamedTuple):
    """What to evaluate, and how. Without a `judge`, answers are labelled by rules."""

    questions: Sequence[EvaluationQuestion]
    arms: Sequence[Arm]
    folder: Path
    contamination: ContaminationDetector
    judge: Judge | None = None
    sample: Sequence[LabelledAnswer] = ()
    concurrency: int = 4


def new_results_folder(settings: Settings) -> Path:
    """Return the folder of the results where the user names none: beside the runs."""
    runs = settings.runs_dir or user_folder("data") / "runs"
    return runs.parent / "evaluations" / new_run_name()


class Evaluation:
    """Runs a plan: iterate over it for each question as it ends, then call `build_results()`.

    Every trial is stored in the plan's folder. An evaluation of the same folder resumes there: it
    repeats no finished trial, and no recorded call of an unfinished one.
    """

    def __init__(self, plan: EvaluationPlan) -> None:
        """Raises UsageError where the folder holds arms of the same names with other settings."""
        self._plan = plan
        self._arms = [arm for arm in plan.arms if not arm.skipped]
        self._started = time.monotonic()
        self._rows: dict[tuple[int, str], TrialRow] = {}
        self._check_stored_arms()

    def _check_stored_arms(self) -> None:
        path = self._plan.folder / "arms.json"
        try:
            stored = dict(json.loads(path.read_text("utf-8")) if path.exists() else {})
        except (OSError, ValueError, TypeError):
            raise UsageError(f"{path} cannot be read.", "Name another --results.") from None
        for arm in self._plan.arms:
            if stored.setdefault(arm.name, arm.identity) != arm.identity:
                fault = f"{self._plan.folder} holds an arm {arm.name!r} with other settings."
                raise UsageError(fault, "Name another folder with --results.")
        write_atomically(path, json.dumps(stored, ensure_ascii=False, indent=2))

    def __iter__(self) -> Iterator[list[TrialRow]]:
        """Yield the rows of each question as it ends, one per arm."""
        # builds the index of a corpus, on a thread, so that Ctrl-C ends the wait for it
        spawn(lambda: open_sources(self._plan.arms[0].settings).close()).result()
        numbered = list(enumerate(self._plan.questions))
        for (n, _), rows in map_concurrently(self._run_question, numbered, self._plan.concurrency):
            self._rows |= {(n, row.trial.arm): row for row in rows}
            yield rows

    def _run_question(self, numbered: tuple[int, EvaluationQuestion]) -> list[TrialRow]:
        """Run a question in all arms, in order: a baseline may use as many tokens as the first."""
        n, question = numbered
        rows: list[TrialRow] = []
        for arm in self._arms:
            tokens = rows[0].trial.answer.usage.input_tokens if rows else 0
            trial = self._load_or_run_trial(n, question, arm, tokens)
            rows.append(self._judge_trial(question, trial))
        return rows

    def _load_or_run_trial(
        self, n: int, question: EvaluationQuestion, arm: Arm, tokens: int
    ) -> Trial:
        name = f"{n:05d}-{question.key}"
        path = self._plan.folder / "trials" / arm.slug / f"{name}.json"
        if stored := load_trial(path):
            return stored
        journal = str(self._plan.folder / "runs" / arm.slug / f"{name}.jsonl")
        changes = {"resume": journal, "retry_failed": True}
        settings = settings_at_equal_tokens(arm, tokens).model_copy(update=changes)
        future = spawn(lambda: run_trial(question, arm, settings, self._plan.contamination))
        wait([future], timeout=MAX_QUESTION_SECONDS + GRACE)
        late = TimeoutError(f"it took longer than {MAX_QUESTION_SECONDS:g} s")
        error = future.exception() if future.done() else late
        trial = build_failed_trial(question, arm, error) if error else future.result()
        write_atomically(path, trial.model_dump_json(indent=1))
        return trial

    def _judge_trial(self, question: EvaluationQuestion, trial: Trial) -> TrialRow:
        judge = self._plan.judge
        supported = judge.count_supported(trial.answer) if judge and trial.text else None
        return TrialRow(question, trial, self._label_trial(question, trial), supported)

    def _label_trial(self, question: EvaluationQuestion, trial: Trial) -> str:
        if trial.has_failed:
            return "failed"
        if question.task is not None:
            return "told" if trial.text else "abstained"
        label = self._plan.judge and self._plan.judge(question, trial.text)
        return label or judge_by_rules(question, trial.text)

    def rows_of(self, arm: str) -> list[TrialRow]:
        """The rows of an arm so far, in the order of the questions."""
        keys = sorted(key for key in self._rows if key[1] == arm)
        return [self._rows[key] for key in keys]

    def render_predictions(self) -> str:
        """Render the first arm's answers so far, in the order of the questions.

        A JSON list; of tasks, JSON lines with their articles as Markdown, as DeepResearch Bench
        takes them.
        """
        rows = self.rows_of(self._arms[0].name)
        if self._plan.questions[0].task is not None:  # then all are tasks
            return "".join(map(_render_article, rows))
        predictions = [
            {"prompt": row.question.prompt, "answer": row.trial.text or ABSTENTION} for row in rows
        ]
        return json.dumps(predictions, ensure_ascii=False, indent=2) + "\n"

    def build_results(self) -> dict[str, Any]:
        """Return the metrics of the first arm, then those of all arms and their differences."""
        rows_by_arm = [(arm.name, self.rows_of(arm.name)) for arm in self._arms]
        metrics: dict[str, Any] = {name: summarize_trials(rows) for name, rows in rows_by_arm}
        first = self._arms[0].name
        skipped = {arm.name: {"skipped": arm.skipped} for arm in self._plan.arms if arm.skipped}
        blocked = {
            (page.url, page.reason): {"arm": name, "prompt": row.question.prompt, **dict(page)}
            for name, rows in rows_by_arm
            for row in rows
            for page in row.trial.blocked
        }
        return {
            "arm": first,
            **metrics[first],
            "judged_by": self._describe_judge(),
            "arms": {**metrics, **skipped},
            "differences": compare_arms(rows_by_arm),
            "blocked": list(blocked.values()),
            "wall_seconds": round(time.monotonic() - self._started, 3),
            "results": str(self._plan.folder),
        }

    def _describe_judge(self) -> dict[str, Any]:
        judge = self._plan.judge
        agreement = measure_agreement(self._plan.sample, judge)
        if judge is None:
            rule = "deterministic: a gold answer stands in the answer, case and punctuation apart"
            return {"model": None, "rule": rule, "agreement": agreement}
        usage = judge.usage.model_dump(mode="json", include={"llm_calls", "usd"})
        return {"model": judge.model, "prompt": judge.prompt, "agreement": agreement, **usage}


def _render_article(row: TrialRow) -> str:
    question, article = row.question, to_markdown(row.trial.answer)
    told = {"id": question.task, "prompt": question.prompt, "article": article}
    return json.dumps(told, ensure_ascii=False) + "\n"


def map_concurrently(
    function: Callable[[T], Any], items: Sequence[T], concurrency: int
) -> Iterator[tuple[T, Any]]:
    """Yield each item with the function's result, as the calls end; raise what a call raises."""
    pending, running = deque(items), dict[Future[Any], T]()
    while pending or running:
        while pending and len(running) < concurrency:
            item = pending.popleft()
            running[spawn(partial(function, item))] = item
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            yield running.pop(future), future.result()
