"""Claims, their markers and their quotes: from a draft to an answer whose every `[n]` stands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pydantic import Field, field_validator

from agent.evidence.quoting import anchor, nearest
from agent.evidence.text import CJK, sentences
from agent.state import Answered, Claim, Frozen, Quote, Source

MOST_TOLD = 5  # citations, or sentences, that are told of one by one
MOST_RANGED = 20  # sources that `[1-9]` may name


class Cited(Frozen):
    """The words of a source that a sentence stands on."""

    source: int = Field(description="id of the source")
    quote: str = Field(description="the words of that source, copied exactly")

    @field_validator("source", mode="before")
    @classmethod
    def _number(cls, value: Any) -> Any:
        number = re.search(r"\d{1,6}", str(value))
        return int(number[0]) if number else 0


class Draft(Frozen):
    """An answer as a model writes it."""

    answer: str = Field(
        description="the answer, each sentence ending with its [n]; empty if the sources do not say"
    )
    citations: list[Cited] = Field(default_factory=list, description="a quote for each [n] used")


#: What models write for `[1]`: `[1, 2]`, `[1-3]`, `[1 and 2]`, `[source 1]`, `[^1]`, `【1】`.
MARKERS = re.compile(
    r"\s?[\[【［〔]\s*(?:\^|sources?\s)?\s*"
    r"(\d{1,4}(?:\s*(?:[,;，、–-]|and|und|和)\s*\d{1,4}){0,20})\s*[\]】］〕]",
    re.I,
)
_RANGE = re.compile(r"(\d+)\s*[–-]\s*(\d+)")
_MARKER = re.compile(r"\[(\d+)\]")
_LATE = re.compile(r"([.!?。！？]+[)\"'”’»」』]*)[ \t]*((?:\[\d+\][ \t]*)+)")
#: A Markdown link, of which the words stay: an address is a citation's to give.
_LINKED = re.compile(r"!?\[((?:[^\[\]\n]|\[\^?\d{1,4}\]){0,300})\]\([^()\s]{0,2000}\)")
_HEADING = re.compile(r"^\s*#{1,6}\s.*$", re.M)
_ITEM = re.compile(r"^\s*[-*+•‣–]\s+", re.M)
_NUMBERED = re.compile(r"^\s*(\d{1,2})[.)]\s+", re.M)
_END = re.compile(r"[.!?。！？]+[)\"'”’»」』]*$|$")
_CHARACTER = re.compile(f"[{CJK}]")


def compose(
    draft: Draft, sources: Sequence[Source], max_words: int | None = None
) -> tuple[Answered, tuple[str, ...]]:
    """The answer with only those markers that a quote of a source that was read stands behind.

    Returns it, its claims not yet judged, with warnings about what was left out: citations whose
    quote is not on their page, and sentences beyond `max_words`.
    """
    anchored = [quote_of(cited, sources) for cited in draft.citations]
    quotes = ordered(quote for quote in anchored if quote)
    text = _with_markers(draft.answer, {quote.source for quote in quotes})
    claims: dict[Claim, None] = {}
    over: list[Claim] = []
    for claim in (_claim(sentence, quotes) for sentence in _sentences(text)):
        length = sum(_length(kept.text) for kept in (*claims, claim))
        if claims and max_words and (over or length > max_words):
            over.append(claim)
        elif any(char.isalnum() for char in claim.text):
            claims.setdefault(claim)
    lost = [c for c, quote in zip(draft.citations, anchored, strict=True) if quote is None]
    return told(tuple(claims), quotes), (*lost_citations(lost, sources), *_too_much(over))


def _length(text: str) -> int:
    """The words of a text; two characters of Chinese, Japanese or Korean are one."""
    return len(text.split()) + len(_CHARACTER.findall(text)) // 2


def _too_much(over: Sequence[Claim]) -> Iterator[str]:
    for claim in over[:MOST_TOLD]:
        yield f"Left out of the answer, which is long enough: {claim.text}"
    if len(over) > MOST_TOLD:
        yield f"{len(over) - MOST_TOLD} more sentences were left out like that."


def told(claims: Sequence[Claim], quotes: Iterable[Quote]) -> Answered:
    """Claims as an answer, with those of the quotes that they cite."""
    cited = {n for claim in claims for n in claim.citations}
    return Answered(
        text=joined(claims),
        quotes=ordered(quote for quote in quotes if quote.source in cited),
        claims=tuple(claims),
    )


def ordered(quotes: Iterable[Quote]) -> tuple[Quote, ...]:
    """Quotes by source and place, each once."""
    return tuple(sorted(set(quotes), key=lambda q: (q.source, q.start, q.end, q.match)))


def quote_of(cited: Cited, sources: Sequence[Source]) -> Quote | None:
    """A citation's quote on its page; None for one that is not there."""
    source = next((source for source in sources if source.n == cited.source), None)
    return anchor(cited.quote, source) if source else None


