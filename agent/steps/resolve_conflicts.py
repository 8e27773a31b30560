"""What is added to the draft of an answer: both sides of conflicts, and facts without a sentence.

Every strategy passes here, at the end of `Verify`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from agent.evidence import content_words
from agent.evidence.citing import join_claims, order_quotes
from agent.evidence.quoting import quoted_sentences
from agent.slots.conversion import holds_value, slot_words
from agent.slots.namesakes import label_namesakes
from agent.slots.weighing import is_disputed
from agent.state import Claim, Finding, Quote, Research, Scalar, Source, Verified, name_thing
from agent.steps.reflect import is_needed
from agent.steps.synthesize import build_abstention
from agent.verification.judged_claims import claim_quote
from agent.verification.rules import FAILING

MOST_SHOWN = 12  # conflicts, or facts in the place of sentences
LONGEST_VALUE = 80  # characters of a value above the sentences that state it


class _Text(NamedTuple):
    """What an answer says: what goes before the draft, the draft, and what follows it."""

    first: tuple[Claim, ...]
    draft: tuple[Claim, ...]
    last: tuple[Claim, ...]
    conflicts: tuple[Claim, ...]  # of a report, which has a section of them


def resolve_conflicts(
    verified: Verified, research: Research, judge: Callable[[Quote], Claim]
) -> Verified:
    """The checked answer as it is given; `judge` gives a sentence of a page its verdict.

    Where no sentence with a citation is left, those that the slots were filled from are the answer.
    Where sources disagree, both sides are said, as items below the slot's name and its values; of
    a report in its section of conflicts alone. Of several things of one name each has its own item,
    below what it is. What the answer needs of these comes first, the rest last. No fixed word
    is there, which would be in one language. A sentence that fails is left out. Without all of
    it the run says that it found no answer.
    """
    findings = verified.findings or tuple(research.findings.values())
    builder = _ClaimBuilder(research.sources, judge)
    text = _arrange(verified, findings, research, builder)
    if not any(text):
        return _abstain(verified, findings, research)
    claims = (*text.first, *text.draft, *text.last) or text.conflicts
    has_draft = any(claim.citations for claim in verified.claims)
    report = verified.report if has_draft else None
    if report:
        conflicts = {one.text: one for one in (*text.conflicts, *report.conflicts)}
        report = report.model_copy(update={"conflicts": tuple(conflicts.values())})
    changes = {
        "text": join_claims(claims),
        "claims": claims,
        "quotes": order_quotes((*(verified.quotes if has_draft else ()), *builder.quotes)),
        "report": report,
        "findings": findings,
    }
    return verified.model_copy(update=changes)


def find_added(verified: Verified, research: Research) -> tuple[Quote, ...]:
    """The sentences of pages that `resolve_conflicts` adds to an answer, for a judge to see."""
    builder = _ClaimBuilder(research.sources, claim_quote)
    findings = verified.findings or tuple(research.findings.values())
    _arrange(verified, findings, research, builder)
    return tuple(builder.quotes)


def _arrange(
    verified: Verified, findings: Sequence[Finding], research: Research, builder: _ClaimBuilder
) -> _Text:
    has_draft = any(claim.citations for claim in verified.claims)
    needed = [finding for finding in findings if is_needed(finding, research)]
    others = [finding for finding in findings if finding not in needed]
    claims = verified.claims if has_draft else ()
    if not (has_draft or _repeat_topic(findings, needed, research.topic)):
        claims = builder.quote_findings(findings)
    things, opposed = builder.quote_things(needed, claims), builder.quote_conflicts(needed)
    other_things = builder.quote_things(others, claims)
    disputes = (*builder.quote_conflicts(others), *builder.quote_disputes(findings, claims))
    if verified.report and has_draft:
        conflicts = tuple(dict.fromkeys((*opposed, *disputes)))
        draft = _drop_said(claims, (*things, *other_things, *conflicts))
        return _Text(tuple(things), draft, tuple(other_things), conflicts)
    first, last = (*things, *opposed), (*other_things, *disputes)
    kept = _lead(_drop_said(claims, (*first, *last)), needed)
    unsaid = builder.quote_unsaid(needed, (*first, *kept, *last))
    return _Text(first, kept, (*unsaid, *last), ())


def _drop_said(claims: Iterable[Claim], others: Iterable[Claim]) -> tuple[Claim, ...]:
    said = "\n".join(claim.text for claim in others)
    return tuple(claim for claim in claims if claim.text not in said)


def _lead(claims: tuple[Claim, ...], needed: Iterable[Finding]) -> tuple[Claim, ...]:
    """The claims, and first a sentence that says the value of a needed slot, if there is one."""
    values = [one.value for one in needed if one.status == "filled" and one.value is not None]
    stating = [one for one in claims if any(holds_value(one.text, value) for value in values)]
    if not stating or any(one.form != "sentence" for one in (claims[0], stating[0])):
        return claims
    return (stating[0], *(one for one in claims if one is not stating[0]))


def _repeat_topic(findings: Iterable[Finding], needed: Iterable[Finding], topic: str) -> bool:
    """Whether all that is known is what the topic says itself, and what it asks for is missing.

    Of `company: 37signals` a small model makes a slot, too.
    """
    asked = set(content_words(topic))
    known = [set(content_words(str(one.value))) for one in findings if one.value is not None]
    return any(one.value is None for one in needed) and all(x and x <= asked for x in known)


def quote_conflicts(
    findings: Iterable[Finding], sources: Sequence[Source]
) -> tuple[tuple[Claim, ...], tuple[Quote, ...]]:
    """Both sides of each finding in conflict as claims, and the quotes that these cite."""
    builder = _ClaimBuilder(sources, claim_quote)
    return tuple(builder.quote_conflicts(findings)), tuple(builder.quotes)


def _abstain(verified: Verified, findings: tuple[Finding, ...], research: Research) -> Verified:
    none = build_abstention(research)
    changes = {"text": verified.text or none.text, "closest": none.closest, "findings": findings}
    return verified.model_copy(update={**changes, "claims": (), "quotes": (), "report": None})


class _ClaimBuilder:
    """Makes claims of whole sentences of pages; collects the quotes that these claims cite."""

    def __init__(self, sources: Sequence[Source], judge: Callable[[Quote], Claim]) -> None:
        self._judge = judge
        self._sources: Mapping[int, Source] = {source.n: source for source in sources}
        self.quotes: list[Quote] = []

    def quote_findings(self, findings: Iterable[Finding]) -> tuple[Claim, ...]:
        """The first sentence of each slot that is filled."""
        filled = [f for f in findings if f.status == "filled"]
        sides = filter(None, (self._find_side(f.value, f.quotes) for f in filled))
        claims = [claim for side in sides for claim in self._quote_sentence(side)]
        return tuple(dict.fromkeys(claims))[:MOST_SHOWN]

    def quote_conflicts(self, findings: Iterable[Finding]) -> list[Claim]:
        """Both sides of each slot in conflict."""
        opposed = [finding for finding in findings if finding.status == "conflict"]
        return [claim for finding in opposed[:MOST_SHOWN] for claim in self._quote_sides(finding)]

    def quote_disputes(self, findings: Iterable[Finding], draft: Sequence[Claim]) -> list[Claim]:
        """Both sides of each settled slot, if the draft says one alone of two with weight.

        So too where it says another value than the slot has, whatever that weighs.
        """
        opposed = [
            one
            for one in findings
            if (is_disputed(one) and not _says_all(draft, one)) or _says_another(draft, one)
        ]
        return [claim for finding in opposed[:MOST_SHOWN] for claim in self._quote_sides(finding)]

    def quote_unsaid(self, findings: Iterable[Finding], draft: Sequence[Claim]) -> list[Claim]:
        """The value of each of some facts that the draft does not say."""
        facts = [one for one in findings if one.status == "filled" and _is_unsaid(one, draft)]
        sides = ((one, self._find_side(one.value, one.quotes)) for one in facts[:MOST_SHOWN])
        return [
            claim
            for one, quote in sides
            if quote
            for claim in self._quote_sentence(quote, f"{slot_words(one.slot)}: {one.value}")
        ]

    def quote_things(self, findings: Iterable[Finding], draft: Sequence[Claim]) -> list[Claim]:
        """The value of each of several things of one name, if the draft does not say them all."""
        several = [
            one
            for one in findings
            if one.of and one.status == "filled" and not _says_all(draft, one)
        ]
        return [claim for one in several[:MOST_SHOWN] for claim in self._quote_each(one)]

    def _quote_each(self, finding: Finding) -> Iterator[Claim]:
        for of, value in ((finding.of, finding.value), *_other_things(finding)):
            if quote := self._find_side(value, finding.quotes):
                yield from self._quote_sentence(quote, f"{of.rstrip(' .')}: {_shorten(value)}")

    def _quote_sides(self, finding: Finding) -> Iterator[Claim]:
        found = ((value, self._find_side(value, finding.quotes)) for value in finding.values)
        sides = [(value, quote) for value, quote in found if quote]
        about = label_namesakes([self._sources[quote.source] for _, quote in sides])
        values = [
            name_thing(_shorten(value), "" if of in quote.text else of.rstrip(" ."))
            for (value, quote), of in zip(sides, about, strict=True)
        ]
        for quote in dict.fromkeys(quote for _, quote in sides):
            yield from self._quote_sentence(
                quote, f"{slot_words(finding.slot)}: {' / '.join(values)}"
            )

    def _find_side(self, value: Scalar | None, quotes: Sequence[Quote]) -> Quote | None:
        """The first sentence of the quotes that holds a value; else the first quote."""
        sentences = (one for q in quotes for one in quoted_sentences(q, self._sources[q.source]))
        held = (
            q
            for q in sentences
            if value is not None and holds_value(q.text, value, self._sources[q.source].page.title)
        )
        return next(held, None) or next(iter(quotes), None)

    def _quote_sentence(self, quote: Quote, intro: str = "") -> Iterator[Claim]:
        """A claim that is a quote, an item below an intro if it has one; none if it fails."""
        claim = self._judge(quote)
        if claim.verdict not in FAILING:
            self.quotes.append(quote)
            yield claim.model_copy(update={"form": "item" if intro else "sentence", "intro": intro})


def _other_things(finding: Finding) -> Iterator[tuple[str, Scalar]]:
    """The things other than the first one, each with the value that weighs most."""
    best = {other.of: other.value for other in reversed(finding.alternatives)}
    things = dict.fromkeys(other.of for other in finding.alternatives)
    yield from ((of, best[of]) for of in things if of != finding.of)


def _says_all(draft: Iterable[Claim], finding: Finding) -> bool:
    """Whether sentences say each value of a finding; of several things, each with what it is of."""
    texts = [claim.text for claim in draft]
    values = [(finding.of, finding.value), *((o.of, o.value) for o in finding.alternatives)]
    of_all = set.intersection(*(set(content_words(of)) for of, _ in values))

    def is_said(of: str, value: Scalar) -> bool:
        own = set(content_words(of)) - of_all
        held = (text for text in texts if holds_value(text, value))
        return any(not own or not own.isdisjoint(content_words(text)) for text in held)

    return all(is_said(of, value) for of, value in values if value is not None)


def _says_another(draft: Iterable[Claim], finding: Finding) -> bool:
    """Whether sentences say another value of a settled slot than the one that it has."""
    texts = [claim.text for claim in draft]
    others = [other.value for other in finding.alternatives]
    if finding.status != "filled" or finding.of or finding.value is None or not others:
        return False

    def is_said(value: Scalar) -> bool:
        return any(holds_value(text, value) for text in texts)

    return not is_said(finding.value) and any(map(is_said, others))


def _is_unsaid(finding: Finding, draft: Sequence[Claim]) -> bool:
    """Whether sentences leave out a fact of few words, of no list and with nothing against it."""
    value, is_plain = finding.value, "[" not in finding.slot and not finding.alternatives
    if not (draft and is_plain) or value is None or isinstance(value, bool):
        return False
    is_short = len(str(value)) <= LONGEST_VALUE
    return is_short and not any(holds_value(claim.text, value) for claim in draft)


def _shorten(value: Scalar | None) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"
