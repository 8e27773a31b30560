"""What checking somebody's report gives: each sentence with its verdict, and the result object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, get_args

from pydantic import ConfigDict, Field

from agent.answer.addresses import CorpusAddresses
from agent.documents.html.structured_data import TEASER
from agent.evidence.text_fragments import quote_link
from agent.state import (
    HOLDING,
    NO_ADDRESS,
    NOT_READ,
    Calculation,
    Checked,
    CheckedClaim,
    CheckVerdict,
    CitedReport,
    Differences,
    Failed,
    Frozen,
    LookedUp,
    MarkForm,
    ReportForm,
    ReportSource,
    Research,
    Source,
    canonical_url,
    hash_text,
    seldom,
)

#: What became of a source, the first of these that holds. `retracted`: a registry says so, whether
#: its page was read or not; `paywalled`: only its teaser was read; `dead`: its page is gone.
SourceStatus = Literal[
    "retracted", "archived", "paywalled", "read", "dead", "blocked", "unreadable", "unaddressed"
]
FAILING: tuple[CheckVerdict, ...] = ("contradicted", "unsupported")
OPEN: tuple[CheckVerdict, ...] = ("unchecked", "unreadable")
VERDICTS: tuple[CheckVerdict, ...] = get_args(CheckVerdict)


class ClaimCheck(Frozen):
    """A sentence of the report, what checking says of it, and the quote that decides.

    Offsets are characters: `start` and `end` in the report's text, those of the quote in the page.
    Without a quote `quote` and `link` are empty and `source` is null.
    """

    text: str
    start: int
    end: int
    sources: tuple[int, ...] = Field(default=(), description="the sources that it cites, by `id`")
    verdict: CheckVerdict
    by: str = Field(default="", description="rule, or the model that judged; empty: nobody did")
    reason: str = Field(default="", description="what is wrong, in a few words")
    quote: str = ""
    source: int | None = Field(default=None, description="the source of the quote")
    quote_start: int | None = None
    quote_end: int | None = None
    link: str = Field(default="", description="opens the page at the quote")
    calculation: Calculation | None = seldom(
        None, "how its numbers follow from those of the pages, which it cites by `sources`"
    )
    differences: Differences | None = seldom(
        None, "of a claim that does not hold: the nearest sentence of its pages; it decides nothing"
    )


class UncitedSentence(Frozen):
    """A sentence that cites nothing: it is listed, and not judged."""

    text: str
    start: int
    end: int


class SourceCheck(Frozen):
    """A source of the report, and the page that was read of it, if one was.

    `reason` says why none was, also where an archived copy was read instead. `found`: the report
    does not cite it; a search found it. `counts`: the claims that cite it, by verdict.
    """

    id: int
    url: str
    title: str = ""
    read: bool
    reason: str = ""
    page_title: str = ""
    page_url: str = ""
    page_sha256: str = ""
    retrieved_at: str = ""
    found: bool = False
    status: SourceStatus = "read"
    retracted: bool | None = Field(
        default=None, description="what Crossref or Europe PMC says of its DOI; null: nothing"
    )
    notice: str = Field(default="", description="what says that it was retracted")
    counts: dict[str, int] = Field(default_factory=dict)


class ReportInfo(Frozen):
    """The report that was checked. Its sentences' offsets are characters of `text`."""

    name: str
    form: ReportForm
    title: str
    sha256: str = Field(description="of `text` in UTF-8")
    text: str
    sentences: int = 0
    cited_sentences: int = Field(default=0, description="those with a source")
    marked_by: MarkForm = Field(default="", description="by what most marks name their source")
    marks: int = 0
    unaddressed: int = Field(default=0, description="marks whose source has no address")
    advice: str = Field(default="", description="what to export instead")


class Shares(Frozen):
    """What could be read and judged: nothing is known of the rest. `holding`: those that hold."""

    sources: int = 0
    read: int = 0
    claims: int = 0
    judged: int = 0
    holding: int = 0


