"""The answer that tables give as wholes, computed over their rows: see `evidence/tables.py`."""

from __future__ import annotations

from collections.abc import Iterator

from agent.documents.body_text import ENDLESS
from agent.evidence.citing import make_answered
from agent.evidence.table_questions import TableQuestion
from agent.evidence.tables import MOST_VALUES, PageTable, Rows, find_tables
from agent.state import Answered, Claim, Quote, Research, Source, Warned

MOST_QUOTED = 10  # rows of those that were used, beside the head
MORE_ROWS = "`{}` is computed from {:,} rows, of which the first {} are quoted."


def compute_answer(research: Research) -> list[Answered | Warned]:
    """What the tables that were read say, if the topic asks for nothing else; [] if it does.

    [] too where the user named slots: then these are what is asked for.

    Each value is an item below the topic, as `312 = count(City = Oslo)`. Its quotes are the head of
    the table and the first rows that were used; how many more there are is told.
    """
    if research.are_slots_given:
        return []
    intro = " ".join(research.topic.split())
    claims: list[Claim] = []
    quotes: list[Quote] = []
    told: list[Warned] = []
    for source in research.sources:
        # where the end is not there the last table may have more rows
        is_cut = any(words in source.page.partial_text for words in ENDLESS)
        for table in find_tables(source.page.text)[: -1 if is_cut else None]:
            for statement, rows in _compute(intro, table, source.page.title):
                claim = Claim(text=statement, citations=(source.n,), form="item", intro=intro)
                claims.append(claim)
                quotes += _quote_rows(source, table, rows[:MOST_QUOTED])
                if len(rows) > MOST_QUOTED:
                    message = MORE_ROWS.format(statement, len(rows), MOST_QUOTED)
                    told.append(Warned(message=message))
    answered = make_answered(claims, quotes).model_copy(update={"is_computed": True})
    return [*told, answered] if claims else []


def _compute(topic: str, table: PageTable, title: str) -> Iterator[tuple[str, Rows]]:
    for query in TableQuestion(topic, table, title).read():
        values, rows = table.compute(query)
        if 0 < len(values) <= MOST_VALUES:
            yield f"{', '.join(values)} = {table.write(query)}", rows


def _quote_rows(source: Source, table: PageTable, rows: Rows) -> Iterator[Quote]:
    for start, end in (table.spans[0], *(table.spans[n + 1] for n in rows)):
        text = source.page.text[start:end]
        yield Quote(source=source.n, text=text, start=start, end=end, match="exact")
