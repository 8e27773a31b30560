"""Counts in words: things with their noun, and the verdicts of sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from agent.state import Verdict

MOST_NAMED = 5  # in one sentence

#: What is shown after a sentence with this verdict; nothing for `supported`.
VERDICT_LABELS: dict[Verdict, str] = {
    "quoted": "quoted",
    "partial": "partly confirmed",
    "unsupported": "not confirmed",
    "contradicted": "contradicted by its source",
    "unchecked": "not checked",
}


def count_verdicts(counts: Counter[Verdict]) -> str:
    """How many sentences there are, and how many of each verdict; empty for none."""
    if not counts:
        return ""
    parts = [f"{counts['supported']} confirmed by quotes"] * bool(counts["supported"])
    parts += [
        f"{counts[verdict]} {label}" for verdict, label in VERDICT_LABELS.items() if counts[verdict]
    ]
    return f"{format_count(counts.total(), 'sentence')}: {', '.join(parts)}"


def format_count(number: int, singular: str, plural: str = "") -> str:
    """A count with its noun: `1 page`, `1,200 pages`."""
    return f"{number:,} {singular if number == 1 else plural or f'{singular}s'}"


def list_names(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
