"""Words: how they are cut out of a text, folded, stemmed, and which of them say little."""

from __future__ import annotations

import re
import threading
import tomllib
import unicodedata
from array import array
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Literal

from agent.evidence.language import load_language, script_language

#: Characters of Chinese, Japanese and Korean, for a class of a regular expression. They are
#: written without spaces between words.
CJK = "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
CJK_CHARACTER = re.compile(f"[{CJK}]")
#: The same, with the other scripts that have no blanks: Thai, Lao, Burmese and Khmer.
UNSPACED = f"{CJK}\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
FIRST_HAN = "\u3400"  # of the characters that are words; those of Kana, before it, are sounds
_WORD = re.compile(rf"[{CJK}]+|[^\W{CJK}]+")
PLAIN_WORD = re.compile(r"[^\W_]+")
#: What letters, digits and `_` of ASCII are in a folded word; all else parts words.
_ASCII_WORDS = {n: chr(n).lower() if chr(n).isalnum() else " " for n in range(128)} | {95: "_"}
#: Marks that follow one letter, and punctuation in a row: sorting long runs of marks takes time
#: that grows by their square. Thirty are left, as in Unicode's stream-safe format (UAX 15).
_LONG_RUN = re.compile(r"([^\w\s]{30})[^\w\s]+")

LONGEST_TEXT = 1_000_000  # characters of a text whose words are read; no stored page is longer
LONGEST_SENTENCE = 10_000  # characters of a sentence in which names, dates and numbers are found
LONGEST_WORD = 50  # characters of a word that is stemmed by Snowball
LONGEST_KEPT = 1000  # characters of a text of which what was read is kept for the next time


@cache
def word_lists() -> dict[str, Any]:
    """The tables of `words.toml`."""
    return tomllib.loads(files("agent.evidence").joinpath("words.toml").read_text("utf-8"))


@cache
def stop_words(*languages: str) -> frozenset[str]:
    """The stop words of languages (`en`, `de`), with and without accents; else those of English."""
    return frozenset(word for tag in languages or ("en",) for word in load_language(tag).stop)


def normalize(form: Literal["NFKC", "NFKD"], text: str) -> str:
    """A text in a Unicode normal form, in linear time, for reading its words; no offsets hold.

    Beyond `LONGEST_TEXT` characters it is cut, and so are runs of marks and of punctuation.
    """
    if len(text) > LONGEST_TEXT:
        text = text[:LONGEST_TEXT]
    if text.isascii():
        return text
    apart = unicodedata.normalize("NFKD", _LONG_RUN.sub(r"\1", text))[:LONGEST_TEXT]
    return apart if form == "NFKD" else unicodedata.normalize("NFC", apart)


def content_words(text: str, language: str = "en") -> list[str]:
    """The words of a text that are no stop words of a language, folded and stemmed, in order.

    A run of Chinese, Japanese or Korean gives its bigrams: these have no spaces between words. Read
    as Chinese or Japanese, it is cut at what separates words, and gives each character too.
    """
    return list((_keep_words if len(text) <= LONGEST_KEPT else _read_words)(text, language))


def _read_words(text: str, language: str) -> tuple[str, ...]:
    stop, breaks = stop_words(language), load_language(language).breaks
    if text.isascii():  # without a regular expression: in a third of the time
        words = text[:LONGEST_TEXT].translate(_ASCII_WORDS).split()
        return tuple([stem(word, language) for word in words if word not in stop])
    found: list[str] = []
    for match in _WORD.finditer(normalize("NFKC", text).casefold().translate(_ALIKE)):
        word = match[0]
        if CJK_CHARACTER.match(word):
            found += _cut_run(word, breaks)
        elif word not in stop:
            found.append(stem(word, language))
    return tuple(found)


def _cut_run(run: str, breaks: re.Pattern[str] | None) -> list[str]:
    """The bigrams of a run of characters, or of its pieces between breaks, with the characters."""
    pieces = [piece for piece in breaks.split(run) if piece] if breaks else []
    pairs = [p[i : i + 2] for p in pieces or [run] for i in range(len(p) - 1)]
    return [*pairs, *(char for piece in pieces for char in piece if char >= FIRST_HAN)] or [run]


#: Sentences, titles and questions are read again and again; pages are not.
_keep_words = lru_cache(maxsize=4096)(_read_words)


@lru_cache(maxsize=32)
def spaced_words(text: str) -> str:
    """The content words of a text with a blank around each, so that one is found as `" word "`."""
    return f" {' '.join(content_words(text))} "


def count_words(text: str) -> int:
    """The number of words in a text; two characters of Chinese, Japanese or Korean count as one."""
    spaced, characters = CJK_CHARACTER.subn(" ", text)
    return len(spaced.split()) + (characters + 1) // 2


@lru_cache(maxsize=64)
def plain_words(text: str) -> frozenset[str]:
    """The words of a text without case and accents."""
    return frozenset(map(strip_accents, PLAIN_WORD.findall(text)))


