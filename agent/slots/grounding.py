"""From a model's rows to statements: typed values, each with a quote that holds it."""

from __future__ import annotations

from collections.abc import Sequence

from agent.evidence import content_words
from agent.evidence.quoting import anchor_quote, locate_quote, nearest_quote, quoted_sentences
from agent.slots.conversion import holds_value, is_echo, slot_words, to_typed
from agent.slots.reply_rows import LeafRow, SlotValue, leaf_rows
from agent.state import Quote, Scalar, Slot, Source, Statement, sanitize_line

LONGEST_OF = 120  # characters of what a value is of
NEAR = 600  # characters of a page, at its beginning and around a quote, that say what it is of


def ground_rows(
    rows: Sequence[SlotValue], slots: Sequence[Slot], sources: Sequence[Source]
) -> tuple[tuple[Statement, ...], tuple[str, ...]]:
    """The statements whose quote holds their value; a warning for each value of the wrong type."""
    statements: dict[Statement, None] = {}
    misfits: dict[str, None] = {}
    for row in leaf_rows(rows, slots):
        value = to_typed(row.value, row.slot)
        if value is None:
            misfits.setdefault(_warn_misfit(row))
        elif not is_echo(value, row.slot) and (quote := _find_quote(value, row, sources)):
            statement = Statement(
                slot=row.slot.name,
                value=value,
                quote=quote,
                item=row.item,
                told=row.told,
                of=_keep_supported(row.of, quote, sources[quote.source - 1]),
            )
            statements.setdefault(statement)
    return tuple(statements), tuple(misfits)


def _keep_supported(of: str, quote: Quote, source: Source) -> str:
    """What a row says that its value is of, if its source has each word of it; else ""."""
    line = sanitize_line(of, LONGEST_OF)
    words = content_words(line)
    page = source.page
    near = page.text[max(0, quote.start - NEAR) : quote.end + NEAR]
    available = set(content_words(f"{page.title} {page.text[:NEAR]} {near}")) if words else set()
    return line if words and available.issuperset(words) else ""


def _warn_misfit(row: LeafRow) -> str:
    form = row.slot.form
    wanted = "one of its options" if form.options else f"a value of type {form.type}"
    limits = " within its limits" if form.limits else ""
    return f"{row.slot.name}: {sanitize_line(row.value, 80)!r} is not {wanted}{limits}: not found."


def _find_quote(value: Scalar, row: LeafRow, sources: Sequence[Source]) -> Quote | None:
    """The row's own quote if it holds the value, or else the whole sentence that does.

    It must be on the page of the source that the row names, or on one other page alone: models
    mistake numbers of sources. One that is nowhere is corrected on the page that the row names.
    """
    quotes = [quote for source in sources if (quote := anchor_quote(row.quote, source))]
    named = [quote for quote in quotes if quote.source == row.source]
    if not quotes and row.source and row.source <= len(sources):
        named = list(_mend_quote(value, row, sources[row.source - 1]))
    if not named and len(quotes) != 1:
        return None
    source = sources[(named or quotes)[0].source - 1]
    first = named or quotes[:1]
    candidates = (*first, *(s for quote in first for s in quoted_sentences(quote, source)))
    return next((q for q in candidates if holds_value(q.text, value, source.page.title)), None)


def _mend_quote(value: Scalar, row: LeafRow, source: Source) -> Sequence[Quote]:
    """The parts of a quote that a page has, or its sentence that is nearest to it."""
    near = nearest_quote(row.quote or f"{slot_words(row.slot)} {value}", source)
    return locate_quote(row.quote, source) or ((near,) if near else ())
