"""What is read out of texts: addresses, numbers, dates, names, markers, quotes, replies."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from agent.checking.rules import QuotePlace, decide_verdict
from agent.errors import ReadFailed
from agent.evidence.citing import compose_answer
from agent.evidence.instructions import find_instruction
from agent.evidence.links import quote_link
from agent.evidence.markers import cited_numbers, normalize_markers, strip_markers
from agent.evidence.names import find_names, find_question_names
from agent.evidence.quantities import (
    find_amounts,
    iso_dates,
    number_values,
    parse_date,
    read_scores,
)
from agent.evidence.quoting import anchor_quote
from agent.evidence.selection import render_sources, select_passages
from agent.evidence.sentences import split_passages, split_sentences
from agent.llm.model import Generation
from agent.llm.replies import parse_reply
from agent.outside.http import parse_retry_after
from agent.pages.guard import AddressGuard
from agent.slots.forms import holds_value, to_typed
from agent.slots.rows import leaf_rows, named_numbers
from agent.slots.schema import slots_of
from agent.state import Claim, Draft, Hit, Page, Source
from agent.state.sanitizing import sanitize_for_display, sanitize_line, strip_markup
from agent.state.urls import canonical_url, find_urls, is_web_url, url_scheme
from agent.steps.generate_queries import MakeQueries
from agent.steps.reflect import CheckCoverage
from agent.steps.synthesize import WriteAnswer
from agent.steps.verify import JudgeClaims
from agent.strategies.loop.decide import ChooseAction
from agent.strategies.report.draft import WriteReport
from agent.strategies.report.gaps import FindGaps
from agent.strategies.report.gather import Explore
from agent.strategies.report.plan import MakePlan
from fuzz.target import JSON_WORDS, Target

LONGEST = 50_000
_PROSE = (
    "The bridge (Pont Neuf) opened on 3 May 1904. It cost $1.5 million, or 1,234,567.89 "
    'francs; "no '
    "more\", said Dr. A. B. O'Neil. Argentina won 4–2 on penalties, 3:3 after extra time [1][2].\n"
    "Die Brücke wurde am 3. Mai 1904 eröffnet. z.B. U.S.A. e.g. 5 % "
    "中国在2022年12月18日获胜。三百二十一万。\n"
    "| Team | Goals |\n| A | 3 |\n- item https://a.example/b?c=d#e.\n"
)
_WORDS = tuple(
    "a. |\"|(|)|1,000,|9|sept |O'|...|。|「|May |1904-05-03 |million |twenty-|hundred and |"
    "4–2 |[1] |Dr. |"
    "\u0301|\u200b|İ|ß|一万|\n|| |- |$|%|not |never |A|ex-|III |12:30 |-|−|½|٣|१".split("|")
)
WORDS = tuple(word.encode() for word in _WORDS if word)


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
    list(iso_dates(text)), parse_date(text), number_values(text), find_amounts(text)
    read_scores(text), find_names(text), find_question_names(text), named_numbers(text)
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
    leaf_rows(CheckCoverage(topic="t").answer_type.model_validate({"slots": rows}).slots, _LEAVES)


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
        FindGaps,
        WriteReport,
        Explore,
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


_REPLY = {
    "queries": ["a"],
    "slots": [{"name": "winner", "value": "A", "source": 1, "quote": "A won"}],
    "answer": "A won [1].",
    "citations": [{"source": 1, "quote": "A won"}],
    "action": "search_web",
    "calls": [{"name": "search_web", "id": "1", "arguments": {"query": "a"}}],
    "verdicts": [{"claim": 1, "verdict": "supported"}],
    "sections": [{"heading": "H", "text": "T [1]."}],
}
urls = Target(
    _read_urls,
    (
        b"See https://www.A.example:443/b/../c/?utm_source=x&q=%C3%A9#top, or "
        b"(http://b.example/a_(b)).",
        "https://例え.jp/パス？q=1。http://[::1]:80/ ftp://a@b:c@d/".encode(),
    ),
    (),
    tuple(b"https://|http://|%|%2F|[|]|@|:|?|&|#|//|..|xn--|:99999|\xe3\x80\x82|;|=".split(b"|")),
)
addresses = Target(
    _read_address,
    (
        b"http://127.0.0.1/",
        b"https://[::ffff:10.0.0.1]/",
        b"http://2130706433/",
        b"http://a.example:80/",
    ),
    (ReadFailed,),
    tuple(b"http://|[|]|0x7f|.|:|@|%00|\xe3\x80\x82|1|localhost|::|xn--|%25eth0|\\".split(b"|")),
    4000,
)
text = Target(_read_text, (_PROSE.encode(),), (), WORDS, LONGEST)
markers = Target(
    _read_markers,
    ("A [1, 2], B [1-3] and C [^1] 【4】 [source 5] [1–9999] [1 and 2].".encode(),),
    (),
    tuple(b"[1]|[|]|,|-| and |source |^|9999|\xe3\x80\x90|\xe3\x80\x91|0|\xd9\xa3".split(b"|")),
    LONGEST,
)
draft = Target(
    _read_draft,
    (_PROSE.encode(), b"# Head\n1. One [1]. 2. Two.[2] [link](http://a.example) ![i](x) **b**"),
    (),
    (*WORDS, b"[1]", b"](", b"# ", b"1. ", b"![", b"**"),
    LONGEST,
)
claims = Target(
    _read_claim,
    (
        b"The bridge opened in 1904.\nIt was opened on 3 May 1904, not 1905.\nIt cost 1.5 million.",
        "Argentina beat France 4–2.\nArgentina won 4–2 on penalties after 3–3.".encode(),
        "中国在2022年获胜。\n2022年中国队获胜。".encode(),
    ),
    (),
    WORDS,
)
values = Target(
    _read_values,
    (
        b"3 May 1904",
        b"1,234.5 million",
        b"yes",
        b"AB12",
        b"road",
        b'[{"minute": "23\'"}]',
        b"1e400",
    ),
    (),
    (*WORDS, *JSON_WORDS),
)
retry_after = Target(
    _read_wait,
    (b"120", b"Wed, 21 Oct 2026 07:28:00 GMT", b"1e9", b"-1", b"Wed, 21 Oct 99999 07:28:00 +9999"),
    (),
    tuple(b"9|e|nan|inf|-|+9999|GMT|Oct |:|, |_|\xd9\xa3".split(b"|")),
    2000,
)
sanitizing = Target(
    _clean,
    (b"\x1b[31mred\x1b[0m\x07 <b>bold</b> &amp; \xe2\x80\xae\xc2\x9d", _PROSE.encode()),
    (),
    (b"\x1b[", b"\x1b]", b"<", b">", b"&#", b"\xc2\x9b", b"\xe2\x80\x8f", b"<!--", b"&lt;"),
    LONGEST,
)
replies = Target(
    _read_reply,
    (
        json.dumps(_REPLY).encode(),
        b"```json\n" + json.dumps(_REPLY).encode() + b"\n```",
        b"<think>so</think><search>a</search><answer>A [1]</answer>",
        b'{"claims": [{"n": 1, "supported": true, "why": ""}], "text": "x"}',
    ),
    (),
    (*JSON_WORDS, *(f'"{name}":'.encode() for name in _REPLY), b"<answer>", b"</answer>", b"```"),
    LONGEST,
)
