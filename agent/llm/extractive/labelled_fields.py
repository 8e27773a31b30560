"""Labelled fields: `Deposit: 1,680 crowns`, `Height | 330 m`, a cell below its column's name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from agent.evidence import word_shares
from agent.evidence.language import ends_as_question
from agent.llm.extractive.candidates import STOPS, Line, Question
from agent.slots.conversion import slot_words, to_typed
from agent.state import Slot

LONGEST_LABEL, LONGEST_VALUE = 60, 300  # characters
_LABELLED = re.compile(rf"([^\s:：|][^:：|]{{0,{LONGEST_LABEL - 1}}})(?::\**\s+|：\s*)(\S.*)")
_WORD = re.compile(r"\w+")
NAMED = 0.5  # the share of a title that a question says of the page that it is about
SPOKEN = 0.6  # the share of a question that a page speaks of that fills a slot


class LabelledValue(NamedTuple):
    """A value with its label, the line that states both, and what its row is called."""

    label: str
    value: str
    line: Line
    row: str = ""


def find_fields(lines: Sequence[Line]) -> list[LabelledValue]:
    """The labelled fields among lines, in order."""
    rows: list[LabelledValue] = []
    head: list[str] = []
    for line in (line for line in lines if line.is_whole and not ends_as_question(line.text)):
        cells = [cell.strip() for cell in line.text.strip("| ").split(" | ")]
        head = head if line.is_below and len(head) == len(cells) else []
        own = list(_read_cells(cells, head, line))
        rows += own
        head = head or (cells if len(cells) > 1 and not any(field.row for field in own) else [])
    return [f for f in rows if 0 < len(f.value) <= LONGEST_VALUE and len(f.label) <= LONGEST_LABEL]


def _read_cells(cells: Sequence[str], head: Sequence[str], line: Line) -> Iterator[LabelledValue]:
    read = [_LABELLED.fullmatch(cell) for cell in cells]
    row = "" if read[0] else cells[0]
    if len(cells) == 2 and not any(read):
        yield LabelledValue(cells[0].rstrip(":："), cells[1], line)
    name = row if len(cells) > 1 else ""
    for one in filter(None, read):
        yield LabelledValue(one[1].strip("*_ "), one[2].strip(), line, name)
    if len(head) == len(cells) and not any(read):
        yield from (LabelledValue(head[n], cells[n], line, row) for n in range(1, len(cells)))


class PageFields(NamedTuple):
    """What a page says, as bags of words."""

    title: frozenset[str]
    words: frozenset[str]
    fields: tuple[LabelledValue, ...]

    def fit(self, question: Question) -> float:
        """How well its title fits a question: Dice's coefficient; 0 where it says too little."""
        shared = len(self.title.intersection(question.words))
        is_named = shared and shared >= NAMED * len(self.title)
        return 2 * shared / (len(self.title) + len(question.words)) if is_named else 0.0

    def settles(self, question: Question) -> bool:
        """Whether one field has every word of a question but the content words of the title.

        Stop words too: `Opened: 1931` answers neither who opened it nor why.
        """
        words = set(_WORD.findall(question.text.casefold()))
        named = {word for word in words if _is_of(question.read(word), self.title)}
        fields = (f"{one.label} {one.value}" for one in self.fields if not one.row)
        stated = (set(_WORD.findall(text.casefold())) for text in fields)
        return any(words - named <= field_words for field_words in stated) and words > named


def _is_of(words: Sequence[str], others: frozenset[str]) -> bool:
    return bool(words) and others.issuperset(words)


def read_pages(lines: Sequence[Line], question: Question) -> dict[int, PageFields]:
    """The pages that lines are of, by the number of the source."""
    fields, own = find_fields(lines), dict[int, list[Line]]()
    for line in lines:
        own.setdefault(line.source, []).append(line)
    return {
        n: PageFields(
            title=frozenset(question.read(some[0].title)),
            words=frozenset(word for line in some for word in question.read(line.about)),
            fields=tuple(field for field in fields if field.line.source == n),
        )
        for n, some in own.items()
    }


def fill_slot(
    slot: Slot, question: Question, pages: Mapping[int, PageFields]
) -> list[LabelledValue]:
    """The fields of a slot's name on the page that fits best, and on others of its very title.

    A page that lacks rare words of the question is about something else.
    """
    shares = word_shares(question.words, [page.words for page in pages.values()])
    name = slot.name.removesuffix("[]").rpartition(".")[2]
    own = _name_of(slot_words(name), question)
    matching = {
        n: named
        for n, page in pages.items()
        if (named := [f for f in page.fields if _is_meant(f, own, question) and _fits(f, slot)])
        and sum(share for word, share in shares.items() if word in page.words) >= SPOKEN
    }
    best = max((pages[n].fit(question) for n in matching), default=0.0)
    fitting = {n: fields for n, fields in matching.items() if pages[n].fit(question) == best}
    if len({pages[n].title for n in fitting}) != 1 or any(map(_differ, fitting.values())):
        return []
    return [fields[0] for fields in fitting.values()]


def _name_of(text: str, question: Question) -> frozenset[str]:
    return frozenset(question.read(text)) or frozenset([text.casefold()])


def _is_meant(field: LabelledValue, own: frozenset[str], question: Question) -> bool:
    """Whether a field has this name, and its row, if it is of one, is named by the question."""
    is_asked = not field.row or _is_of(question.read(field.row), frozenset(question.words))
    return is_asked and _name_of(field.label, question) == own


def _fits(field: LabelledValue, slot: Slot) -> bool:
    is_list = slot.name.endswith("[]")
    return is_list or ("[]" not in slot.name and to_typed(field.value, slot) is not None)


def _differ(fields: Sequence[LabelledValue]) -> bool:
    return len({field.value for field in fields}) > 1


def suggest_fields(
    question: Question, pages: Mapping[int, PageFields]
) -> tuple[list[LabelledValue], bool]:
    """The fields of the page whose title alone fits best, and whether they settle the question.

    With them are those of pages of the very same title, which may disagree.
    """
    best = max((page.fit(question) for page in pages.values()), default=0.0)
    fitting = {n: page for n, page in pages.items() if best and page.fit(question) == best}
    if len({page.title for page in fitting.values()}) != 1:
        return [], False
    settling = {n for n, page in pages.items() if page.settles(question)}
    fields = [field for page in fitting.values() for field in _certain_fields(page)]
    return fields, bool(settling) and settling <= fitting.keys()


def _certain_fields(page: PageFields) -> Iterator[LabelledValue]:
    by_label: dict[str, list[LabelledValue]] = {}
    for field in (field for field in page.fields if not field.row):
        by_label.setdefault(field.label.casefold(), []).append(field)
    for label, fields in by_label.items():
        if not _differ(fields) and to_typed(fields[0].value, Slot(name=label)) is not None:
            yield fields[0]


def unasked_lines(question: Question, pages: Mapping[int, PageFields]) -> set[Line]:
    """The lines of fields, but sentences, of which the question has no label."""
    words = frozenset(question.words)
    fields = [field for page in pages.values() for field in page.fields]
    asked = {
        field.line
        for field in fields
        if field.value.endswith(STOPS) or _name_of(field.label, question) <= words
    }
    return {field.line for field in fields} - asked