class ReportCheck(Frozen):
    """A checked report: the claims that cite, in its order, the other sentences, the sources."""

    report: ReportInfo
    shares: Shares = Shares()
    counts: dict[str, int] = Field(description="claims by verdict")
    claims: tuple[ClaimCheck, ...]
    uncited: tuple[UncitedSentence, ...]
    sources: tuple[SourceCheck, ...]


def build_check(report: CitedReport, research: Research, addresses: CorpusAddresses) -> ReportCheck:
    """The check of a report from the events of its run. Without `Checked`, nothing was judged."""
    events = research.events_of(Checked)
    claims = events[-1].claims if events else ()
    sources = _build_sources(report, research, claims, addresses)
    ids = {one.page_sha256: one.id for one in reversed(sources) if one.read}
    checked = {claim.sentence for claim in claims}
    shares = {
        name: getattr(report, name)
        for name in ReportInfo.model_fields
        if name not in ("sha256", "sentences")
    }
    return ReportCheck(
        report=ReportInfo(
            sha256=hash_text(report.text, "replace"), sentences=len(report.sentences), **shares
        ),
        shares=_count_shares(claims, [one for one in sources if not one.found]),
        counts=count_verdicts([claim.verdict for claim in claims]),
        claims=tuple(_build_claim(claim, research.sources, ids, addresses) for claim in claims),
        uncited=tuple(
            UncitedSentence(text=one.text, start=one.start, end=one.end)
            for one in report.sentences
            if one not in checked and not one.sources
        ),
        sources=sources,
    )


def _count_shares(claims: Sequence[CheckedClaim], sources: Sequence[SourceCheck]) -> Shares:
    verdicts = [claim.verdict for claim in claims]
    return Shares(
        sources=len(sources),
        read=sum(one.read for one in sources),
        claims=len(claims),
        judged=sum(verdict not in OPEN for verdict in verdicts),
        holding=sum(verdict in HOLDING for verdict in verdicts),
    )


def count_verdicts(verdicts: Sequence[CheckVerdict]) -> dict[str, int]:
    """How many claims have each verdict, all verdicts named."""
    counts = Counter(verdicts)
    return {verdict: counts[verdict] for verdict in VERDICTS}


def _build_claim(
    claim: CheckedClaim, sources: Sequence[Source], ids: dict[str, int], addresses: CorpusAddresses
) -> ClaimCheck:
    sentence, placed = claim.sentence, dict[str, Any]()
    if quote := claim.quote:
        page = sources[quote.source - 1].page
        url = addresses.shorten_url(page.url)
        placed = {
            "quote": quote.text,
            "source": ids[page.sha256],
            "quote_start": quote.start,
            "quote_end": quote.end,
            "link": quote_link(url, page.text, quote.start, quote.end),
        }
    return ClaimCheck(
        text=sentence.text,
        start=sentence.start,
        end=sentence.end,
        sources=sentence.sources,
        verdict=claim.verdict,
        by=claim.by,
        reason=addresses.shorten_text(claim.reason),
        differences=claim.differences,
        calculation=claim.calculation
        and claim.calculation.renumber({s.n: ids[s.page.sha256] for s in sources}),
        **placed,
    )


def _build_sources(
    report: CitedReport,
    research: Research,
    claims: Sequence[CheckedClaim],
    addresses: CorpusAddresses,
) -> tuple[SourceCheck, ...]:
    """The report's sources by their numbers, then the pages that a search found."""
    notices = {event.url: event.notice for event in research.events_of(LookedUp)}
    pages = research.sources_by_page
    failures = {
        canonical_url(event.subject): event
        for event in research.events_of(Failed)
        if event.what == "page"
    }
    made = []
    for cited in report.sources:
        key = canonical_url(cited.url) if cited.url else ""
        one = _build_source(cited, pages.get(key), failures.get(key))
        verdicts = [claim.verdict for claim in claims if cited.n in claim.sentence.sources]
        update = _look_up(notices.get(cited.url)) | {"counts": count_verdicts(verdicts)}
        made.append(one.model_copy(update=update))
    cited_keys = {canonical_url(one.url) for one in report.sources}
    others = (source for key, source in pages.items() if key not in cited_keys)
    for n, source in enumerate(others, len(made) + 1):
        found = ReportSource(n=n, url=source.hit.url, title=source.hit.title)
        one = _build_source(found, source, None)
        made.append(one.model_copy(update={"found": True}))
    return tuple(_shorten_paths(one, addresses) for one in made)


