"""How the check of a report begins: a run like any other, whose request holds the report."""

from __future__ import annotations

from agent.calls.journal_reader import has_header, read_header
from agent.errors import NotConfigured, UsageError
from agent.run.begin import research
from agent.run.header import journal_path
from agent.run.loop import Run
from agent.run.models import make_models
from agent.settings import Settings
from agent.state import CitedReport, RunRequest, get_path

UNTITLED = "A report"


def check_topic(report: CitedReport) -> str:
    """What a check is called: the title of its report, or the name of its file."""
    title = " ".join((report.title or report.name).split())
    return title if any(map(str.isalnum, title)) else UNTITLED


def check_settings(settings: Settings) -> Settings:
    """The settings of a check. Where no model is configured or named, rules judge alone.

    Raises UsageError for an unknown model, NotConfigured for one that is named and has no key.
    """
    if settings.offline or settings.llm:
        return settings
    try:
        make_models(settings)
    except NotConfigured:
        return settings.model_copy(update={"llm": ("extractive",)})
    return settings


def begin_check(settings: Settings, request: RunRequest) -> Run:
    """A run that checks the report of the request, not yet begun; without one that of its journal.

    Raises what `research` raises; UsageError where the journal is of another report.
    """
    report = request.report
    if report is None:
        return research("", settings, request)
    path = request.replay or (request.resume and journal_path(settings, request.resume))
    recorded = read_header(path) if path and has_header(path) else None
    if recorded and get_path(recorded.settings, "report", "text") != report.text:
        raise UsageError(
            "That run is about another report, or about another version of this one.",
            "Leave the report out, or give the run another name.",
        )
    return research(check_topic(report), check_settings(settings), request)
