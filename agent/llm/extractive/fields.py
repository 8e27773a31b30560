"""Values that stand beside their names: in a form, in a box beside a text, in a row of a table.

`School Name: Lund`, `Billing Type: | Net 30`, `Height | 330 m`, `Tea | Stock: 12 | Price: 3`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from agent.evidence.asked import find_values
from agent.evidence.language import ends_as_question
from agent.llm.extractive.fact import is_generic
from agent.llm.extractive.lines import Line
from agent.llm.extractive.question import ParsedQuestion
from agent.llm.extractive.ranking import ScoredLine
from agent.state import Slot

LONGEST_NAME = 60  # characters
ABOVE = 300  # characters above a field that tell what it is of
_NAMED = re.compile(rf"([^\s:|][^:|]{{0,{LONGEST_NAME - 1}}}):(?:\s+(\S.*))?")
_NEXT = re.compile(r"\s(?=[^\W\d_][\w ]{0,30}:(?:\s|$))")  # a name behind a value, in one line
UNFIT = frozenset({"yesno", "reason", "passage"})  # questions that no single value answers
TYPED = frozenset({"number", "date", "money"})


class NamedValue(NamedTuple):
    """A value with its name, and what the row is called in which it stands."""

    name: str
    value: str
    row: str = ""


def find_fields(text: str) -> Iterator[NamedValue]:
    """The fields of a line."""
    cells = [cell.strip() for cell in text.split(" | ")]
    read = [_NAMED.fullmatch(cell) for cell in cells]
    row = cells[0] if not read[0] else read[0][2] or ""
    if len(cells) == 2 and not read[1] and not (read[0] and row):
        name = read[0][1] if read[0] else cells[0]
        yield from [NamedValue(name, cells[1])] if len(name) <= LONGEST_NAME else []
    for n, found in enumerate(read):
        if found and found[2]:
            yield NamedValue(found[1], _NEXT.split(found[2])[0].rstrip(), row if n else "")


def find_field(
    slot: Slot, question: ParsedQuestion, ranked: Sequence[ScoredLine]
) -> tuple[str, Line] | None:
    """The value of the field that a slot or a question names, and its line.

    All other words that are asked for stand on its page. None where two values of one page fit
    equally well.
    """
    lines = [s.line for s in ranked if ": " in s.line.text or " | " in s.line.text]
    if question.kind in UNFIT or not lines:
        return None
    pages: dict[int, set[str]] = {line.source: set() for line in lines}
    for line in (s.line for s in ranked if s.line.source in pages):
        pages[line.source].update(question.read(f"{line.title} {line.heading} {line.text}"))
    found: dict[tuple[int, ...], list[tuple[str, Line]]] = {}
    for line in (line for line in lines if not ends_as_question(line.text)):
        for field in find_fields(line.text):
            if fit := _fit(field, slot, question, line, pages[line.source]):
                found.setdefault((*fit, -line.source), []).append((field.value, line))
    best = found[max(found)] if found else []
    return best[0] if len({value for value, _ in best}) == 1 else None


def _fit(
    field: NamedValue, slot: Slot, question: ParsedQuestion, line: Line, page: Collection[str]
) -> tuple[int, ...] | None:
    """How much of what is asked a field says, and what stands around it; None where it is another.

    The words that it does not say stand on its page; if it says but one, which many names have,
    beside or above it.
    """
    name, told = set(question.read(field.name)), set(question.read(f"{field.name} {field.row}"))
    own = set() if is_generic(slot.name) else set(question.read(slot.name.replace("_", " ")))
    asked = {*question.words, *own}
    is_new = bool(set(question.read(field.value)) - asked)
    if not (name and told <= asked and is_new) or (own and name != own):
        return None
    context = set(question.read(line.context))
    is_whole = bool(re.search(rf"\b{re.escape(field.name)}(?!\w)", question.text, re.I))
    if len(told) == 1:
        kind = "text" if own else question.kind
        if kind in TYPED and not is_whole and not any(find_values(kind, field.value)):
            return None
        above = line.whole[max(0, line.start - ABOVE) : line.start]
        page = {*context, *question.read(above)} if is_whole else context
    starts = {word[:5] for word in page if len(word) > 5}
    rest = asked - told
    if not all(word in page or (len(word) > 5 and word[:5] in starts) for word in rest):
        return None
    return len(told), is_whole, len(rest & context)
