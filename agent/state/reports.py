"""Reports that somebody else wrote: their sentences, what each cites, and what checking says."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agent.state.values import Frozen, Quote

MAX_REPORT_CHARS = 400_000
MAX_SENTENCES = 2000
MAX_CITED = 500  # sources of a report

ReportForm = Literal[
    "markdown",
    "html",
    "docx",
    "pdf",
    "wikitext",
    "bibtex",
    "openai",
    "gemini",
    "perplexity",
    "answer",
]

#: As a verdict on a claim; `unreadable`: a source that it cites could not be read.
CheckVerdict = Literal[
    "supported", "partial", "unsupported", "contradicted", "unchecked", "unreadable"
]


class ReportSource(Frozen):
    """A source that a report cites. `url` is "" where the report gives no address of it."""

    n: int = Field(ge=1)
    url: str = Field(max_length=5000)
    title: str = ""


class ReportSentence(Frozen):
    """A sentence of a report at its offsets; `text` is without markup and markers."""

    text: str
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    sources: tuple[int, ...] = ()


class CitedReport(Frozen):
    """A report as it was read. Offsets are characters of `text`.

    `text` is the file's own for Markdown and wikitext, the message's for an answer of a service,
    and else what was extracted.
    """

    name: str
    form: ReportForm
    title: str
    text: str = Field(max_length=MAX_REPORT_CHARS)
    sentences: tuple[ReportSentence, ...] = Field(max_length=MAX_SENTENCES)
    sources: tuple[ReportSource, ...] = Field(max_length=MAX_CITED)
    warnings: tuple[str, ...] = ()


class CheckedClaim(Frozen):
    """What checking says of a sentence. `by`: `rule`, the model that judged, or empty.

    `reason` says in a few words what is wrong. `quote` is what decides, or is nearest; its source
    is that of the run. `sources` are those of the report; in the evidence that `--search` found,
    `quote` alone names the page.
    """

    sentence: ReportSentence
    verdict: CheckVerdict
    by: str = ""
    reason: str = ""
    quote: Quote | None = None
