"""The strategy `check`: cited pages are read, each once; every sentence is judged by its own."""

from __future__ import annotations

from collections.abc import Iterator

from agent.state import CitedReport, Event, Research
from agent.strategies.check.judge import JudgeReport
from agent.strategies.check.read_cited import FindEvidence, ReadCited


class CheckStrategy:
    """Checks the report that the settings hold. It makes no answer: its last event is `Checked`."""

    name = "check"

    def __init__(
        self, report: CitedReport, read: ReadCited, find: FindEvidence | None, judge: JudgeReport
    ) -> None:
        """`find` searches for sentences that cite nothing; None: these are only listed."""
        self._report = report
        self._read = read
        self._find = find
        self._judge = judge

    def __call__(self, research: Research) -> Iterator[Event]:
        yield from self._read(research, self._report)
        found = (yield from self._find(research, self._report)) if self._find else {}
        yield from self._judge(research, self._report, found)

    def finish(self, research: Research) -> Iterator[Event]:
        """The verdicts by the pages that had been read."""
        yield from self._read.salvage(research, self._report)
        yield from self._judge(research, self._report, {})
