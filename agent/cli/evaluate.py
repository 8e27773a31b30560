"""The evaluation: a batch of questions with known answers; its figures as one JSON object."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agent.cli import batches, shell
from agent.errors import Stopped

if TYPE_CHECKING:  # nothing heavy is imported before it is needed: `--help` is instant
    from agent.run.evaluation.questions import EvaluationQuestion
    from agent.settings import Settings
    from agent.state import Json

EPILOG = """\b
Examples:
  research-agent evaluate set.jsonl --offline --corpus passages.jsonl.gz
  research-agent evaluate dev.json --strategy loop --predictions out.json
  research-agent evaluate set.jsonl --results kept.jsonl --concurrency 8

\b
Exit status: 0 done; 1 could not run, or a cap was reached;
2 wrong usage; 130 interrupted (continue with --results FILE).
"""


@shell.command(EPILOG, shell.fail_as_json)
@click.argument("questions", type=shell.PATH, metavar="SET")
@click.option("--predictions", type=shell.PATH, help="Write [{prompt, answer}] to this file.")
@click.option("--results", type=shell.PATH, help="Keep the answers in this file, or continue it.")
@click.option("--limit", type=click.IntRange(1), help="Use only the first N questions.")
@shell.batch_options("evaluation", "question")
@shell.options("strategy depth llm search corpus offline no-cache trust-env lang")
def command(**options: Any) -> int:
    """Answer a set of questions, and print how many are right and what they cost.

    SET is JSON, JSON lines, CSV or TSV: {prompt, answer}, {question, answers}, or the files of
    HotpotQA, FRAMES and SimpleQA. A null answer: the right thing is to abstain.
    """
    try:
        with redirect_stdout(sys.stderr):  # libraries may print; standard output is the figures'
            figures, stopped = _evaluate(options)
    except KeyboardInterrupt:  # while the index of a corpus is built
        raise Stopped("The evaluation was stopped.", "Continue with --results FILE.") from None
    shell.print_json(figures)
    if stopped == "interrupted":
        return shell.INTERRUPTED
    return int(bool(stopped))


def _evaluate(options: dict[str, Any]) -> tuple[Json, str]:
    """The figures of a set, and why some questions were left; "" where none was."""
    from agent.run.evaluation.figures import summarize_answers
    from agent.run.evaluation.questions import load_questions
    from agent.run.models import make_models
    from agent.settings import load_options

    questions = load_questions(options["questions"])[: options["limit"]]
    settings = load_options(options)
    make_models(settings)  # raises now where no run could be made
    results = options["results"] or _new_results_file(settings)
    click.echo(f"Answers are kept in {results}", err=True)
    _write_predictions(options["predictions"], questions, {})
    rows, stopped = _answer_questions(questions, results, settings, options)
    _write_predictions(options["predictions"], questions, rows)
    pairs = [(questions[n - 1], row) for n, row in rows.items()]
    return {**summarize_answers(pairs), "stopped": stopped, "results": str(results)}, stopped


def _new_results_file(settings: Settings) -> Path:
    """The file of the answers where the user names none: next to the runs."""
    from agent.run.header import new_run_name
    from agent.run.output_files import make_folder
    from agent.settings import user_folder

    runs = settings.runs_dir or user_folder("data") / "runs"
    folder = runs.parent / "evaluations"
    make_folder(folder)
    return folder / f"{new_run_name()}.jsonl"


def _answer_questions(
    questions: Sequence[EvaluationQuestion],
    results: Path,
    settings: Settings,
    options: dict[str, Any],
) -> tuple[dict[int, Json], str]:
    """The answers by the number of their question, and why some are left; "" where none is."""
    from agent.run.batch.rows import OutputFile
    from agent.run.batch.runner import Batch
    from agent.run.batch.topics import Topic
    from agent.state import RunRequest

    topics = [Topic(n, question.prompt) for n, question in enumerate(questions, 1)]
    caps, engine = batches.read_caps(options), batches.open_engine(options, settings)
    with closing(OutputFile(results)) as output:
        retry, concurrency = RunRequest(retry_failed=True), options["concurrency"]
        batch = Batch(topics, output, engine, retry, caps, concurrency=concurrency)
        summary = batches.run_batch(batch, "\nStopping. Continue with --results.")
        answered = [topic.id for topic in topics if str(topic.id) in output.index]
        return {int(n): output.read_row(str(n)) for n in answered}, summary.stopped


def _write_predictions(
    path: Path | None, questions: Sequence[EvaluationQuestion], rows: Mapping[int, Json]
) -> None:
    """Write the answers in the order of the questions. Raises OutputFailed."""
    from agent.run.evaluation.figures import ABSTENTION, answer_text

    if path:
        predictions = [
            {"prompt": question.prompt, "answer": answer_text(rows.get(n, {})) or ABSTENTION}
            for n, question in enumerate(questions, 1)
        ]
        shell.write_file(path, json.dumps(predictions, ensure_ascii=False, indent=2) + "\n")
