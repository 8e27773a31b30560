"""Synthesize: a concise answer whose every `[n]` stands on a quote that is really there."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pydantic import Field, field_validator

from agent.evidence import CJK, anchor, nearest, select, sentences, show
from agent.outside import Ask, Task
from agent.research import (
    Answered,
    Claim,
    Event,
    Frozen,
    Quote,
    Research,
    Source,
    Warned,
)
from agent.steps import DATA_RULE, answered, language_rule
from agent.steps.reflect import wanted

#: Said wherever sentences are to be written.
CITE_RULE = (
    "End each sentence with the [n] of every source it stands on, and give for each [n] a short "
    "quote copied exactly."
)


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


class WriteAnswer(Task[Draft]):
    """Asks for the answer."""

    max_words: int = 80
    known: tuple[str, ...] = ()  # the slots already settled, as `name: value [n]`

    @property
    def name(self) -> str:
        return "synthesize"

    @property
    def answer(self) -> type[Draft]:
        return Draft

    def system(self) -> str:
        return (
            f"You answer from sources, in at most {self.max_words} words. {CITE_RULE} If the "
            "topic takes for granted what the sources deny, say first what they say instead. If "
            "the sources do not answer the topic, return an empty answer and no citations. "
            f"{DATA_RULE} " + language_rule(self.language)
        )

    def prompt(self) -> str:
        topic = html.escape(self.topic, quote=False)
        known = "".join(f"\n- {html.escape(line, quote=False)}" for line in self.known)
        settled = f"\nKnown so far:{known}" if known else ""
        return f"{show(self.evidence)}\n<topic>{topic}</topic>{settled}"


class Synthesize:
    """Writes the answer and maps its citations in code: invented ones are dropped.

    With no sources no model is asked. Where no model answers, `stand_in` does.
    """

    def __init__(
        self, ask: Ask, stand_in: Ask, budget: int, max_words: int, language: str = ""
    ) -> None:
        self._ask = ask
        self._stand_in = stand_in
        self._budget = budget
        self._max_words = max_words
        self._language = language

    def __call__(self, research: Research) -> Iterator[Event]:
        if not research.sources:
            yield nothing_found(research)
            return
        task = WriteAnswer(
            topic=research.topic,
            slots=research.slots,
            evidence=select(research.sources, wanted(research), self._budget),
            max_words=self._max_words,
            known=_settled(research),
            language=self._language,
        )
        draft = yield from answered(task, self._ask, self._stand_in)
        answer, warnings = compose(draft, research.sources, self._max_words)
        yield from (Warned(message=warning) for warning in warnings)
        if research.halted and not answer.claims:
            answer = _so_far(research)
        yield answer if answer.claims else nothing_found(research)


def _so_far(research: Research) -> Answered:
    """What the settled facts stand on, word for word: the best that is known where a run was ended
    before its answer, and no sentence of the evidence could stand in for one."""
    settled = [found for found in research.findings.values() if found.status == "filled"]
    quotes = dict.fromkeys(found.quotes[0] for found in settled if found.quotes)
    return told([Claim(text=q.text, citations=(q.source,)) for q in quotes], quotes)


def _settled(research: Research) -> tuple[str, ...]:
    return tuple(
        f"{f.slot}: {f.value} [{f.quotes[0].source}]"
        for f in research.findings.values()
        if f.status == "filled"
    )


def nothing_found(research: Research) -> Answered:
    """Abstention: says that nothing was found and what was looked for, in our words."""
    about = "The sources that were read do not" if research.sources else "No sources were found to"
    text = f"{about} answer this question. {looked(research)}"
    return Answered(text=text, quotes=(), claims=())


def looked(research: Research) -> str:
    """What was to be searched for, in a sentence: the same in every replay of a stopped run."""
    queries = "; ".join(research.queries)
    return f"Searched for: {queries}." if queries else "Nothing was searched."


# --- from a draft to an answer ---------------------------------------------------------------

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
