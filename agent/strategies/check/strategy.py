"""The strategy `check`: cited pages are read, each once; every sentence is judged by its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agent.calls import ExternalCalls
from agent.settings import Settings
from agent.state import CitedReport, Event, Research, RunRequest
from agent.strategies.check.judge import JudgeReport
from agent.strategies.check.read_cited import FindEvidence, ReadCited


def build(calls: ExternalCalls, settings: Settings, request: RunRequest) -> CheckStrategy:
    """The strategy for the report of a request, with its steps."""
    assert request.report is not None
    return CheckStrategy(
        request.report,
        ReadCited(calls.read),
        FindEvidence(calls.search, calls.read) if request.search_uncited else None,
        JudgeReport(calls.ask, settings),
    )


@dataclass(frozen=True)
class CheckStrategy:
    """Checks the report that the settings hold. It makes no answer: its last event is `Checked`."""

    name = "check"

    report: CitedReport
    read: ReadCited
    find: FindEvidence | None  # searches for sentences that cite nothing
    judge: JudgeReport

    def __call__(self, research: Research) -> Iterator[Event]:
        yield from self.read(research, self.report)
        found = (yield from self.find(research, self.report)) if self.find else {}
        yield from self.judge(research, self.report, found)

    def finish(self, research: Research) -> Iterator[Event]:
        """The verdicts by the pages that had been read."""
        yield from self.read.salvage(research, self.report)
        yield from self.judge(research, self.report, {})
