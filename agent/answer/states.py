"""The one name of how a run ended, and what it leaves open: every interface shows these."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from agent.state import Frozen, Halted, Research, seldom

StateName = Literal[
    "Answered",
    "Answered in part",
    "Sources disagree",
    "Passages that may answer",
    "Not found",
    "The model did not answer",
    "Stopped",
    "Could not run",
    "Checked",
]
Status = Literal["complete", "partial", "insufficient", "error"]
#: The state by the status alone: where nothing else is known of a run.
BY_STATUS: dict[Status, StateName] = {
    "complete": "Answered",
    "partial": "Answered in part",
    "insufficient": "Not found",
    "error": "Could not run",
}


class State(Frozen):
    """How a run ended, and what is open, a sentence each. A card shows both sides of `disputes`."""

    name: StateName
    open: tuple[str, ...] = ()
    disputes: tuple[str, ...] = seldom(())


def decide_state(
    research: Research, status: Status, open_: Iterable[str], disputes: Iterable[str]
) -> State:
    """The state of a run that ended without an error."""
    halts, disputes = research.events_of(Halted), tuple(disputes)
    name = BY_STATUS[status]
    if status == "partial" and (disputes or research.may_answer):
        name = "Sources disagree" if disputes else "Passages that may answer"
    if status != "complete" and any(halt.is_stop for halt in halts):
        name = "Stopped"
    elif status != "complete" and research.is_answered_without_model:
        name = "The model did not answer"
    return State(name=name, open=tuple(dict.fromkeys(open_)), disputes=disputes)