def _shorten_paths(source: SourceCheck, addresses: CorpusAddresses) -> SourceCheck:
    """A source whose addresses do not show where a corpus is."""
    changes = {
        "url": addresses.shorten_url(source.url),
        "page_url": addresses.shorten_url(source.page_url),
        "reason": addresses.shorten_text(source.reason),
    }
    return source.model_copy(update=changes)


def _look_up(notice: str | None) -> dict[str, Any]:
    """What registries say of a source; nothing where none knows it."""
    if not notice:
        return {"retracted": None if notice is None else False}
    return {"retracted": True, "notice": notice, "status": "retracted"}


def _build_source(cited: ReportSource, source: Source | None, failed: Failed | None) -> SourceCheck:
    one = SourceCheck(id=cited.n, url=cited.url, title=cited.title, read=source is not None)
    if source is None:
        failure = f"{failed.message} {failed.remedy}".strip() if failed else NOT_READ
        reason = failure if cited.url else NO_ADDRESS
        fault = _find_fault(failed) if cited.url else "unaddressed"
        return one.model_copy(update={"status": fault, "reason": reason})
    page = source.page
    status = "paywalled" if page.partial_text == TEASER else "read"
    status = "archived" if page.copy_of else status
    changes = {
        "title": cited.title or page.title,
        "reason": page.attempts[0].detail if page.attempts else page.partial_text,
        "status": status,
        "page_title": page.title,
        "page_url": page.url,
        "page_sha256": page.sha256,
        "retrieved_at": page.retrieved_at,
    }
    return one.model_copy(update=changes)


def _find_fault(failed: Failed | None) -> SourceStatus:
    """Why a page could not be read. What a corpus does not hold is not dead: it has no status."""
    if failed and failed.outcome == "not_found" and "HTTP" in failed.message:
        return "dead"
    return "blocked" if failed and failed.outcome == "blocked" else "unreadable"


# --- the result -----------------------------------------------------------------------------------


class CheckResult(Frozen):
    """The result of checking a report, however the run ended.

    `ok`: no claim is contradicted or unsupported, and the check could run; null where no claim
    could be judged, since nothing read is nothing proved. `run`, `usage` and
    `error` are as in an answer object.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", json_schema_serialization_defaults_required=True
    )

    schema_version: Literal["check-2"] = "check-2"
    ok: bool | None
    status: Literal["complete", "partial", "insufficient", "error"]
    shares: Shares = Shares()
    report: ReportInfo | None = None
    counts: dict[str, int] = Field(default_factory=dict)
    claims: tuple[ClaimCheck, ...] = ()
    uncited: tuple[UncitedSentence, ...] = ()
    sources: tuple[SourceCheck, ...] = ()
    warnings: tuple[str, ...] = ()
    usage: dict[str, Any] = Field(default_factory=dict)
    run: dict[str, Any] | None = None
    error: dict[str, str] | None = None


def build_check_result(answer: Any) -> CheckResult:
    """The result of a check from the answer object of its run."""
    value = answer.model_dump(mode="json")
    check = answer.check
    parts = {name: getattr(check, name) for name in ReportCheck.model_fields} if check else {}
    fails = any(claim.verdict in FAILING for claim in check.claims) if check else True
    is_open = answer.status == "insufficient" and answer.error is None
    return CheckResult.model_validate(
        {
            **parts,
            "ok": None if is_open else not fails and answer.error is None,
            "status": answer.status,
            **{name: value[name] for name in ("warnings", "usage", "run", "error")},
        }
    )


def check_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of the result."""
    return CheckResult.model_json_schema(mode="serialization")
