"""What is read out of texts: addresses, numbers, dates, names, markers, quotes, replies."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import partial
from typing import Any

from agent.calls.http import parse_retry_after
from agent.errors import ReadFailed
from agent.evidence.citing import compose_answer
from agent.evidence.markers import cited_numbers, normalize_markers, strip_markers
from agent.evidence.prompt_injection import find_instruction
from agent.evidence.proper_names import find_names, find_question_names
from agent.evidence.quantities import (
    iso_dates,
    number_values,
    parse_date,
    read_scores,
)
from agent.evidence.quoting import anchor_quote
from agent.evidence.selection import render_sources, select_passages
from agent.evidence.sentences import split_passages, split_sentences
from agent.evidence.text_fragments import quote_link
from agent.llm.model import Generation
from agent.llm.replies import parse_reply
from agent.pages.address_guard import AddressGuard
from agent.slots.conversion import holds_value, to_typed
from agent.slots.reply_rows import leaf_rows
from agent.slots.slot_schema import slots_of
from agent.state import Claim, Draft, Hit, Page, Source
from agent.state.sanitizing import sanitize_for_display, sanitize_line, strip_markup
from agent.state.urls import canonical_url, find_urls, is_web_url, url_scheme
from agent.steps.generate_queries import MakeQueries
from agent.steps.reading_tasks import CheckCoverage
from agent.steps.synthesize import WriteAnswer
from agent.steps.verify import JudgeClaims
from agent.strategies.loop.decide import ChooseAction
from agent.strategies.report.gather import Explore
from agent.strategies.report.plan_report import MakePlan
from agent.strategies.report.section_task import WriteSection
from agent.strategies.report.sum_up import WriteSummary
from agent.verification.rules import QuotePlace, decide_verdict
from evals.fuzz.target import Target

LONGEST = 50_000


def _decode(data: bytes) -> str:
    """Any bytes as text; halves of surrogate pairs come in too, as they do in JSON."""
    return data.decode("utf-8", "surrogateescape")


def make_source(text: str, n: int = 1) -> Source:
    """A source whose page has a text."""
    url = f"https://a.example/{n}"
    page = Page.from_text(url, "A title", text, "2026-01-01T00:00:00Z")
    return Source(n=n, page=page, hit=Hit(url=url))


def _read_urls(data: bytes) -> None:
    text = _decode(data)
    for url in [text, *find_urls(text)][:50]:
        canonical_url(url), is_web_url(url), url_scheme(url)


def _read_address(data: bytes) -> None:
    """No name is resolved: what passes would be, and each of its addresses is judged then."""
    AddressGuard(resolver=lambda *_: ["93.184.215.14"]).check_url(_decode(data))


def _read_text(data: bytes) -> None:
    """Spans lie within the text, in order."""
    text = data.decode("utf-8", "replace")
    for spans in (split_sentences(text), split_passages(text)):
        assert all(0 <= start < end <= len(text) for start, end in spans)
        assert all(one[1] <= two[0] for one, two in zip(spans, spans[1:], strict=False))
    list(iso_dates(text)), parse_date(text), number_values(text)
    read_scores(text), find_names(text), find_question_names(text)
    find_instruction(text)
    render_sources(select_passages([make_source(text)], "Who won the cup in 1904?", 500))
    quote_link("https://a.example/", text, len(text) // 3, len(text) // 2)


def _read_markers(data: bytes) -> None:
    text = _decode(data)
    once = normalize_markers(text)
    cited_numbers(once), strip_markers(text)


def _read_draft(data: bytes) -> None:
    """A draft with quotes of its own text: each quote that stays is on its page, word for word."""
    text = data.decode("utf-8", "replace")
    half = len(text) // 2
    sources = [make_source(text, 1), make_source(text[half:], 2)]
    cited = [{"source": n, "quote": text[half : half + 80]} for n in (1, 2, 3)]
    answered, _ = compose_answer(
        Draft.model_validate({"answer": text, "citations": cited}), sources, 80
    )
    for quote in answered.quotes:
        page = sources[quote.source - 1].page
        assert page.text[quote.start : quote.end] == quote.text
    anchor_quote(text[half:], sources[0])


def _read_claim(data: bytes) -> None:
    """The first line as a claim, the others as its quotes."""
    claim, *quotes = data.decode("utf-8", "replace").split("\n")[:20]
    decide_verdict(claim, [QuotePlace(text, text[:80], 0, len(text)) for text in quotes])


_LEAVES = slots_of(
    {
        "type": "object",
        "properties": {
            "when": {"type": "string", "format": "date"},
            "count": {"type": "integer", "minimum": 0},
            "share": {"type": ["number", "null"]},
            "is_open": {"type": "boolean"},
            "code": {"type": "string", "pattern": "^[A-Z]{2}[0-9]+$"},
            "kind": {"enum": ["road", "rail"]},
            "goals": {
                "type": "array",
                "items": {"type": "object", "properties": {"minute": {"type": "integer"}}},
            },
        },
    }
)


def _read_values(data: bytes) -> None:
    """A value of every type, as a text stands for it; then as rows of a reply."""
    text = _decode(data)
    for slot in _LEAVES:
        if (value := to_typed(text, slot)) is not None:
            holds_value(text, value)
    rows = [{"name": slot.name, "value": text, "source": text, "quote": text} for slot in _LEAVES]
    reply = Generation(text=json.dumps({"slots": rows}))
    with suppress(ValueError):  # it is longer than replies are
        leaf_rows(parse_reply(reply, CheckCoverage(topic="t"))[0].slots, _LEAVES)


def _read_wait(data: bytes) -> None:
    """A wait is a number of seconds that can be waited."""
    wait = parse_retry_after(_decode(data), 1.7e9)
    assert wait is None or wait >= 0


def _clean(data: bytes) -> None:
    text = _decode(data)
    assert len(sanitize_line(text, 300)) <= 300
    assert len(strip_markup(text, 300)) <= 300
    sanitize_for_display(text)


_TASKS: tuple[Any, ...] = tuple(
    kind(topic="Who won?")
    for kind in (
        MakeQueries,
        CheckCoverage,
        WriteAnswer,
        partial(JudgeClaims, claims=(Claim(text="A won", citations=(1,)),)),
        ChooseAction,
        MakePlan,
        Explore,
        partial(WriteSection, heading="Winner"),
        partial(WriteSummary, headings=("Winner",), sections=(("A won",),)),
    )
)


def _read_reply(data: bytes) -> None:
    """A reply, as that to each kind of task: it fits, or the model is told why not."""
    generation = Generation(text=data.decode("utf-8", "replace"))
    for task in _TASKS:
        try:
            parse_reply(generation, task)
        except ValueError:
            continue


urls = Target(_read_urls)
addresses = Target(_read_address, (ReadFailed,), longest=4000)
text = Target(_read_text, longest=LONGEST)
markers = Target(_read_markers, longest=LONGEST)
draft = Target(_read_draft, longest=LONGEST)
claims = Target(_read_claim)
values = Target(_read_values)
retry_after = Target(_read_wait, longest=2000)
sanitizing = Target(_clean, longest=LONGEST)
replies = Target(_read_reply, longest=LONGEST)
