"""Results of matches in a text: `4-2`, `3–3 after extra time`, `3比3`."""

from __future__ import annotations

import re

_ENDED = r"(?:\s(?:on penalties|after extra time|after an? \d{1,3}[-–]\d{1,3} draw|in extra time))*"
_SCORE = re.compile(
    rf"(?<![\d–-])(\d{{1,3}})\s?[-–:]\s?(\d{{1,3}})\b(?!\s?[-–:/]\d){_ENDED}|\d{{1,2}}比\d{{1,2}}"
)
#: A cell of a table that holds a score alone, what follows in brackets aside.
_CELL = re.compile(r"\d{1,2}\s?[-–:]\s?\d{1,2}(?:\s?\([^)]{1,20}\))?$")


def score_spans(text: str) -> list[tuple[int, int]]:
    """Where the scores stand in a text."""
    return [match.span() for match in _SCORE.finditer(text)]


def find_scores(text: str) -> list[str]:
    """The scores in a text as they stand there, with how the match ended."""
    return [text[start:end] for start, end in score_spans(text)]


def is_score(cell: str) -> bool:
    """Whether a cell of a table is a score."""
    return bool(_CELL.match(cell))
