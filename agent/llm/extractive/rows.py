"""The rows of a reflection without a model: what each source says of each slot."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from agent.evidence import is_row
from agent.llm.extractive.confidence import log_odds
from agent.llm.extractive.fact import read_slot
from agent.llm.extractive.filling import Filled, fill_beside, fill_slot, part_of
from agent.llm.extractive.question import ParsedQuestion
from agent.llm.extractive.ranking import ScoredLine
from agent.slots.forms import to_typed
from agent.slots.namesakes import has_other_qualifier
from agent.slots.rows import named_numbers
from agent.slots.sameness import same_value
from agent.state import Slot

#: How much less sure than of the best source (log odds) it may be of another one whose prose is
#: told too. With more, pages about another match of the same sides come in; with less, real
#: disagreement stays unseen. Set by hand; what tables say needs none, since their form tells
#: what they are about. Run `python -m evals.conflicts` and `evals.slots` after a change.
BESIDE = 1.0
#: Kinds that every sentence has values of: of several pages, prose would often name others.
NO_FORM = frozenset({"text", "name", "names", "place"})
LISTED = frozenset({"name", "place"})  # kinds of which there may be several right ones


def fill_rows(
    slots: Sequence[Slot], question: ParsedQuestion, ranked: Sequence[ScoredLine]
) -> list[dict[str, Any]]:
    """A row for each slot and source that states it; one without a value where none does."""
    roots: dict[str, list[Slot]] = {}  # the leaves of each list together
    for slot in slots:
        roots.setdefault(slot.name.partition("[]")[0], []).append(slot)
    made: list[dict[str, Any]] = []
    for name, leaves in roots.items():
        slot = leaves[0] if leaves[0].name == name else leaves[0].model_copy(update={"name": name})
        rows = [_make_row(name, leaves, f) for f in _find_values(slot, question, ranked)]
        told = [row for row in rows if row["value"]]
        made.extend(told or [{"name": name, "value": None, "source": None, "quote": ""}])
    return made


def _find_values(
    slot: Slot, question: ParsedQuestion, ranked: Sequence[ScoredLine]
) -> Iterator[Filled]:
    """The best value, and those of other sources that state it about as surely.

    Of one form with it: what prose says against a table is more often about another match. Pages
    whose titles tell them from the best one's, as of another thing of its name, need not be sure.
    """
    best = fill_slot(slot, question, ranked)
    if best is None:
        return
    yield best
    kind, tabled = read_slot(slot, part_of(slot, question)).kind, is_row(best.line.text)
    # sentences that differ do not disagree, and prose has many names
    is_vague = not tabled and kind in NO_FORM
    if kind in LISTED and "[]" not in slot.name:
        yield from fill_beside(slot, question, ranked, best)
    own: dict[int, list[ScoredLine]] = {}
    for scored in ranked:
        own.setdefault(scored.line.source, []).append(scored)
    sure = log_odds(question, own.pop(best.line.source), is_stated=True) - BESIDE
    for lines in own.values():
        of_another = has_other_qualifier(best.line.title, lines[0].line.title)
        if is_vague and not of_another:
            continue
        found = fill_slot(slot, question, lines)
        alike = found and is_row(found.line.text) == tabled
        if not (found and alike):
            continue
        if tabled or of_another or log_odds(question, lines, is_stated=True) >= sure:
            yield found


def _make_row(name: str, leaves: Sequence[Slot], found: Filled) -> dict[str, Any]:
    """A value as the reflect task answers it; None where it is not of the slot's form."""
    value: str | None = found.value
    if leaves[0].name != name:
        value = _list_items(leaves, found)
    elif to_typed(found.value, leaves[0]) is None:
        value = None
    return {"name": name, "value": value, "source": found.line.source, "quote": found.quote}


def _list_items(leaves: Sequence[Slot], found: Filled) -> str | None:
    """A list of names as its items: scalars, or objects of a name and the number told with it."""
    kinds = {leaf.form.type: leaf.name.rpartition("[]")[2].lstrip(".") for leaf in reversed(leaves)}
    names = [named.name for named in named_numbers(found.value)]
    if list(kinds.values()) == [""]:
        return json.dumps(names, ensure_ascii=False)
    if "string" not in kinds:
        return None
    counted = named_numbers(found.quote) if "integer" in kinds else []
    known = [
        (next((n for n in names if same_value(n, one.name)), ""), one.number) for one in counted
    ]
    items = [{kinds["string"]: n, kinds["integer"]: number} for n, number in known if n and number]
    silent = [name for name in names if name not in {n for n, _ in known}]
    items += [{kinds["string"]: name} for name in silent]
    return json.dumps(items, ensure_ascii=False)
