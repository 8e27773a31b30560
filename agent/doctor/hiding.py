"""No key is shown, not even partly: rows without what services echo of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from agent.doctor.results import Check

PIECE = 4  # characters of a key that no word shown may contain: services echo the last four
RUN = 8  # of these in a row, in either case, no name may contain


def secrets(environment: Mapping[str, str]) -> list[str]:
    """Whatever in the environment nobody may see: keys, and passwords in addresses."""
    ending = ("KEY", "KEY_ID", "TOKEN", "SECRET", "PASSWORD")
    found = [value for name, value in environment.items() if name.upper().endswith(ending)]
    for value in environment.values():
        found += re.findall(r"://[^/@\s]*:([^/@\s]+)@", value)
    return [value.strip() for value in found if len(value.strip()) >= PIECE]


def hidden(checks: Iterable[Check], keys: Sequence[str]) -> list[Check]:
    """The rows without any word that shares PIECE characters in a row with a key.

    Of names, which a user chooses, only what holds RUN of them in either case: a model may well be
    called like a part of a key.
    """
    short = {key[i : i + PIECE] for key in keys for i in range(len(key) - PIECE + 1)}
    folded = [key.casefold() for key in keys]
    long = {key[i : i + RUN] for key in folded for i in range(max(1, len(key) - RUN + 1))}

    def clean(text: str, pieces: Iterable[str] = ()) -> str:
        return " ".join(
            "[hidden]"
            if any(piece in word for piece in pieces) or any(run in word.casefold() for run in long)
            else word
            for word in text.split(" ")
        )

    return [
        check._replace(
            name=clean(check.name),
            detail=clean(check.detail, short),
            remedy=clean(check.remedy, short),
        )
        for check in checks
    ]
