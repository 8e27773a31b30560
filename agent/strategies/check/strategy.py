"""The strategy `check`: cited pages are read, each once; every sentence is judged by its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agent.state import CitedReport, Event, Research
from agent.strategies.check.judge import JudgeReport
from agent.strategies.check.read_cited import FindEvidence, ReadCited


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
