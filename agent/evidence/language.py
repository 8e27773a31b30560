"""Which language a text is in, and its tables: a file a language in the folder `languages`."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from functools import cache, lru_cache
from importlib.resources import files
from itertools import islice
from typing import NamedTuple

#: The languages with tables. Of two that explain a text alike, the first is taken.
LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl", "ru", "zh", "ja", "ar")
#: Scripts that tell the language, the first that occurs; Kana stands in Japanese alone.
_SCRIPTS = (
    ("ja", "\u3040-\u30ff"),
    ("zh", "\u3400-\u4dbf\u4e00-\u9fff"),
    ("ar", "\u0600-\u06ff"),
    ("ru", "\u0400-\u04ff"),
)
_SCRIPT = re.compile("|".join(f"(?P<{tag}>[{span}])" for tag, span in _SCRIPTS))
_LATIN = re.compile(r"[^\W\d_]+")
CLOSING = " \"'”’»“‘«)]」』）"  # what may stand behind a stop
ASKING = 2  # how many stop words the words of a question count for
READ = 500  # characters of a text by which its language is told
SURE = 5  # stop words that tell it surely


class Language(NamedTuple):
    """The tables of a language. Patterns are of lower case; words are as they are written."""

    tag: str
    stop: frozenset[str]  # words that say little, question words among them
    persons: re.Pattern[str]  # words that stand for somebody who was told of
    months: tuple[tuple[str, ...], ...]  # January first; empty where months are numbers
    asks: tuple[tuple[str, re.Pattern[str]], ...]  # what is asked for, by question word
    holds: dict[str, re.Pattern[str]]  # by type of the answer: what a sentence has that gives one
    parts: re.Pattern[str]  # what stands between two questions in one
    extremes: tuple[tuple[str, re.Pattern[str]], ...]  # `max`, `min`: that something is the most
    ratios: tuple[tuple[re.Pattern[str], Decimal], ...]  # a half, a third, twice
    units: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]  # what is asked, and its dimensions
    drop: tuple[tuple[re.Pattern[str], str], ...]  # what only asks, and what stands for it
    breaks: re.Pattern[str] | None  # what stands between words, where no blanks do
    articles: tuple[str, ...]  # what is written before a word, in one with it
    stemmer: str  # of Snowball; "" for none
    has_decimal_comma: bool  # `1.234` is more than a thousand
    has_noun_capitals: bool  # every noun has a capital letter, which then tells no name

    def drop_article(self, word: str) -> str:
        """A word without the article that is written in one with it."""
        starts = (one for one in self.articles if word.startswith(one) and len(word) > len(one) + 2)
        return word[len(next(starts, "")) :]


@cache
def load_language(tag: str) -> Language:
    """The tables of one of `LANGUAGES`."""
    file = files("agent.evidence.languages").joinpath(f"{tag}.toml")
    table = tomllib.loads(file.read_text("utf-8"))
    spaced = "script" not in table or tag == "ar"
    stop = table["stop"].split()
    asks, holds, extremes = (
        [(kind, _pattern(words, spaced)) for kind, words in _entries(table.get(name, ""), ":")]
        for name in ("asks", "holds", "extremes")
    )
    units, drop, ratios = (
        [(_pattern(words, spaced), rest) for words, rest in _entries(table.get(name, ""), "=")]
        for name in ("units", "drop", "ratios")
    )
    return Language(
        tag,
        frozenset((*stop, *map(_bare, stop))),
        _pattern(table["persons"], spaced),
        tuple(tuple(names.split()) for names in table["months"].split("|") if names.strip()),
        tuple(asks),
        dict(holds),
        re.compile(table["parts"], re.I),
        tuple(extremes),
        tuple((words, Decimal(value)) for words, value in ratios),
        tuple((words, tuple(dimensions.split())) for words, dimensions in units),
        tuple((words, f" {rest} ") for words, rest in drop),
        re.compile(f"[{table['breaks']}]+") if "breaks" in table else None,
        tuple(table.get("articles", "").split()),
        table["stemmer"],
        table.get("decimal") == ",",
        table.get("nouns", False),
    )


def _entries(lines: str, sign: str) -> list[tuple[str, str]]:
    """Lines of a left and a right side, which the sign divides."""
    part = str.rpartition if sign == "=" else str.partition
    sides = (part(line, sign) for line in lines.strip().splitlines())
    return [(left.strip(), right.strip()) for left, _, right in sides]


def _pattern(words: str, spaced: bool) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{words})(?!\w)" if spaced else words, re.I)


def _bare(word: str) -> str:
    letters = unicodedata.normalize("NFKD", word)
    return "".join(char for char in letters if not unicodedata.combining(char))


def month_names(*languages: str) -> str:
    """The names of months in languages (`en`, `de`), longest first, for a pattern; lower case."""
    names = {name for tag in languages for month in load_language(tag).months for name in month}
    return "|".join(sorted(names, key=lambda name: (-len(name), name)))


@cache
def month_pattern(*languages: str) -> str:
    """Names of months with a capital letter, as prose has them, with or without a full stop."""
    names = month_names(*(languages or ("en", "de"))).split("|")
    return rf"(?:{'|'.join(name.capitalize() for name in names)})\.?"


@lru_cache(maxsize=1024)
def language_of(text: str) -> Language:
    """The language of a text: by its script, else the one with most of its words as stop words.

    English where nothing tells.
    """
    text = text[:READ]
    # a verb may be a word of another language (`was`)
    asks = (pattern for kind, pattern in load_language("en").asks if kind != "yesno")
    if text.isascii() and any(pattern.search(text) for pattern in asks):
        return load_language("en")  # without the tables of the others, which take 7 ms to read
    scripts = Counter(found.lastgroup or "en" for found in _SCRIPT.finditer(text))
    words = [word.casefold() for word in _LATIN.findall(text)]
    if scripts and 2 * scripts.total() >= len(words):
        return load_language("ja" if scripts["ja"] else scripts.most_common(1)[0][0])
    latin = [load_language(tag) for tag in LANGUAGES if tag not in dict(_SCRIPTS)]
    return max(latin, key=lambda one: _fit(one, text, words))


def is_surely_other(text: str, tag: str) -> bool:
    """Whether a text is of another language than one: by its script, or by several stop words.

    A table or a list of names is of none.
    """
    found = language_of(text)
    if found.tag == tag or found.tag in dict(_SCRIPTS):
        return found.tag != tag
    words = [word.casefold() for word in _LATIN.findall(text[:READ])]
    own, others = (_fit(one, text[:READ], words) for one in (load_language(tag), found))
    return others >= SURE and others > 2 * own


def ends_as_question(text: str) -> bool:
    """Whether a sentence ends with a question mark."""
    return text.rstrip(CLOSING).endswith(("?", "？", "؟"))


def is_question(text: str) -> bool:
    """Whether a text asks something: by its question mark, or in the words of its language."""
    asks = (pattern for _, pattern in language_of(text).asks)
    return ends_as_question(text) or any(pattern.search(text) for pattern in asks)


def script_language(text: str) -> str:
    """The language in whose script a text begins; "" for the Latin script and all others."""
    found = _SCRIPT.match(text)
    return found.lastgroup or "" if found else ""


def _fit(language: Language, text: str, words: Sequence[str]) -> int:
    """How many words of a text are stop words of a language; a question of it counts too."""
    asks = any(pattern.search(text) for _, pattern in language.asks)
    return sum(word in language.stop for word in words) + ASKING * asks


@lru_cache(maxsize=1024)
def main_script(text: str) -> str:
    """The script of most letters of a text; Chinese and Japanese are one."""
    letters = islice(filter(str.isalpha, text), 500)
    names = (unicodedata.name(char, "").partition(" ")[0] for char in letters)
    common = Counter("CJK" if name in _CJK_SCRIPTS else name for name in names).most_common(1)
    return common[0][0] if common else ""


_CJK_SCRIPTS = ("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "FULLWIDTH", "HALFWIDTH")
