"""The functions that read text of a page, a model or a user, by name.

Those that others of the list call are not listed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Reader = Callable[[str], Any]


def readers() -> dict[str, Reader]:
    """Each function, with the text as the argument that comes from outside."""
    from agent import evidence
    from agent.evidence import (
        citing,
        markers,
        prompt_injection,
        proper_names,
        quantities,
        text_fragments,
    )
    from agent.evidence.draft_markdown import read_pieces
    from agent.llm.extractive.backend import Extractive
    from agent.slots import conversion, equivalence, grounding, reply_rows
    from agent.state import Slot
    from agent.state.excerpts import Excerpt
    from agent.state.sanitizing import sanitize_line, strip_markup
    from agent.steps.synthesize import WriteAnswer
    from agent.strategies.loop.tags import find_all_contents
    from agent.verification.judge_view import QuotePlace
    from agent.verification.rules import decide_verdict

    topic = "Who won the 2022 final, Argentina or France, and when was the bridge opened?"
    plain = "The bridge was opened in 1904 by Anna Quill. " * 40
    claim = "The bridge was opened in 1904 by Anna Quill."
    long = Slot(name="goals")

    def answer(text: str) -> Any:
        shown = evidence.select_passages([_source(text)], topic, 8000)
        task = WriteAnswer(topic=topic, slots=(Slot(name="winner"),), evidence=shown)
        return Extractive().generate(task, "")

    def place(text: str) -> QuotePlace:
        return QuotePlace(text, "A title", len(text) // 2, len(text) // 2 + 200)

    def excerpt(text: str) -> Excerpt:
        return Excerpt(source=1, title=text[:500], url="https://a.b/", passages=(text[:40_000],))

    return {
        "split_sentences": evidence.split_sentences,
        "rank_texts": lambda text: evidence.rank_texts([text, plain], topic),
        "rank_texts (query)": lambda text: evidence.rank_texts([plain, claim], text),
        "fold": evidence.fold,
        "find_copies": lambda text: evidence.find_copies([_source(text, n) for n in (1, 2)]),
        "select_passages": lambda text: evidence.select_passages([_source(text)], topic, 8000),
        "render_sources": lambda text: evidence.render_sources([excerpt(text)]),
        "anchor_quote (page)": lambda text: evidence.anchor_quote(
            "not there at all", _source(text)
        ),
        "anchor_quote (quote)": lambda text: evidence.anchor_quote(text, _source(plain)),
        "closest_sentences": lambda text: evidence.closest_sentences(claim, [_source(text)]),
        "find_names": proper_names.find_names,
        "iso_dates": lambda text: list(quantities.iso_dates(text, any_order=True)),
        "read_numbers": lambda text: list(quantities.read_numbers(text.casefold())),
        "find_instruction": prompt_injection.find_instruction,
        "normalize_markers": markers.normalize_markers,
        "quote_link": lambda text: text_fragments.quote_link(
            "https://a.b/", text, len(text) // 2, len(text) // 2 + 200
        ),
        "compose_answer": lambda text: citing.compose_answer(
            citing.Draft(answer=text), [_source(plain)]
        ),
        "compose_answer (page)": lambda text: citing.compose_answer(
            citing.Draft(answer=claim, citations=[citing.Cited(source=1, quote=claim)]),
            [_source(text)],
        ),
        "decide_verdict (claim)": lambda text: decide_verdict(text, (place(plain),)),
        "decide_verdict (page)": lambda text: decide_verdict(claim, (place(text),)),
        "is_on_page": lambda text: [
            quantities.is_on_page(quantity, text)
            for quantity in quantities.read_quantities("3 of 1904, 2-1, 5 May")
        ],
        "read_pieces": read_pieces,
        "to_typed": lambda text: conversion.to_typed(text, long),
        "holds_value (text)": lambda text: conversion.holds_value(text, "Anna Quill 1904", text),
        "holds_value (date)": lambda text: conversion.holds_value(text, "1904-05-12", text),
        "ground_rows": lambda text: grounding.ground_rows(
            [reply_rows.SlotValue(name="goals", value="not there", source=1, quote=text)],
            [long],
            [_source(text)],
        ),
        "leaf_rows": lambda text: reply_rows.leaf_rows(
            [reply_rows.SlotValue(name=text, value=text)],
            [Slot(name="goals[].scorer"), Slot(name="goals[].minute")],
        ),
        "same_value": lambda text: equivalence.same_value(text[:1000], text[1:1001]),
        "is_swapped_score": lambda text: equivalence.is_swapped_score("3-2", text, "2-3", text),
        "extractive answer": answer,
        "sanitize_line": lambda text: sanitize_line(text, 500),
        "strip_markup": lambda text: strip_markup(text, 500),
        "find_all_contents": lambda text: find_all_contents(text, "answer"),
    }


def _source(text: str, n: int = 1) -> Any:
    from agent.state import Hit, Page, Source

    url = f"https://example.org/{n}"
    shown = text.encode("utf-8", "replace").decode()  # no lone surrogates, as pages are stored
    page = Page.from_text(url, "A title", shown, "2026-01-01T00:00:00Z")
    return Source(n=n, page=page, hit=Hit(url=url, title="A title"))
