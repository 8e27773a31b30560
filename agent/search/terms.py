"""Text as the full-text index stores it, and the terms of a query that match it."""

from __future__ import annotations

import re
import unicodedata
from os.path import commonprefix

from agent.evidence import CJK, stem, strip_accents
from agent.evidence.language import Language

_CJK_RUN = re.compile(f"[{CJK}]+")
_WORD = re.compile(rf"[{CJK}]+|(?:(?![{CJK}])[^\W_])+")

LEAST_STEM = 3  # letters


def add_bigrams(text: str) -> str:
    """Replace each run of Chinese, Japanese or Korean by its bigrams and its last character.

    SQLite's tokenizer takes such a run for one word. So a prefix query finds a single character.
    """
    if text.isascii():
        return text
    normal = unicodedata.normalize("NFKC", text)

    def pair_up(run: re.Match[str]) -> str:
        return f" {' '.join(run[0][i : i + 2] for i in range(len(run[0])))} "

    return _CJK_RUN.sub(pair_up, normal)


def query_terms(query: str, language: Language) -> list[str]:
    """The terms to search for: each content word, quoted, so that it is never read as syntax.

    Words of another language than English are searched by their stems. Stop words stay only where
    there is nothing else ("The Who").
    """
    text = unicodedata.normalize("NFKC", strip_unstorable(query)).lower()
    is_stop_word: dict[str, bool] = {}
    for match in _WORD.finditer(text):
        word = match[0]
        if not _CJK_RUN.match(word):
            is_stop_word[_word_term(word, language)] = word in language.stop
        elif len(word) == 1:
            is_stop_word[f'"{word}"*'] = False
        else:
            is_stop_word |= {f'"{word[i : i + 2]}"': False for i in range(len(word) - 1)}
    return [term for term, is_stop in is_stop_word.items() if not is_stop] or list(is_stop_word)


def _word_term(word: str, language: Language) -> str:
    """The term for a word: itself, or what begins as its stem, where the index has no stems.

    Also with each article that may be written before it in one word.
    """
    bare = language.drop_article(word)
    begin = bare[: len(commonprefix((strip_accents(bare), stem(bare, language.tag))))]
    if not language.stemmer or len(begin) < LEAST_STEM:
        return f'"{word}"'
    others = (f'"{article}{begin}"*' for article in ("", *language.articles))
    return "(" + " OR ".join((f'"{word}"', *others)) + ")"


def strip_unstorable(text: str) -> str:
    """A text without what UTF-8 or SQLite cannot store: lone surrogates and NUL."""
    if text.isascii() and "\0" not in text:
        return text
    return text.encode("utf-8", "ignore").decode("utf-8").replace("\0", " ")
