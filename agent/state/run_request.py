"""What applies to one run only, apart from its question and its settings."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from agent.state.claims import MAX_EARLIER, EarlierAnswer
from agent.state.reports import CitedReport
from agent.state.values import Frozen


class RunRequest(Frozen):
    """What belongs to one run alone: the journals that it uses, and a report that it checks."""

    follow: str = ""  # a run's name or journal that this one asks on about
    #: Questions of a conversation elsewhere, with their answers: `follow` wins.
    earlier: tuple[EarlierAnswer, ...] = Field(default=(), max_length=MAX_EARLIER)
    resume: str = ""  # a run's name or journal to go on with; a new name begins a run
    replay: Path | None = None  # a run's name or journal to repeat without external calls
    retry_failed: bool = False  # on resume, repeat the calls that failed
    request_id: str = ""  # the name of a server's request, for the journal's header
    clarified: tuple[str, ...] = ()  # what the user answered to questions about the plan
    report: CitedReport | None = None  # somebody's report: it is checked, and nothing researched
    beside: Path | None = None  # the folder of that report, whose files it may name
    search_uncited: bool = False  # a check searches for sentences that cite nothing
