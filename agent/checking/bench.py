"""Claims under check: what each stands on, and what is said of it by rules and by a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from agent.evidence import (
    antecedent_of,
    closest_sentences,
    content_words,
    fold,
    sentences_around,
    split_sentences,
    text_before,
)
from agent.evidence.citing import make_answered, order_quotes
from agent.outside import Excerpt
from agent.state import Claim, Composed, Quote, Report, Section, Source, Verdict, Verified

if TYPE_CHECKING:
    from agent.checking.rules import Checked

WORST: tuple[Verdict, ...] = ("unsupported", "partial", "supported", "unchecked")  # worst first


#: The rules' score from which on a model's word makes a claim supported. Chosen on made-up
#: sentences about subjects that the page does name: `python -m evals.lies`; run it after a change.
LIFTED = 0.65


class QuotePlace(NamedTuple):
    """Where a quote stands: offsets into the text of a page with this title."""

    text: str
    title: str
    start: int
    end: int


def decide_verdict(
    claim: str, places: tuple[QuotePlace, ...], judged: Verdict | None = None
) -> Verdict:
    """Whether quotes support a claim: as a model judged it, within what the rules allow.

    A number, name or date that the quotes lack, or a contradiction, bars the claim: then the worse
    of both holds. What the words make unlikely (LIFTED) is at most partial, and a sentence that
    stands there as it is supported, whatever a model says. With no model the rules judge alone.
    """
    rules = check_by_rules(claim, places)
    if judged is None or rules.score == 1:
        return rules.verdict
    if rules.barred:
        return min(rules.verdict, judged, key=WORST.index)
    if rules.score < LIFTED:
        return min("partial", judged, key=WORST.index)
    return judged


@lru_cache(maxsize=256)
def check_by_rules(claim: str, places: tuple[QuotePlace, ...]) -> Checked:
    """What the rules say of a claim; a score of 1 if it is a sentence of a page, word for word.

    A quote that was cut out of a clause that turns it ("nobody thinks that") does not count. Names
    may also be in the page's title.
    """
    from agent.checking.rules import Checked, find_turning_word

    sound = [p for p in places if not find_turning_word(text_before(p.text, p.start))]
    if not sound:
        reason = "its quotes are cut off from what turns them" if places else "it has no quote"
        return Checked(verdict="unsupported", score=0.0, reason=reason, barred=True)
    if any(_is_sentence(claim, place) for place in sound):
        return Checked(verdict="supported", score=1.0, reason="a page says it word for word")
    return _apply_checker(claim, sound)


def _apply_checker(claim: str, places: Sequence[QuotePlace]) -> Checked:
    """What the checker says. A name that stands only near a quote makes a claim partial at best.

    Where the quote opens with a pronoun, a model may say that the name before it is meant.
    """
    from agent.checking.rules import check_claim

    quotes = [place.text[place.start : place.end] for place in places]
    titles = [place.title for place in places]
    rules = check_claim(claim, quotes, titles)
    if rules.barred:
        before = [antecedent_of(place.text, place.start) for place in places]
        around = [sentences_around(place.text, place.start, after=1) for place in places]
        for more, barred in ((before, False), (around, True)):
            wider = check_claim(claim, quotes, [*titles, *more])
            if not wider.barred and wider.verdict != "unsupported":
                found = {"verdict": "partial", "barred": barred, "score": LIFTED}
                return wider.model_copy(update=found | {"reason": "a name in it is only near them"})
    return rules.model_copy(update={"score": min(rules.score, 0.999)})


def _is_sentence(claim: str, place: QuotePlace) -> bool:
    """Whether a claim is one of the whole sentences that a quote holds, but for case and stops."""
    said = _strip_stops(claim)
    return any(
        said == _strip_stops(place.text[a:b])
        for a, b in split_sentences(place.text)
        if place.start <= a and b - 1 <= place.end
    )


def _strip_stops(text: str) -> str:
    return fold(text).strip(" .!?。！？")


class Bench:
    """The claims of an answer and its report while they are checked.

    A claim is known by its text; two that say the same have one verdict.
    """

    def __init__(self, answer: Composed, sources: Sequence[Source]) -> None:
        self._answer = answer
        self._sources = {source.n: source for source in sources}
        self._quotes = list(answer.quotes)
        self._rows = [[claim] for claim in _all_claims(answer)]  # what stands in each claim's place
        self._judged: dict[str, Verdict] = {}

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The claims as they are now, the report's after the answer's, each once."""
        return tuple({claim.text: claim for row in self._rows for claim in row}.values())

    def quote_places(self, claim: Claim) -> tuple[QuotePlace, ...]:
        """Where the quotes of a claim stand."""
        own = order_quotes(quote for quote in self._quotes if quote.source in claim.citations)
        return tuple(self._make_place(quote) for quote in own)

    def _make_place(self, quote: Quote) -> QuotePlace:
        page = self._sources[quote.source].page
        return QuotePlace(page.text, page.title, quote.start, quote.end)

    def check(self, claim: Claim) -> Checked:
        """What the rules say of a claim."""
        return check_by_rules(claim.text, self.quote_places(claim))

    def verdict(self, claim: Claim) -> Verdict:
        """What is to be said of a claim."""
        return decide_verdict(claim.text, self.quote_places(claim), self._judged.get(claim.text))

    def evidence(self, claims: Iterable[Claim]) -> tuple[Excerpt, ...]:
        """The sentences that hold the quotes of some claims, each with one before and after it."""
        cited = {n for claim in claims for n in claim.citations}
        return tuple(
            Excerpt(
                source=n,
                title=source.page.title,
                url=source.page.url,
                passages=text_around_quotes(
                    source.page.text, [q for q in self._quotes if q.source == n]
                ),
            )
            for n, source in self._sources.items()
            if n in cited
        )

    def find_better_quotes(self) -> None:
        """Give a claim that its quotes do not support a sentence that does, where one was read."""
        for row in self._rows:
            for i, claim in enumerate(row):
                if self.check(claim).verdict != "supported" and (
                    quote := self._supporting_sentence(claim)
                ):
                    self._quotes.append(quote)
                    row[i] = claim.model_copy(update={"citations": (quote.source,)})

    def _supporting_sentence(self, claim: Claim) -> Quote | None:
        for quote in closest_sentences(claim.text, list(self._sources.values())):
            if check_by_rules(claim.text, (self._make_place(quote),)).verdict == "supported":
                return quote
        return None

    def record_judgement(self, claim: Claim, judged: Verdict) -> None:
        """Remember what a model says of a claim."""
        self._judged[claim.text] = judged

    def mend(self, failing: Sequence[Claim], corrected: Composed) -> None:
        """Put corrected sentences that hold in the place of those that they are most like."""
        self._quotes += corrected.quotes
        mended: dict[str, list[Claim]] = {}
        for claim in corrected.claims:
            if claim not in self.claims and self.check(claim).verdict != "unsupported":
                old = max(failing, key=lambda f: _count_shared(f.text, claim.text))
                mended.setdefault(old.text, []).append(claim)
        self._rows = [
            [new for claim in row for new in mended.pop(claim.text, [claim])] for row in self._rows
        ]

    def to_verified(self, *, drop: bool) -> Verified:
        """The answer with every claim's verdict; without those that nothing supports, if `drop`."""
        rows = [
            [claim.model_copy(update={"verdict": self.verdict(claim)}) for claim in row]
            for row in self._rows
        ]
        kept = [[c for c in row if not drop or c.verdict != "unsupported"] for row in rows]
        dropped = [c for row in rows for c in row if drop and c.verdict == "unsupported"]
        return _rebuild(self._answer, kept, self._quotes, dropped)


