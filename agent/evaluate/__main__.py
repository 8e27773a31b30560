"""The evaluation: a set of questions in several ways side by side; figures as one JSON object."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agent import __version__
from agent.errors import AgentError
from agent.shell import ended, listed

if TYPE_CHECKING:  # nothing heavy is imported before it is needed: `--help` is instant
    from agent.evaluate.evaluation import Evaluation, Plan

EXAMPLES = """\b
Examples:
  python -m agent.evaluate set.jsonl --offline --corpus passages.jsonl.gz
  python -m agent.evaluate dev.json --strategy loop --predictions out.json
  python -m agent.evaluate set.jsonl --strategy slots,loop --depth quick,deep
  python -m agent.evaluate set.jsonl --judge openai:gpt-4.1 --concurrency 8

\b
Exit status: 0 it was evaluated; 1 it could not be; 2 wrong usage;
130 interrupted (go on with --results DIR).
"""


def _listed_each(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[tuple[str, ...], ...]:
    return tuple(listed(context, parameter, value) or () for value in values)


@click.command(epilog=EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("questions", type=click.Path(path_type=Path), metavar="SET")
@click.option("--strategy", callback=listed, help="slots, loop, report, auto; several: arms.")
@click.option("--depth", callback=listed, help="quick, normal, deep; several: arms.")
@click.option("--llm", multiple=True, callback=_listed_each, help="A model order; again: an arm.")
@click.option("--search", callback=listed, help="Search providers, in order, with commas.")
@click.option("--corpus", type=click.Path(path_type=Path), help="Search and read only this.")
@click.option("--offline", is_flag=True, help="No model and no network.")
@click.option("--baselines/--no-baselines", default=True, help="Memory alone, and one search.")
@click.option("--judge", help="The model that judges: gemini or openai:MODEL.  [default: rules]")
@click.option("--judge-sample", type=click.Path(path_type=Path), help="Answers labelled by hand.")
@click.option("--canary", default="", help="A string that only copies of the set hold.")
@click.option("--predictions", type=click.Path(path_type=Path), help="Write [{prompt, answer}].")
@click.option("--results", type=click.Path(path_type=Path), help="A folder to keep, or go on with.")
@click.option("--plots", is_flag=True, help="Draw results.png and .svg (matplotlib).")
@click.option("--limit", type=click.IntRange(1), help="Only so many questions, the first ones.")
@click.option("--concurrency", type=click.IntRange(1, 64), default=4, show_default=True)
@click.option("--max-seconds", type=float, help="For a question; 600 at most.")
@click.option("--max-usd", type=float, help="For a question.")
@click.option("--max-tokens", type=int, help="For a question, in every arm.")
@click.option("--max-calls", type=int, help="For a question.")
@click.option("--max-words", type=int, help="Of an answer.")
@click.version_option(__version__, prog_name="agent.evaluate")
def command(**options: Any) -> int:
    """Answer a set of questions in several ways side by side, and print what came of it.

    SET is JSON, JSON lines, CSV or TSV: {prompt, answer}, {question, answers, gold}, or the files
    of HotpotQA, FRAMES and SimpleQA. A null answer: the right thing is to abstain.
    """
    from agent.evaluate.evaluation import Evaluation

    try:
        plan = _plan(options)
        click.echo(f"Results are kept in {plan.folder}", err=True)
        evaluation = Evaluation(plan)
        with redirect_stdout(sys.stderr):  # whatever a library prints is not the figures
            _conduct(evaluation, len(plan.questions), options["predictions"])
        found = evaluation.results()
        _keep(found, plan, options)
    except AgentError as error:
        _print({"error": {"kind": error.kind, "message": error.message, "remedy": error.remedy}})
        click.echo(f"Error: {error.message}\n{error.remedy}", err=True)
        return 2 if error.kind == "usage" else 1
    _print(found)
    return 0


def _plan(options: dict[str, Any]) -> Plan:
    from agent.evaluate.arms import arms
    from agent.evaluate.contamination import Contamination
    from agent.evaluate.evaluation import Plan, new_folder
    from agent.evaluate.judge import SAMPLE, Judge, sample
    from agent.evaluate.questions import load

    names = "search corpus offline max_seconds max_usd max_tokens max_calls max_words"
    given = {name: options[name] for name in names.split()}
    asked = load(options["questions"])
    chosen = arms(
        options["strategy"] or (),
        options["depth"] or (),
        options["llm"],
        given,
        baselines=options["baselines"],
    )
    first = chosen[0].settings
    folder = options["results"] or new_folder(first)
    judge = options["judge"] and Judge(options["judge"], first, folder / "judge.jsonl")
    own = first.offline or first.corpus is not None
    return Plan(
        asked[: options["limit"]],
        chosen,
        folder,
        Contamination(options["questions"], asked, options["canary"], own=own),
        judge,
        sample(options["judge_sample"] or SAMPLE),
        options["concurrency"],
    )


def _conduct(evaluation: Evaluation, n: int, predictions: Path | None) -> None:
    """Go through the questions; the predictions are written anew after each."""
    from agent.evaluate.trials import store

    if predictions:
        store(predictions, evaluation.predictions())  # learn now that it cannot be written
    for done, rows in enumerate(evaluation, 1):
        if predictions:
            store(predictions, evaluation.predictions())
        labels = ", ".join(f"{row.trial.arm}: {row.label}" for row in rows)
        click.echo(f"[{done}/{n}] {labels}", err=True)


def _keep(found: dict[str, Any], plan: Plan, options: dict[str, Any]) -> None:
    """The results as JSON, as Markdown and, if asked for, drawn."""
    from agent.evaluate.page import markdown
    from agent.evaluate.trials import store

    if plan.judge:
        plan.judge.close()
    store(plan.folder / "results.json", json.dumps(found, ensure_ascii=False, indent=2) + "\n")
    store(plan.folder / "results.md", markdown(found, options["questions"].name))
    if options["plots"]:
        from agent.evaluate.plots import draw

        draw(found, plan.folder)


def _print(found: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(found, ensure_ascii=True, indent=2) + "\n")
    sys.stdout.flush()


def _refuse(error: click.ClickException) -> int:
    _print({"error": {"kind": "usage", "message": error.format_message()}})
    return 2


def main() -> None:
    """The command."""
    ended(command, _refuse)


if __name__ == "__main__":
    main()
