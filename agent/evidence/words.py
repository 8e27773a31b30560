"""Words: how they are cut out of a text, folded, stemmed, and which of them say little."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

#: Characters of Chinese, Japanese and Korean, for a class of a regular expression. They are
#: written without spaces between words.
CJK = "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_CJK = re.compile(f"[{CJK}]")
_WORD = re.compile(rf"[{CJK}]+|[^\W{CJK}]+")


@cache
def word_lists() -> dict[str, Any]:
    """The tables of `words.toml`."""
    return tomllib.loads(files("agent.evidence").joinpath("words.toml").read_text("utf-8"))


@cache
def stop_words(*languages: str) -> frozenset[str]:
    """The stop words of languages (`en`, `de`, `ar`), folded; of English where none is named."""
    lists = word_lists()["stop"]
    return frozenset(word for tag in languages or ("en",) for word in lists[tag].split())


def content_words(text: str) -> list[str]:
    """The words of a text that are no English stop words, folded and stemmed, in order.

    A run of Chinese, Japanese or Korean gives its bigrams: these have no spaces between words.
    """
    found: list[str] = []
    for match in _WORD.finditer(unicodedata.normalize("NFKC", text).casefold().translate(_ALIKE)):
        word = match[0]
        if _CJK.match(word):
            found.extend(word[i : i + 2] for i in range(max(1, len(word) - 1)))
        elif word not in stop_words():
            found.append(stem(word))
    return found


def count_words(text: str) -> int:
    """The number of words in a text; two characters of Chinese, Japanese or Korean count as one."""
    spaced, characters = _CJK.subn(" ", text)
    return len(spaced.split()) + (characters + 1) // 2


# --- stems -------------------------------------------------------------------------------------

_ENDINGS = {"ies": "y", "sses": "ss", "ing": "", "ed": "", "es": "", "s": ""}
_ARABIC_PREFIX = re.compile("^(?:وال|بال|كال|فال|لل|ال|و(?=....))")


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """A folded word without its commonest endings: `goals` is `goal`, `الفريق` is `فريق`."""
    if "\u0600" <= word[:1] <= "\u06ff":
        bare = _ARABIC_PREFIX.sub("", word)
        return bare if len(bare) > 2 else word
    for ending, rest in _ENDINGS.items():
        if word.endswith(ending) and len(word) - len(ending) >= 4 and not word.endswith("ss"):
            return (word[: -len(ending)] + rest).rstrip("e")
    return word.rstrip("e") if len(word) > 4 else word


# --- folding -----------------------------------------------------------------------------------

_ALIKE = str.maketrans(
    {
        **dict.fromkeys('‘’‚‛′`´“”„‟″«»「」『』"', "'"),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        # nothing to be seen: zero-width characters, marks of direction
        **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad", ""),
        **dict.fromkeys(
            "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069", ""
        ),
        # Arabic is written with or without its vowels, and stretched to fill a line
        **dict.fromkeys(map(chr, (0x640, 0x670, *range(0x64B, 0x660))), ""),
    }
)
_ARABIC_LETTERS = str.maketrans("\u0623\u0625\u0622\u0649\u0629", "\u0627\u0627\u0627\u064a\u0647")


@lru_cache(maxsize=256)
def fold_with_offsets(text: str) -> tuple[str, tuple[int, ...]]:
    """A text with case, width, blanks, quotes and dashes made alike.

    The second value holds, for each character of the folded text, its offset in the text.
    """
    folded: list[str] = []
    origin: list[int] = []
    for i, char in enumerate(text):
        piece = unicodedata.normalize("NFKC", char).casefold().translate(_ALIKE)
        if piece.isspace():
            if not folded or folded[-1] == " ":
                continue
            piece = " "
        folded.extend(piece)
        origin.extend([i] * len(piece))
    return "".join(folded), tuple(origin)


def fold(text: str) -> str:
    """A text with case, width, blanks, quotes and dashes made alike."""
    return fold_with_offsets(text)[0]


@lru_cache(maxsize=20_000)
def strip_accents(text: str) -> str:
    """A text without case, accents and vowel signs; the forms of an Arabic letter become one."""
    letters = unicodedata.normalize("NFKD", text.translate(_ARABIC_LETTERS)).casefold()
    bare = "".join(char for char in letters if not unicodedata.combining(char))
    return bare.replace("\u0640", "").translate(_ARABIC_LETTERS)
