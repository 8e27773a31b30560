"""Sanitizing of untrusted text: no control characters, no markup, bounded length."""

from __future__ import annotations

import html
import re
import unicodedata

_TAG = re.compile(r"<!--.{0,500}?-->|</?[a-zA-Z][^<>]{0,500}>", re.DOTALL)
_JOINERS = "\u200c\u200d"

#: Line breaks that are not a line feed: those of other systems, and those of Unicode.
_LINE_BREAK = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
#: Characters that no text needs: controls (Cc) but tab and line feed, embeddings, overrides and
#: isolates of direction, invisible operators, tag characters, halves of surrogate pairs.
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
#: Letters written from right to left: Hebrew, Arabic, Syriac, Thaana, N'Ko, Adlam and others.
_RIGHT_TO_LEFT = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
#: Characters that joiners and the blank of no width shape: letters of those scripts, of the scripts
#: of South and South-East Asia, of Mongolian, and emoji.
_JOINING = (
    f"{_RIGHT_TO_LEFT}\u0900-\u109f\u1780-\u18af\u1900-\u1cff\ua800-\uabff\U00011000-\U00011fff"
    "\u2190-\u2bff\ufe0f\U0001f000-\U0001faff"
)
_NEEDLESS_JOINER = re.compile(f"(?<![{_JOINING}])[\u200b-\u200d](?![{_JOINING}])")
_DIRECTION_MARK = re.compile("[\u061c\u200e\u200f]")
_RIGHT_TO_LEFT_LETTER = re.compile(f"[{_RIGHT_TO_LEFT}]")
_SUSPECT = re.compile(f"{_LINE_BREAK.pattern}|{_CONTROL.pattern}|[\u061c\u200b-\u200f]")


def strip_controls(text: str) -> str:
    """The text without characters that command a terminal or change the order of what is read.

    Line feeds and tabs stay; other line breaks become line feeds. Joiners stay beside a letter of a
    script that needs them, or in an emoji; direction marks stay in a line that has a letter written
    from right to left. What is left out is listed above. Doing it twice changes nothing more.
    """
    if not _SUSPECT.search(text):
        return text
    text = _CONTROL.sub("", _LINE_BREAK.sub("\n", text))
    if _DIRECTION_MARK.search(text):
        text = "\n".join(map(_strip_direction_marks, text.split("\n")))
    return _NEEDLESS_JOINER.sub("", text)


def _strip_direction_marks(line: str) -> str:
    """A line without direction marks, unless it has a letter written from right to left."""
    bare = _DIRECTION_MARK.sub("", line)
    return line if _RIGHT_TO_LEFT_LETTER.search(bare) else bare


def sanitize_line(text: object, limit: int) -> str:
    """One line of at most `limit` characters, cut at a word; "" for anything but a string.

    Control characters, line separators and lone surrogates become blanks, and runs of blanks one.
    Characters that change the direction of the text are left out, as `strip_controls` does.
    """
    if not isinstance(text, str):
        return ""
    head = text[: 20 * limit]  # leaves room for markup and blanks, and bounds the work
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
