"""What others send, made harmless: nothing in it is taken to have the right shape or length."""

from __future__ import annotations

import html
import re
import unicodedata
from typing import Any

TAG = re.compile(r"<!--.{0,500}?-->|</?[a-zA-Z][^<>]{0,500}>", re.DOTALL)


def plain(text: object, limit: int) -> str:
    """One line of printable text of at most `limit` characters, cut at a word; "" if no string."""
    if not isinstance(text, str):
        return ""
    head = text[: 20 * limit]  # markup and blanks included: a megabyte is not worth cleaning
    kept = "".join(" " if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") else c for c in head)
    line = " ".join(kept.split())
    if len(line) <= limit:
        return line
    cut = line[:limit].rstrip() if line[limit] == " " else line[:limit].rpartition(" ")[0]
    return cut if len(cut) > limit // 2 else line[:limit]  # a script without blanks


def unmarked(text: str, limit: int) -> str:
    """The same, without HTML tags and entities."""
    return plain(html.unescape(TAG.sub("", text[: 20 * limit])), limit)


def dig(value: object, *keys: str | int) -> Any:
    """What stands at a path of a JSON value; None where the path ends early."""
    for key in keys:
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and isinstance(key, int) and -len(value) <= key < len(value):
            value = value[key]
        else:
            return None
    return value


def rows(value: object, *keys: str | int) -> list[dict[str, Any]]:
    """The objects of the list at a path: `[]` where there is no list, nothing but objects in it."""
    found = dig(value, *keys)
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


JOINERS = "\u200c\u200d"


def printable(text: str) -> str:
    """A text that cannot command a terminal or a page: on one line, without control characters.

    What has no width is left out, such as what turns the direction of writing; joiners stay,
    which Persian and Indic scripts are spelled with.
    """
    return "".join(
        char if char.isprintable() or char in JOINERS else _in_place(char) for char in text
    )


def _in_place(char: str) -> str:
    return "" if unicodedata.category(char) == "Cf" else " "
