"""The evaluation: a set of questions in several ways side by side; figures as one JSON object."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agent.cli import shell
from agent.errors import AgentError, Stopped

if TYPE_CHECKING:  # nothing heavy is imported before it is needed: `--help` is instant
    from agent.evaluate.evaluation import Evaluation, EvaluationPlan

EPILOG = """\b
Examples:
  research-agent evaluate set.jsonl --offline --corpus passages.jsonl.gz
  research-agent evaluate dev.json --strategy loop --predictions out.json
  research-agent evaluate set.jsonl --strategy slots,loop --depth quick,deep
  research-agent evaluate set.jsonl --judge openai:gpt-4.1 --concurrency 8

\b
Exit status: 0 it was evaluated; 1 it could not be; 2 wrong usage;
130 interrupted (go on with --results DIR).
"""


def _split_each(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[tuple[str, ...], ...]:
    """The lists of an option that may be repeated."""
    return tuple(shell.split_commas(context, parameter, value) or () for value in values)


@shell.command(EPILOG, shell.fail_as_json)
@click.argument("questions", type=shell.PATH, metavar="SET")
@click.option(
    "--strategy", callback=shell.split_commas, help="slots, loop, report, auto; several: arms."
)
@click.option("--depth", callback=shell.split_commas, help="quick, normal, deep; several: arms.")
@click.option("--llm", multiple=True, callback=_split_each, help="A model order; again: an arm.")
@click.option(
    "--search", callback=shell.split_commas, help="Search providers, in order, with commas."
)
@click.option("--corpus", type=shell.PATH, help="Search and read only this.")
@click.option("--offline", is_flag=True, help="No model and no network.")
@shell.options("trust-env")
@click.option("--baselines/--no-baselines", default=True, help="Memory alone, and one search.")
@click.option("--judge", help="The model that judges: a name as for --llm.  [default: rules]")
@click.option("--judge-sample", type=shell.PATH, help="Answers labelled by hand.")
@click.option("--canary", default="", help="A string that only copies of the set hold.")
@click.option("--predictions", type=shell.PATH, help="Write [{prompt, answer}], or articles.")
@click.option("--results", type=shell.PATH, help="A folder to keep, or go on with.")
@click.option("--limit", type=click.IntRange(1), help="Only so many questions, the first ones.")
@click.option("--concurrency", type=click.IntRange(1, 64), default=4, show_default=True)
@shell.cap_options("a question, in every arm (of time: 600 s at most)")
@click.option("--max-words", type=int, help="Of an answer.")
def command(**options: Any) -> int:
    """Answer a set of questions in several ways side by side, and print what came of it.

    SET is JSON, JSON lines, CSV or TSV: {prompt, answer}, {question, answers, gold}, or the files
    of HotpotQA, FRAMES and SimpleQA. A null answer: the right thing is to abstain. Of tasks,
    {id, prompt} as in DeepResearch Bench, --predictions writes {id, prompt, article}.
    """
    from agent.evaluate.evaluation import Evaluation

    try:
        plan = _make_plan(options)
        click.echo(f"Results are kept in {plan.folder}", err=True)
        evaluation = Evaluation(plan)
        with redirect_stdout(sys.stderr):  # libraries may print; standard output is the figures'
            _evaluate(evaluation, len(plan.questions), options["predictions"])
        results = evaluation.build_results()
        _write_results(results, plan, options)
    except KeyboardInterrupt:
        stopped = Stopped("The evaluation was stopped.", "Go on with --results DIR.")
        return shell.fail_as_json(stopped)
    except AgentError as error:
        return shell.fail_as_json(error)
    shell.print_json(results)
    return 0


def _make_plan(options: dict[str, Any]) -> EvaluationPlan:
    from agent.evaluate.arms import build_arms
    from agent.evaluate.contamination import ContaminationDetector
    from agent.evaluate.evaluation import EvaluationPlan, new_results_folder
    from agent.evaluate.judge import SAMPLE_FILE, Judge, load_sample
    from agent.evaluate.questions import load_questions

    names = "search corpus offline trust_env max_seconds max_usd max_tokens max_calls max_words"
    questions = load_questions(options["questions"])
    arms = build_arms(
        options["strategy"] or (),
        options["depth"] or (),
        options["llm"],
        {name: options[name] for name in names.split()},
        baselines=options["baselines"],
    )
    first = arms[0].settings
    folder = options["results"] or new_results_folder(first)
    judge = options["judge"] and Judge(options["judge"], first, folder / "judge.jsonl")
    own_corpus = first.offline or first.corpus is not None
    return EvaluationPlan(
        questions[: options["limit"]],
        arms,
        folder,
        ContaminationDetector(
            options["questions"], questions, options["canary"], own_corpus=own_corpus
        ),
        judge,
        load_sample(options["judge_sample"] or SAMPLE_FILE),
        options["concurrency"],
    )


def _evaluate(evaluation: Evaluation, total: int, predictions: Path | None) -> None:
    """Go through the questions; the file of predictions is written anew after each."""
    from agent.evaluate.trials import write_atomically

    if predictions:
        # raises now where the file cannot be written
        write_atomically(predictions, evaluation.render_predictions())
    for done, rows in enumerate(evaluation, 1):
        if predictions:
            write_atomically(predictions, evaluation.render_predictions())
        labels = ", ".join(f"{row.trial.arm}: {row.label}" for row in rows)
        click.echo(f"[{done}/{total}] {labels}", err=True)


def _write_results(results: dict[str, Any], plan: EvaluationPlan, options: dict[str, Any]) -> None:
    """Write the results as JSON and Markdown."""
    from agent.evaluate.markdown import render_results
    from agent.evaluate.trials import write_atomically

    if plan.judge:
        plan.judge.close()
    text = json.dumps(results, ensure_ascii=False, indent=2) + "\n"
    write_atomically(plan.folder / "results.json", text)
    write_atomically(plan.folder / "results.md", render_results(results, options["questions"].name))
