"""The plan of a report on the command line: printed, or cleared up with the user before the run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from agent.cli import inputs, shell

if TYPE_CHECKING:  # nothing heavy is imported before it is needed: `--help` is instant
    from agent.settings import Settings
    from agent.state import RunRequest

RUN_IT = "Edit it as you like, then run it: research-agent --plan FILE"


def print_plan(topic: str, options: dict[str, Any]) -> int:
    """Print the plan of a report: as an outline on a terminal, else as JSON."""
    from agent.run.plan import offer_plan
    from agent.run.plan_file import write_offer
    from agent.settings import make_request

    settings, request = inputs.read_settings(options), make_request(options)
    offer = offer_plan(topic, settings, request)
    if answers := _ask_user(offer.ask, options):
        offer = offer_plan(topic, settings, request.model_copy(update={"clarified": answers}))
    is_json, indent = options["format"] == "json", None if options["compact"] else 2
    text = offer.model_dump_json(indent=indent) + "\n" if is_json else write_offer(offer, RUN_IT)
    if options["out"]:
        shell.write_file(options["out"], text)
    shell.print_text(text)
    return 0


def clarify(
    topic: str, settings: Settings, request: RunRequest, options: dict[str, Any]
) -> RunRequest:
    """The request of a report after the user was asked what would change its plan.

    The run goes on with the plan, unless there are answers. Nobody is asked but on a terminal.
    """
    is_planned = bool(settings.plan or request.resume or request.replay)
    if is_planned or not _is_asked(options):
        return request
    from agent.run.plan import plan_report
    from agent.run.validate_request import resolve_strategy

    if resolve_strategy(settings, request) != "report":
        return request
    planned = plan_report(topic, settings, request)
    if answers := _ask_user(planned.plan.ask, options):
        return request.model_copy(update={"clarified": answers})
    return request.model_copy(update={"resume": planned.name})


def _is_asked(options: dict[str, Any]) -> bool:
    """Whether a person is there to be asked."""
    is_terminal = sys.stdin.isatty() and sys.stderr.isatty()
    return is_terminal and bool(options.get("for_people"))


def _ask_user(questions: tuple[str, ...], options: dict[str, Any]) -> tuple[str, ...]:
    """The user's answers, each with its question; an empty line leaves one open."""
    if not _is_asked(options):
        return ()
    answers = (
        (one, click.prompt(one, default="", show_default=False, err=True)) for one in questions
    )
    return tuple(f"{one} {answer.strip()[:1000]}" for one, answer in answers if answer.strip())