def text_around_quotes(text: str, quotes: Iterable[Quote]) -> tuple[str, ...]:
    """The sentences of a text that hold quotes, and one on each side, neighbours joined."""
    spans = split_sentences(text)
    shown: set[int] = set()
    for quote in quotes:
        held = [i for i, (a, b) in enumerate(spans) if a < quote.end and quote.start < b]
        shown.update(range(min(held, default=0) - 1, max(held, default=-1) + 2))
    pieces: list[tuple[int, int]] = []
    for i in sorted(shown & set(range(len(spans)))):
        joins = pieces and i - 1 in shown
        pieces[-1:] = [(pieces[-1][0], spans[i][1])] if joins else [*pieces[-1:], spans[i]]
    return tuple(text[a:b] for a, b in pieces)


def _count_shared(one: str, other: str) -> int:
    return len(set(content_words(one)) & set(content_words(other)))


def _all_claims(answer: Composed) -> list[Claim]:
    """All claims: the answer's, then those of the report's themes and conflicts."""
    return [*answer.claims, *_report_claims(answer.report)]


def _rebuild(
    answer: Composed, rows: Sequence[list[Claim]], quotes: Iterable[Quote], dropped: list[Claim]
) -> Verified:
    """The answer with what stands in each claim's place; a theme that is empty goes."""
    left = iter(rows)

    def replace(claims: Sequence[Claim]) -> tuple[Claim, ...]:
        return tuple(claim for _ in claims for claim in next(left))

    summary = replace(answer.claims)
    report = answer.report and _report(answer.report, replace)
    if report and not summary:  # a summary of which nothing holds: what its themes begin with
        summary = tuple(theme.claims[0] for theme in report.themes)
    everything = make_answered([*summary, *_report_claims(report)], quotes)
    return Verified(
        text=make_answered(summary, ()).text,
        quotes=everything.quotes,
        claims=summary,
        report=report,
        dropped=tuple(dict.fromkeys(dropped)),
    )


def _report(report: Report, place: Callable[[Sequence[Claim]], tuple[Claim, ...]]) -> Report:
    themes = [Section(heading=t.heading, claims=place(t.claims)) for t in report.themes]
    kept = tuple(theme for theme in themes if theme.claims)
    return report.model_copy(update={"themes": kept, "conflicts": place(report.conflicts)})


def _report_claims(report: Report | None) -> list[Claim]:
    if report is None:
        return []
    return [*(c for theme in report.themes for c in theme.claims), *report.conflicts]
