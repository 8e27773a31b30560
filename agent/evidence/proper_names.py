"""Names in a text, recognised by their capital letters."""

from __future__ import annotations

import re
from functools import cache
from itertools import dropwhile

from agent.evidence.language import load_language, load_months
from agent.evidence.words import CJK_CHARACTER, LONGEST_SENTENCE, stop_words, word_lists

#: Capital letters of the Latin, Greek and Cyrillic scripts (`re` has no class for them).
UPPER = "A-ZÀ-ÖØ-ÞĀĂĄĆĈĊČĎĐĒĔĖĘĚĜĞĠĢĤĦĨĪĬĮİĴĶĹĻĽĿŁŃŅŇŌŎŐŒŔŖŘŚŜŞŠŢŤŦŨŪŬŮŰŲŴŶŸŹŻŽȘȚΑ-ΩА-ЯЁ"
_PARTICLE = r"(?:de|del|della|van|von|der|den|di|da|dos|la|le|bin|ibn|al|el|of|the|y|&)"
NAME_WORD = rf"[{UPPER}](?:[\w'’&-]|\.(?=\w|\s[{UPPER}]))*"
NAME = re.compile(rf"\b{NAME_WORD}(?:\s(?:{_PARTICLE}\s){{0,2}}{NAME_WORD})*")
_OPENING = re.compile(r"([\w'’.&-]+)\s*")
_CAPITALISED = re.compile(r"\b(?=[^\W\d_a-zà-ÿ])[^\W\d_]{3,}")
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday"


@cache
def _calendar() -> frozenset[str]:
    return frozenset((*(names[0] for names in load_months("en")), *_WEEKDAYS.split()))


@cache
def _openers(of: str, *languages: str) -> frozenset[str]:
    """Words that begin sentences or questions, and no name; stop words of languages among them."""
    opening = frozenset(word_lists()["leading"][of].split())
    return opening | stop_words("en", *languages) if of == "sentences" else opening


# --- names in prose ----------------------------------------------------------------------------


def find_names(text: str, language: str = "en") -> list[str]:
    """The names of a sentence: runs of capitalised words, but no word that only begins it."""
    return [text[a:b] for a, b in name_spans(text, language)]


def find_sure_names(text: str, language: str = "en") -> list[str]:
    """The names of a text; a first word alone is one only where it occurs elsewhere too."""
    names = dict.fromkeys(find_names(text, language))
    return [x for x in names if " " in x or not text.startswith(x) or text.count(x) > 1]


def name_spans(text: str, language: str = "en") -> list[tuple[int, int]]:
    """The places of names. One word alone is none where every noun has a capital letter."""
    openers = _openers("sentences", language)
    least = 1 if load_language(language).has_noun_capitals else 0  # blanks
    spans = []
    for match in NAME.finditer(text[:LONGEST_SENTENCE]):
        start, end = match.span()
        # "The Beatles" is kept as "Beatles": the article is not the name
        while (word := _OPENING.match(text, start, end)) and word[1].lower() in openers:
            start = word.end()
        name = _without_s(text[start:end].rstrip(".'’-&"))
        is_common = name.lower() in _calendar() or name.lower() in openers
        if len(name) > 1 and not is_common and name.count(" ") >= least:
            spans.append((start, start + len(name)))
    return spans


def _without_s(name: str) -> str:
    return name[:-2] if name.endswith(("'s", "’s")) else name


def capitalised_words(text: str) -> list[str]:
    """The words of a text that begin with a capital letter and have three letters or more."""
    return _CAPITALISED.findall(text)


_QUALIFIER = re.compile(r"\s*[(（][^()（）]*[)）]\s*$")  # it distinguishes things of one name


def plain_name(title: str) -> str:
    """A title without brackets at its end."""
    return _QUALIFIER.sub("", title).strip()


_BEHIND_NAME = re.compile(r"\s[-|–—·]\s|\s?[(:（：]")


def is_named(title: str, text: str) -> bool:
    """Whether a title, without what follows a name in it, occurs in a text as a name.

    In a script with capital letters it begins with one there.
    """
    name = _BEHIND_NAME.split(title)[0].strip()
    if len(name) < 2 or name.lower() not in text.lower():
        return False
    at = re.escape(name) if CJK_CHARACTER.search(name) else rf"(?<!\w){re.escape(name)}(?!\w)"
    return any(not found[0][0].islower() for found in re.finditer(at, text, re.IGNORECASE))


# --- names in a question -----------------------------------------------------------------------

_NAMED = re.compile(
    rf"\b[{UPPER}][\w'’&.-]*(?:\s+(?:(?:of|the|de|van|von|der|di|da|la|le|and|&)\s+){{0,2}}"
    rf"[{UPPER}][\w'’&-]*|\s+\d+\b)*"
)
_QUOTED = re.compile(r"[\"“”«»《》「」]([^\"“”«»《》「」]{2,80})[\"“”«»《》「」]")


def find_question_names(text: str, stop: frozenset[str] = frozenset()) -> list[str]:
    """The names in a question, as written: quoted words, and runs of capitalised ones.

    No name begins with a word of `stop`, those of the question's language.
    """
    text = text[:LONGEST_SENTENCE]
    found = [match.strip() for match in _QUOTED.findall(text)]
    openers = _openers("questions") | stop
    for match in _NAMED.finditer(text):
        pieces = match[0].rstrip(".'’").split()
        name = " ".join(dropwhile(lambda piece: piece.lower() in openers, pieces))
        if len(name) > 1 and not name.isdigit():
            found.append(_without_s(name))
    return list(dict.fromkeys(found))
