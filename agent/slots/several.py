"""Several right answers to one question: names that a source tells side by side.

Their values do not disagree, since one source tells them all, each in a sentence of its own.
Numbers and days are left out: a source that tells two of one thing corrects itself, or errs.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from agent.evidence.quantities import number_values
from agent.slots.sameness import same_value
from agent.state import Statement


def group_answers(said: Sequence[Statement]) -> list[tuple[str, list[Statement]]]:
    """The statements of each of several right answers, with the answer; none where it is one."""
    groups: list[list[Statement]] = []
    for one in said:
        if not isinstance(one.value, str) or number_values(one.value):
            return []
        same = (group for group in groups if same_value(group[0].value, one.value))
        if (home := next(same, None)) is None:
            groups.append(home := [])
        home.append(one)
    sources = [{one.quote.source for one in group} for group in groups]
    common = set.intersection(*sources) if len(groups) > 1 else set[int]()
    if not any(_tells_apart(n, groups) for n in common):
        return []
    return [(str(group[0].value), group) for group in groups]


def _tells_apart(source: int, groups: Sequence[Sequence[Statement]]) -> bool:
    """Whether a source has a quote for each answer that touches none of another's."""
    quotes = [[one.quote for one in group if one.quote.source == source] for group in groups]
    return all(
        any(a.end <= b.start or b.end <= a.start for a in some for b in others)
        for some, others in combinations(quotes, 2)
    )
