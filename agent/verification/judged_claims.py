"""Claims as a judge reads them, and the answer with what was judged in their place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from agent.evidence import content_words
from agent.evidence.citing import make_answered
from agent.evidence.markers import strip_markers
from agent.slots.conversion import holds_value
from agent.state import Claim, Composed, Finding, Quote, Report, Scalar, Verified
from agent.verification.judge_view import QuotePlace
from agent.verification.rules import missing_in_quotes
from agent.verification.summary import first_sentences, holds


def shown_text(claim: Claim) -> str:
    """A claim as a judge reads it, on one line: below its intro, if it has one."""
    lines = [line for line in claim.intro.split("\n") if not re.fullmatch(r"[\s|:-]*", line)]
    return " ".join(" ".join((*lines, claim.text)).split())


def claim_quote(quote: Quote) -> Claim:
    """A quoted sentence as a claim of its own."""
    return Claim(text=" ".join(strip_markers(quote.text).split()), citations=(quote.source,))


def value_claim(slot: str, value: Scalar, citations: Iterable[int] = ()) -> Claim:
    """A slot's value as a claim. The number of an item in its list says nothing of it."""
    name = re.sub(r"\[\d+\]", "[]", slot)
    return Claim(text=" ".join(f"{name}: {value}".split()), citations=tuple(citations))


def quotes_of_value(value: Scalar, finding: Finding) -> list[Quote]:
    """The quotes of a finding that hold a value; all of them where none does by itself."""
    supporting = [quote for quote in finding.quotes if holds_value(quote.text, value)]
    return supporting or list(finding.quotes)


def count_shared(one: str, other: str) -> int:
    """How many content words two texts have in common."""
    return len(set(content_words(one)) & set(content_words(other)))


def claim_groups(answer: Composed) -> list[tuple[Claim, ...]]:
    """The claims of each text: of the answer, of the report's themes, of its conflicts."""
    report = answer.report
    themes = [*(theme.claims for theme in report.themes), report.conflicts] if report else []
    return [answer.claims, *themes]


def check_intros(
    rows: list[list[Claim]], places: Callable[[Claim], Sequence[QuotePlace]]
) -> list[list[Claim]]:
    """The rows, without the words above a list whose quantities its items' quotes do not give.

    Nor do those stay above a list that nobody judged.
    """
    left: dict[str, str] = {}
    listed = [claim for row in rows for claim in row if claim.intro]
    for intro, group in groupby(listed, key=lambda claim: claim.intro):
        claims = list(group)
        given = [place for claim in claims for place in places(claim)]
        counted = f"{len(claims)}" in missing_in_quotes(intro, given)
        is_unjudged = all(claim.by == "rule" for claim in claims)
        if is_unjudged or (missing_in_quotes(intro, given) and not counted):
            left[intro] = "\n".join(line for line in intro.split("\n") if line.startswith("|"))

    def shorten(claim: Claim) -> Claim:
        return claim.model_copy(update={"intro": left.get(claim.intro, claim.intro)})

    return [list(map(shorten, row)) for row in rows]


def rebuild_answer(
    answer: Composed, rows: Sequence[list[Claim]], quotes: Iterable[Quote], dropped: list[Claim]
) -> Verified:
    """The answer with what replaces each claim; a theme that is empty goes."""
    left = iter(rows)

    def replace(claims: Sequence[Claim]) -> tuple[Claim, ...]:
        return tuple(claim for _ in claims for claim in next(left))

    summary = replace(answer.claims)
    report = answer.report and _report(answer.report, replace)
    if report and not holds(summary, report):  # or it is not written yet
        dropped = [*dropped, *summary]
        summary = tuple(first_sentences(report.themes))
    rest = claim_groups(answer.model_copy(update={"report": report}))[1:]
    everything = make_answered([*summary, *(c for claims in rest for c in claims)], quotes)
    return Verified(
        text=make_answered(summary, ()).text,
        quotes=everything.quotes,
        claims=summary,
        report=report,
        dropped=tuple(dict.fromkeys(dropped)),
    )


def _report(report: Report, place: Callable[[Sequence[Claim]], tuple[Claim, ...]]) -> Report:
    themes = [one.model_copy(update={"claims": place(one.claims)}) for one in report.themes]
    was_empty = [not one.claims for one in report.themes]  # all of it is elsewhere
    kept = tuple(t for t, e in zip(themes, was_empty, strict=True) if t.claims or t.open or e)
    return report.model_copy(update={"themes": kept, "conflicts": place(report.conflicts)})