# --- stems -------------------------------------------------------------------------------------

#: A stemmer of Snowball holds the word that it is at, so that threads take turns.
_STEMMING = threading.Lock()
_CONSONANT_Y = re.compile(r"..[^aeiou\W]y$")
_ENDINGS = {"sses": "ss", "ing": "", "ed": "", "es": "", "s": ""}


@lru_cache(maxsize=20_000)
def stem(word: str, language: str = "en") -> str:
    """A folded word without its endings: `goals` is `goal`, in Spanish `ciudades` is `ciudad`.

    By Snowball, but for English: there the commonest endings alone go, in a tenth of the time. A
    word in a script of its own is of the language that is written in it.
    """
    own = load_language(script_language(word) or language)
    if own.stemmer and len(word) <= LONGEST_WORD:
        with _STEMMING:
            return strip_accents(str(_snowball(own.stemmer).stemWord(own.drop_article(word))))
    for ending, rest in _ENDINGS.items():
        if word.endswith(ending) and len(word) - len(ending) >= 4 and not word.endswith("ss"):
            word = word[: -len(ending)] + rest
            break
    root = word.rstrip("e") if len(word) > 4 else word
    return root[:-1] + "i" if _CONSONANT_Y.search(root) else root  # `city`, as `cities`


@cache
def _snowball(name: str) -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer(name)


# --- folding -----------------------------------------------------------------------------------

_ALIKE = str.maketrans(
    {
        **dict.fromkeys('‘’‚‛′`´“”„‟″«»「」『』"', "'"),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        # nothing to be seen: zero-width characters, marks of direction
        **dict.fromkeys("\u180e\u200b\u200c\u200d\u2060\ufeff\u00ad\u034f\u061c\u200e\u200f", ""),
        # variants of a character
        **dict.fromkeys(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))), ""),
        **dict.fromkeys(map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A))), ""),
        # Arabic is written with or without its vowels, and stretched to fill a line
        **dict.fromkeys(map(chr, (0x640, 0x670, *range(0x64B, 0x660))), ""),
    }
)
_ARABIC_LETTERS = str.maketrans("\u0623\u0625\u0622\u0649\u0629", "\u0627\u0627\u0627\u064a\u0647")


def _fold_characters(text: str) -> tuple[str, Sequence[int]]:
    folded: list[str] = []
    origin = array("I")
    blank = True  # no blank at the beginning, nor after another
    if RAISED.search(text):  # `10⁴` is not `104`
        text = RAISED.sub(lambda raised: raised[0].translate(_MARKED), text)
    for i, piece in enumerate(map(_FOLDED.__getitem__, text)):
        if piece == " ":
            if blank:
                continue
        elif len(piece) != 1:
            if len(folded) > MOST_FOLDED:
                break
            folded.extend(piece)
            origin.extend([i] * len(piece))
            blank = blank if not piece else piece[-1] == " "
            continue
        blank = piece == " "
        folded.append(piece)
        origin.append(i)
    return "".join(folded), origin


#: Digits that are raised behind a digit, and a sign for each that folds to itself and a caret.
RAISED = re.compile("(?<=\\d)[⁺⁻]?[⁰¹²³⁴-⁹]+(?![⁰¹²³⁴-⁹/⁄])")
_MARKED = {ord(char): chr(0xE000 + n) for n, char in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻")}


class _FoldedCharacters(dict[str, str]):
    """What each character is when it is folded; any blank is one space."""

    def __missing__(self, char: str) -> str:
        piece = unicodedata.normalize("NFKC", char).casefold().translate(_ALIKE)
        self[char] = " " if piece.isspace() else piece
        return self[char]


_FOLDED = _FoldedCharacters()
_FOLDED.update({chr(0xE000 + n): f"^{char}" for n, char in enumerate("0123456789+-")})
MOST_FOLDED = 3_000_000  # characters


@lru_cache(maxsize=64)
def fold_with_offsets(text: str) -> tuple[str, Sequence[int]]:
    """A text with case, width, blanks, quotes and dashes made alike.

    The second value holds, for each character of the folded text, its offset in the text. Of a
    text that gives more than `MOST_FOLDED` characters the rest is left out.
    """
    return _fold_characters(text)


def fold(text: str) -> str:
    """A text with case, width, blanks, quotes and dashes made alike."""
    return _fold_short(text) if len(text) <= LONGEST_KEPT else fold_with_offsets(text)[0]


@lru_cache(maxsize=4096)
def _fold_short(text: str) -> str:
    """As `fold`; apart, so that countless sentences do not drive out the few pages."""
    return _fold_characters(text)[0]


@lru_cache(maxsize=20_000)
def strip_accents(text: str) -> str:
    """A text without case, accents and vowel signs; the forms of an Arabic letter become one."""
    letters = normalize("NFKD", text.translate(_ARABIC_LETTERS)).casefold()
    bare = "".join(char for char in letters if not unicodedata.combining(char))
    return bare.replace("\u0640", "").translate(_ARABIC_LETTERS)
