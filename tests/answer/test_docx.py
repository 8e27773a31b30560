"""An answer as a DOCX: what it shows, and a comment with the quotes of each sentence."""

from __future__ import annotations

import io

import docx

from agent.answer.formats import to_docx
from agent.answer.phrases import VERDICT_LABELS
from agent.answer.shown import order_claims
from agent.evidence.citing import render_claim
from agent.state.sanitizing import sanitize_line
from tests.support.docx_comments import commented
from tests.support.reports import world_cup_answer


def test_each_cited_sentence_has_its_quotes_as_a_comment() -> None:
    answer = world_cup_answer()
    cited = [claim for claim in order_claims(answer) if claim.citations]
    comments = commented(to_docx(answer))
    assert len(comments) == len(cited) > 10
    told = {comment: words for words, comment in comments}
    for claim in cited:
        own = [one for one in answer.citations if one.id in claim.citations]
        first = VERDICT_LABELS.get(claim.verdict, "confirmed")
        [(comment, words)] = [
            (comment, words)
            for comment, words in told.items()
            if letters(words) == letters(render_claim(claim)) and comment.startswith(first)
        ]
        assert all(f"{one.title} {one.url}" in comment for one in own)
        quoted = [
            one for one in own if f"“{sanitize_line(one.quote, 1000)}”\n{one.link}" in comment
        ]
        assert {one.id for one in quoted} == set(claim.citations)


def letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def test_a_document_has_headings_tables_lists_and_sources() -> None:
    answer = world_cup_answer()
    document = docx.Document(io.BytesIO(to_docx(answer)))
    assert answer.report
    texts = [(str(p.style.name), p.text) for p in document.paragraphs if p.style]
    headings = {text: style for style, text in texts}
    assert headings[answer.report.title] == "Heading 1"
    assert headings["Sources"] == headings["Methodology"] == "Heading 2"
    assert {headings[one.heading] for one in answer.report.sections} == {"Heading 3"}
    for one in answer.citations:
        assert any(t.startswith(f"[{one.id}] {one.title}") for s, t in texts if s == "List Bullet")
        assert any(one.quote[:40] in t for s, t in texts if s == "Quote")
    assert {"List Bullet", "Quote", "Normal"} <= {style for style, _ in texts}
