"""What a question means after an earlier one, without a model: what it leaves out is filled in.

A question that names nothing is about what the earlier one named; where it says `she` or the like,
about whom the earlier answer named too. One that says nothing but a name or a year asks the earlier
question of these. Words are told by the tables of languages, names by their capital letters.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent.evidence import fold, split_sentences
from agent.evidence.language import load_language
from agent.evidence.names import find_names
from agent.llm.extractive.queries import words_as_written
from agent.llm.extractive.question import ParsedQuestion, parse_question
from agent.state import EarlierAnswer

MOST_NAMES = 3  # of the earlier answer, in a query


def complete_question(
    topic: str, earlier: Sequence[EarlierAnswer], *, has_slots: bool = False
) -> str:
    """The question in full, as far as rules can say it; itself where it stands alone.

    A name stands alone where the caller named slots: they say what is asked of it.
    """
    question = parse_question(topic)
    if not earlier or (has_slots and question.names):
        return topic
    parent = parse_question(earlier[-1].question)
    if not (question.surely_named or question.years):
        person = _person(question, parent, earlier[-1].answer)
        return _append(topic, [*person, *_subject_of(parent)])
    if _own_words(question):
        return topic
    return _replace(parent, question) or _append(topic, _own_words(parent))


def _replace(parent: ParsedQuestion, question: ParsedQuestion) -> str:
    """The earlier question of another name or another year; "" where it is not clear of which."""
    text = parent.text
    for old, new in ((parent.names, question.names), (parent.years, question.years)):
        if new and len(old) != len(new):
            return ""
        for one, other in zip(old, new, strict=False):
            text = text.replace(one, other)
    return text


def search_words(topic: str, earlier: Sequence[EarlierAnswer]) -> str:
    """The words of a question with the names of the earlier answer, as one more query."""
    return _append(topic, _names_in(earlier[-1].answer)[:MOST_NAMES] if earlier else [])


def _names_in(answer: str) -> list[str]:
    """The names in an answer, each once, in their order."""
    sentences = (answer[start:end] for start, end in split_sentences(answer))
    return list(dict.fromkeys(name for sentence in sentences for name in find_names(sentence)))


def _person(question: ParsedQuestion, parent: ParsedQuestion, answer: str) -> list[str]:
    """Whom the earlier answer names first, where the question has a word for somebody told of.

    Nobody, where the earlier question did not ask for a name: its answer is a place or a number.
    """
    refers = load_language(question.language).persons.search(question.text.casefold())
    if not refers or parent.kind not in ("name", "names", "text"):
        return []
    asked = fold(parent.text)
    return [name for name in _names_in(answer) if fold(name) not in asked][:1]


def _subject_of(question: ParsedQuestion) -> list[str]:
    """What a question is about, in its order: its names and years, else all that it says."""
    named = dict.fromkeys((*question.names, *question.years))
    return sorted(named, key=question.text.find) or words_as_written(question)


def _own_words(question: ParsedQuestion) -> list[str]:
    """The content words of a question that are in none of its names."""
    named = fold(" ".join((*question.names, *question.years))).split()
    return [word for word in words_as_written(question) if fold(word) not in named]


def _append(topic: str, words: Sequence[str]) -> str:
    """The question with further words before its question mark."""
    text = topic.rstrip()
    bare = text.rstrip("?？؟ ")
    return " ".join((bare, *words)) + text[len(bare) :].strip()
