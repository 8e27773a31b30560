"""Results of matches in a text: `4-2`, `3–3 (a.e.t.)`."""

from __future__ import annotations

import re

#: A cell of a table that holds a score alone, what follows in brackets aside.
_CELL = re.compile(r"\d{1,2}\s?[-–:]\s?\d{1,2}(?:\s?\([^)]{1,20}\))?$")


def is_score(cell: str) -> bool:
    """Whether a cell of a table is a score."""
    return bool(_CELL.match(cell))
