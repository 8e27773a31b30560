"""The blocks of a document that claims make: paragraphs, lists, tables, the notes below them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from agent.answer import doc, messages
from agent.answer.counts import VERDICT_LABELS
from agent.evidence.citing import render_claim
from agent.state import Claim, Differences
from agent.verification.differences import split_runs

MOST_COLUMNS = 6  # of a table that compares
LONG_PARAGRAPH = 400  # characters; only then does it end where other pages are cited


def list_lines(text: str, role: str = "") -> Sequence[doc.Block]:
    """A paragraph; none for ""."""
    return (doc.Prose((text,), role),) if text else ()


def list_warnings(warnings: Iterable[str], role: str = "") -> Sequence[doc.Block]:
    """What the reader is warned of, a line each."""
    items = tuple(doc.Item((doc.Text(warning, role),)) for warning in warnings)
    return (doc.Bullets(items, "warnings"),) if items else ()


def list_claims(claims: Iterable[Claim], role: str = "") -> list[doc.Block]:
    """Claims in order: sentences as paragraphs, items as lists, rows as tables."""
    blocks: list[doc.Block] = []
    for is_row, several in groupby(claims, key=lambda claim: claim.form == "row"):
        groups = groupby(several, key=lambda claim: (claim.form, claim.intro))
        made = [(form, intro, list(some)) for (form, intro), some in groups]
        if is_row and (crossed := _cross([rows for _, _, rows in made])):
            below = (_list_row_notes(rows) for _, _, rows in made)
            blocks += (crossed, *(block for some in below for block in some))
        else:
            blocks += (block for one in made for block in _list_block(*one, role))
    return blocks


def _cross(tables: Sequence[Sequence[Claim]]) -> doc.Table | None:
    """Tables that each ask one thing of the same few, as one; None where they are not such.

    What each asks is a row, and a disputed cell has every value.
    """
    heads = [messages.read_cells(rows[0].intro.partition("\n")[0]) for rows in tables]
    things = dict.fromkeys(messages.read_cells(one.text)[0] for rows in tables for one in rows)
    if len(tables) < 2 or len(things) > MOST_COLUMNS or any(head[1:] != [""] for head in heads):
        return None
    lines = []
    for (asked, _), rows in zip(heads, tables, strict=True):
        cells: dict[str, list[doc.Inline]] = {thing: [] for thing in things}
        for thing, value in map(_read_row, rows):
            cell = cells[doc.plain_text(thing)]
            cell += (*([" / "] if cell else []), *value)
        lines.append(((asked,), *(tuple(cell) or ("–",) for cell in cells.values())))
    return doc.Table(("", *things), lines, "compared")


def _list_block(form: str, intro: str, claims: Sequence[Claim], role: str) -> Iterator[doc.Block]:
    """Claims of one form. The intro of rows ends with the head of their table."""
    lines = [] if form == "sentence" else [line.strip() for line in intro.splitlines()]
    table = [line for line in lines if form == "row" and line.startswith("|")]
    yield from list_lines(" ".join(line for line in lines if line and line not in table), role)
    if form == "row":
        head = messages.read_cells(table[0]) if table else []
        yield doc.Table(head, tuple(map(_read_row, claims)))
        yield from _list_row_notes(claims)
    elif form == "item":
        items = [(claim, [doc.Item(note) for note in list_notes(claim)]) for claim in claims]
        yield doc.Bullets([doc.Item(read_sentence(one), notes) for one, notes in items], role)
    else:
        yield from _list_sentences(claims, role)


def _list_row_notes(rows: Sequence[Claim]) -> Iterator[doc.Block]:
    yield from (doc.Prose(note, "quiet") for row in rows for note in list_notes(row))


def _list_sentences(claims: Sequence[Claim], role: str) -> Iterator[doc.Block]:
    """Sentences as paragraphs. One ends where it is long and other pages are cited, and with a
    sentence that has notes: they follow it."""
    parts: list[doc.Inline] = []
    length, cited = 0, set[int]()
    for claim in claims:
        if length > LONG_PARAGRAPH and cited.isdisjoint(claim.citations):
            yield doc.Prose(parts, role)
            parts, length = [], 0
        length, cited = length + len(claim.text), set(claim.citations)
        parts += (*read_sentence(claim), " ")
        if notes := list_notes(claim):
            yield doc.Prose(parts, role)
            yield from (doc.Prose(note, "quiet") for note in notes)
            parts, length = [], 0
    if parts:
        yield doc.Prose(parts, role)


def list_notes(claim: Claim) -> list[doc.Parts]:
    """The lines below a claim: how its numbers follow, and the sentence nearest to it."""
    notes: list[doc.Parts] = []
    if (made := claim.calculation) and made.operands:  # else the claim is what is computed
        numbers = tuple(dict.fromkeys(one.citation for one in made.operands))
        notes.append((messages.describe_calculation(made), " ", doc.Marks(numbers)))
    return notes + show_differences(claim.differences, claim.text, "answer")


def show_differences(found: Differences | None, claim: str, said: str) -> list[doc.Parts]:
    """The nearest sentence of a page above a claim, a line each, marked where they differ."""
    if found is None:
        return []
    runs = list(split_runs(found.sentence, claim))
    pages, own = ([(run.is_same, run.page) for run in runs], [(r.is_same, r.claim) for r in runs])
    return [("page: ", *_mark_runs(pages)), (f"{said}: ", *_mark_runs(own))]


def _mark_runs(runs: Iterable[tuple[bool, str]]) -> Iterator[doc.Inline]:
    for is_same, words in runs:
        if words:
            yield from (words if is_same else doc.Text(words, "strong"), " ")


def read_sentence(claim: Claim) -> doc.Parts:
    """A claim with its marks, which go before its final punctuation."""
    marks = "".join(f"[{n}]" for n in claim.citations)
    body, _, end = render_claim(claim).rpartition(marks) if marks else (claim.text, "", "")
    parts = (body, doc.Marks(claim.citations, claim.text), end, *_tell_verdict(claim))
    return (doc.Sentence(parts, claim.verdict, messages.explain_verdict(claim)),)


def _read_row(claim: Claim) -> Sequence[doc.Parts]:
    """The cells of a row; its marks and its verdict are in the last one."""
    *cells, last = messages.read_cells(claim.text)
    marks = (" ", doc.Marks(claim.citations, claim.text)) if claim.citations else ()
    return [*((cell,) for cell in cells), (last, *marks, *_tell_verdict(claim))]


def _tell_verdict(claim: Claim) -> Sequence[str | doc.Text]:
    words = "" if claim.verdict == "quoted" else VERDICT_LABELS.get(claim.verdict, "")
    return (" ", doc.Text(words, f"mark {claim.verdict}")) if words else ()
