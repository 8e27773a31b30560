"""JudgeReport: each sentence of a report by the pages that it cites; rules first, then a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent.calls import AskMany
from agent.evidence import estimate_tokens
from agent.evidence.sentences import Span
from agent.settings import Settings
from agent.state import (
    HOLDING,
    Checked,
    CheckedClaim,
    CitedReport,
    Event,
    Research,
    Source,
    Verdict,
)
from agent.steps.judges import Docket, JudgeClaims, judge_groups
from agent.steps.prompt_rules import DATA_RULE
from agent.strategies.check.cases import Case, make_cases, nearest_quotes, show_cases
from agent.strategies.check.read_cited import Found
from agent.verification.cited_claims import missing_on_pages
from agent.verification.differences import find_differences
from agent.verification.judge_view import QuotePlace, spans_around
from agent.verification.rules import Assessment, explain_fault, limit_assessment

FEWEST_TO_BATCH = 2  # a model that is given one claim at a time is given no more here
BATCHES = 3  # claims cost little next to the pages that they share: so many times the usual number
MOST_REASONS = 2  # sources that a reason names as not read
SEARCHED = "nothing that was found says so"


class JudgeReportClaims(JudgeClaims):
    """Asks whether each sentence of somebody's report is supported by the pages that it cites."""

    def system_prompt(self) -> str:
        return (
            "You check sentences of a report against the sources that they cite. Give for each "
            "claim id one verdict. supported: a source says all of it, of the same thing, in any "
            "words or language. partial: it says a part, or says it less surely. contradicted: it "
            "says otherwise, for example another number, or that another one did it, or with the "
            "sides exchanged. unsupported: it says nothing of it. Give the id of the source that "
            f"decides. What you know from elsewhere does not count. {DATA_RULE}"
        )


_Judged = tuple[Assessment, int | None]  # a judge's verdict, and the page that it names


class JudgeReport:
    """Gives each sentence that cites something its verdict, in as few model calls as fit."""

    def __init__(self, ask: AskMany, settings: Settings) -> None:
        batch = settings.claims_per_call
        self._batch = batch * BATCHES if batch >= FEWEST_TO_BATCH else batch
        self._ask = ask
        self._settings = settings

    def __call__(self, research: Research, report: CitedReport, found: Found) -> Iterator[Event]:
        cases = make_cases(research, report, found)
        judged: dict[int, _Judged] = {}
        if self._settings.verify == "model":
            yield from self._judge_open(cases, research, judged)
        claims = (_compare(_decide(case, judged.get(n)), case) for n, case in enumerate(cases))
        yield Checked(claims=tuple(claims))

    def _judge_open(
        self, cases: Sequence[Case], research: Research, judged: dict[int, _Judged]
    ) -> Iterator[Event]:
        """Ask for the verdicts of the open cases, as many in each call as fit."""
        docket = Docket[int](
            lambda group: self._make_task([cases[n] for n in group], research),
            lambda n, assessment, source: judged.update({n: (assessment, source)}),
        )
        yield from judge_groups(self._ask, list(self._group(cases)), docket, research)

    def _group(self, cases: Sequence[Case]) -> Iterator[list[int]]:
        """The open cases, those of one page together, as many in a group as fit."""
        open_cases = [n for n, case in enumerate(cases) if case.sources and case.ruling.is_open]
        open_cases.sort(key=lambda n: (tuple(s.n for s in cases[n].sources), n))
        group: list[int] = []
        for n in open_cases:
            excerpts = show_cases([cases[m] for m in (*group, n)])
            size = sum(estimate_tokens(p) for excerpt in excerpts for p in excerpt.passages)
            if group and (len(group) >= self._batch or size > self._settings.effort.report_tokens):
                yield group
                group = []
            group.append(n)
        if group:
            yield group

    def _make_task(self, cases: Sequence[Case], research: Research) -> JudgeReportClaims:
        return JudgeReportClaims(
            topic=research.topic,
            claims=tuple(case.claim for case in cases),
            evidence=show_cases(cases),
            language=self._settings.lang,
        )


