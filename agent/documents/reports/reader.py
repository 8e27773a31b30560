"""Reads a report: parsed by a worker, which can be killed, and cut into sentences that cite."""

from __future__ import annotations

from pathlib import PurePath

from agent.documents.body_reader import BodyReader
from agent.documents.body_text import Body
from agent.documents.reading import UnreadablePage
from agent.documents.reports.cited_sentences import cite_sentences
from agent.errors import ReadFailed, UsageError
from agent.state import CitedReport

MAX_BYTES = 30_000_000
LONGEST_NAME = 200  # characters
REMEDY = "Give Markdown, HTML, DOCX, PDF, or the JSON of an answer."


def read_report(body: bytes, name: str = "", form: str = "") -> CitedReport:
    """A report with its sentences and what they cite. Raises UsageError.

    `form` is a `ReportForm`, which overrules name and content.
    """
    name = " ".join(name.split())[-LONGEST_NAME:]
    shown = name or "The report"
    if len(body) > MAX_BYTES:
        raise UsageError(f"{shown} has more than {MAX_BYTES:,} bytes.", "Give a shorter one.")
    reader = BodyReader()
    try:
        found = reader.read(
            Body(body, suffix=f".{form}" if form else PurePath(name).suffix, is_report=True)
        )
    except (UnreadablePage, ReadFailed) as error:
        reason = str(error).removeprefix("it ")
        raise UsageError(f"{shown} cannot be read: it {reason}.", REMEDY) from None
    finally:
        reader.close()
    report = cite_sentences(found, name)
    if not report.sentences:
        raise UsageError(f"{shown} has no sentence that could be checked.", REMEDY)
    return report
