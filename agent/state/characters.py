"""Characters that are removed from every text of pages, files and models."""

from __future__ import annotations

import re

# --- parts of a regular expression: the content of character sets -------------------------------

#: Line breaks that are not a line feed, those of other systems and of Unicode.
_BREAKS = "\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029"
#: Characters that no script needs: controls (Cc) but tab and line feed, embeddings, overrides and
#: isolates of direction, what is not to be seen, tag characters, halves of surrogate pairs.
_CONTROLS = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb"
    "\ud800-\udfff\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
_DIRECTION_MARKS = "\u061c\u200e\u200f"
_JOINERS = "\u180e\u200b-\u200d"  # two joiners, and two blanks of no width
_SELECTORS = "\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"  # of a character's variants
#: Letters written from right to left: Hebrew, Arabic, Syriac, Thaana, N'Ko, Adlam and others.
_RIGHT_TO_LEFT = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
#: Characters that joiners shape: letters of those scripts, of the scripts of South and South-East
#: Asia, of Mongolian, and emoji.
_SHAPED = (
    f"{_RIGHT_TO_LEFT}\u0900-\u109f\u1780-\u180a\u1810-\u18af\u1900-\u1cff\ua800-\uabff"
    "\U00011000-\U00011fff\u2190-\u2bff\U0001f000-\U0001faff"
)
#: Characters that have variants: those, signs, digits of keys, and Chinese characters.
_VARIED = (
    f"{_SHAPED}#*0-9\u00a9\u00ae\u2010-\u2027\u2030-\u205f\u2100-\u218f\u2e80-\ua4cf"
    "\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
)

# -------------------------------------------------------------------------------------------------

_LINE_BREAK = re.compile(f"\r\n|[{_BREAKS}]")
_CONTROL = re.compile(f"[{_CONTROLS}]+")
_DIRECTION_MARK = re.compile(f"[{_DIRECTION_MARKS}]")
_RIGHT_TO_LEFT_LETTER = re.compile(f"(?![{_DIRECTION_MARKS}])[{_RIGHT_TO_LEFT}]")
_NEEDLESS_SELECTOR = re.compile(f"(?<![{_VARIED}])[{_SELECTORS}]+")
_NEEDLESS_JOINER = re.compile(
    f"(?<![{_SHAPED}{_SELECTORS}])[{_JOINERS}](?![{_SHAPED}{_SELECTORS}])"
)
_SUSPECT = re.compile(f"[{_CONTROLS}{_DIRECTION_MARKS}{_JOINERS}{_SELECTORS}]")
_PLAIN_ASCII = b"\t\n" + bytes(range(32, 127))


def strip_controls(text: str) -> str:
    """The text without characters that command a terminal, hide words or change their order.

    Line feeds and tabs stay; other line breaks become line feeds. Joiners stay next to a letter of
    a script that needs them, or in an emoji; a selector stays behind a character that has variants;
    direction marks stay in a line that has a letter written from right to left. Idempotent; takes
    linear time.
    """
    if text.isascii() and not text.encode().translate(None, _PLAIN_ASCII):
        return text  # ten times as fast as the search
    if not _SUSPECT.search(text):
        return text
    text = _CONTROL.sub("", _LINE_BREAK.sub("\n", text))
    if _DIRECTION_MARK.search(text):
        text = "\n".join(map(_strip_direction_marks, text.split("\n")))
    return _NEEDLESS_JOINER.sub("", _NEEDLESS_SELECTOR.sub("", text))


def _strip_direction_marks(line: str) -> str:
    return line if _RIGHT_TO_LEFT_LETTER.search(line) else _DIRECTION_MARK.sub("", line)
