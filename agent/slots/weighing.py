"""How values weigh: by the credibility of the independent witnesses who say them.

Sources that repeat one text around what is quoted are one witness. A witness weighs what its
domain is trusted (`pages/credibility.py`; relevance is no credibility); where copies of one text
stand on several domains, as the best of them. A value's share is its weight over that of all
values of its leaf. Confidence is a scale to sort by, no probability: 0.7 for a value with one
witness, 0.85 with two, 0.95 with more, times its share; of a conflict, the share, at most 0.5.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent.evidence import copies
from agent.evidence.credibility import kind
from agent.slots.items import items
from agent.slots.sameness import same, swapped
from agent.state import Alternative, Finding, Page, Quote, Said, Scalar, Slot, Source

#: The share of the weight from which a value is taken for settled though others are said. With
#: .6 one credible witness (.9) outweighs one of unknown standing (.4), and two of a kind one;
#: .9 against .8 stays open. Chosen by those cases, not swept: run `python -m evals.conflicts`.
SETTLED = 0.6
MOST_FINDINGS = 400
NEAR = 600  # characters of a page on either side of a quote, by which copies are told


def findings(
    slots: Sequence[Slot], said: Sequence[Said], sources: Sequence[Source]
) -> tuple[Finding, ...]:
    """What is known of each leaf; of a list, of each leaf of each item, or that it is missing."""
    found: list[Finding] = []
    seen: set[str] = set()
    for slot in slots:
        root = slot.name.partition("[]")[0]
        if "[]" not in slot.name:
            own = [one for one in said if one.slot == slot.name]
            found.append(weighed(slot.name, own, sources))
        elif root not in seen:
            seen.add(root)
            found.extend(_of_list(root, slots, said, sources))
    return tuple(found[:MOST_FINDINGS])


def _of_list(
    root: str, slots: Sequence[Slot], said: Sequence[Said], sources: Sequence[Source]
) -> list[Finding]:
    names = [slot.name for slot in slots if slot.name.startswith(f"{root}[]")]
    merged = items([one for one in said if one.slot in names], names)
    if not merged:
        return [Finding(slot=root, status="missing")]
    return [
        weighed(
            name.replace("[]", f"[{at}]", 1), [one for one in item if one.slot == name], sources
        )
        for at, item in enumerate(merged)
        for name in names
    ]


def weighed(name: str, said: Sequence[Said], sources: Sequence[Source]) -> Finding:
    """A leaf as what was said of it weighs. What no source says is missing."""
    if not said:
        return Finding(slot=name, status="missing")
    trust = {source.n: kind(source.page.url).score for source in sources}
    witness = witnesses([one.quote for one in said], sources)
    values = []
    for group in _grouped(said):
        best: dict[int, float] = {}
        for one in group:
            n = one.quote.source
            best[witness[n]] = max(trust[n], best.get(witness[n], 0.0))
        values.append((sum(best.values()), len(best), group))
    values.sort(key=lambda value: (-value[0], -value[1], value[2][0].quote.source))
    weight, count, group = values[0]
    share = weight / total if (total := sum(value[0] for value in values)) else 0.0
    settled = len(values) == 1 or share >= SETTLED
    base = {1: 0.7, 2: 0.85}.get(count, 0.95)
    return Finding(
        slot=name,
        status="filled" if settled else "conflict",
        value=_clearest(group),
        quotes=tuple(dict.fromkeys(one.quote for _, _, some in values for one in some)),
        alternatives=tuple(
            Alternative(value=_clearest(some), citations=_cited(some), weight=round(heavy, 3))
            for heavy, _, some in values[1:]
        ),
        weight=round(weight, 3),
        confidence=round(base * share if settled else min(0.5, share), 3),
    )


def _grouped(said: Sequence[Said]) -> list[list[Said]]:
    """What was said, by value: those that say the same are one."""
    groups: list[list[Said]] = []
    for one in said:
        for group in groups:
            if any(_agree(one, other) for other in group):
                group.append(one)
                break
        else:
            groups.append([one])
    return groups


def _agree(one: Said, other: Said) -> bool:
    if same(one.value, other.value):
        return True
    a, b = one.value, other.value
    both = isinstance(a, str) and isinstance(b, str)
    return both and swapped(str(a), one.quote.text, str(b), other.quote.text)


def _clearest(group: Sequence[Said]) -> Scalar:
    """The value as most of its sources write it; of those, as the first does."""
    said = [one.value for one in group]
    return max(said, key=said.count)


def _cited(group: Sequence[Said]) -> tuple[int, ...]:
    return tuple(sorted({one.quote.source for one in group}))


def witnesses(quotes: Sequence[Quote], sources: Sequence[Source]) -> dict[int, int]:
    """Who speaks through each source: the first one whose text around its quote it repeats."""
    near: dict[int, Source] = {}
    for quote in quotes:
        source = sources[quote.source - 1]
        start, end = max(0, quote.start - NEAR), quote.end + NEAR
        near.setdefault(source.n, _with_text(source, source.page.text[start:end]))
    return copies(sorted(near.values(), key=lambda source: source.n))


def _with_text(source: Source, text: str) -> Source:
    page = source.page
    return Source(n=source.n, page=Page(**{**page.__dict__, "text": text}), hit=source.hit)
