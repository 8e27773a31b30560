"""From a model's rows to statements: typed values, each with a quote that holds it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from agent.evidence import anchor_quote, split_sentences
from agent.slots.forms import holds_value, to_typed
from agent.slots.rows import LeafRow, SlotValue, leaf_rows
from agent.state import Quote, Scalar, Slot, Source, Statement
from agent.state.sanitizing import sanitize_line


def ground_rows(
    rows: Sequence[SlotValue], slots: Sequence[Slot], sources: Sequence[Source]
) -> tuple[tuple[Statement, ...], tuple[str, ...]]:
    """The statements that stand in a source, and a warning for each value of the wrong type."""
    statements: dict[Statement, None] = {}
    misfits: dict[str, None] = {}
    for row in leaf_rows(rows, slots):
        value = to_typed(row.value, row.slot)
        if value is None:
            misfits.setdefault(_warn_misfit(row))
        elif quote := _find_quote(value, row, sources):
            statement = Statement(
                slot=row.slot.name, value=value, quote=quote, item=row.item, told=row.told
            )
            statements.setdefault(statement)
    return tuple(statements), tuple(misfits)


def _warn_misfit(row: LeafRow) -> str:
    form = row.slot.form
    wanted = "one of its options" if form.options else f"a value of type {form.type}"
    limits = " within its limits" if form.limits else ""
    return f"{row.slot.name}: {sanitize_line(row.value, 80)!r} is not {wanted}{limits}: not found."


def _find_quote(value: Scalar, row: LeafRow, sources: Sequence[Source]) -> Quote | None:
    """The quote that holds a value: the model's own, or a sentence of the source that it names."""
    named = [source for source in sources if source.n == row.source]
    for source in (*named, *(s for s in sources if s.n != row.source)):
        quote = anchor_quote(row.quote, source)
        if quote and holds_value(quote.text, value, source.page.text):
            return quote
    if not isinstance(value, str):
        return None  # a number by itself stands on many pages
    return next(_sentences_with((row.value, value), named), None)


def _sentences_with(values: Iterable[str], named: Sequence[Source]) -> Iterator[Quote]:
    for source in named:
        for value in values:
            if quote := _sentence_with(value, source):
                yield quote


def _sentence_with(value: str, source: Source) -> Quote | None:
    place = anchor_quote(value, source)
    if place is None:
        return None
    for start, end in split_sentences(source.page.text):
        if start <= place.start and place.end <= end:
            return anchor_quote(source.page.text[start:end], source)
    return place
