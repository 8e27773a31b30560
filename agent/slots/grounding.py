"""From rows to what sources really say: typed, and with the quote that it stands in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from agent.evidence import anchor, sentences
from agent.slots.forms import holds, typed
from agent.slots.rows import Row, SlotValue, leaves
from agent.state import Quote, Said, Scalar, Slot, Source
from agent.state.plain import plain


def grounded(
    rows: Sequence[SlotValue], slots: Sequence[Slot], sources: Sequence[Source]
) -> tuple[tuple[Said, ...], tuple[str, ...]]:
    """What the rows say that stands in a source, and a warning for each value of another form."""
    said: dict[Said, None] = {}
    misfits: dict[str, None] = {}
    for row in leaves(rows, slots):
        value = typed(row.value, row.slot)
        if value is None:
            misfits.setdefault(_misfit(row))
        elif quote := _quote(value, row, sources):
            told = Said(slot=row.slot.name, value=value, quote=quote, item=row.item, told=row.told)
            said.setdefault(told)
    return tuple(said), tuple(misfits)


def _misfit(row: Row) -> str:
    form = row.slot.form
    wanted = "one of its options" if form.options else f"a value of type {form.type}"
    limits = " within its limits" if form.limits else ""
    return f"{row.slot.name}: {plain(row.value, 80)!r} is not {wanted}{limits}: not found."


def _quote(value: Scalar, row: Row, sources: Sequence[Source]) -> Quote | None:
    """The quote that holds a value: the model's, or a sentence of the source it named."""
    named = [source for source in sources if source.n == row.source]
    for source in (*named, *(s for s in sources if s.n != row.source)):
        quote = anchor(row.quote, source)
        if quote and holds(quote.text, value, source.page.text):
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
    place = anchor(value, source)
    if place is None:
        return None
    for start, end in sentences(source.page.text):
        if start <= place.start and place.end <= end:
            return anchor(source.page.text[start:end], source)
    return place
