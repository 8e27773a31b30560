"""Words as the checker knows them: what they are found by, and the lists that it goes by."""

from __future__ import annotations

import re
import tomllib
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

from agent.evidence import stem, stop_words

Kind = Literal["word", "name", "number", "mark"]


class Word(NamedTuple):
    """A word, a Chinese bigram, a number or a comma.

    `keys` are the spellings by which it is found, best first; `also` is what it stands for besides
    when it is evidence (1994 for the 1990s). `text` is what the reader sees.
    """

    text: str
    kind: Kind
    keys: tuple[str, ...]
    also: tuple[str, ...] = ()
    value: float | None = None
    rough: bool = False  # a number after "about" or "more than"
    little: bool = False  # says little: a stop word


Sentence = tuple[Word, ...]

# --- the lists ----------------------------------------------------------------------------------


@cache
def load_lists() -> dict[str, Any]:
    """The word lists, as they stand in their file."""
    return tomllib.loads(files("agent.checking").joinpath("words.toml").read_text("utf-8"))


@cache
def words_of(table: str, *names: str) -> frozenset[str]:
    """The words of a table's lists."""
    found = (load_lists()[table][name].split() for name in names)
    return frozenset(word for words in found for word in words)


@cache
def _synonyms(table: str) -> dict[str, tuple[str, ...]]:
    """Each word of a table of synonyms with the numbers of the lines that it stands in."""
    lines: dict[str, tuple[str, ...]] = {}
    for n, line in enumerate(load_lists()[table]["same" if table == "names" else "en"].split("|")):
        for word in line.split():
            spelled = word if table == "names" else stem(word)
            lines[spelled] = (*lines.get(spelled, ()), f"={table}{n}")
    return lines


# --- spelling -------------------------------------------------------------------------------------

_FAMILY = re.compile(
    r"(?:i[sz]ations?|i[sz](?:e[sd]?|ing|ers?)|ations?|ators?|ati(?:ve|ng)|ates?d?|[st]?ions?|ments?"
    r"|ness(?:es)?|ab(?:le|ly|ility)|i?ally|als?|i(?:cs?|st[s]?|sms?|ty|ties|ve|ves)|ances?|ences?"
    r"|anc(?:y|ies)|enc(?:y|ies)|ants?|ents?|ers?|ors?|ings?|ful(?:ly|ness)?|less|ous(?:ly)?"
    r"|y|ed|es|s|ly|en|e)$"
)


@lru_cache(maxsize=20_000)
def family(word: str) -> str:
    """What words of one family share: `nation` and `national`, `establish` and `establishment`."""
    root = _FAMILY.sub("", word)
    return "~" + (root if len(root) >= 5 else stem(word))


def make_word(text: str, plain: str, name: bool, rough: bool, little: bool) -> Word:
    """A word or a name with all that it is found by."""
    keys, also = _spellings(plain.removesuffix("'s").strip("'"), name)
    return Word(text, "name" if name else "word", keys, also, rough=rough, little=little)


@lru_cache(maxsize=20_000)
def _spellings(word: str, name: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The keys of a folded word, the most exact first, and its letters, by which names are found.

    Names have no synonyms but their own: a king is no queen.
    """
    spelled = stem(word)
    alike = _synonyms("names").get(word, ()) if name else _synonyms("same").get(spelled, ())
    keys = tuple(dict.fromkeys((spelled, family(word), *alike)))
    return keys, (f"^{word.rstrip('s')}", *(alike if name else ()))


def are_alike(word: Word, other: Word) -> bool:
    """Whether two words are one, of one family, or synonyms."""
    return word.keys[:1] == other.keys[:1] or bool(set(word.keys[1:]) & set(other.keys[1:]))


def search_keys(word: Word) -> tuple[str, ...]:
    """The keys by which a word of a claim is looked for: a sure name only as it is written."""
    return word.also if word.kind == "name" and not word.rough else word.keys


@cache
def little_words(*languages: str) -> frozenset[str]:
    """The words of languages that say nothing by being found: stop words and, in English, more."""
    more = words_of("little", "en") if "en" in languages else frozenset[str]()
    return stop_words(*languages) | more


@cache
def common_words() -> frozenset[str]:
    """The stems of words so common that finding them says half as much."""
    return frozenset(stem(word) for word in words_of("common", "en"))


def is_common(word: Word) -> bool:
    """Whether a word says little by being found, and yet something."""
    return word.kind == "word" and word.keys[:1] != () and word.keys[0] in common_words()


def weight(word: Word) -> float:
    """How much it says that a word is found: names and numbers most, common words least."""
    if word.kind in ("name", "number"):
        return 1.6
    return 0.5 if is_common(word) else 1.0


def strength(key: str) -> float:
    """How surely a key is the word: as spelled, of one family, by another name, a synonym."""
    return {"~": 0.9, "=": 0.95 if key.startswith("=names") else 0.75}.get(key[:1], 1.0)
