"""Sanitizing of untrusted text: no control characters, no markup, bounded length."""

from __future__ import annotations

import html
import re
import unicodedata

from agent.state.characters import strip_controls

_TAG = re.compile(r"<!--.{0,500}?-->|</?[a-zA-Z][^<>]{0,500}>", re.DOTALL)
_JOINERS = "\u200c\u200d"


def sanitize_line(text: object, limit: int) -> str:
    """One line of at most `limit` characters, cut at a word; "" for anything but a string.

    Control characters, line separators and lone surrogates become blanks, and runs of blanks one.
    Characters that change the direction of the text are left out, as `strip_controls` does.
    """
    if not isinstance(text, str):
        return ""
    head = text[: 20 * limit]  # allows for markup and blanks, and bounds the work
    clean = "".join(" " if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") else c for c in head)
    line = " ".join(strip_controls(clean).split())
    if len(line) <= limit:
        return line
    cut = line[:limit].rstrip() if line[limit] == " " else line[:limit].rpartition(" ")[0]
    return cut if len(cut) > limit // 2 else line[:limit]  # a script without blanks


def strip_markup(text: str, limit: int) -> str:
    """As `sanitize_line`, with HTML tags removed and entities decoded first."""
    return sanitize_line(html.unescape(_TAG.sub("", text[: 20 * limit])), limit)


def sanitize_for_display(text: str) -> str:
    """The text on one line, without characters that control a terminal or a page.

    Format characters (Unicode category Cf), such as direction overrides, are removed. The two
    joiners stay, since the spelling of Persian and Indic scripts needs them. Every other
    non-printable character becomes a blank.
    """
    return "".join(
        char if char.isprintable() or char in _JOINERS else _replacement_of(char) for char in text
    )


def _replacement_of(char: str) -> str:
    return "" if unicodedata.category(char) == "Cf" else " "