def _decide(case: Case, judged: _Judged | None) -> CheckedClaim:
    """The verdict on a case: of the rules, else of the model within the rules."""
    checked = _by_rules(case) if judged is None else _by_model(case, *judged)
    if case.ruling.may_follow and (checked.verdict != "supported" or not checked.calculation):
        checked = _by_rules(case)
    if case.is_searched:
        if checked.verdict in ("unsupported", "unchecked"):
            return CheckedClaim(sentence=case.sentence, verdict="unchecked", reason=SEARCHED)
        return checked
    is_settled = checked.verdict in (*HOLDING, "partial", "contradicted")
    if case.unread and not is_settled:
        reasons = "; ".join(dict.fromkeys(case.unread[:MOST_REASONS]))
        return CheckedClaim(sentence=case.sentence, verdict="unreadable", reason=reasons)
    return checked


def _compare(checked: CheckedClaim, case: Case) -> CheckedClaim:
    """The result of a case; for one that does not hold, with the nearest sentence."""
    if checked.verdict in HOLDING:
        return checked
    near = [
        (source.page, quote)
        for source in case.sources
        for quote in nearest_quotes(case.sentence.text, source)
    ]
    places = [
        QuotePlace(page.text, page.title, q.start, q.end, source=q.source) for page, q in near
    ]
    found = find_differences(case.sentence.text, places)
    return checked.model_copy(update={"differences": found})


def _by_rules(case: Case) -> CheckedClaim:
    verdict, reason, quote, _ = case.ruling
    by = "" if verdict == "unchecked" else "rule"
    return CheckedClaim(sentence=case.sentence, verdict=verdict, by=by, reason=reason, quote=quote)


def _by_model(case: Case, assessed: Assessment, named: int | None) -> CheckedClaim:
    """What a model says, and no more than the rules allow."""
    text, places = case.sentence.text, _places(case, named)
    pages = dict.fromkeys(place.text for place in places)
    assessment = limit_assessment(assessed, text, places, list(pages))
    why = explain_fault(assessed, text, places)
    near = [quote for source in _pages_for(case, named) for quote in nearest_quotes(text, source)]
    return CheckedClaim(
        sentence=case.sentence,
        verdict=assessment.verdict,
        by=assessment.by,
        reason=why or _explain(assessment.verdict, case),
        quote=near[0] if near else None,
        calculation=assessment.calculation,
    )


def _pages_for(case: Case, source: int | None) -> list[Source]:
    """The page that a judge names; all that may support the sentence where it names none."""
    return [s for s in case.sources if s.n == source] or list(case.sources)


def _places(case: Case, source: int | None) -> list[QuotePlace]:
    """What a judge was shown for a case of the page that it names."""
    return [
        QuotePlace(one.page.text, one.page.title, start, end, source=one.n)
        for one in _pages_for(case, source)
        for start, end in _context(one, case.sentence.text)
    ]


def _context(source: Source, claim: str) -> Iterator[Span]:
    """The spans of the sentences of a page that a judge is shown for a claim."""
    near = ((quote.start, quote.end) for quote in nearest_quotes(claim, source))
    return (span for _, span in spans_around(source.page.text, near))


def _explain(verdict: Verdict, case: Case) -> str:
    """What is wrong with a claim, in a few words; what is said to be on no page is on none."""
    if verdict in HOLDING:
        return ""
    if verdict == "contradicted":
        return "the page says otherwise"
    near = [
        quote for source in case.sources for quote in nearest_quotes(case.sentence.text, source)
    ]
    missing = missing_on_pages(case.sentence.text, near, case.sources)
    if missing:
        return f"“{missing[0].text.strip()}” is not on the page"
    return "the page says a part of it" if verdict == "partial" else "the page does not say it"
