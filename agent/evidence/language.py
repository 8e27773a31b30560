"""Which language a text is in, and its tables: a file a language in the folder `languages`."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from functools import cache, lru_cache
from importlib.resources import files
from itertools import islice
from typing import NamedTuple

#: The languages with tables. Of two that explain a text alike, the first is taken.
LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl", "ru", "zh", "ja", "ar")
#: Scripts by which a language is known, the first that occurs; only Japanese has Kana.
_SCRIPTS = (
    ("ja", "\u3040-\u30ff"),
    ("zh", "\u3400-\u4dbf\u4e00-\u9fff"),
    ("ar", "\u0600-\u06ff"),
    ("ru", "\u0400-\u04ff"),
)
_SCRIPT = re.compile("|".join(f"(?P<{tag}>[{span}])" for tag, span in _SCRIPTS))
_LATIN = re.compile(r"[^\W\d_]+")
CLOSING = " \"'”’»“‘«)]」』）"  # what may follow a stop
READ = 500  # characters of a text by which its language is known
#: Locales of a language whose months have other names too (Jänner).
_LOCALES = {"de": ("de_AT",)}
_SIZES = ("wide", "abbreviated")


class Language(NamedTuple):
    """The tables of a language. Patterns are of lower case; words are as they are written."""

    tag: str
    stop: frozenset[str]  # words that say little, question words among them
    stemmer: str  # of Snowball; "" for none
    breaks: re.Pattern[str] | None  # what separates words, where no blanks do
    articles: tuple[str, ...]  # what is written before a word, in one with it
    has_decimal_comma: bool  # `1.234` is more than a thousand
    has_noun_capitals: bool  # every noun has a capital letter, which then means no name

    def drop_article(self, word: str) -> str:
        """A word without the article that is written in one with it."""
        starts = (one for one in self.articles if word.startswith(one) and len(word) > len(one) + 2)
        return word[len(next(starts, "")) :]


@cache
def load_language(tag: str) -> Language:
    """The tables of one of `LANGUAGES`."""
    file = files("agent.evidence.languages").joinpath(f"{tag}.toml")
    table = tomllib.loads(file.read_text("utf-8"))
    stop, spaced = table["stop"].split(), "breaks" not in table
    return Language(
        tag=tag,
        stop=frozenset((*stop, *map(drop_marks, stop))),
        stemmer=table["stemmer"],
        breaks=None if spaced else re.compile(f"[{table['breaks']}]+"),
        articles=tuple(table.get("articles", "").split()),
        has_decimal_comma=table.get("decimal") == ",",
        has_noun_capitals=table.get("nouns", False),
    )


def drop_marks(text: str) -> str:
    """A short text decomposed, without accents and vowel signs."""
    letters = unicodedata.normalize("NFKD", text)
    return "".join(char for char in letters if not unicodedata.combining(char))


@cache
def load_months(tag: str) -> tuple[tuple[str, ...], ...]:
    """The names of each month in a language, in lower case; empty where months are numbers."""
    from babel import localedata

    own = [localedata.load(one, False)["months"] for one in (tag, *_LOCALES.get(tag, ()))]
    forms = [use.get(size) for one in own for use in one.values() for size in _SIZES]
    tables = [form for form in forms if isinstance(form, dict)]  # else an alias of another one
    names = [[form[n].rstrip(".").casefold() for form in tables if n in form] for n in range(1, 13)]
    return tuple(tuple(dict.fromkeys(one)) for one in names) if "月" not in names[0][0] else ()


def month_names(*languages: str) -> str:
    """The names of months in languages (`en`, `de`), longest first, for a pattern; lower case."""
    names = {name for tag in languages for month in load_months(tag) for name in month}
    return "|".join(sorted(names, key=lambda name: (-len(name), name)))


@cache
def month_pattern(*languages: str) -> str:
    """Names of months with a capital letter, as prose has them, with or without a full stop."""
    names = month_names(*(languages or ("en", "de"))).split("|")
    return rf"(?:{'|'.join(name.capitalize() for name in names)})\.?"


@lru_cache(maxsize=1024)
def language_of(text: str) -> Language:
    """The language of a text: by its script, else the one with most of its words as stop words.

    English if unknown.
    """
    text = text[:READ]
    scripts = Counter(found.lastgroup or "en" for found in _SCRIPT.finditer(text))
    words = [word.casefold() for word in _LATIN.findall(text)]
    if scripts and 2 * scripts.total() >= len(words):
        return load_language("ja" if scripts["ja"] else scripts.most_common(1)[0][0])
    latin = [load_language(tag) for tag in LANGUAGES if tag not in dict(_SCRIPTS)]
    return max(latin, key=lambda one: sum(word in one.stop for word in words))


def ends_as_question(text: str) -> bool:
    """Whether a sentence ends with a question mark."""
    return text.rstrip(CLOSING).endswith(("?", "？", "؟"))


def script_language(text: str) -> str:
    """The language in whose script a text begins; "" for the Latin script and all others."""
    found = _SCRIPT.match(text)
    return found.lastgroup or "" if found else ""


@lru_cache(maxsize=1024)
def main_script(text: str) -> str:
    """The script of most letters of a text; Chinese and Japanese are one."""
    letters = islice(filter(str.isalpha, text), 500)
    names = (unicodedata.name(char, "").partition(" ")[0] for char in letters)
    common = Counter("CJK" if name in _CJK_SCRIPTS else name for name in names).most_common(1)
    return common[0][0] if common else ""


_CJK_SCRIPTS = ("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "FULLWIDTH", "HALFWIDTH")
