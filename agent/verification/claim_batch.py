"""The claims and values of an answer that are judged, their quotes and their verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import TypeVar

from agent.evidence import closest_sentences
from agent.evidence.citing import order_quotes
from agent.slots.weighing import make_findings
from agent.state import HOLDING, Claim, Composed, Finding, Quote, Research, Source, Verified
from agent.state.excerpts import Excerpt
from agent.verification import rules
from agent.verification.calculation import compute_claim
from agent.verification.differences import find_differences
from agent.verification.judge_view import QuotePlace, text_around_quotes
from agent.verification.judged_claims import (
    check_intros,
    claim_groups,
    claim_quote,
    count_shared,
    quotes_of_value,
    rebuild_answer,
    shown_text,
    value_claim,
)
from agent.verification.rules import FAILING, Assessment, missing_in_quotes
from agent.verification.unquoted import find_unquoted

ClaimOrFinding = TypeVar("ClaimOrFinding", Claim, Finding)
MOST_OFFERED = 2  # sentences that are shown with a claim's own quotes


class ClaimBatch:
    """The claims of an answer and its report, and the values of its slots, while they are checked.

    A claim is identified by what a judge reads of it; two of one text have one verdict.
    """

    def __init__(self, answer: Composed, research: Research) -> None:
        self._answer = answer
        self._research = research
        self._sources = {source.n: source for source in research.sources}
        self._findings = tuple(research.findings.values())
        #: A source that is cited is cited with all its quotes, those of the slots too.
        self._quotes = [*answer.quotes, *(q for one in self._findings for q in one.quotes)]
        #: The claims that replace each claim.
        self._rows = [[claim] for claims in claim_groups(answer) for claim in claims]
        self._value_quotes = self._index_values()
        self._added: dict[Claim, list[Quote]] = {}  # sentences that the answer may be given
        self._offered: dict[str, list[Quote]] = {}
        claims = (claim for group in claim_groups(answer) for claim in group)
        self._judged = {  # a claim that an earlier check judged is not put to a judge again
            shown_text(claim): Assessment(claim.verdict, claim.by, claim.calculation)
            for claim in claims
            if claim.by not in ("", "rule")
        }

    def _index_values(self) -> dict[Claim, list[Quote]]:
        values: dict[Claim, list[Quote]] = {}
        for finding in self._findings:
            for value in finding.values:
                quotes = quotes_of_value(value, finding)
                claim = value_claim(finding.slot, value, dict.fromkeys(q.source for q in quotes))
                values.setdefault(claim, quotes)
        return values

    # --- what is to be judged ---

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims as they are now, the report's after the answer's, each once."""
        return tuple({shown_text(c): c for row in self._rows for c in row}.values())

    @property
    def values(self) -> tuple[Claim, ...]:
        """The values of the slots, those that sources give against another one too."""
        return tuple(self._value_quotes)

    def places(self, claim: Claim) -> tuple[QuotePlace, ...]:
        """The places of the quotes of a claim or of a value."""
        return tuple(map(self._make_place, self._own_quotes(claim)))

    def _own_quotes(self, claim: Claim) -> Sequence[Quote]:
        if quotes := self._value_quotes.get(claim) or self._added.get(claim):
            return quotes
        return order_quotes(quote for quote in self._quotes if quote.source in claim.citations)

    def _make_place(self, quote: Quote) -> QuotePlace:
        source = self._sources[quote.source]
        page, is_retracted = source.page, source.hit.is_retracted
        return QuotePlace(page.text, page.title, quote.start, quote.end, is_retracted, quote.source)

    def open_claims(self) -> tuple[Claim, ...]:
        """The claims that were not judged, and in the first round the values."""
        unjudged = {shown_text(c): c for c in (*self._added, *self.claims, *self.values)}
        return tuple(c for text, c in unjudged.items() if text not in self._judged)

    def add(self, quotes: Iterable[Quote]) -> bool:
        """Let sentences be judged that may join the draft; whether a judge has new ones."""
        new = {claim_quote(quote): [quote] for quote in quotes}
        is_new = any(c not in self._added and c.text not in self._judged for c in new)
        self._added = {**new, **self._added}
        return is_new and bool(self._judged)

    def judge_added(self, quote: Quote) -> Claim:
        """A sentence of a page as a claim with its verdict."""
        claim = claim_quote(quote)
        judged = self._judged.get(claim.text)
        return _give(claim, rules.decide_verdict(claim.text, (self._make_place(quote),), judged))

    def find_better_quotes(self) -> None:
        """Cite the sentence that a claim is, and find the sentences that may be offered."""
        for row in self._rows:
            for i, claim in enumerate(row):
                places = self.places(claim)
                if rules.is_quoted(claim.text, places):
                    continue
                near = closest_sentences(claim.text, self._eligible_sources(claim, places))
                own = [q for q in near if not claim.citations or q.source in claim.citations]
                same = (q for q in own if rules.is_quoted(claim.text, (self._make_place(q),)))
                if quote := next(same, None):
                    self._cite(row, i, quote)
                else:
                    self._offered[shown_text(claim)] = self._choose_offered(claim, near)

    def _eligible_sources(self, claim: Claim, places: Sequence[QuotePlace]) -> list[Source]:
        """The pages whose sentences may be quoted for a claim.

        If its quotes lack a quantity, only those that it cites: others have other numbers.
        """
        is_lacking = bool(places) and bool(missing_in_quotes(claim.text, places))
        pages = self._sources.items()
        return [page for n, page in pages if n in claim.citations or not is_lacking]

    def _choose_offered(self, claim: Claim, near: Sequence[Quote]) -> list[Quote]:
        own = self._own_quotes(claim)

        def is_apart(quote: Quote) -> bool:
            same = (one for one in own if one.source == quote.source)
            return not any(quote.start < one.end and one.start < quote.end for one in same)

        return list(takewhile(is_apart, near[:MOST_OFFERED]))

    def offers(self, claim: Claim) -> list[Quote]:
        """The sentences that a judge is shown with the quotes of a claim."""
        return self._offered.get(shown_text(claim), [])

    def put(self, claim: Claim) -> Claim:
        """A claim as it is put to a judge: citing all that is shown for it."""
        shown = (*self._own_quotes(claim), *self.offers(claim))
        citations = tuple(dict.fromkeys(quote.source for quote in shown))
        return claim.model_copy(update={"citations": citations})

    def evidence(self, claims: Iterable[Claim]) -> tuple[Excerpt, ...]:
        """What a judge is shown for some claims: sentences with quotes, and those next to them."""
        shown = [q for claim in claims for q in (*self._own_quotes(claim), *self.offers(claim))]
        pages = self._sources.items()
        own = ((one, [quote for quote in shown if quote.source == n]) for n, one in pages)
        shown_texts = ((one, text_around_quotes(one.page, quotes)) for one, quotes in own if quotes)
        return tuple(Excerpt.of(source, texts) for source, texts in shown_texts)

    # --- verdicts ---

    def record_judgement(self, claim: Claim, assessment: Assessment, source: int | None) -> None:
        """Remember what a model says of a claim, and cite the offered sentence that it names."""
        self._judged[shown_text(claim)] = assessment
        named = [quote for quote in self.offers(claim) if quote.source == source]
        if calculation := assessment.calculation:
            self._cite_operands(claim, calculation.expression)
        if assessment.verdict != "supported" or not named:
            return
        if source in claim.citations and not missing_in_quotes(claim.text, self.places(claim)):
            return
        first = tuple(map(self._make_place, named[:1]))
        lacks = bool(missing_in_quotes(claim.text, (*self.places(claim), *first)))
        for row in self._rows:
            for i, other in enumerate(row):
                if shown_text(other) == shown_text(claim):
                    self._cite(row, i, *(named if lacks else named[:1]))

    def _cite_operands(self, claim: Claim, expression: str) -> None:
        """Let a claim cite the offered sentences, too, that have numbers of its calculation."""
        shown = [*self._own_quotes(claim), *self.offers(claim)]
        computed = compute_claim(expression, claim.text, tuple(map(self._make_place, shown)))
        made = computed.calculation if computed else None
        used = {(one.citation, one.start) for one in made.operands} if made else set()
        added = [
            quote
            for quote in self.offers(claim)
            if any(n == quote.source and quote.start <= at < quote.end for n, at in used)
        ]
        self._quotes += added
        for row in self._rows:
            for i, other in enumerate(row):
                if shown_text(other) == shown_text(claim):
                    cited = dict.fromkeys((*other.citations, *(quote.source for quote in added)))
                    row[i] = other.model_copy(update={"citations": tuple(cited)})

    def _cite(self, row: list[Claim], at: int, *quotes: Quote) -> None:
        """Give a claim these quotes of a source; it cites that alone, unless it did before."""
        self._quotes += quotes
        if (source := quotes[0].source) not in row[at].citations:
            row[at] = row[at].model_copy(update={"citations": (source,)})

    def rule(self, claim: Claim) -> Assessment:
        """The verdict on a claim or a value."""
        judged = self._judged.get(shown_text(claim))
        text, places = self.place(claim)
        if claim in self._value_quotes:
            return rules.decide_value(text, places, judged)
        return rules.decide_verdict(text, places, judged)

    def explain(self, claim: Claim) -> str:
        """Why a claim fails, in words."""
        if rules.is_retracted(self.places(claim)):
            return "every source that says so was retracted"
        judged = self._judged.get(shown_text(claim), rules.UNCHECKED)
        if fault := rules.explain_fault(judged, claim.text, self.places(claim)):
            return fault
        text, places = self.place(claim)
        missing = (*missing_in_quotes(text, places), *find_unquoted(text, places))
        if missing:
            return f"{missing[0]} is not in its quotes"
        is_denied = self.rule(claim).verdict == "contradicted"
        return "its quotes say otherwise" if is_denied else "its quotes do not say it"

    def place(self, claim: Claim) -> tuple[str, tuple[QuotePlace, ...]]:
        """The words that are judged of a claim or of a value, and the places of its quotes."""
        text = claim.text.partition(": ")[2] if claim in self._value_quotes else claim.text
        return text, self.places(claim)

    def failed_claims(self) -> tuple[Claim, ...]:
        """The claims that nothing supports, or that their quotes contradict."""
        return tuple(claim for claim in self.claims if self.rule(claim).verdict in FAILING)

    def has_support(self) -> bool:
        """Whether a claim or a value does not fail, so far."""
        return any(self.rule(one).verdict not in FAILING for one in (*self.claims, *self.values))

    def replace_failed(self, failed: Sequence[Claim], corrected: Composed) -> None:
        """Put corrected sentences in the place of those that they are most like."""
        self._quotes += corrected.quotes
        present = {shown_text(claim) for claim in self.claims}
        new: dict[str, list[Claim]] = {}
        for claim in corrected.claims:
            old = max(failed, key=lambda f: count_shared(f.text, claim.text))
            placed = claim.model_copy(update={"form": old.form, "intro": old.intro})
            if shown_text(placed) not in present and claim.citations:
                new.setdefault(shown_text(old), []).append(placed)
        for row in self._rows:
            row[:] = [one for claim in row for one in new.pop(shown_text(claim), [claim])]

    # --- the outcome ---

    def to_verified(self, *, drop: bool) -> Verified:
        """The answer with every verdict; without the claims that fail, if `drop`."""
        rows = [[self._with_verdict(claim) for claim in row] for row in self._rows]
        kept = [[c for c in row if not drop or c.verdict not in FAILING] for row in rows]
        dropped = [c for row in rows for c in row if drop and c.verdict in FAILING]
        report = self._answer.report
        last = len(kept) - len(report.conflicts if report else ())  # conflicts have intros of ours
        kept = [*check_intros(kept[:last], self.places), *kept[last:]]
        verified = rebuild_answer(self._answer, kept, self._quotes, dropped)
        return verified.model_copy(update={"findings": self._judge_findings()})

    def _with_verdict(self, claim: Claim) -> Claim:
        judged = _give(claim, self.rule(claim))
        places = () if judged.verdict in HOLDING else self.places(claim)
        return judged.model_copy(update={"differences": find_differences(claim.text, places)})

    def _judge_findings(self) -> tuple[Finding, ...]:
        failed = [value for value in self.values if self.rule(value).verdict in FAILING]
        if not failed:
            return tuple(map(self._judge_finding, self._findings))
        research = self._research
        lost = {(value.text, quote) for value in failed for quote in self._value_quotes[value]}
        values = (
            (one, value_claim(one.slot, one.value).text) for one in research.latest_statements()
        )
        kept = [one for one, text in values if (text, one.quote) not in lost]
        findings = make_findings(research.slots, kept, research.sources, research.topic)
        return tuple(map(self._judge_finding, findings))

    def _judge_finding(self, finding: Finding) -> Finding:
        if finding.value is None:
            return finding
        judged = self._judged.get(value_claim(finding.slot, finding.value).text)
        places = [self._make_place(q) for q in quotes_of_value(finding.value, finding)]
        assessment = rules.decide_value(str(finding.value), places, judged)
        if assessment.verdict in FAILING:  # of another item of the list
            assessment = rules.UNCHECKED
        return _give(finding, assessment)


def _give(judged: ClaimOrFinding, assessment: Assessment) -> ClaimOrFinding:
    values = assessment._asdict()
    return judged.model_copy(
        update={k: values[k] for k in values if k in type(judged).model_fields}
    )
