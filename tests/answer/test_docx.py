"""An answer as a document of Word: what its page shows, without the navigation."""

from __future__ import annotations

import io

import docx

from agent.answer.formats import to_docx
from agent.slots.conversion import slot_words
from tests.support.reports import world_cup_answer


def test_a_document_has_headings_tables_lists_and_sources() -> None:
    answer = world_cup_answer()
    document = docx.Document(io.BytesIO(to_docx(answer)))
    assert answer.report
    texts = [(str(p.style.name), p.text) for p in document.paragraphs if p.style]
    headings = {text: style for style, text in texts}
    assert headings[answer.report.title] == "Heading 1"
    assert headings["Sources"] == headings["Methodology"] == "Heading 2"
    assert {headings[one.heading] for one in answer.report.sections} == {"Heading 3"}
    words = " ".join(text for _, text in texts)
    assert all(one.quote in words and one.title in words for one in answer.citations)
    assert "Skip to" not in words, "it has no navigation"
    values = {cell.text for table in document.tables for row in table.rows for cell in row.cells}
    assert {slot_words(name) for name in answer.slots} <= values
