"""One topic of a batch."""

from __future__ import annotations

from typing import NamedTuple


class Topic(NamedTuple):
    """One topic of the input file."""

    id: str | int  # the id in the file, or else the number of the line
    text: str
    fault: str = ""  # why the line is not a valid topic; empty: it is valid
