"""The plan of a report before anything is searched, with what it would take."""

from __future__ import annotations

from contextlib import closing
from typing import NamedTuple

from agent.answer.failures import list_failures
from agent.errors import AgentError
from agent.run.begin import research
from agent.run.estimate import Estimate, estimate
from agent.run.header import journal_path, new_run_name
from agent.run.validate_request import clean_topic
from agent.settings import Settings, replace_settings
from agent.state import Plan, Planned, RunRequest


class PlannedRun(NamedTuple):
    """A run that has planned its report and nothing else; to go on, resume it by its name."""

    plan: Plan
    name: str
    warnings: tuple[str, ...]  # of fallbacks for a model


def plan_report(
    topic: str, settings: Settings, request: RunRequest, *, is_kept: bool = True
) -> PlannedRun:
    """Plan a report: at most one model call, no search. Raises AgentError as the run would.

    Not `is_kept`: the run leaves no journal, and cannot be resumed.
    """
    name = request.resume or new_run_name()
    planned = research(topic, settings, request, strategy="report", resume=name)
    with planned as run, closing(iter(run)) as events:  # type: ignore[type-var]
        for event in events:
            if isinstance(event, Planned):
                break
    if not is_kept:
        journal_path(settings, name).unlink(missing_ok=True)
    if plan := run.research.plan:
        warnings = tuple(list_failures(run.research))
        return PlannedRun(Plan(**plan.model_dump(exclude={"type"})), name, warnings)
    raise run.error or AgentError("The run ended before it had a plan.", "Ask again.")


class PlanOffer(Plan):
    """A plan, and what its report would take."""

    estimate: Estimate
    warnings: tuple[str, ...] = ()


def offer_plan(topic: str, settings: Settings, request: RunRequest) -> PlanOffer:
    """Plan a report and estimate what it would take; nothing is kept of it."""
    plan, _, warnings = plan_report(topic, settings, request, is_kept=False)
    taken = estimate(clean_topic(plan.topic), replace_settings(settings, {"plan": plan}), request)
    return PlanOffer(**plan.model_dump(), estimate=taken, warnings=warnings)
