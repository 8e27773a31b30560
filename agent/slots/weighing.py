"""How much each value weighs: the sum of the credibility of its independent sources.

Sources with the same text around the quote count as one, and so do the hosts of one owner. A source
weighs what its domain is trusted (`agent/evidence/credibility.py`). No number of unknown hosts
outweighs a reference work. The share of a value is its weight over that of all values of its leaf.

Confidence is the rate at which values like this one were right, as the lower end of an interval. It
depends on the form of the value in its quote and on the verdict of a judge. A source against
cancels one for; where none is left for, it is times the share. Of a conflict it is the share, at
most 0.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from agent.evidence import find_copies, fold, is_row
from agent.evidence.credibility import REFERENCE, host_kind, host_owner
from agent.slots.equivalence import is_swapped_score, same_value
from agent.slots.items import merge_items
from agent.slots.namesakes import group_by_thing
from agent.state import Alternative, Finding, Page, Quote, Scalar, Slot, Source, Statement, work_key

#: The share from which a value is settled although other values are stated. With .6 one credible
#: source (.9) outweighs an unknown one (.4), and two of a kind outweigh one; .9 against
#: .8 stays open. Chosen by these cases, not swept. After a change: `python -m evals.conflicts`.
SETTLED = 0.6
#: The share below which a settled value is shown with those against it: less than two reference
#: works have against an unknown host. Set by this case.
UNDISPUTED = 0.8
#: What unknown hosts weigh together at most: less than a reference work (.8), and enough for two of
#: them to outweigh one (.4). Set by these cases. After a change: `python -m evals.planted`.
UNKNOWN_TOGETHER = 0.7
#: How a quote holds a value: in a row of a table or a box, among the words of a sentence, or the
#: sentence is the value.
ValueForm = Literal["row", "words", "sentence"]
#: The share of unjudged values that were right, by form: the lower end of its 95 % interval, at
#: most .95. Several sources that agree, and a title that names the slot, made no difference.
#: Source: questions with known answers over real pages, the half for tuning.
RIGHT: dict[ValueForm, float] = {"row": 0.95, "words": 0.66, "sentence": 0.51}
#: How a verdict multiplies the odds that a value is right, as counted for a model of 1.5 billion
#: parameters. It hardly ever says "partial", which is taken as not supported.
JUDGED = {"supported": (46 / 55) / (34 / 65), "partial": (9 / 55) / (31 / 65)}
MOST_FINDINGS = 400
Statements = Sequence[Statement]
NEAR = 600  # characters on either side of a quote that are compared to recognise copies


def make_findings(
    slots: Sequence[Slot], statements: Statements, sources: Sequence[Source], topic: str = ""
) -> tuple[Finding, ...]:
    """A finding for each leaf; for a list, one for each leaf of each item, or one `missing`.

    Of a leaf outside lists, the values of several things of a name in the topic are kept apart.
    """
    found: list[Finding] = []
    seen: set[str] = set()
    for slot in slots:
        root = slot.name.partition("[]")[0]
        if "[]" not in slot.name:
            own = [one for one in statements if one.slot == slot.name]
            found.append(_weigh_things(slot.name, own, sources, topic))
        elif root not in seen:
            seen.add(root)
            found.extend(_list_findings(root, slots, statements, sources))
    return tuple(found[:MOST_FINDINGS])


def _list_findings(
    root: str, slots: Sequence[Slot], statements: Statements, sources: Sequence[Source]
) -> list[Finding]:
    names = [slot.name for slot in slots if slot.name.startswith(f"{root}[]")]
    merged = merge_items([one for one in statements if one.slot in names], names)
    leaves = (
        (name.replace("[]", f"[{at}]", 1), [one for one in item if one.slot == name])
        for at, item in enumerate(merged)
        for name in names
    )
    found = [weigh_values(name, own, sources) for name, own in leaves]
    return found or [Finding(slot=root, status="missing")]


def _weigh_things(
    name: str, statements: Statements, sources: Sequence[Source], topic: str
) -> Finding:
    """The finding of one leaf; where sources describe several things of one name, of all of them.

    Then the value of the heaviest thing is first; the others are alternatives.
    """
    whole = weigh_values(name, statements, sources)
    if not (topic and whole.alternatives):
        return whole
    things = group_by_thing(statements, sources, topic)
    each = [(of, weigh_values(name, own, sources)) for of, own in things]
    if len(each) == 1:
        return each[0][1]
    each.sort(key=lambda pair: -pair[1].weight)
    of, first = each[0]
    filled = all(one.status == "filled" for _, one in each)
    changes = {
        "of": of,
        "status": "filled" if filled else "conflict",
        "quotes": tuple(dict.fromkeys(quote for _, one in each for quote in one.quotes)),
        "alternatives": tuple(_as_alternatives(each)),
    }
    return first.model_copy(update=changes)


def _as_alternatives(each: Sequence[tuple[str, Finding]]) -> Iterator[Alternative]:
    for n, (of, finding) in enumerate(each):
        if n and finding.value is not None:
            against = {number for other in finding.alternatives for number in other.citations}
            cited = sorted({quote.source for quote in finding.quotes} - against)
            value, weight = finding.value, finding.weight
            yield Alternative(value=value, citations=tuple(cited), weight=weight, of=of)
        yield from (other.model_copy(update={"of": of}) for other in finding.alternatives)


def weigh_values(name: str, statements: Statements, sources: Sequence[Source]) -> Finding:
    """The finding of one leaf: the heaviest value, its alternatives, and its status.

    What a work says that was retracted weighs nothing.
    """
    statements = [one for one in statements if not sources[one.quote.source - 1].hit.is_retracted]
    if not statements:
        return Finding(slot=name, status="missing")
    trust = {source.n: host_kind(source.page.url).score for source in sources}
    independent = find_independent_sources([one.quote for one in statements], sources)
    values = []
    for group in _group_values(statements):
        best: dict[int, float] = {}
        for one in group:
            n = one.quote.source
            first = independent[n]
            best[first] = max(trust[n], best.get(first, 0.0))
        values.append((_joint_weight(best.values()), len(best), group))
    values.sort(key=lambda value: (-value[0], -value[1], value[2][0].quote.source))
    weight, count, group = values[0]
    share = weight / total if (total := sum(value[0] for value in values)) else 0.0
    settled = len(values) == 1 or share >= SETTLED
    outnumbers = count > sum(against for _, against, _ in values[1:])
    right = max(RIGHT[form_in_quote(one.value, one.quote)] for one in group)
    sure = right if outnumbers else right * share
    return Finding(
        slot=name,
        status="filled" if settled else "conflict",
        value=_commonest_spelling(group),
        quotes=tuple(dict.fromkeys(one.quote for _, _, some in values for one in some)),
        alternatives=tuple(_make_alternative(some, heavy) for heavy, _, some in values[1:]),
        weight=round(weight, 3),
        confidence=round(sure if settled else min(0.5, share), 3),
    )


def is_disputed(finding: Finding) -> bool:
    """Whether a settled value of one thing has others against it that weigh enough to be shown.

    Of several things of one name no value is disputed.
    """
    against = sum(other.weight for other in finding.alternatives)
    is_settled = finding.status == "filled" and not finding.of and bool(against)
    return is_settled and finding.weight < UNDISPUTED * (finding.weight + against)


def _joint_weight(trust: Iterable[float]) -> float:
    scores = list(trust)
    unknown = sum(score for score in scores if score < REFERENCE)
    return sum(score for score in scores if score >= REFERENCE) + min(unknown, UNKNOWN_TOGETHER)


def form_in_quote(value: Scalar, quote: Quote) -> ValueForm:
    """In which form a quote has a value."""
    if any(map(is_row, quote.text.split("\n"))):
        return "row"
    own, whole = (fold(text).strip(" .") for text in (str(value), quote.text))
    return "sentence" if own == whole else "words"


def rate_confidence(finding: Finding) -> float:
    """The confidence of a finding, with what a model says of its value."""
    if finding.status != "filled" or finding.verdict not in JUDGED:
        return finding.confidence
    odds = JUDGED[finding.verdict] * finding.confidence / (1 - finding.confidence)
    return round(odds / (1 + odds), 3)


def _group_values(statements: Statements) -> list[list[Statement]]:
    groups: list[list[Statement]] = []
    for one in statements:
        same = (group for group in groups if any(_are_same(one, other) for other in group))
        if (group := next(same, None)) is None:
            groups.append(group := [])
        group.append(one)
    return groups


def _are_same(one: Statement, other: Statement) -> bool:
    a, b = one.value, other.value
    if same_value(a, b):
        return True
    both = isinstance(a, str) and isinstance(b, str)
    return both and is_swapped_score(str(a), one.quote.text, str(b), other.quote.text)


def _commonest_spelling(group: Statements) -> Scalar:
    values = [one.value for one in group]
    return max(values, key=values.count)


def _make_alternative(group: Statements, weight: float) -> Alternative:
    cited = tuple(sorted({one.quote.source for one in group}))
    return Alternative(value=_commonest_spelling(group), citations=cited, weight=round(weight, 3))


def find_independent_sources(quotes: Sequence[Quote], sources: Sequence[Source]) -> dict[int, int]:
    """For each quoted source, the number of the source that it depends on.

    That is the first source whose text around the quote is the same, or whose owner, or the source
    itself. All versions of a scholarly work are one.
    """
    near: dict[int, Source] = {}
    for quote in quotes:
        source = sources[quote.source - 1]
        start, end = max(0, quote.start - NEAR), quote.end + NEAR
        page = Page(**{**source.page.__dict__, "text": source.page.text[start:end]})
        near.setdefault(source.n, Source(n=source.n, page=page, hit=source.hit))
    ordered = sorted(near.values(), key=lambda source: source.n)
    independent = find_copies(ordered)
    first: dict[str, int] = {}
    for source in ordered:
        work = source.hit.work  # all are behind one resolver
        if owner := (work_key(work) or work["id"]) if work else host_owner(source.page.url):
            independent[source.n] = first.setdefault(owner, independent[source.n])
    return independent