def lost_citations(citations: Sequence[Cited], sources: Sequence[Source]) -> Iterator[str]:
    """What is told of citations that do not stand, with what their page has that is like them."""
    for cited in citations[:MOST_TOLD]:
        source = next((source for source in sources if source.n == cited.source), None)
        if source is None:
            yield f"A citation was dropped: there is no source {cited.source}."
            continue
        near = nearest(cited.quote, source)
        there = f' Nearest on it: "{_short(near)}"' if near else ""
        yield f'A citation was dropped: [{source.n}] does not say "{_short(cited.quote)}".{there}'
    if rest := len(citations) - MOST_TOLD:
        yield from (f"{rest} more citations were dropped like that.",) if rest > 0 else ()


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 160 else f"{line[:159]}…"


def _with_markers(text: str, quoted: set[int]) -> str:
    """A draft's text with markers as `[1][2]` inside their sentence; all quotes if it has none."""
    text = MARKERS.sub(_numbers, _LINKED.sub(_words, _prose(text)))
    if not _MARKER.search(text):
        text = text.rstrip() + "".join(f"[{n}]" for n in sorted(quoted))
    return _LATE.sub(lambda m: f" {m[2].replace(' ', '')}{m[1]} ", text)


def _prose(text: str) -> str:
    """A text without Markdown's marks of lists and its headings, which state nothing."""
    text = _ITEM.sub("", _HEADING.sub("", text))
    listed = [match[1] for match in _NUMBERED.finditer(text)][:2] == ["1", "2"]
    return _NUMBERED.sub("", text) if listed else text


def _words(link: re.Match[str]) -> str:
    return f"[{link[1]}]" if link[1].isdecimal() else link[1]


def _numbers(marker: re.Match[str]) -> str:
    """`[1, 3-5]` as `[1][3][4][5]`; of a range that is no list of sources, its ends."""
    ends = [(int(a), int(b)) for a, b in _RANGE.findall(marker[1])]
    between = [n for a, b in ends if a < b < a + MOST_RANGED for n in range(a + 1, b)]
    given = [int(n) for n in re.findall(r"\d+", marker[1])]
    return "".join(f"[{n}]" for n in sorted({*given, *between}))


def _sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


def _claim(sentence: str, quotes: Sequence[Quote]) -> Claim:
    quoted = {quote.source for quote in quotes}
    text = " ".join(_MARKER.sub("", sentence).split())
    text = re.sub(r" ([.,;:!?。，；：！？])", r"\1", text)
    cited = dict.fromkeys(int(n) for n in _MARKER.findall(sentence) if int(n) in quoted)
    return Claim(text=text, citations=tuple(cited))


def cited_in(text: str) -> set[int]:
    """The numbers of the markers in a text."""
    return {int(n) for n in _MARKER.findall(text)}


def joined(claims: Iterable[Claim]) -> str:
    """Claims as the answer has them; no blank follows a Chinese or Japanese full stop."""
    return re.sub("([。！？][)”’」』]*) ", r"\1", " ".join(map(written, claims)))


def written(claim: Claim) -> str:
    """A claim as the answer has it: with its markers before the full stop."""
    markers = "".join(f"[{n}]" for n in claim.citations)
    if not markers:
        return claim.text
    body = _END.sub("", claim.text, count=1)
    end = claim.text[len(body) :]
    space = "" if end[:1] in "。！？" and end else " "
    return f"{body}{space}{markers}{end}"
