"""An answer as a DOCX: each sentence with its quotes as a comment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from agent.answer import phrases
from agent.answer.docx_comments import Remark, add_comments, make_document, quote_line
from agent.answer.markdown import write_markdown
from agent.answer.schema import Answer, Citation
from agent.answer.shown import order_claims, show_answer
from agent.characters import strip_controls
from agent.evidence.citing import render_claim
from agent.evidence.ranking import rank_texts
from agent.state import Claim

MOST_QUOTES = 3  # of a source at one sentence
NEAR = 0.5  # of the nearness to the sentence that the nearest quote has


def write_answer_docx(answer: Answer) -> bytes:
    """The answer as it is shown, with a comment at each sentence that cites."""
    page = show_answer(answer)
    document = make_document(page.title, write_markdown(page, is_linked=False))
    by_source = phrases.group_by_source(answer.citations)
    return add_comments(document, _list_remarks(answer, by_source))


def _list_remarks(answer: Answer, by_source: Mapping[int, Sequence[Citation]]) -> Iterator[Remark]:
    for claim in order_claims(answer):
        lines = [
            line for n in claim.citations for line in _list_quotes(claim, by_source.get(n, ()))
        ]
        if lines:
            verdict = phrases.VERDICT_LABELS.get(claim.verdict, "confirmed")
            comment = strip_controls("\n".join((verdict, *lines)))
            shown = render_claim(claim)
            cells = phrases.read_cells(shown)[-1:] if claim.form == "row" else []
            yield Remark((shown, *cells, claim.text), comment)


def _list_quotes(claim: Claim, cited: Sequence[Citation]) -> Iterator[str]:
    """A source, and those of its quotes that are nearest to a sentence, each with its address."""
    yield from (f"[{one.id}] {phrases.shown_title(one)} {one.url}" for one in cited[:1])
    nearness = rank_texts([one.quote for one in cited], claim.text)
    ranked = sorted(zip(nearness, cited, strict=True), key=lambda pair: -pair[0])
    for near, one in ranked[:MOST_QUOTES]:
        if near >= ranked[0][0] * NEAR:
            yield quote_line(one.quote)
            yield from [one.link] * (one.link != one.url)
