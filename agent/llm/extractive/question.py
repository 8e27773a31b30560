"""What a question asks for: its words, names, years and sides, and the type of its answer."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from agent.evidence import content_words
from agent.evidence.asked import Kind, asked_kind, split_question
from agent.evidence.language import language_of, load_language
from agent.evidence.names import find_question_names
from agent.evidence.quantities import find_years
from agent.evidence.words import FIRST_HAN, word_lists

_OPENING = "¿¡\"'“„« "


class ParsedQuestion(NamedTuple):
    """A question, taken apart."""

    text: str
    plain: str  # the question without its question words
    words: tuple[str, ...]  # content words, folded and stemmed, in order
    names: tuple[str, ...]  # as written
    years: tuple[str, ...]
    sides: tuple[str, ...]  # of a comparison
    kind: Kind
    unit: str  # pattern that a number must match to be the answer; empty: any
    language: str

    def read(self, text: str) -> list[str]:
        """The content words of a text, as the words of this question are read."""
        return content_words(text, self.language)

    @property
    def telling_words(self) -> tuple[str, ...]:
        """The words that tell what it is about, without the characters of pairs among them."""
        pairs = "".join(word for word in self.words if len(word) == 2 and word[0] >= FIRST_HAN)
        return tuple(word for word in self.words if len(word) > 1 or word not in pairs)

    @property
    def parts(self) -> tuple[ParsedQuestion, ...]:
        """The questions that it is made of, each with the subject; itself where it is one."""
        pieces = split_question(self.text)
        if len(pieces) < 2:
            return (self,)
        first = parse_question(pieces[0].rstrip(" ,") + "?")
        subject = " ".join((*first.surely_named, *first.years)) or first.plain
        rest = (parse_question(f"{piece} {subject}") for piece in pieces[1:])
        return (first, *(part._replace(text=part.text) for part in rest))

    @property
    def surely_named(self) -> tuple[str, ...]:
        """The names that are surely some: not for being the first word, or a noun in German."""
        large = load_language(self.language).has_noun_capitals
        return tuple(
            name
            for name in self.names
            if " " in name
            or name.isupper()
            or not (large or self.text.lstrip(_OPENING).startswith(name))
        )

    @property
    def named_words(self) -> list[set[str]]:
        """The words of each name that is surely one."""
        return [bag for name in self.surely_named if (bag := set(self.read(name)))]


@lru_cache(maxsize=64)
def parse_question(text: str) -> ParsedQuestion:
    """A question taken apart by its form; nothing is looked up."""
    text = " ".join(text.split())[:2000]
    language = language_of(text)
    plain = text
    for asked, rest in language.drop:
        plain = asked.sub(rest, plain)
    found = dict.fromkeys(content_words(plain, language.tag))
    told = tuple(word for word in found if word not in _request_words())
    return ParsedQuestion(
        text=text,
        plain=plain,
        words=told or tuple(found),
        names=tuple(find_question_names(text, language.stop)),
        years=tuple(dict.fromkeys(find_years(text))),
        sides=_compared_sides(text),
        kind=asked_kind(text, language),
        unit=find_unit(text, language.tag),
        language=language.tag,
    )


@cache
def patterns(name: str) -> tuple[re.Pattern[str], ...]:
    """The patterns of a list in `words.toml`."""
    return tuple(re.compile(pattern, re.I) for pattern in word_lists()["questions"][name])


def find_unit(asked: str, language: str) -> str:
    """The pattern of the units that a number must have for what is asked; "" for any."""
    units = load_language(language).units
    found = next((dims for words, dims in units if words.search(asked)), ())
    return "|".join(word_lists()["questions"]["units"][dim] for dim in found)


@cache
def _request_words() -> frozenset[str]:
    """What a question says only because it is one."""
    return frozenset(content_words(word_lists()["leading"]["requests"]))


def _compared_sides(text: str) -> tuple[str, ...]:
    """What a question compares; nothing where it is made of several."""
    for pattern in patterns("sides") if len(split_question(text)) < 2 else ():
        if match := pattern.search(text):
            sides = [side.strip(" ,.?!\"'") for side in match.groups()]
            if all(sides) and len(sides[0].split()) <= 8:
                return tuple(sides)
    return ()


# --- another event of the same name --------------------------------------------------------------


@cache
def _qualifiers() -> dict[str, frozenset[str]]:
    groups = map(content_words, word_lists()["questions"]["qualifiers"])
    return {word: frozenset(group) for group in groups for word in group}


def is_another_event(around: str, question: ParsedQuestion, title: str) -> bool:
    """Whether a text is about another year or kind of event than a question names.

    `around` is the text with what stands above it, `title` that of its page: a page that is about
    a kind which the question does not name is another one.
    """
    return any(year not in around for year in question.years) or is_another_kind(
        around, question, title
    )


def is_another_kind(around: str, question: ParsedQuestion, title: str) -> bool:
    """Whether a text is about the women's cup, say, where a question names the one without it."""
    if not question.names:
        return False
    kinds = _qualifiers()
    named = {word for name in question.names for word in content_words(name)}
    told, said = set(question.words), set(content_words(around))
    missing = any(kinds[word].isdisjoint(said) for word in named & kinds.keys())
    other = any(kinds[word].isdisjoint(told) for word in kinds.keys() & content_words(title))
    return missing or other
