"""Reports that somebody else wrote: their sentences, what each cites, and what checking says."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from agent.state.claims import Calculation, Differences
from agent.state.values import Frozen, Quote

MAX_REPORT_CHARS = 400_000
MAX_SENTENCES = 2000
MAX_CITED = 500  # sources of a report
#: Why a source was not read.
NO_ADDRESS = "the report gives no address for it"
NOT_READ = "it was not read: the run ended first"

ReportForm = Literal[
    "markdown",
    "html",
    "docx",
    "pdf",
    "openai",
    "gemini",
    "claude",
    "answer",
    "wikitext",  # of earlier versions, as the next
    "bibtex",
    "perplexity",
    "fields",
    "results",
]

#: By what most marks of a report name their source: links or addresses in the text, numbers in
#: brackets, numbers set high, bare digits behind a word, footnotes and other names of entries,
#: or a product's own marks that give no address; of earlier versions, authors and years, and spans.
MarkForm = Literal["", "links", "brackets", "raised", "digits", "notes", "authors", "spans", "raw"]

#: As a verdict on a claim; `unreadable`: a source that it cites could not be read.
CheckVerdict = Literal[
    "supported", "quoted", "partial", "unsupported", "contradicted", "unchecked", "unreadable"
]


class ReportSource(Frozen):
    """A source that a report cites. `url` is "" where the report gives no address for it."""

    n: int = Field(ge=1)
    url: str = Field(max_length=5000)
    title: str = ""


class ReportSentence(Frozen):
    """A sentence of a report at its offsets; `text` is without markup and markers.

    `context`: the words that it needs to be understood: the names of a row's columns, the line that
    opens a list. `scope`: the offsets of its paragraph, where the paragraph's only marks are at
    the end of this sentence, its last: whether they cover the others nobody knows.
    """

    text: str
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    sources: tuple[int, ...] = ()
    context: str = ""
    scope: tuple[int, int] | None = None


class CitedReport(Frozen):
    """A report as it was read. Offsets are characters of `text`.

    `text` is the file's own for Markdown, and else the Markdown that was made of it. `marks` counts
    what names a source in its sentences, `unaddressed` those whose source has no address; `advice`
    says what to export instead, or is empty.
    """

    name: str
    form: ReportForm
    title: str
    text: str = Field(max_length=MAX_REPORT_CHARS)
    sentences: tuple[ReportSentence, ...] = Field(max_length=MAX_SENTENCES)
    sources: tuple[ReportSource, ...] = Field(max_length=MAX_CITED)
    warnings: tuple[str, ...] = ()
    marked_by: MarkForm = ""
    marks: int = 0
    unaddressed: int = 0
    advice: str = ""

    @property
    def cited_sentences(self) -> int:
        """How many sentences have a source."""
        return sum(bool(one.sources) for one in self.sentences)


class CheckedClaim(Frozen):
    """What checking says of a sentence. `by`: `rule`, the model that judged, or empty.

    `reason` says in a few words what is wrong. `quote` is what decides, or is nearest; its source
    is that of the run. `sources` are those of the report; in the evidence that `--search` found,
    `quote` alone names the page. `calculation` cites by the numbers of the run.
    """

    sentence: ReportSentence
    verdict: CheckVerdict
    by: str = ""
    reason: str = ""
    quote: Quote | None = None
    calculation: Calculation | None = None
    differences: Differences | None = None
